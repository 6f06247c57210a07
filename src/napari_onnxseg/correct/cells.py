"""A map of any size, summed up in cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.correct.pairs import BLOCK_PX, blocks
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray


@dataclass(frozen=True, slots=True)
class Cells:
    """A map summed up in cells.

    Parameters
    ----------
    shape : tuple of int
        Pixels of the map.
    sides : tuple of int
        Pixels of a cell on each axis; the last may have fewer.
    total : numpy.ndarray
        Sum of each cell, float64.
    """

    shape: tuple[int, ...]
    sides: tuple[int, ...]
    total: NDArray[np.float64]

    @classmethod
    def of(cls, doubt: Any, sides: tuple[int, ...]) -> Cells:
        """Sum a map up, block by block.

        Parameters
        ----------
        doubt : array-like
            Array of uint8, of any size.
        sides : tuple of int
            Pixels of a cell on each axis.

        Returns
        -------
        Cells
            Of the whole map.
        """
        shape = tuple(int(n) for n in doubt.shape)
        counts = tuple(-(-n // side) for n, side in zip(shape, sides, strict=True))
        total = np.zeros(counts)
        for box in blocks(counts, max(1, BLOCK_PX // prod(sides))):
            values = np.asarray(doubt[pixels_of(box, sides, shape).slices])
            for axis, side in enumerate(sides):
                values = _summed(values, axis, side)
            total[box.slices] = values
        return cls(shape, sides, total)

    def mean(self) -> NDArray[np.float64]:
        """Return the mean doubt of each cell."""
        return np.asarray(self.total / self.area())

    def area(self) -> NDArray[np.float64]:
        """Return the pixels of each cell; fewer where the image ends."""
        found = np.ones(self.total.shape)
        for axis, (n, side) in enumerate(zip(self.shape, self.sides, strict=True)):
            spans = np.full(self.total.shape[axis], float(side))
            spans[-1] = n - side * (len(spans) - 1)
            found *= spans.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return found


def pixels_of(box: Region, sides: Sequence[int], shape: Sequence[int]) -> Region:
    """Return the pixels of a box of cells.

    Parameters
    ----------
    box : Region
        In cells.
    sides, shape : sequence of int
        Pixels of a cell, and of the image.

    Returns
    -------
    Region
        In pixels, inside the image.
    """
    start = tuple(a * side for a, side in zip(box.start, sides, strict=True))
    stop = (min(b * side, n) for b, side, n in zip(box.stop, sides, shape, strict=True))
    return Region(start, tuple(stop))


def _summed(values: AnyArray, axis: int, side: int) -> AnyArray:
    """Sum stretches of one axis up; the last may be shorter. Ten times as fast as reduceat."""
    line = np.moveaxis(values, axis, 0)
    even = len(line) // side * side
    sums = line[:even].reshape(-1, side, *line.shape[1:]).sum(axis=1, dtype=np.uint64)
    if even < len(line):
        sums = np.concatenate([sums, line[even:].sum(axis=0, dtype=np.uint64, keepdims=True)])
    return np.moveaxis(sums, 0, axis)
