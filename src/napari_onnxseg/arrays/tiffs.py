"""Write TIFF and OME-TIFF."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any, BinaryIO

import tifffile

from napari_onnxseg.arrays.placing import METRES, SECONDS, SYMBOLS, Placing
from napari_onnxseg.types import AnyArray

_OME_DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64"]


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
