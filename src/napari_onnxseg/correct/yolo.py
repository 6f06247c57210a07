"""Objects of training pairs in the format of YOLO segmentation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.correct.pair_card import Pair
from napari_onnxseg.correct.polygons import Ring, filled, objects_in, rings_of, with_holes
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.types import AnyArray, Mask

DATA = "data.yaml"


class YoloFiles:
    """Writes ``labels/train/*.txt``, ``labels/val/*.txt``, lists of images and ``data.yaml``.

    The format knows no "not looked at": only tiles that were accepted as a whole are in the
    lists. A hole is left out by a line that goes to it and back.

    Parameters
    ----------
    folder : Path
        Of the pairs.
    classes : sequence of ClassInfo
        Background apart, they are numbered from 0 in the order of their ids.
    ignore : int
        Label of pixels nobody has looked at.

    References
    ----------
    https://docs.ultralytics.com/datasets/segment/
    """

    def __init__(self, folder: Path, classes: Sequence[ClassInfo], ignore: int) -> None:
        self._folder = folder
        self._ignore = ignore
        self._names = {entry.id: entry.name for entry in classes if entry.id}
        self._lists: dict[str, list[str]] = {"train": [], "val": []}
        self._lines: dict[str, list[tuple[int, Ring]]] = {}

    def add(self, pair: Pair, labels: AnyArray, objects: AnyArray | None) -> None:
        """Take the objects of a pair, when all of it was accepted.

        Parameters
        ----------
        pair : Pair
            Which.
        labels : numpy.ndarray
            (Y, X) classes.
        objects : numpy.ndarray or None
            (Y, X) numbers of objects; connected pieces when left out.
        """
        if (labels == self._ignore).any():
            return
        lines = self._lines.setdefault(pair.image, [])
        self._lists[pair.split].append(pair.image)
        size = np.array(labels.shape[::-1], float)
        for label, where, mask in objects_in(labels, objects, self._ignore):
            self._names.setdefault(label, f"class {label}")
            corner = np.array([where[1].start, where[0].start], float)
            lines += [(label, (ring + corner) / size) for ring in _closed(mask)]

    def close(self) -> None:
        """Write the files.

        Raises
        ------
        FileFormatError
            When they cannot be written.
        """
        ids = {label: number for number, label in enumerate(sorted(self._names))}
        for image, lines in self._lines.items():
            text = "".join(
                f"{ids[label]} {' '.join(f'{n:.6f}' for n in ring.ravel())}\n"
                for label, ring in lines
            )
            _write(self._folder / labels_path(image), text)
        for split, images in self._lists.items():
            _write(self._folder / f"{split}.txt", "".join(f"./{image}\n" for image in images))
        names = "".join(f"  {ids[i]}: {json.dumps(self._names[i])}\n" for i in ids)
        _write(self._folder / DATA, f"path: .\ntrain: train.txt\nval: val.txt\nnames:\n{names}")
        _write(self._folder / "labels" / "ids.json", json.dumps({n: i for i, n in ids.items()}))


def labels_path(image: str) -> str:
    """Return the text that belongs to an image, as YOLO finds it."""
    path = PurePosixPath(image)
    return str(PurePosixPath("labels", *path.parts[1:]).with_suffix(".txt"))


def read_yolo(path: str | Path, shape: tuple[int, int]) -> NDArray[np.uint16]:
    """Read the objects of one image as a label image.

    Parameters
    ----------
    path : str or Path
        The text; ``ids.json`` in the folder above tells which class is which, without it the
        first is 1.
    shape : (int, int)
        Rows and columns of the image.

    Returns
    -------
    numpy.ndarray
        (Y, X) uint16 classes.

    Raises
    ------
    FileFormatError
        When it is no such file.
    """
    path = Path(path)
    labels = np.zeros(shape, np.uint16)
    try:
        ids = path.parent.parent / "ids.json"
        known = json.loads(ids.read_text("utf-8")) if ids.exists() else {}
        for line in path.read_text("utf-8").splitlines():
            number, *corners = line.split()
            ring = np.array(corners, float).reshape(-1, 2) * shape[::-1]
            labels[filled([ring], shape)] = known.get(number, int(number) + 1)
    except (OSError, ValueError) as fault:
        raise FileFormatError(f"'{path}' cannot be read as YOLO ({fault}).") from fault
    return labels


def _closed(mask: Mask) -> list[Ring]:
    """Return one ring for each piece of a mask, holes left out."""
    outer, holes = rings_of(mask)
    if len(outer) == 1:
        return [with_holes(outer[0], holes)]
    owned: list[list[Ring]] = [[] for _ in outer]
    for hole in holes:
        inside = [filled([ring], (mask.shape[0], mask.shape[1])) for ring in outer]
        row, column = (int(n) for n in (hole[0, ::-1] - 0.5).round())
        near = mask.shape[0] - 1, mask.shape[1] - 1
        place = (min(max(row, 0), near[0]), min(max(column, 0), near[1]))
        owner = next((i for i, area in enumerate(inside) if area[place]), 0)
        owned[owner].append(hole)
    return [with_holes(ring, own) for ring, own in zip(outer, owned, strict=True)]


def _write(path: Path, text: str) -> None:
    """Write a text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as file:
        file.write(text.encode())
