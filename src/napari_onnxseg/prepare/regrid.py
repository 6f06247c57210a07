"""From one pixel grid to another over the same extent, any part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray

NEGLIGIBLE = 1e-6
"""Weight below which a pixel does not count; rounding alone makes smaller ones."""


@dataclass(frozen=True, slots=True)
class Taps:
    """Which pixels of an axis make each pixel of the other grid.

    Parameters
    ----------
    places : numpy.ndarray
        (out, taps) intp; a place without weight repeats the pixel that lies nearest.
    weights : numpy.ndarray
        (out, taps) float64, summing to 1 over the taps.
    """

    places: NDArray[np.intp]
    weights: NDArray[np.float64]

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """Return the pixels that pixels ``start`` to ``stop`` of the other grid look at."""
        used = self.places[start:stop]
        return int(used.min()), int(used.max()) + 1


@dataclass(frozen=True, slots=True)
class Regrid:
    """A grid of pixels over the extent of another; centres keep their place.

    Values of a pixel are weighted sums in one order, so that each is the same to the last
    bit whatever part is worked on together.

    Parameters
    ----------
    shape : tuple of int
        Pixels of the grid that values come from.
    out : tuple of int
        Pixels of the grid that they are wanted on.
    """

    shape: tuple[int, ...]
    out: tuple[int, ...]

    def reach(self, axis: int) -> int:
        """Return how many pixels a value looks beyond the pixel that its centre lies in."""
        length, wanted = self.shape[axis], self.out[axis]
        return 0 if length == wanted else ceil(max(1.0, length / wanted) + 0.5) - 1

    def first(self, axis: int, pixel: int) -> int:
        """Return the first wanted pixel whose centre lies in ``pixel`` or beyond it.

        Parameters
        ----------
        axis : int
            Spatial axis.
        pixel : int
            Of the grid that values come from, up to its length.

        Returns
        -------
        int
            Pixel of the wanted grid, up to its length.
        """
        length, wanted = self.shape[axis], self.out[axis]
        return min(wanted, max(0, -((length - 2 * wanted * pixel) // (2 * length))))

    def within(self, region: Region) -> Region:
        """Return the wanted pixels whose centres lie in a region of the other grid."""
        axes = range(len(self.shape))
        return Region(
            tuple(self.first(axis, region.start[axis]) for axis in axes),
            tuple(self.first(axis, region.stop[axis]) for axis in axes),
        )

    def needs(self, region: Region) -> Region:
        """Return the pixels that a region of the wanted grid, not empty, is made of."""
        spans = [
            taps.span(start, stop) if taps else (start, stop)
            for taps, start, stop in zip(self._taps, region.start, region.stop, strict=True)
        ]
        starts, stops = zip(*spans, strict=True)
        return Region(starts, stops)

    def filtered(
        self,
        values: AnyArray,
        begin: Sequence[int],
        region: Region,
        dtype: Any = np.float32,
    ) -> AnyArray:
        """Bring values to the wanted grid: a triangle filter, as wide as shrinking asks for.

        Parameters
        ----------
        values : numpy.ndarray
            (C, ...) part of the other grid; where it lacks a pixel, its nearest stands in.
        begin : sequence of int
            Its first pixel on each axis.
        region : Region
            What is wanted.
        dtype : data-type
            Float to work in.

        Returns
        -------
        numpy.ndarray
            (C, *region.shape) of that float.
        """
        for axis, taps in enumerate(self._taps):
            start, stop = region.start[axis], region.stop[axis]
            if taps is None:
                here = slice(start - begin[axis], stop - begin[axis])
                values = values[(slice(None),) * (axis + 1) + (here,)]
            else:
                part = Taps(taps.places[start:stop] - begin[axis], taps.weights[start:stop])
                values = _weighted(values, part, axis + 1, dtype)
        return np.asarray(values, dtype)

    def nearest(self, values: AnyArray, begin: Sequence[int], region: Region) -> AnyArray:
        """Bring values to the wanted grid without making up new ones.

        Parameters
        ----------
        values : numpy.ndarray
            (C, ...) part of the other grid.
        begin : sequence of int
            Its first pixel on each axis.
        region : Region
            What is wanted.

        Returns
        -------
        numpy.ndarray
            (C, *region.shape) of the same dtype.
        """
        for axis, (length, wanted) in enumerate(zip(self.shape, self.out, strict=True)):
            places = _nearest(length, wanted, region.start[axis], region.stop[axis])
            places = np.clip(places - begin[axis], 0, values.shape[axis + 1] - 1)
            values = values.take(places, axis=axis + 1)
        return values

    @property
    def _taps(self) -> tuple[Taps | None, ...]:
        """The taps of each axis; None for one that stays as it is."""
        pairs = zip(self.shape, self.out, strict=True)
        return tuple(None if n == m else triangle(n, m) for n, m in pairs)


@lru_cache(maxsize=16)
def triangle(length: int, out: int) -> Taps:
    """Return the taps of a triangle filter with half-pixel centres.

    They are those of PIL's ``BILINEAR``: as wide as the shrinking asks for, bilinear where
    the grid grows, cut off at the borders.

    Parameters
    ----------
    length, out : int
        Pixels of the axis, and wanted.

    Returns
    -------
    Taps
        Of all wanted pixels.
    """
    scale = length / out
    support = max(scale, 1.0)
    centres = (np.arange(out)[:, None] + 0.5) * scale
    first = np.floor(centres - support + 0.5).astype(np.intp)
    places = first + np.arange(ceil(2 * support))
    weights = np.maximum(1 - np.abs((places + 0.5 - centres) / support), 0)
    weights[(places < 0) | (places >= length) | (weights < NEGLIGIBLE)] = 0
    weights /= weights.sum(1, keepdims=True)
    nearest = _nearest(length, out, 0, out)[:, None]
    return Taps(np.where(weights > 0, places, nearest), weights)


def row_bands(region: Region, values_per_row: int, most: int) -> Iterator[Region]:
    """Cut a region into bands of rows that hold a bounded number of values.

    Parameters
    ----------
    region : Region
        Of the plane.
    values_per_row : int
        Values that one of its rows stands for.
    most : int
        Values of one band; a band has one row at least.

    Yields
    ------
    Region
        From the top to the bottom.
    """
    rows = max(1, most // max(1, values_per_row))
    for start in range(region.start[0], region.stop[0], rows):
        stop = min(start + rows, region.stop[0])
        yield Region((start, *region.start[1:]), (stop, *region.stop[1:]))


def _nearest(length: int, out: int, start: int, stop: int) -> NDArray[np.intp]:
    """Return the pixel that the centre of each wanted pixel lies in."""
    return (2 * np.arange(start, stop, dtype=np.intp) + 1) * length // (2 * out)


def _weighted(values: AnyArray, taps: Taps, axis: int, dtype: Any) -> AnyArray:
    """Add up tap by tap: always in the same order."""
    places = np.clip(taps.places, 0, values.shape[axis] - 1)
    weights = taps.weights.astype(dtype)
    ones = (1,) * (values.ndim - 1 - axis)
    total: AnyArray = np.zeros(0, dtype)
    for tap in range(weights.shape[1]):
        piece = values.take(places[:, tap], axis=axis)
        weight = weights[:, tap].reshape(-1, *ones)
        if tap == 0:
            total = np.multiply(piece, weight, dtype=dtype)
        else:
            total += np.multiply(piece, weight, dtype=dtype)
    return total
