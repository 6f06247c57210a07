"""Images and scores at another size; pixel centres stay in place (half-pixel rule)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.types import Alpha, Pixels, Scores

ReadBand = Callable[[int, int], Pixels]
"""Gives (C, stop - start, X) pixels of rows start to stop."""

_BAND_VALUES = 2_000_000

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Taps:
    """Which input pixels make each output pixel: (n,) first ones and (n, taps) weights."""

    first: NDArray[np.intp]
    weights: Floats

    def rows(self, start: int, stop: int) -> tuple[int, int]:
        """Return the input pixels that output pixels ``start`` to ``stop`` look at."""
        used = self.first[start:stop]
        return int(used[0]), int(used[-1]) + self.weights.shape[1]

    def part(self, start: int, stop: int, origin: int) -> _Taps:
        """Return the taps of some output pixels, counted from input pixel ``origin``."""
        return _Taps(self.first[start:stop] - origin, self.weights[start:stop])


def shrink_to(read_band: ReadBand, shape: Sequence[int], out_shape: Sequence[int]) -> Floats:
    """Resize an image with an antialiased triangle filter, band by band.

    The filter is that of PIL's ``BILINEAR`` and of torch's
    ``interpolate(mode="bilinear", antialias=True, align_corners=False)``: as wide as the
    shrinking asks for, plain bilinear where the image grows.

    Parameters
    ----------
    read_band : callable
        ``read_band(start, stop)`` gives rows of the image, (C, stop - start, X), finite.
    shape : sequence of int
        (Y, X) of the image.
    out_shape : sequence of int
        (Y, X) wanted.

    Returns
    -------
    numpy.ndarray
        (C, *out_shape) float32 in the units of the image.
    """
    down, across = (_triangle(n, m) for n, m in zip(shape, out_shape, strict=True))
    bands = []
    for start, stop in _bands(down, shape[1]):
        first, last = down.rows(start, stop)
        pixels = np.ascontiguousarray(read_band(first, last), np.float32)
        tall = _down(pixels, down.part(start, stop, first))
        bands.append(_gathered(tall, across, 2))
    image: Floats = np.concatenate(bands, axis=1)
    return image


def enlarge_rows(small: Alpha, shape: Sequence[int], rows: slice) -> Alpha:
    """Enlarge some rows of a plane bilinearly, never beyond its own values.

    Parameters
    ----------
    small : numpy.ndarray
        (h, w) float32.
    shape : sequence of int
        (Y, X) of the whole enlarged plane; sides smaller than those of ``small`` are
        filtered as in `shrink_to`.
    rows : slice
        Rows of the enlarged plane, with start and stop.

    Returns
    -------
    numpy.ndarray
        (rows, X) float32, the same whatever rows are asked for together.
    """
    start, stop, _ = rows.indices(shape[0])
    if start >= stop:
        return np.empty((0, shape[1]), np.float32)
    down, across = (_triangle(n, m) for n, m in zip(small.shape, shape, strict=True))
    first, last = down.rows(start, stop)
    wide = _gathered(small[None, first:last], across, 2)
    rows_out: Alpha = _down(wide, down.part(start, stop, first))[0]
    np.clip(rows_out, small.min(), small.max(), out=rows_out)
    return rows_out


def rescale_scores(scores: Scores, out_shape: Sequence[int]) -> Scores:
    """Bring scores to the resolution of the image.

    Parameters
    ----------
    scores : numpy.ndarray
        (K, y, x) or (K, z, y, x) float32.
    out_shape : sequence of int
        Spatial shape wanted: larger sides are interpolated linearly, smaller ones are the
        mean of what they cover.

    Returns
    -------
    numpy.ndarray
        (K, *out_shape) float32.
    """
    for axis in range(len(out_shape), 0, -1):
        scores = _along(scores, axis, out_shape[axis - 1])
    return scores.astype(np.float32, copy=False)


def repeat_ids(ids: Scores, out_shape: Sequence[int]) -> Scores:
    """Bring class ids to the resolution of the image; no id is ever made up.

    Parameters
    ----------
    ids : numpy.ndarray
        (1, y, x) or (1, z, y, x), any dtype.
    out_shape : sequence of int
        Spatial shape wanted.

    Returns
    -------
    numpy.ndarray
        (1, *out_shape) of the same dtype: at each pixel the id that lies nearest.
    """
    for axis, side in enumerate(out_shape, start=1):
        length = ids.shape[axis]
        if length != side:
            ids = ids.take((2 * np.arange(side) + 1) * length // (2 * side), axis=axis)
    return ids


def _along(scores: Scores, axis: int, side: int) -> Scores:
    """Bring one axis to ``side`` pixels."""
    length = scores.shape[axis]
    if length == side:
        return scores
    if length % side == 0:
        return _mean(scores, axis, length // side)
    taps = _triangle(length, side)
    rows = scores.ndim == 3 and axis == 1
    return _down(scores, taps) if rows else _gathered(scores, taps, axis)


def _triangle(length: int, out_length: int) -> _Taps:
    """Return the taps of a triangle filter from ``length`` to ``out_length`` pixels."""
    scale = length / out_length
    support = max(scale, 1.0)
    centres = (np.arange(out_length) + 0.5) * scale
    taps = min(int(np.ceil(2 * support)), length)
    first = np.clip(np.floor(centres - support + 0.5).astype(np.intp), 0, length - taps)
    places = first[:, None] + np.arange(taps)
    weights = np.maximum(1 - np.abs((places + 0.5 - centres[:, None]) / support), 0)
    weights /= weights.sum(1, keepdims=True)
    return _Taps(first, weights.astype(np.float32))


def _bands(down: _Taps, width: int) -> Iterator[tuple[int, int]]:
    """Divide the output rows so that the input of each band stays small."""
    count, taps = down.weights.shape
    per_row = max(1.0, (down.first[-1] + taps) / count)
    step = max(1, int((_BAND_VALUES / max(width, 1) - taps) / per_row))
    for start in range(0, count, step):
        yield start, min(start + step, count)


def _down(values: Floats, taps: _Taps) -> Floats:
    """Filter (C, rows, X) along the rows: one small matrix product an output row."""
    count, width = taps.weights.shape
    out = np.empty((len(values), count, values.shape[2]), np.float32)
    for row, (first, weights) in enumerate(zip(taps.first, taps.weights, strict=True)):
        np.matmul(weights, values[:, first : first + width], out=out[:, row])
    return out


def _gathered(values: Floats, taps: _Taps, axis: int) -> Floats:
    """Filter along an axis, tap by tap: sums in one order, so equal in bands of any height."""
    ones = (1,) * (values.ndim - 1 - axis)
    weights = [taps.weights[:, tap].reshape(-1, *ones) for tap in range(taps.weights.shape[1])]
    total: Floats = np.take(values, taps.first, axis=axis) * weights[0]
    for tap, weight in enumerate(weights[1:], start=1):
        total += np.take(values, taps.first + tap, axis=axis) * weight
    return total


def _mean(values: Floats, axis: int, factor: int) -> Floats:
    """Average groups of ``factor`` along an axis."""
    before = (slice(None),) * axis
    total = values[(*before, slice(0, None, factor))].astype(np.float32)
    for place in range(1, factor):
        total += values[(*before, slice(place, None, factor))]
    total *= np.float32(1 / factor)
    return total
