"""TIFF and OME-TIFF."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

import numpy as np
import tifffile

from napari_onnxseg.arrays.pictures import open_picture
from napari_onnxseg.arrays.placing import METRES, SECONDS, SYMBOLS, Placing, unit_name
from napari_onnxseg.types import AnyArray

Sizes = dict[str, tuple[float, str]]
"""Pixel size and unit by the letter of the axis."""

_ALPHA = (1, 2)  # values of the tag ExtraSamples
_OME_DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64"]


def read_tiff(path: Path) -> tuple[AnyArray, str, dict[str, Any]]:
    """Read the first image of a TIFF file; memory-mapped where it is not compressed.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    values : numpy.ndarray
        Any shape; colours are on the last axis, and 1-bit images are 0 and 255.
    axes : str
        One letter an axis, in the order of ``values``: T, Z, C, Y, X, S (colours), others.
    about : dict
        ``"rgb"``, whether S is red, green, blue (alpha); ``"sizes"``, pixel size and unit by
        letter; ``"notes"``, sentences for the user.

    Raises
    ------
    OSError, ValueError
        As tifffile raises them, also for a compression that needs imagecodecs.
    """
    with tifffile.TiffFile(path) as tif:
        series = tif.series[0]
        page = series.keyframe
        notes, sizes = _notes(path, tif, page), _sizes(tif, page)
        values, axes, rgb = _colours(_values(path, series), series.axes, page)
    return values, axes, {"rgb": rgb, "sizes": sizes, "notes": notes}


def write_tiff(
    file: BinaryIO,
    values: AnyArray,
    placing: Placing | None,
    about: Mapping[str, Any] | None = None,
    *,
    rgba: bool = False,
) -> None:
    """Write an array as OME-TIFF, zlib-compressed, with its pixel size.

    Parameters
    ----------
    file : file
        Open for writing.
    values : numpy.ndarray
        (..., Y, X), or (..., Y, X, 4) for RGBA. With more than two leading axes, or a dtype
        that OME lacks, it is a plain TIFF that keeps shape and pixel size.
    placing : Placing or None
        One entry per axis, the RGBA axis apart.
    about : mapping, optional
        JSON-able, kept as the description of the image.
    rgba : bool, optional
        Whether the last axis is red, green, blue, alpha.
    """
    ndim = values.ndim - rgba
    ome = ndim <= 4 and values.dtype.name in _OME_DTYPES
    axes = _axes(ndim, placing)
    colour = {"photometric": "rgb", "extrasamples": ["unassalpha"]} if rgba else {}
    metadata = {**_ome(axes, placing, about), "axes": axes + "S" * rgba} if ome else {}
    tifffile.imwrite(
        file,
        values,
        ome=ome,
        bigtiff=prod(values.shape) * values.dtype.itemsize > 2**31,
        compression="zlib",
        metadata=metadata,
        **({"photometric": "minisblack"} | colour),
        **_resolution(placing),
    )


def _values(path: Path, series: Any) -> AnyArray:
    """Return the values of a series, mapped from the file when they lie there as they are."""
    if series.dataoffset is not None:
        mapped: AnyArray = tifffile.memmap(path, mode="r").reshape(series.shape)
        return mapped
    try:
        values: AnyArray = series.asarray()
    except ValueError as fault:
        if "imagecodecs" not in str(fault):
            raise
        return _decoded_by_pillow(path, series, fault)
    return values


def _decoded_by_pillow(path: Path, series: Any, fault: ValueError) -> AnyArray:
    """Decode LZW and the like without imagecodecs, where the result is the same."""
    page = series.keyframe
    plain = page.photometric != 0 and page.tags.valueof("Orientation", default=1) == 1
    if len(series.pages) != 1 or not plain:
        raise fault
    try:
        with open_picture(path) as image:
            values = np.asarray(image)
    except OSError:
        raise fault from None
    if values.shape != series.shape or values.dtype != series.dtype:
        raise fault
    return values


def _notes(path: Path, tif: Any, page: Any) -> list[str]:
    """Say what of the file is not read."""
    notes = []
    if len(tif.series) > 1:
        notes.append(f"'{path.name}' holds {len(tif.series)} images; only the first is read.")
    if page.photometric == 0:
        notes.append(f"'{path.name}' stores black as its largest value; it is read as stored.")
    turned = page.tags.valueof("Orientation", default=1)
    if turned != 1:
        notes.append(
            f"'{path.name}' asks to be shown turned (orientation {turned}), which is not done."
        )
    return notes


def _colours(values: AnyArray, axes: str, page: Any) -> tuple[AnyArray, str, bool]:
    """Resolve palettes and CMYK, bring colours to the last axis, make bits bytes."""
    if values.dtype == bool:
        values = values.astype(np.uint8) * np.uint8(255)
    if page.photometric == 3 and page.colormap is not None:
        return (page.colormap.T[values] >> 8).astype(np.uint8), axes + "S", True
    if "S" not in axes:
        return values, axes, False
    values = np.moveaxis(values, axes.index("S"), -1)
    axes = axes.replace("S", "") + "S"
    if page.photometric == 5 and values.shape[-1] == 4 and values.dtype == np.uint8:
        return _without_ink(values), axes, True
    return values, axes, _is_rgb(values.shape[-1], page)


def _is_rgb(samples: int, page: Any) -> bool:
    """Tell whether samples are red, green, blue, and a fourth one really opacity."""
    if page.photometric not in (2, 6):
        return False
    return samples == 3 or (samples == 4 and any(kind in _ALPHA for kind in page.extrasamples))


def _without_ink(cmyk: AnyArray) -> AnyArray:
    """Return RGB for uint8 cyan, magenta, yellow, black."""
    paper = 255 - cmyk.astype(np.uint16)
    return ((paper[..., :3] * paper[..., 3:] + 127) // 255).astype(np.uint8)


def _sizes(tif: Any, page: Any) -> Sizes:
    """Return the pixel sizes that OME or ImageJ wrote; others mean the size on paper."""
    if tif.is_ome:
        return _ome_sizes(tif.ome_metadata)
    if tif.is_imagej:
        return _imagej_sizes(tif.imagej_metadata or {}, page)
    return {}


def _ome_sizes(xml: str) -> Sizes:
    """Return the sizes in the first image of OME-XML."""
    pixels = ElementTree.fromstring(xml).find(".//{*}Pixels")
    if pixels is None:
        return {}
    names = {**{a: (f"PhysicalSize{a}", "µm") for a in "XYZ"}, "T": ("TimeIncrement", "s")}
    return {
        letter: (size, unit_name(pixels.get(f"{name}Unit", unit)))
        for letter, (name, unit) in names.items()
        if (size := _positive(pixels.get(name)))
    }


def _imagej_sizes(metadata: Mapping[str, Any], page: Any) -> Sizes:
    """Return the sizes in an ImageJ description and the resolution tags beside it."""
    unit = unit_name(str(metadata.get("unit", "")))
    sizes: Sizes = {}
    for letter in "XY":
        pixels, length = page.tags.valueof(f"{letter}Resolution", default=(0, 1))
        if unit != "pixel" and pixels and length:
            sizes[letter] = (length / pixels, unit)
    if sizes and (spacing := _positive(metadata.get("spacing"))):
        sizes["Z"] = (spacing, unit)
    if interval := _positive(metadata.get("finterval")):
        sizes["T"] = (interval, "second")
    return sizes


def _positive(value: Any) -> float:
    """Return a size that a file gives, or 0 when it is none."""
    try:
        size = abs(float(value or 0))
    except ValueError:
        return 0.0
    return size if isfinite(size) else 0.0


def _axes(ndim: int, placing: Placing | None) -> str:
    """Name the axes of a result: a leading axis is depth unless its unit is one of time."""
    timed = placing is not None and placing.units[0] in SECONDS
    return {2: "YX", 3: "TYX" if timed else "ZYX"}.get(ndim, "TZYX")


def _ome(axes: str, placing: Placing | None, about: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return pixel sizes and description as tifffile takes them for OME-XML."""
    record: dict[str, Any] = {"Description": json.dumps(about, ensure_ascii=False)} if about else {}
    if placing is None:
        return record
    for letter, size, unit in zip(axes, placing.scale, placing.units, strict=True):
        name = "TimeIncrement" if letter == "T" else f"PhysicalSize{letter}"
        symbol = SYMBOLS[unit] if unit in (SECONDS if letter == "T" else METRES) else None
        if size > 0 and (symbol or letter != "T"):
            record |= {name: size, f"{name}Unit": symbol or "pixel"}
    return record


def _resolution(placing: Placing | None) -> dict[str, Any]:
    """Return pixels per centimetre, which programs that do not know OME read."""
    if placing is None or any(unit not in METRES for unit in placing.units[-2:]):
        return {}
    height, width = (
        0.01 / (size * METRES[unit])
        for size, unit in zip(placing.scale[-2:], placing.units[-2:], strict=True)
    )
    if not all(1e-4 < value < 1e8 for value in (height, width)):
        return {}
    return {"resolution": (width, height), "resolutionunit": "CENTIMETER"}
