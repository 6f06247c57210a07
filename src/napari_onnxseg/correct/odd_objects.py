"""Objects to look at: those a model is in doubt about, and those of an odd shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from napari_onnxseg.correct.agreement import fitting_scale
from napari_onnxseg.correct.components import numbered
from napari_onnxseg.correct.pairs import blocks
from napari_onnxseg.correct.review_item import ReviewItem, identity_of
from napari_onnxseg.errors import ImageError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray

Order = Literal["doubt", "shape"]

_FEWEST = 5
"""Objects that are needed to say which of them are odd."""

_LEAST_SPREAD = 0.05
_ODD = 2.5
"""Deviations from the middle from which on an object is called odd."""


@dataclass(frozen=True, slots=True)
class Objects:
    """All objects of an image in figures, one row each.

    Parameters
    ----------
    ids : numpy.ndarray
        (N,) ascending.
    area_px, faces_px : numpy.ndarray
        (N,) pixels, and faces of pixels that something else lies behind.
    doubt : numpy.ndarray
        (N,) sums of a map of doubt; 0 without one.
    start, stop : numpy.ndarray
        (N, axes) boxes.
    """

    ids: NDArray[np.int64]
    area_px: NDArray[np.float64]
    faces_px: NDArray[np.float64]
    doubt: NDArray[np.float64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    def region(self, row: int) -> Region:
        """Return the box of an object."""
        return Region(tuple(self.start[row].tolist()), tuple(self.stop[row].tolist()))


def measure_objects(objects: Any, doubt: Any = None) -> Objects:
    """Measure all objects of an image, block by block.

    Parameters
    ----------
    objects : array-like
        Numbers of objects, 0 for none; of any size.
    doubt : array-like, optional
        Same shape, uint8.

    Returns
    -------
    Objects
        One row each.

    Raises
    ------
    ImageError
        When the two differ in shape.
    """
    shape = tuple(int(n) for n in objects.shape)
    if doubt is not None and tuple(doubt.shape) != shape:
        raise ImageError(
            f"The objects have {shape} px, the doubt {tuple(doubt.shape)} px; give maps of one "
            "image."
        )
    parts = [_measured(objects, doubt, region) for region in blocks(shape)]
    return _joined(parts, len(shape))


def find_objects(
    objects: Any,
    doubt: Any = None,
    *,
    order: Order = "doubt",
    scale: Sequence[float] | None = None,
    most: int = 1000,
) -> tuple[ReviewItem, ...]:
    """Find the objects to look at first.

    Parameters
    ----------
    objects, doubt : array-like
        As in `measure_objects`.
    order : {"doubt", "shape"}, optional
        By mean doubt; or by how far size and raggedness lie from those of the others, the only
        order there is without a map of doubt.
    scale : sequence of float, optional
        World units per pixel, one per axis.
    most : int, optional
        Length of the queue at most.

    Returns
    -------
    tuple of ReviewItem
        The queue; their label is the number of the object, their reason what is odd.

    Raises
    ------
    ImageError
        When the two differ in shape.
    ChoiceError
        When the scale does not fit.
    """
    found = measure_objects(objects, doubt)
    sizes = fitting_scale(scale, len(objects.shape))
    odd, reasons = oddness(found, len(sizes))
    mean = found.doubt / np.maximum(found.area_px, 1) / 255
    by_shape = order == "shape" or doubt is None
    weight = odd if doubt is None else found.doubt
    share = weight / max(float(weight.sum()), 1e-9)
    ordered = np.argsort(-(odd if by_shape else mean), kind="stable")[:most]
    return tuple(
        ReviewItem(
            identity=f"{identity_of('object', found.region(int(row)))} id {found.ids[row]}",
            kind="object",
            region=found.region(int(row)),
            label=int(found.ids[row]),
            size=float(found.area_px[row]) * prod(sizes),
            doubt=float(mean[row]),
            share=float(share[row]),
            reason=reasons[row],
        )
        for row in ordered
    )


def oddness(found: Objects, ndim: int) -> tuple[NDArray[np.float64], list[str]]:
    """Tell how far each object lies from the others in size and raggedness.

    Parameters
    ----------
    found : Objects
        All objects.
    ndim : int
        Axes of the image.

    Returns
    -------
    odd : numpy.ndarray
        (N,) robust standard deviations from the middle, the larger of both; 0 where there are
        too few objects.
    reasons : list of str
        In words; nothing for usual ones.
    """
    if len(found.ids) < _FEWEST:
        return np.zeros(len(found.ids)), [""] * len(found.ids)
    size = _deviations(np.log(found.area_px))
    compact = np.log(found.area_px) * (1 - 1 / ndim) - np.log(np.maximum(found.faces_px, 1))
    ragged = -_deviations(compact)
    odd = np.maximum(np.abs(size), np.maximum(ragged, 0))
    words = []
    for one, other in zip(size.tolist(), ragged.tolist(), strict=True):
        found_odd = [
            "unusually large" if one > _ODD else "unusually small" if one < -_ODD else "",
            "unusually ragged" if other > _ODD else "",
        ]
        words.append(", ".join(filter(None, found_odd)))
    return odd, words


def _deviations(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from the median in robust standard deviations."""
    away = values - np.median(values)
    return np.asarray(away / max(1.4826 * float(np.median(np.abs(away))), _LEAST_SPREAD))


