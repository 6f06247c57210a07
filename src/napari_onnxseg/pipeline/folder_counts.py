"""What is counted in the result of an image, for the summary of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from napari_onnxseg.arrays.files import ImageFile
from napari_onnxseg.cards.card import Head
from napari_onnxseg.pipeline.job import MatteResult, SegmentResult
from napari_onnxseg.pipeline.pixel_size import stated_pixel_size

SUBJECT = "subject"
"""What a cut-out counts: pixels that are at least half opaque."""

HALF_OPAQUE = 128


def columns_of(names: Sequence[str], *, objects: bool) -> tuple[str, ...]:
    """Return the columns of a summary.

    Parameters
    ----------
    names : sequence of str
        Classes, as `class_words` gives them.
    objects : bool
        Whether objects are counted.

    Returns
    -------
    tuple of str
        Pixels, share and area of each class; then the unit of area, and objects.
    """
    each = [f"{name} {what}" for name in names for what in ("pixels", "share", "area")]
    return (*each, "area unit", *(["objects"] if objects else []))


def class_words(heads: Sequence[Head]) -> tuple[str, ...]:
    """Return the classes of some outputs, each with its output where there are several.

    Parameters
    ----------
    heads : sequence of Head
        Those that are wanted.

    Returns
    -------
    tuple of str
        Without those of outputs that give values.
    """
    return tuple(word for head in heads for word in _words(head, len(heads) > 1).values())


def segment_row(result: SegmentResult, image: ImageFile) -> dict[str, Any]:
    """Count the classes and objects of a segmentation.

    Parameters
    ----------
    result : SegmentResult
        Arrays and record.
    image : ImageFile
        For its pixel size.

    Returns
    -------
    dict
        As `columns_of` names them.
    """
    counts: dict[str, int] = {}
    several = len(result.heads) > 1
    for head, record in zip(result.heads, result.record["outputs"], strict=True):
        if head.labels is not None:
            pixels = record.get("pixels", {})
            words = _words(head.head, several)
            counts |= {word: int(pixels.get(str(i), 0)) for i, word in words.items()}
    total = next((head.labels.size for head in result.heads if head.labels is not None), 0)
    row = _measured(counts, total, image)
    found = [_objects(head.objects) for head in result.heads if head.objects is not None]
    return {**row, "objects": sum(found)} if found else row


def matte_row(result: MatteResult, image: ImageFile) -> dict[str, Any]:
    """Count the pixels of a subject.

    Parameters
    ----------
    result : MatteResult
        Colours with alpha.
    image : ImageFile
        For its pixel size.

    Returns
    -------
    dict
        As `columns_of` names them.
    """
    alpha = result.rgba[..., 3]
    inside = int(np.count_nonzero(alpha >= HALF_OPAQUE))
    return _measured({SUBJECT: inside}, alpha.size, image)


def _words(head: Head, several: bool) -> dict[int, str]:
    """Return how each class of an output is called in a table."""
    if head.task == "image":
        return {}
    prefix = f"{head.name}: " if several else ""
    return {info.id: f"{prefix}{info.name}" for info in head.classes}


def _measured(counts: Mapping[str, int], total: int, image: ImageFile) -> dict[str, Any]:
    """Return pixels, share of all, and area where the size of a pixel is known."""
    size = stated_pixel_size(image.scale, image.units)
    row: dict[str, Any] = {}
    for name, pixels in counts.items():
        row[f"{name} pixels"] = pixels
        row[f"{name} share"] = round(pixels / total, 6) if total else None
        if size is not None:
            row[f"{name} area"] = float(f"{pixels * prod(size[0]):.6g}")
    return {**row, "area unit": f"{size[1]}²"} if size is not None and counts else row


def _objects(objects: Any) -> int:
    """Return how many objects there are; numbers begin anew in each plane."""
    planes = np.asarray(objects).reshape(-1, *objects.shape[-2:])
    return sum(int(plane.max(initial=0)) for plane in planes)
