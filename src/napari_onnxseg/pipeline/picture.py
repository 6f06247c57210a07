"""Pictures in bands of rows, cleaned of what is no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from napari_onnxseg.arrays.source import ImageSource, ImageStack
from napari_onnxseg.pipeline.feeding import feeder_for
from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Pixels

BAND_PX = 500_000
"""Pixels of a full-resolution band."""


def row_bands(stack: ImageStack) -> tuple[Region, ...]:
    """Cut a plane into bands of rows.

    Parameters
    ----------
    stack : ImageStack
        The image.

    Returns
    -------
    tuple of Region
        From the top to the bottom, each pixel once.
    """
    height, width = stack.shape
    rows = max(1, BAND_PX // width)
    return tuple(
        Region((top, 0), (min(top + rows, height), width)) for top in range(0, height, rows)
    )


def painter_for(
    sources: Sequence[ImageSource], colours: ChannelMap, nodata: float | None
) -> Feeder:
    """Return what paints 8-bit colours: bytes as they are, other pixels by their full range.

    Parameters
    ----------
    sources : sequence of ImageSource
        The planes, measured together where the dtype does not settle the range.
    colours : ChannelMap
        Image channels to red, green, blue.
    nodata : float or None
        Value of pixels that are no data.

    Returns
    -------
    Feeder
        Fills (3, Y, X) uint8.
    """
    unit, _, _ = feeder_for(sources, colours, Normalization("unit"), "uint8", nodata)
    gain = tuple(255 * slope for slope in unit.affine.gain)
    return replace(unit, affine=replace(unit.affine, gain=gain))


def read_clean(source: ImageSource, feeder: Feeder, first: int, last: int) -> Pixels:
    """Read whole rows with 0 wherever a pixel is no data, so that nothing spreads.

    Parameters
    ----------
    source : ImageSource
        The plane.
    feeder : Feeder
        Tells which pixels are no data.
    first, last : int
        Rows, half open.

    Returns
    -------
    numpy.ndarray
        (C, last - first, X), dtype of the source.
    """
    pixels = source.read(Region((first, 0), (last, source.shape[1])))
    empty = feeder.invalid(pixels)
    if pixels.dtype.kind == "f":  # also in channels that the network does not see
        empty = ~np.isfinite(pixels) | (False if empty is None else empty)
    return pixels if empty is None else np.where(empty, pixels.dtype.type(0), pixels)
