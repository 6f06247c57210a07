"""Objects of training pairs in the format of COCO."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.correct.pair_card import Pair
from napari_onnxseg.correct.polygons import (
    filled,
    from_run_lengths,
    objects_in,
    rings_of,
    run_lengths,
)
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.types import AnyArray, Mask

FOLDER = "annotations"


class CocoFile:
    """Collects the objects of all pairs, and writes ``annotations/train.json`` and ``val.json``.

    An object without holes is a list of polygons, one with holes is run lengths. Pixels that
    nobody has looked at are a crowd of every category, which evaluations leave out.

    Parameters
    ----------
    folder : Path
        Of the pairs.
    classes : sequence of ClassInfo
        Categories, background apart.
    ignore : int
        Label of pixels nobody has looked at.

    References
    ----------
    Format "object detection" of https://cocodataset.org/#format-data.
    """

    def __init__(self, folder: Path, classes: Sequence[ClassInfo], ignore: int) -> None:
        self._folder = folder
        self._ignore = ignore
        self._categories = {entry.id: entry.name for entry in classes if entry.id}
        self._images: dict[str, list[dict[str, Any]]] = {}
        self._objects: dict[str, list[dict[str, Any]]] = {}

    def add(self, pair: Pair, labels: AnyArray, objects: AnyArray | None) -> None:
        """Take the objects of a pair.

        Parameters
        ----------
        pair : Pair
            Which.
        labels : numpy.ndarray
            (Y, X) classes.
        objects : numpy.ndarray or None
            (Y, X) numbers of objects; connected pieces when left out.
        """
        images = self._images.setdefault(pair.split, [])
        number = len(images) + 1
        height, width = labels.shape
        images.append({"id": number, "file_name": pair.image, "height": height, "width": width})
        for label, where, mask in objects_in(labels, objects, self._ignore):
            self._categories.setdefault(label, f"class {label}")
            self._annotate(pair.split, number, label, _placed(mask, where, labels.shape))
        silent = labels == self._ignore
        if silent.any():
            for label in sorted(self._categories):
                self._annotate(pair.split, number, label, silent, crowd=True)

    def close(self) -> None:
        """Write the files.

        Raises
        ------
        FileFormatError
            When they cannot be written.
        """
        (self._folder / FOLDER).mkdir(parents=True, exist_ok=True)
        for split, images in self._images.items():
            content = {
                "info": {"description": "napari-onnxseg", "ignore": self._ignore},
                "images": images,
                "annotations": self._objects.get(split, []),
                "categories": [{"id": i, "name": n} for i, n in sorted(self._categories.items())],
            }
            with atomic(self._folder / FOLDER / f"{split}.json") as file:
                file.write(json.dumps(content).encode())

    def _annotate(
        self, split: str, image: int, label: int, mask: Mask, *, crowd: bool = False
    ) -> None:
        """Add one object."""
        known = self._objects.setdefault(split, [])
        rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
        left, top = int(columns[0]), int(rows[0])
        box = [left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1]
        known.append(
            {
                "id": len(known) + 1,
                "image_id": image,
                "category_id": label,
                "bbox": box,
                "area": int(np.count_nonzero(mask)),
                "iscrowd": int(crowd),
                "segmentation": _runs(mask) if crowd else _segmentation(mask),
            }
        )


def read_coco(path: str | Path) -> dict[str, tuple[NDArray[np.uint16], NDArray[np.int32]]]:
    """Read the objects of a COCO file as label images.

    Parameters
    ----------
    path : str or Path
        The JSON file.

    Returns
    -------
    dict of str to tuple of numpy.ndarray
        By name of the image: (Y, X) classes, crowds as the label that says nothing; and
        (Y, X) numbers of objects.

    Raises
    ------
    FileFormatError
        When it is no such file.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        ignore = int(content.get("info", {}).get("ignore", 255))
        found = {}
        for image in content["images"]:
            own = [a for a in content["annotations"] if a["image_id"] == image["id"]]
            shape = (int(image["height"]), int(image["width"]))
            found[str(image["file_name"])] = _drawn(own, shape, ignore)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise FileFormatError(f"'{path}' cannot be read as COCO ({fault!r}).") from fault
    return found


def _drawn(
    annotations: Sequence[Mapping[str, Any]], shape: tuple[int, int], ignore: int
) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Draw all objects of one image."""
    labels, objects = np.zeros(shape, np.uint16), np.zeros(shape, np.int32)
    for number, entry in enumerate(annotations, start=1):
        mask = _mask(entry["segmentation"], shape)
        if entry.get("iscrowd"):
            labels[mask] = ignore
            continue
        labels[mask], objects[mask] = entry["category_id"], number
    return labels, objects


def _mask(segmentation: Any, shape: tuple[int, int]) -> Mask:
    """Draw one object."""
    if isinstance(segmentation, Mapping):
        return from_run_lengths(segmentation["counts"], segmentation["size"])
    return filled([np.reshape(np.asarray(p, float), (-1, 2)) for p in segmentation], shape)


def _segmentation(mask: Mask) -> Any:
    """Return polygons, or runs where there are holes."""
    outer, holes = rings_of(mask)
    return _runs(mask) if holes else [ring.ravel().tolist() for ring in outer]


def _runs(mask: Mask) -> dict[str, Any]:
    """Return run lengths as COCO has them."""
    return {"counts": run_lengths(mask), "size": list(mask.shape)}


def _placed(mask: Mask, where: tuple[slice, ...], shape: tuple[int, ...]) -> Mask:
    """Return the mask of a box in its image."""
    whole = np.zeros(shape, bool)
    whole[where] = mask
    return whole
