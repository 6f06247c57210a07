"""Bring a change at full resolution to the coarser levels of a pyramid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from napari_onnxseg.arrays.reduce import halve
from napari_onnxseg.correct.pairs import blocks
from napari_onnxseg.errors import ImageError
from napari_onnxseg.tiling.region import Region


def update_levels(levels: Sequence[Any], region: Region) -> None:
    """Write the labels of a region again on all coarser levels.

    Parameters
    ----------
    levels : sequence of array-like
        Labels at full resolution and at coarser ones, each axis as long as before or half as
        long, rounded up; writable numpy or zarr arrays.
    region : Region
        What changed at full resolution, such as the box of an `Edit`.

    Raises
    ------
    ImageError
        When a level is not the one before it, halved; nothing was written then.
    """
    halved = [_halved_axes(*pair) for pair in pairwise(levels)]
    changed = region.intersect(Region.of_shape(levels[0].shape))
    for (fine, coarse), axes in zip(pairwise(levels), halved, strict=True):
        changed = _within_pairs(changed, axes, fine.shape)
        target = _half(changed, axes)
        for block in blocks(target.shape):
            part = block.shift(target.start)
            source = _double(part, axes, fine.shape)
            coarse[part.slices] = halve(np.asarray(fine[source.slices]), axes, "majority")
        changed = target


def _halved_axes(fine: Any, coarse: Any) -> tuple[int, ...]:
    """Return the axes on which a level is half as long as the one before."""
    pairs = list(zip(fine.shape, coarse.shape, strict=True))
    for n, m in pairs:
        if m not in (n, -(-n // 2)):
            raise ImageError(
                f"A level of {tuple(coarse.shape)} px is not half of {tuple(fine.shape)} px; only "
                "pyramids that halve can be written."
            )
    return tuple(axis for axis, (n, m) in enumerate(pairs) if m != n)


def _within_pairs(region: Region, axes: Sequence[int], shape: Sequence[int]) -> Region:
    """Return a box widened to whole pairs of pixels on some axes."""
    return _double(_half(region, axes), axes, shape)


def _half(region: Region, axes: Sequence[int]) -> Region:
    """Return a box on the next coarser level, rounded outwards."""
    ends = list(enumerate(zip(region.start, region.stop, strict=True)))
    return Region(
        tuple(a // 2 if axis in axes else a for axis, (a, _) in ends),
        tuple(-(-b // 2) if axis in axes else b for axis, (_, b) in ends),
    )


def _double(region: Region, axes: Sequence[int], shape: Sequence[int]) -> Region:
    """Return the pixels of the next finer level under a box."""
    start = tuple(2 * n if axis in axes else n for axis, n in enumerate(region.start))
    stop = (2 * n if axis in axes else n for axis, n in enumerate(region.stop))
    return Region(start, tuple(min(n, m) for n, m in zip(stop, shape, strict=True)))
