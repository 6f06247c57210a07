"""Outlines of classes and objects, as maps take them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.arrays.extras import need
from napari_onnxseg.arrays.geopackage import Row, Srs, geopackage
from napari_onnxseg.arrays.geotiff import georeference_tags
from napari_onnxseg.arrays.world import Georeference
from napari_onnxseg.errors import ImageError
from napari_onnxseg.types import AnyArray

Ring = list[tuple[float, float]]

_LARGEST_PX = 2**31 - 1
_DTYPES = (np.uint8, np.uint16, np.int16, np.int32)


@dataclass(frozen=True, slots=True)
class Outline:
    """One connected region.

    Parameters
    ----------
    number : int
        Its class or object.
    rings : list of list of (float, float)
        The outer border and those of the holes, each closed, (x, y) on the map or in pixels;
        the outer one runs against the clock where y points up, holes with it.
    """

    number: int
    rings: list[Ring]


def outlines(labels: AnyArray, place: Georeference | None = None) -> Iterator[Outline]:
    """Find the borders of all regions that are not background, along pixel edges.

    Parameters
    ----------
    labels : numpy.ndarray
        (Y, X) whole numbers; 0 is background.
    place : Georeference, optional
        Place on the map; without it, coordinates are pixels from the picture's corner.

    Yields
    ------
    Outline
        One per region whose pixels touch along an edge.

    Raises
    ------
    FileFormatError
        Without rasterio.
    ImageError
        When the labels are no single plane, too many, or their numbers too high.
    """
    features = need("rasterio.features", "geo", "Finding outlines")
    affine = need("rasterio", "geo", "Finding outlines").Affine
    labels = _traceable(labels)
    transform = affine(*(place.transform if place else (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)))
    for shape, number in features.shapes(labels, mask=labels != 0, transform=transform):
        rings = [[(float(x), float(y)) for x, y in ring] for ring in shape["coordinates"]]
        yield Outline(int(number), [_turned(ring, n == 0) for n, ring in enumerate(rings)])


def write_geojson(
    path: Path, labels: AnyArray, names: Mapping[int, str], place: Georeference | None
) -> None:
    """Write outlines as GeoJSON, in degrees as its specification (RFC 7946) demands.

    Parameters
    ----------
    path : Path
        The file; replaced only once complete.
    labels : numpy.ndarray
        (Y, X) whole numbers; 0 is background.
    names : mapping of int to str
        Names by class.
    place : Georeference or None
        Place on the map; without it, coordinates are pixels, which programs for pictures read.

    Raises
    ------
    FileFormatError
        Without rasterio, or when the file cannot be written.
    """
    crs = None if place is None else map_of(place)
    with atomic(path) as file:
        file.write(b'{"type": "FeatureCollection", "features": [')
        for n, outline in enumerate(outlines(labels, place)):
            geometry: dict[str, Any] = {"type": "Polygon", "coordinates": outline.rings}
            if crs is not None:
                geometry = _in_degrees(crs, geometry)
            about = {"class": outline.number, "name": names.get(outline.number, "")}
            feature = {"type": "Feature", "properties": about, "geometry": geometry}
            file.write((",\n" if n else "\n").encode() + json.dumps(feature).encode())
        file.write(b"\n]}\n")


def write_geopackage(
    path: Path, labels: AnyArray, names: Mapping[int, str], place: Georeference | None
) -> None:
    """Write outlines as GeoPackage, in the coordinates of the image's own map.

    Parameters
    ----------
    path : Path
        The file; replaced only once complete. Its stem names the table.
    labels : numpy.ndarray
        (Y, X) whole numbers; 0 is background.
    names : mapping of int to str
        Names by class.
    place : Georeference or None
        Place on the map; without it, coordinates are pixels.

    Raises
    ------
    FileFormatError
        Without rasterio, or when the file cannot be written.
    """
    found = (Row(o.number, names.get(o.number, ""), o.rings) for o in outlines(labels, place))
    crs = None if place is None else map_of(place)
    srs = Srs() if crs is None else Srs(crs.to_wkt(), crs.to_epsg())
    content = geopackage(path.stem, found, srs)
    with atomic(path) as file:
        file.write(content)


def map_of(place: Georeference) -> Any:
    """Return the map's coordinate system.

    Parameters
    ----------
    place : Georeference
        With its keys.

    Returns
    -------
    rasterio.crs.CRS or None
        None when the file does not say.

    Raises
    ------
    FileFormatError
        Without rasterio.
    """
    rasterio = need("rasterio", "geo", "Reading coordinates of maps")
    from io import BytesIO

    import tifffile

    if not place.keys:
        return None
    file = BytesIO()
    tags = georeference_tags(place)
    tifffile.imwrite(file, np.zeros((1, 1), np.uint8), metadata=None, extratags=tags)
    with rasterio.MemoryFile(file.getvalue()) as held, held.open() as dataset:
        return dataset.crs


def _traceable(labels: AnyArray) -> AnyArray:
    """Return a plane of numbers in a dtype that GDAL traces, or refuse it."""
    plane: AnyArray = np.asarray(labels)
    plane = plane.reshape(plane.shape[-2:]) if plane.size == np.prod(plane.shape[-2:]) else plane
    if plane.ndim != 2 or plane.size > _LARGEST_PX:
        raise ImageError(
            f"Outlines are found in one plane of up to {_LARGEST_PX} px, got shape {plane.shape}; "
            "write .zarr or .tif."
        )
    if plane.dtype in _DTYPES:
        return plane
    if plane.dtype.kind == "b":
        return plane.astype(np.uint8)
    if plane.max(initial=0) > 2**31 - 1:
        raise ImageError("Outlines are found for numbers up to 2147483647; write .zarr or .npy.")
    return plane.astype(np.int32)


def _in_degrees(crs: Any, geometry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a geometry in longitude and latitude."""
    from rasterio.warp import transform_geom

    degrees = transform_geom(crs, "EPSG:4326", dict(geometry))
    rings = [
        _turned([(x, y) for x, y in ring], n == 0) for n, ring in enumerate(degrees["coordinates"])
    ]
    return {"type": "Polygon", "coordinates": rings}


def _turned(ring: Ring, outer: bool) -> Ring:
    """Return a ring in the sense that it should run."""
    twice_area = sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairwise(ring))
    return ring if (twice_area > 0) == outer else ring[::-1]
