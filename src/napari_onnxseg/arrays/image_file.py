"""What a file says about the image in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from napari_onnxseg.arrays.pyramid import Levels
from napari_onnxseg.arrays.world import World


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image as its file describes it.

    Parameters
    ----------
    data : array-like
        The values at full resolution, colours on the last axis; a numpy array, perhaps
        mapped from the file and read-only, or an array that reads what it is asked for.
    axes : str
        One letter an axis of ``data``: T, Z, C, Y, X, S for colours, Q for unknown ones.
    rgb : bool
        Whether the last axis is red, green, blue (and alpha).
    channel_axis : int or None
        Axis of channels that are no colours.
    scale : tuple of float or None
        World units per pixel, one entry per axis that is no channel; None when unknown.
    units : tuple of str or None
        Such as ``"micrometer"``, one per entry of ``scale``.
    notes : tuple of str
        Sentences for the user: what of the file was not read.
    translate : tuple of float or None
        World position of the first pixel's centre, one entry per axis that is no channel.
    levels : Levels or None
        The image at several resolutions, ``data`` first, when the file has them.
    nodata : float or None
        Value of pixels that hold no data.
    world : Georeference or VoxelGrid or None
        Where the image lies on earth or in a patient; writers give it back.
    """

    data: Any
    axes: str
    rgb: bool = False
    channel_axis: int | None = None
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    translate: tuple[float, ...] | None = None
    levels: Levels | None = None
    nodata: float | None = None
    world: World | None = None