def _measured(objects: Any, doubt: Any, region: Region) -> tuple[AnyArray, AnyArray]:
    """Return ids and figures of the objects in one block."""
    wide = region.grow((0,) * region.ndim, (1,) * region.ndim)
    seen = wide.intersect(Region.of_shape(objects.shape))
    values = np.asarray(objects[seen.slices])
    ids, where = numbered(values)
    inner = where[region.relative_to(seen).slices]
    area = np.bincount(inner.ravel(), minlength=len(ids))
    faces = _faces(where, region.relative_to(seen), len(ids))
    weights = np.zeros(1) if doubt is None else np.asarray(doubt[region.slices], np.float64)
    sums = np.bincount(inner.ravel(), np.broadcast_to(weights, inner.shape).ravel(), len(ids))
    boxes = [
        ([s.start for s in box], [s.stop for s in box]) if box else _no_box(region.ndim)
        for box in ndimage.find_objects(inner + 1, len(ids))
    ]
    corners = np.array(boxes, float).reshape(len(ids), 2, region.ndim)
    corners += np.array(region.start, float)
    rows = np.concatenate([np.stack([area, faces, sums], 1), corners.reshape(len(ids), -1)], axis=1)
    return ids.astype(np.int64), rows


def _no_box(ndim: int) -> tuple[list[float], list[float]]:
    """Return the box of an object that only the neighbouring block has."""
    return [np.inf] * ndim, [-np.inf] * ndim


def _faces(where: AnyArray, inner: Region, count: int) -> AnyArray:
    """Count the faces between each object and others; a face belongs to the block before it."""
    total = np.zeros(count)
    for axis in range(where.ndim):
        part = list(inner.slices)
        part[axis] = slice(inner.start[axis], where.shape[axis])
        line = np.moveaxis(where[tuple(part)], axis, 0)
        differs = line[1:] != line[:-1]
        for side in (line[1:], line[:-1]):
            total += np.bincount(side[differs], minlength=count)
    return total


def _joined(parts: list[tuple[AnyArray, AnyArray]], ndim: int) -> Objects:
    """Join the figures of blocks."""
    ids = np.concatenate([np.zeros(0, np.int64), *(ids for ids, _ in parts)])
    rows = np.concatenate([np.zeros((0, 3 + 2 * ndim)), *(rows for _, rows in parts)])
    known, where = np.unique(ids, return_inverse=True)
    sums = np.zeros((len(known), 3))
    np.add.at(sums, where, rows[:, :3])
    start, stop = np.full((len(known), ndim), np.inf), np.full((len(known), ndim), -np.inf)
    np.minimum.at(start, where, rows[:, 3 : 3 + ndim])
    np.maximum.at(stop, where, rows[:, 3 + ndim :])
    real = known != 0
    corners = [corner[real].astype(np.int64) for corner in (start, stop)]
    return Objects(known[real], sums[real, 0], sums[real, 1], sums[real, 2], *corners)
