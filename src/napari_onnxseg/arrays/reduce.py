"""The coarser levels of a pyramid: what two by two (by two) pixels become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Literal

import numpy as np

from napari_onnxseg.types import AnyArray

Reduction = Literal["majority", "mean", "cutout"]
"""For labels, for images, and for RGBA with straight alpha on the first axis of channels."""


def halve(block: AnyArray, axes: Sequence[int], how: Reduction, channel: int = 0) -> AnyArray:
    """Halve some axes of a block that starts at an even pixel.

    Parameters
    ----------
    block : numpy.ndarray
        Any axes; where a length is odd the last pixel stands for two.
    axes : sequence of int
        Axes to halve, each to half its length, rounded up.
    how : {"majority", "mean", "cutout"}
        Labels take the most frequent value, of equally frequent ones the first that is not
        background. Images take the mean, whole numbers rounded. Cut-outs take the mean of
        their colours weighted by opacity, so that what is invisible does not show.
    channel : int, optional
        Axis of red, green, blue, opacity in a cut-out.

    Returns
    -------
    numpy.ndarray
        Smaller, of the same dtype.
    """
    corners = _corners(block, axes)
    if how == "majority" and block.size and block.min() == block.max():
        return corners[0]
    return _RULES[how](corners, channel)


def _corners(block: AnyArray, axes: Sequence[int]) -> list[AnyArray]:
    """Return every place of the small cells as an array of its own, in raster order."""
    odd = [(0, axis in axes and length % 2) for axis, length in enumerate(block.shape)]
    even = np.pad(block, odd, mode="edge") if any(extra for _, extra in odd) else block
    corners = []
    for place in product((0, 1), repeat=len(axes)):
        where = [slice(None)] * block.ndim
        for axis, start in zip(axes, place, strict=True):
            where[axis] = slice(start, None, 2)
        corners.append(np.ascontiguousarray(even[tuple(where)]))
    return corners


def _majority(corners: list[AnyArray], _: int) -> AnyArray:
    """Count how often each corner's value is met, and take the best."""
    best = corners[0].copy()
    most = _votes(corners, 0)
    for number in range(1, len(corners)):
        votes = _votes(corners, number)
        better = votes > most
        best[better] = corners[number][better]
        np.maximum(most, votes, out=most)
    return best


def _votes(corners: list[AnyArray], number: int) -> AnyArray:
    """Return twice how often a corner's value is met, and one more where it is no background."""
    candidate = corners[number]
    votes: AnyArray = (candidate != 0).astype(np.uint8)
    for corner in corners:
        votes += (corner == candidate).view(np.uint8) * np.uint8(2)
    return votes


def _mean(corners: list[AnyArray], _: int) -> AnyArray:
    """Return the mean, rounded for whole numbers."""
    dtype = corners[0].dtype
    if dtype.kind in "bui" and dtype.itemsize <= 4:
        whole = np.full(corners[0].shape, len(corners) // 2, np.int64)
        for corner in corners:
            whole += corner
        rounded: AnyArray = (whole // len(corners)).astype(dtype)
        return rounded
    total = np.zeros(corners[0].shape, np.float64)
    for corner in corners:
        total += corner.astype(np.float64) / len(corners)
    return (total if dtype.kind == "f" else np.rint(total)).astype(dtype)


def _cutout(corners: list[AnyArray], channel: int) -> AnyArray:
    """Return colours weighted by opacity, and the mean opacity, uint8."""
    stacked = [np.moveaxis(corner, channel, 0).astype(np.int32) for corner in corners]
    opacity = sum(corner[3] for corner in stacked)
    weight = np.maximum(opacity, 1)
    colours = sum(corner[:3] * corner[3] for corner in stacked)
    mean = np.concatenate(
        [
            (colours + weight // 2) // weight,
            ((opacity + len(stacked) // 2) // len(stacked))[np.newaxis],
        ]
    )
    cutout: AnyArray = np.moveaxis(mean.astype(np.uint8), 0, channel)
    return cutout


_RULES: dict[Reduction, Callable[[list[AnyArray], int], AnyArray]] = {
    "majority": _majority,
    "mean": _mean,
    "cutout": _cutout,
}
