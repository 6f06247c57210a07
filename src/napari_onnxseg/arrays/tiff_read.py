"""Read TIFF and OME-TIFF, large and pyramidal ones by region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from napari_onnxseg.arrays.converted import ConvertedArray
from napari_onnxseg.arrays.geotiff import georeference, metres_per_pixel, nodata_of
from napari_onnxseg.arrays.pyramid import Levels, as_levels
from napari_onnxseg.arrays.tiff_blocks import TiffArray, can_read
from napari_onnxseg.arrays.tiff_sizes import Sizes, sizes_of
from napari_onnxseg.arrays.turned import TurnedArray
from napari_onnxseg.arrays.world import Georeference
from napari_onnxseg.errors import ImageError
from napari_onnxseg.types import AnyArray

EAGER_BYTES = 64 * 2**20
"""Compressed images without levels are read at once when they take no more than this."""

_ALPHA = (1, 2)  # values of the tag ExtraSamples
_MINISWHITE, _PALETTE, _MASK, _CMYK = 0, 3, 4, 5  # values of the tag PhotometricInterpretation


@dataclass(frozen=True, slots=True)
class TiffImage:
    """The first image of a TIFF file.

    Parameters
    ----------
    values : array-like
        Any shape; colours are on the last axis, and 1-bit images are 0 and 255.
    axes : str
        One letter an axis, in the order of ``values``: T, Z, C, Y, X, S (colours), others.
    rgb : bool
        Whether S is red, green, blue (alpha).
    sizes : dict of str to (float, str)
        Pixel size and unit by letter.
    notes : tuple of str
        Sentences for the user.
    levels : Levels or None
        All levels, the values first, when there are several.
    nodata : float or None
        Value of missing data.
    world : Georeference or None
        Place on the map.
    """

    values: Any
    axes: str
    rgb: bool
    sizes: Sizes
    notes: tuple[str, ...]
    levels: Levels | None = None
    nodata: float | None = None
    world: Georeference | None = None


def read_tiff(path: Path) -> TiffImage:
    """Read or open the first image of a TIFF file; mapped where it is not compressed.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    TiffImage
        Values, or arrays that read what they are asked for, and what the file says of them.

    Raises
    ------
    OSError, ValueError
        As tifffile raises them, also for a compression that needs imagecodecs.
    """
    with tifffile.TiffFile(path) as tif:
        series = tif.series[0]
        page = series.keyframe
        place = georeference(page)
        metres = None if place is None else metres_per_pixel(place)
        sizes = sizes_of(tif, page)
        if metres is not None and not sizes:
            sizes = {"Y": (metres[0], "meter"), "X": (metres[1], "meter")}
        found = [_coloured(_values(path, series, n), series.axes, page) for n in _readable(series)]
        values, axes, rgb = found[0]
        levels, more = _levels([level for level, _, _ in found], axes, rgb=rgb)
        notes = (*_notes(path, tif, page), *more)
        return TiffImage(values, axes, rgb, sizes, notes, levels, nodata_of(page), place)


def channel_of(axes: str, *, rgb: bool) -> int | None:
    """Return the axis of channels that are no colours.

    Parameters
    ----------
    axes : str
        Letters of the axes.
    rgb : bool
        Whether S is red, green, blue (alpha).

    Returns
    -------
    int or None
        None without channels.
    """
    return None if rgb else next((axes.index(a) for a in "SC" if a in axes), None)


def _readable(series: Any) -> range:
    """Return the levels that can be read by region, or the first alone."""
    levels = len(series.levels)
    return range(levels if levels > 1 and all(map(can_read, series.levels)) else 1)


def _values(path: Path, series: Any, number: int) -> Any:
    """Return one level: mapped, or read, or ready to be read by region."""
    level = series.levels[number]
    if level.dataoffset is not None:
        return tifffile.memmap(path, mode="r", level=number).reshape(level.shape)
    small = prod(level.shape) * level.dtype.itemsize <= EAGER_BYTES and len(series.levels) == 1
    return level.asarray() if small or not can_read(level) else TiffArray(path, level)


def _levels(arrays: list[Any], axes: str, *, rgb: bool) -> tuple[Levels | None, list[str]]:
    """Return the levels, if there are several that are one image."""
    if len(arrays) == 1:
        return None, []
    try:
        return as_levels(arrays, channel_axis=channel_of(axes, rgb=rgb), rgb=rgb), []
    except ImageError as fault:
        return None, [f"Only the full resolution is read: {fault}"]


def _notes(path: Path, tif: Any, page: Any) -> list[str]:
    """Say what of the file is not read."""
    notes = []
    images = [one for one in tif.series if one.keyframe.photometric != _MASK]
    if len(images) > 1:
        notes.append(f"'{path.name}' holds {len(images)} images; only the first is read.")
    if len(images) < len(tif.series):
        notes.append(f"'{path.name}' holds a mask of missing pixels, which is not read.")
    if page.photometric == _MINISWHITE:
        notes.append(f"'{path.name}' stores black as its largest value; it is read as stored.")
    turned = page.tags.valueof("Orientation", default=1)
    if turned != 1:
        notes.append(
            f"'{path.name}' asks to be shown turned (orientation {turned}), which is not done."
        )
    return notes


def _coloured(values: Any, axes: str, page: Any) -> tuple[Any, str, bool]:
    """Resolve palettes and CMYK, bring colours to the last axis, make bits bytes."""
    if values.dtype == bool:
        values = _converted(values, _as_bytes, values.shape, colours=False)
    if page.photometric == _PALETTE and page.colormap is not None:
        resolve = _Palette((page.colormap.T >> 8).astype(np.uint8))
        return _converted(values, resolve, (*values.shape, 3), colours=True), axes + "S", True
    if "S" not in axes:
        return values, axes, False
    values = _samples_last(values, axes.index("S"))
    axes = axes.replace("S", "") + "S"
    if page.photometric == _CMYK and values.shape[-1] == 4 and values.dtype == np.uint8:
        rgb = _converted(values, _without_ink, (*values.shape[:-1], 3), colours=True)
        return rgb, axes, True
    return values, axes, _is_rgb(values.shape[-1], page)


def _samples_last(values: Any, axis: int) -> Any:
    """Bring one axis to the end, without reading."""
    if isinstance(values, np.ndarray):
        return np.moveaxis(values, axis, -1)
    others = [n for n in range(values.ndim) if n != axis]
    return values if axis == values.ndim - 1 else TurnedArray(values, (*others, axis))


def _converted(
    values: Any, convert: Callable[[AnyArray], AnyArray], shape: tuple[int, ...], *, colours: bool
) -> Any:
    """Convert values that are there, and the others when they are read; all become uint8."""
    if isinstance(values, np.ndarray):
        return convert(values)
    return ConvertedArray(values, convert, shape, np.dtype(np.uint8), colours)


@dataclass(frozen=True, slots=True)
class _Palette:
    """Gives each number its colour."""

    colours: AnyArray

    def __call__(self, numbers: AnyArray) -> AnyArray:
        return np.asarray(self.colours[numbers])


def _as_bytes(bits: AnyArray) -> AnyArray:
    """Return 0 and 255 for False and True."""
    return bits.astype(np.uint8) * np.uint8(255)


def _is_rgb(samples: int, page: Any) -> bool:
    """Tell whether samples are red, green, blue, and a fourth one really opacity."""
    if page.photometric not in (2, 6):
        return False
    return samples == 3 or (samples == 4 and any(kind in _ALPHA for kind in page.extrasamples))


def _without_ink(cmyk: AnyArray) -> AnyArray:
    """Return RGB for uint8 cyan, magenta, yellow, black."""
    paper = 255 - cmyk.astype(np.uint16)
    return ((paper[..., :3] * paper[..., 3:] + 127) // 255).astype(np.uint8)
