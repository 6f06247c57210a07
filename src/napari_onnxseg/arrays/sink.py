"""Where finished blocks of a result go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from napari_onnxseg.errors import RunError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray


class Sink(Protocol):
    """A result that takes finished blocks, in any order, each pixel once."""

    def write(self, index: tuple[int, ...], region: Region, block: AnyArray) -> None:
        """Store one finished block of one plane.

        Parameters
        ----------
        index : tuple of int
            Position on each leading axis of the result.
        region : Region
            Where the block belongs, in pixels.
        block : numpy.ndarray
            (*region.shape, trailing axes...).
        """
        ...


@dataclass(frozen=True, slots=True)
class MemorySink:
    """A result in memory.

    Parameters
    ----------
    array : numpy.ndarray
        (leading axes..., spatial axes..., trailing axes...), writable; blocks go here.
    """

    array: AnyArray

    @classmethod
    def zeros(cls, shape: Sequence[int], dtype: DTypeLike) -> MemorySink:
        """Make a result filled with background.

        Parameters
        ----------
        shape : sequence of int
            Whole result: leading, spatial, and trailing axes (4 for RGBA).
        dtype : dtype-like
            Dtype of the result.

        Returns
        -------
        MemorySink
            All zeros; memory is taken as blocks arrive.

        Raises
        ------
        RunError
            When the result does not fit in memory.
        """
        try:
            return cls(np.zeros(tuple(shape), dtype))
        except MemoryError as fault:
            wanted = np.prod(np.asarray(shape, float)) * np.dtype(dtype).itemsize / 2**30
            raise RunError(
                f"The result of shape {tuple(shape)} needs {wanted:.1f} GiB, more than this "
                "machine can give; run on fewer planes or a smaller region."
            ) from fault

    def write(self, index: tuple[int, ...], region: Region, block: AnyArray) -> None:
        """Store one finished block.

        Parameters
        ----------
        index : tuple of int
            Position on each leading axis of the result.
        region : Region
            Where the block belongs, in pixels, inside the plane.
        block : numpy.ndarray
            (*region.shape, trailing axes...), of a dtype that fits without loss.

        Raises
        ------
        RunError
            When shape or dtype do not fit the result.
        """
        where: tuple[int | slice, ...] = (*index, *region.slices)
        target: AnyArray = self.array[where]
        if target.shape != block.shape or not np.can_cast(block.dtype, target.dtype):
            raise RunError(
                f"A block of {block.dtype} {block.shape} does not fit the {target.dtype} "
                f"{target.shape} of the result at {index}, {region.start} to {region.stop}."
            )
        target[...] = block
