"""Which axes an image has, and which of them holds channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from napari_onnxseg.errors import ImageError


def shape_of(data: Any) -> tuple[int, ...]:
    """Return the shape of one array of numbers.

    Parameters
    ----------
    data : object
        What somebody gave as an image.

    Returns
    -------
    tuple of int
        Pixels on each axis, none of them 0.

    Raises
    ------
    ImageError
        For lists of arrays (multiscale images), masked or empty arrays, shapes that are not
        known, and values that are no numbers.
    """
    if isinstance(data, Sequence) or not (hasattr(data, "shape") and hasattr(data, "dtype")):
        raise ImageError(
            f"An image must be one array with a shape and a dtype, got {type(data).__name__}; "
            "of a multiscale image, give one level."
        )
    if isinstance(data, np.ma.MaskedArray):
        raise ImageError(
            "The image is a masked array, whose mask would be lost; fill the masked pixels with "
            "NaN or a no-data value first, as in image.filled(0) with nodata=0."
        )
    if any(length != length for length in data.shape):  # NaN: dask has not counted yet
        raise ImageError(
            f"The shape {data.shape} of the image is not known yet; call compute_chunk_sizes() "
            "or compute() on it first."
        )
    shape = tuple(int(length) for length in data.shape)
    if 0 in shape:
        raise ImageError(f"The image is empty: its shape is {shape}.")
    if dtype_of(data).kind not in "buif":
        raise ImageError(
            f"The image holds {data.dtype} values; it must hold booleans, integers or real numbers."
        )
    return shape


def dtype_of(data: Any) -> np.dtype[Any]:
    """Return the dtype of an array, also of those that have types of their own.

    Parameters
    ----------
    data : array-like
        With a ``dtype``; that of tensorstore knows its ``numpy_dtype``.

    Returns
    -------
    numpy.dtype
        Of its values.
    """
    dtype: np.dtype[Any] = np.dtype(getattr(data.dtype, "numpy_dtype", data.dtype))
    return dtype


def find_channel_axis(shape: tuple[int, ...], chosen: int | None, rgb: bool) -> int | None:
    """Find the channel axis from what the user or the layer said, never from the shape.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    chosen : int or None
        Channel axis, negative ones count from the end.
    rgb : bool
        Whether the last axis is red, green, blue (and alpha).

    Returns
    -------
    int or None
        Never negative; None for a grey image.

    Raises
    ------
    ImageError
        When there is no such axis, or colours are not on the last one.
    """
    last = len(shape) - 1
    if chosen is not None and not -len(shape) <= chosen <= last:
        raise ImageError(
            f"There is no channel axis {chosen} in an image of shape {shape}; use 0 to {last}."
        )
    axis = None if chosen is None else chosen % len(shape)
    if not rgb:
        return axis
    if axis not in (None, last) or shape[last] not in (3, 4):
        raise ImageError(
            f"A colour image needs 3 or 4 channels on its last axis, got shape {shape}"
            f"{'' if axis is None else f' with channel axis {axis}'}; "
            "use rgb only for red, green, blue (alpha)."
        )
    return last
