"""An array whose values are converted as they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from napari_onnxseg.arrays.turned import full_index
from napari_onnxseg.types import AnyArray


@dataclass(frozen=True, slots=True)
class ConvertedArray:
    """A view of any array-like with other values, perhaps of colours.

    Parameters
    ----------
    array : array-like
        With ``shape``, ``dtype`` and ``__getitem__``.
    convert : callable
        Makes the values of any block; colours, if any, are on the last axis afterwards.
    shape : tuple of int
        Of the view: that of the array, or with another or a new last axis of colours.
    dtype : numpy.dtype
        Of the converted values.
    colours : bool
        Whether the last axis of the view is made by the conversion.
    """

    array: Any
    convert: Callable[[AnyArray], AnyArray]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    colours: bool

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> AnyArray:
        """Read a part: ints and slices, and an ellipsis."""
        picks = full_index(index, self.ndim)
        if not self.colours:
            return self.convert(np.asarray(self.array[picks]))
        whole = (slice(None),) * (len(self.array.shape) - self.ndim + 1)
        return self.convert(np.asarray(self.array[(*picks[:-1], *whole)]))[..., picks[-1]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Read the whole array."""
        return np.asarray(self[...], dtype=dtype)
