"""Which pixels are data."""

from __future__ import annotations

import numpy as np

from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.types import AnyArray, Mask, Pixels


def invalid_pixels(pixels: Pixels, channels: ChannelMap, nodata: float | None) -> Mask | None:
    """Tell which pixels are no data: not finite, the no-data value, or fully transparent.

    Parameters
    ----------
    pixels : numpy.ndarray
        (C, Y, X) or (C, Z, Y, X), raw values.
    channels : ChannelMap
        Which channels the network sees, and which one is opacity.
    nodata : float or None
        Value that marks no data where all seen channels hold it.

    Returns
    -------
    numpy.ndarray or None
        (Y, X) or (Z, Y, X) bool; None when every pixel is valid.
    """
    seen = [pixels[c] for c in channels.used]
    masks = [*_not_finite(seen), *_marked(seen, nodata)]
    if channels.alpha is not None:
        masks.append(pixels[channels.alpha] == 0)
    masks = [mask for mask in masks if mask.any()]
    return np.logical_or.reduce(masks) if masks else None


def _not_finite(seen: list[AnyArray]) -> list[Mask]:
    """Return a mask a channel, for floats only."""
    return [~np.isfinite(plane) for plane in seen if plane.dtype.kind == "f"]


def _marked(seen: list[AnyArray], nodata: float | None) -> list[Mask]:
    """Return one mask of pixels whose every channel holds ``nodata``, if the dtype can."""
    if nodata is None or not np.isfinite(nodata):
        return []
    dtype = seen[0].dtype
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.asarray(nodata).astype(dtype)
    if dtype.kind != "f" and value.item() != nodata:
        return []
    return [np.logical_and.reduce([plane == value for plane in seen])]
