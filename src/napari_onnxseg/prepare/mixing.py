"""Several image channels mixed into one model channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.types import Pixels


def working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the float that holds every value: float64 for 32-bit integers and wider."""
    wide = dtype.itemsize >= 8 or (dtype.kind in "iu" and dtype.itemsize == 4)
    return np.dtype(np.float64 if wide else np.float32)


def mixed(pixels: Pixels, channels: ChannelMap) -> NDArray[Any]:
    """Return the weighted sum of the picked channels.

    Parameters
    ----------
    pixels : numpy.ndarray
        (C, Y, X) or (C, Z, Y, X), raw values.
    channels : ChannelMap
        A map with ``weights``.

    Returns
    -------
    numpy.ndarray
        (Y, X) or (Z, Y, X) float32, float64 for 32-bit integers and wider.
    """
    kind = working_dtype(pixels.dtype)
    total = np.zeros(pixels.shape[1:], kind)
    for pick, weight in zip(channels.picks, channels.weights or (), strict=True):
        total += np.multiply(pixels[pick], kind.type(weight), dtype=kind)
    return total
