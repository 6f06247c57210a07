"""An array seen with its axes in another order, without reading it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_onnxseg.arrays.axes import dtype_of
from napari_onnxseg.types import AnyArray


@dataclass(frozen=True, slots=True)
class TurnedArray:
    """A view of any array-like with its axes in another order.

    Parameters
    ----------
    array : array-like
        With ``shape``, ``dtype`` and ``__getitem__``.
    order : tuple of int
        Axis of ``array`` at each place of the view, as `numpy.transpose` takes it.
    """

    array: Any
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis of the view."""
        return tuple(int(self.array.shape[axis]) for axis in self.order)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the values."""
        return dtype_of(self.array)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.order)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Sides of a chunk, when the array has chunks of one size."""
        chunks = getattr(self.array, "chunks", None)
        return None if chunks is None else tuple(chunks[axis] for axis in self.order)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> AnyArray:
        """Read a part: ints and slices, and an ellipsis."""
        picks = full_index(index, self.ndim)
        where: list[Any] = [slice(None)] * self.ndim
        for axis, pick in zip(self.order, picks, strict=True):
            where[axis] = pick
        block = np.asarray(self.array[tuple(where)])
        left = [axis for axis in range(self.ndim) if isinstance(where[axis], slice)]
        wanted = [axis for axis in self.order if axis in left]
        return block.transpose([left.index(axis) for axis in wanted])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Read the whole array."""
        return np.asarray(self[...], dtype=dtype)


def full_index(index: Any, ndim: int) -> tuple[Any, ...]:
    """Return an index with one entry an axis.

    Parameters
    ----------
    index : int, slice, ellipsis or a tuple of them
        As given to an array.
    ndim : int
        Axes of the array.

    Returns
    -------
    tuple of (int or slice)
        As many as axes.

    Raises
    ------
    IndexError
        When there are more entries than axes, or entries of another kind.
    """
    picks: Sequence[Any] = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(p, (int, np.integer, slice)) or p is Ellipsis for p in picks):
        raise IndexError("This array is read by whole numbers and slices only.")
    gap = next((n for n, p in enumerate(picks) if p is Ellipsis), len(picks))
    before, after = picks[:gap], picks[gap + 1 :]
    missing = ndim - len(before) - len(after)
    if missing < 0:
        raise IndexError(f"An index of {len(picks)} entries does not fit {ndim} axes.")
    return (*before, *(slice(None),) * missing, *after)
