"""Write TIFF and OME-TIFF."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any, BinaryIO

import numpy as np
import tifffile

from napari_onnxseg.arrays.geotiff import georeference_tags
from napari_onnxseg.arrays.placing import METRES, SECONDS, SYMBOLS, Placing
from napari_onnxseg.arrays.world import Georeference, World
from napari_onnxseg.types import AnyArray

TILE = (512, 512)
"""Of arrays that are written tile by tile."""

_OME_DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64"]


def write_tiff(
    file: BinaryIO,
    values: Any,
    placing: Placing | None,
    about: Mapping[str, Any] | None = None,
    *,
    rgba: bool = False,
    world: World | None = None,
) -> None:
    """Write an array as OME-TIFF, zlib-compressed, with its pixel size.

    Arrays that are not in memory are written tile by tile.

    Parameters
    ----------
    file : file
        Open for writing.
    values : array-like
        (..., Y, X), or (..., Y, X, 4) for RGBA. With more than two leading axes, or a dtype
        that OME lacks, it is a plain TIFF that keeps shape and pixel size.
    placing : Placing or None
        One entry per axis, the RGBA axis apart.
    about : mapping, optional
        JSON-able, kept as the description of the image.
    rgba : bool, optional
        Whether the last axis is red, green, blue, alpha.
    world : Georeference, optional
        Place on the map; the file is then a GeoTIFF. A grid of voxels does not fit in.
    """
    ndim = values.ndim - rgba
    ome = ndim <= 4 and values.dtype.name in _OME_DTYPES
    axes = _axes(ndim, placing)
    colour = {"photometric": "rgb", "extrasamples": ["unassalpha"]} if rgba else {}
    metadata = {**_ome(axes, placing, about), "axes": axes + "S" * rgba} if ome else {}
    tags = georeference_tags(world) if isinstance(world, Georeference) else []
    streamed = not isinstance(values, np.ndarray)
    tiled = {"shape": values.shape, "dtype": values.dtype, "tile": TILE} if streamed else {}
    tifffile.imwrite(
        file,
        _tiles(values, rgba) if streamed else values,
        ome=ome,
        bigtiff=prod(values.shape) * values.dtype.itemsize > 2**31,
        compression="zlib",
        metadata=metadata,
        extratags=tags,
        **tiled,
        **({"photometric": "minisblack"} | colour),
        **_resolution(placing),
    )


def _tiles(values: Any, rgba: bool) -> Iterator[AnyArray]:
    """Read an array tile by tile, row by row of tiles, plane by plane; borders are filled up."""
    height, width = values.shape[-3:-1] if rgba else values.shape[-2:]
    leading = values.shape[: len(values.shape) - 2 - rgba]
    for place in np.ndindex(leading):
        for top, left in product(range(0, height, TILE[0]), range(0, width, TILE[1])):
            where = (*place, slice(top, top + TILE[0]), slice(left, left + TILE[1]))
            part = np.asarray(values[where])
            missing = [(0, side - n) for side, n in zip(TILE, part.shape, strict=False)]
            yield np.pad(part, missing + [(0, 0)] * rgba)


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
