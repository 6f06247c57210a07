"""Places to look at, from a map of doubt of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from napari_onnxseg.correct.agreement import fitting_scale
from napari_onnxseg.correct.cells import Cells, pixels_of
from napari_onnxseg.correct.components import numbered
from napari_onnxseg.correct.review_item import Kind, ReviewItem, identity_of
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Mask

MOST_CELLS = 1 << 24
"""Cells that a map is summed up into."""


@dataclass(frozen=True, slots=True)
class ZoneRule:
    """What counts as a doubtful zone.

    Parameters
    ----------
    threshold : float
        Least mean doubt of a cell, in [0, 1].
    grain_px : int
        Side of a cell; larger for images of more than a thousand megapixels.
    min_size : float
        Smaller zones are left out, world units.
    merge : float
        Zones no further apart than this are one, world units.
    largest : float
        Longer zones are divided, world units; 0 for an eighth of the longest side, but 64 to
        512 pixels.
    spatial_ndim : int
        How many of the last axes are spatial; zones do not reach over others.
    most : int
        Length of the queue at most.
    """

    threshold: float = 0.2
    grain_px: int = 8
    min_size: float = 0.0
    merge: float = 0.0
    largest: float = 0.0
    spatial_ndim: int = 2
    most: int = 1000


def find_zones(
    doubt: Any,
    labels: Any = None,
    *,
    rule: ZoneRule | None = None,
    scale: Sequence[float] | None = None,
) -> tuple[ReviewItem, ...]:
    """Find connected zones of doubt, those with most doubt first.

    Parameters
    ----------
    doubt : array-like
        (..., Y, X) uint8, 255 for all doubt there can be; read block by block.
    labels : array-like, optional
        Same shape; tells the class of a zone.
    rule : ZoneRule, optional
        What counts.
    scale : sequence of float, optional
        World units per pixel, one per axis.

    Returns
    -------
    tuple of ReviewItem
        The queue. Boxes follow cells, so they are a little wider than the zones.

    Raises
    ------
    ChoiceError
        When rule or scale do not fit.
    """
    rule = rule or ZoneRule()
    shape = tuple(int(n) for n in doubt.shape)
    sizes = fitting_scale(scale, len(shape))
    cells = Cells.of(doubt, _sides(shape, rule))
    doubtful = cells.mean() >= max(rule.threshold * 255, 1e-6)
    zones = _connected(doubtful, _reach(rule.merge / 2, sizes, cells.sides), rule.spatial_ndim)
    zones = _divided(zones, _steps(rule, shape, sizes, cells.sides))
    items = _items("zone", cells, zones, sizes, rule.min_size)
    return with_labels(items[: rule.most], labels)


def find_tiles(
    doubt: Any,
    labels: Any = None,
    *,
    side_px: int = 256,
    scale: Sequence[float] | None = None,
    spatial_ndim: int = 2,
) -> tuple[ReviewItem, ...]:
    """Divide an image into tiles, those with most doubt first.

    Parameters
    ----------
    doubt, labels : array-like
        As in `find_zones`.
    side_px : int, optional
        Side of a tile on the spatial axes.
    scale : sequence of float, optional
        As in `find_zones`.
    spatial_ndim : int, optional
        How many of the last axes are spatial.

    Returns
    -------
    tuple of ReviewItem
        All tiles; those at the far sides may be smaller.

    Raises
    ------
    ChoiceError
        When the side is below 1, or the scale does not fit.
    """
    if side_px < 1:
        raise ChoiceError(f"The side of a tile is 1 px or more, got {side_px}.")
    ndim = len(doubt.shape)
    sides = tuple(1 if axis < ndim - spatial_ndim else side_px for axis in range(ndim))
    cells = Cells.of(doubt, sides)
    numbers = np.arange(1, cells.total.size + 1).reshape(cells.total.shape)
    return with_labels(_items("tile", cells, numbers, fitting_scale(scale, ndim), 0), labels)


def with_labels(items: Sequence[ReviewItem], labels: Any) -> tuple[ReviewItem, ...]:
    """Return places with their class: the most frequent, background only where it is alone.

    Parameters
    ----------
    items : sequence of ReviewItem
        The places.
    labels : array-like or None
        Read in each of them.

    Returns
    -------
    tuple of ReviewItem
        In the same order.
    """
    if labels is None:
        return tuple(items)
    return tuple(_with_label(item, labels) for item in items)


def _items(
    kind: Kind, cells: Cells, zones: NDArray[Any], sizes: Sequence[float], min_size: float
) -> list[ReviewItem]:
    """Return numbered zones of cells as places, most doubt first."""
    boxes = ndimage.find_objects(zones)
    numbers = zones.ravel()
    sums = np.bincount(numbers, cells.total.ravel(), len(boxes) + 1)[1:]
    areas = np.bincount(numbers, cells.area().ravel(), len(boxes) + 1)[1:]
    everything = max(float(cells.total.sum()), 1.0)
    pixel = prod(sizes)
    found = []
    for number in np.argsort(-sums, kind="stable"):
        box, area = boxes[number], float(areas[number])
        if box is None or area * pixel < min_size:
            continue
        inside = Region(tuple(s.start for s in box), tuple(s.stop for s in box))
        region = pixels_of(inside, cells.sides, cells.shape)
        mean, share = sums[number] / area / 255, sums[number] / everything
        identity = identity_of(kind, region)
        found.append(ReviewItem(identity, kind, region, 0, area * pixel, float(mean), float(share)))
    return found


def _with_label(item: ReviewItem, labels: Any) -> ReviewItem:
    """Return a place with its class."""
    ids, where = numbered(np.asarray(labels[item.region.slices]))
    counts = np.bincount(where.ravel(), minlength=len(ids))
    counts[ids == 0] = 0
    label = int(ids[counts.argmax()]) if counts.any() else 0
    return replace(item, label=label)


def _connected(doubtful: Mask, reach: Sequence[int], spatial_ndim: int) -> NDArray[Any]:
    """Return connected cells numbered; those within reach of each other are one."""
    ndim = doubtful.ndim
    leading = ndim - spatial_ndim
    near = np.zeros((3,) * ndim, bool)
    near[(1,) * leading] = True
    wide = doubtful
    if any(reach):
        spans = [1 if axis < leading else 2 * n + 1 for axis, n in enumerate(reach)]
        wide = ndimage.maximum_filter(doubtful, spans)
    numbers, _ = ndimage.label(wide, near)
    return np.where(doubtful, numbers, 0)


def _divided(zones: NDArray[Any], steps: Sequence[int]) -> NDArray[Any]:
    """Divide zones that are longer than a step, on a grid of steps."""
    numbers = zones.copy()
    following = int(zones.max(initial=0)) + 1
    for number, box in enumerate(ndimage.find_objects(zones), start=1):
        if box is None or all(s.stop - s.start <= n for s, n in zip(box, steps, strict=True)):
            continue
        for part in _grid(box, steps):
            numbers[part][zones[part] == number] = following
            following += 1
    return numbers


def _grid(box: tuple[slice, ...], steps: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Divide a box into even parts no longer than a step."""
    cuts = []
    for s, n in zip(box, steps, strict=True):
        parts = ceil((s.stop - s.start) / n)
        places = [s.start + (s.stop - s.start) * i // parts for i in range(parts + 1)]
        cuts.append([slice(a, b) for a, b in pairwise(places)])
    for corner in np.ndindex(*map(len, cuts)):
        yield tuple(cuts[axis][i] for axis, i in enumerate(corner))


def _sides(shape: tuple[int, ...], rule: ZoneRule) -> tuple[int, ...]:
    """Return the sides of cells: no more cells than memory holds."""
    if rule.grain_px < 1 or not 1 <= rule.spatial_ndim <= len(shape):
        raise ChoiceError(
            f"Cells of {rule.grain_px} px on {rule.spatial_ndim} axes do not fit {len(shape)} axes."
        )
    grain = rule.grain_px
    while True:
        leading = len(shape) - rule.spatial_ndim
        sides = tuple(1 if axis < leading else min(grain, n) for axis, n in enumerate(shape))
        if prod(-(-n // s) for n, s in zip(shape, sides, strict=True)) <= MOST_CELLS:
            return sides
        grain *= 2


def _steps(
    rule: ZoneRule, shape: tuple[int, ...], sizes: Sequence[float], sides: tuple[int, ...]
) -> list[int]:
    """Return the longest zone in cells, on each axis."""
    usual = min(512.0, max(64.0, max(shape) / 8)) * min(sizes[-rule.spatial_ndim :])
    largest = rule.largest or usual
    return [max(1, n) for n in _reach(largest, sizes, sides)]


def _reach(distance: float, sizes: Sequence[float], sides: Sequence[int]) -> list[int]:
    """Return a distance in cells, on each axis."""
    return [ceil(distance / (size * side)) for size, side in zip(sizes, sides, strict=True)]
