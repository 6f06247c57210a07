"""Weights that let tiles with common pixels add up to one picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.tiling.axis import Axis
from napari_onnxseg.tiling.plan import TilePlan

_FLOAT32_BITS = 24


def axis_windows(plan: TilePlan) -> list[list[NDArray[np.float32]]]:
    """Return the weight of each tile along each axis; a tile's weight is their product.

    Straight ramps where kept parts overlap, 1 elsewhere. Weights are whole multiples of a
    power of two small enough that sums and products stay exact in float32, so that the
    weights of a pixel sum to 1 exactly, and never vanish.

    Parameters
    ----------
    plan : TilePlan
        The tiles.

    Returns
    -------
    list of list of numpy.ndarray
        For each axis, for each tile along it: (kept pixels,) float32 in (0, 1].
    """
    levels = 2 ** (_FLOAT32_BITS // len(plan.axes))
    return [_windows(axis, levels) for axis in plan.axes]


def _windows(axis: Axis, levels: int) -> list[NDArray[np.float32]]:
    """Return one window a tile along an axis."""
    spans = (axis.keep(i) for i in range(axis.count))
    keeps = [(a - axis.begin, b - axis.begin) for a, b in spans]
    length = axis.stop - axis.begin
    ramps = [_ramp(axis, i, *keep) for i, keep in enumerate(keeps)]
    total = _summed(keeps, ramps, length)
    windows = [
        np.maximum(np.rint(ramp / total[a:b] * levels), 1)
        for ramp, (a, b) in zip(ramps, keeps, strict=True)
    ]
    _settle(keeps, windows, levels, length)
    return [(window / levels).astype(np.float32) for window in windows]


def _ramp(axis: Axis, number: int, start: int, stop: int) -> NDArray[np.float64]:
    """Return the distance to the nearer inner end, in pixels, cut at the overlap."""
    to_start = np.arange(stop - start) + 0.5
    most = float(max(axis.overlap, 1))
    left = to_start if number else np.full_like(to_start, most)
    right = to_start[::-1] if number < axis.count - 1 else np.full_like(to_start, most)
    ramp: NDArray[np.float64] = np.minimum(np.minimum(left, right), most)
    return ramp


def _summed(
    keeps: list[tuple[int, int]], parts: list[NDArray[np.float64]], length: int
) -> NDArray[np.float64]:
    """Add the parts up along the axis."""
    total = np.zeros(length)
    for (a, b), part in zip(keeps, parts, strict=True):
        total[a:b] += part
    return total


def _settle(
    keeps: list[tuple[int, int]], windows: list[NDArray[np.float64]], levels: int, length: int
) -> None:
    """Give what rounding left over to the heaviest tile of each pixel."""
    rest = levels - _summed(keeps, windows, length)
    heaviest = np.zeros(length)
    for (a, b), window in zip(keeps, windows, strict=True):
        np.maximum(heaviest[a:b], window, out=heaviest[a:b])
    for (a, b), window in zip(keeps, windows, strict=True):
        share = np.where(window == heaviest[a:b], rest[a:b], 0)
        window += share
        rest[a:b] -= share
