"""The georeference of a GeoTIFF: from its tags and back, without knowing the map."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot, isfinite
from typing import Any

from napari_onnxseg.arrays.world import Georeference

SCALE, TIES, MATRIX = 33550, 33922, 34264
_KEYS, _DOUBLES, _TEXT = 34735, 34736, 34737
_NODATA = 42113
_KINDS = {_KEYS: "H", _DOUBLES: "d", _TEXT: "s"}

_MODEL, _RASTER, _PROJECTION, _LINEAR_UNITS = 1024, 1025, 3072, 3076
_FEET = {9001: 1.0, 9002: 0.3048, 9003: 1200 / 3937}  # units of length, in metres
_IN_METRES = (*range(32601, 32661), *range(32701, 32761), *range(25828, 25839), 3857)
"""Codes of maps whose unit is the metre although the file need not say so: UTM, web maps."""

ExtraTag = tuple[int, str, int, Any, bool]


def georeference(page: Any) -> Georeference | None:
    """Return where a page lies on the map.

    Parameters
    ----------
    page : tifffile.TiffPage
        The first page of an image.

    Returns
    -------
    Georeference or None
        None without tags of GeoTIFF, and for pictures that are only tied to the map by
        several points.
    """
    tags = {code: page.tags.valueof(code, default=None) for code in (SCALE, TIES, MATRIX, *_KINDS)}
    raw = _transform(tags)
    if raw is None or not all(map(isfinite, raw)):
        return None
    found = ((code, kind, tags[code]) for code, kind in _KINDS.items() if tags[code] is not None)
    keys = tuple(
        (code, kind, value if isinstance(value, str) else tuple(_listed(value)))
        for code, kind, value in found
    )
    place = Georeference(raw, keys)
    return place.at((-0.5, -0.5)) if _is_point(place) else place


def georeference_tags(place: Georeference) -> list[ExtraTag]:
    """Return the tags that put a result where its image lies.

    Parameters
    ----------
    place : Georeference
        As read, perhaps moved.

    Returns
    -------
    list of tuple
        As tifffile takes them: number, kind, count, value, once.
    """
    a, b, c, d, e, f = (place.at((0.5, 0.5)) if _is_point(place) else place).transform
    if b == d == 0 and a > 0 > e:
        tags: list[ExtraTag] = [
            (SCALE, "d", 3, (a, -e, 0.0), True),
            (TIES, "d", 6, (0.0, 0.0, 0.0, c, f, 0.0), True),
        ]
    else:
        rows = (a, b, 0.0, c, d, e, 0.0, f, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        tags = [(MATRIX, "d", 16, rows, True)]
    return tags + [
        (code, kind, 0 if kind == "s" else len(value), value, True)
        for code, kind, value in place.keys
    ]


def metres_per_pixel(place: Georeference) -> tuple[float, float] | None:
    """Return the pixel size where the map's unit is known to be a length.

    Parameters
    ----------
    place : Georeference
        Of the picture.

    Returns
    -------
    tuple of float or None
        Rows, columns, in metres on the map; None for degrees and unknown units.
    """
    keys = _short_keys(place)
    if keys.get(_MODEL) != 1:
        return None
    metres = _FEET.get(keys.get(_LINEAR_UNITS, 0))
    if metres is None and keys.get(_PROJECTION) in _IN_METRES:
        metres = 1.0
    if metres is None:
        return None
    a, b, _, d, e, _ = place.transform
    return hypot(b, e) * metres, hypot(a, d) * metres


def nodata_of(page: Any) -> float | None:
    """Return the value that GDAL wrote for missing data.

    Parameters
    ----------
    page : tifffile.TiffPage
        The first page of an image.

    Returns
    -------
    float or None
        None when there is none, or it is no number. NaN is one.
    """
    text = page.tags.valueof(_NODATA, default=None)
    try:
        return None if text is None else float(str(text).strip("\0 "))
    except ValueError:
        return None


def _transform(tags: Mapping[int, Any]) -> tuple[float, ...] | None:
    """Return the six numbers of the transform, as the tags count."""
    if tags[MATRIX] is not None and len(tags[MATRIX]) == 16:
        m = [float(value) for value in tags[MATRIX]]
        return m[0], m[1], m[3], m[4], m[5], m[7]
    if tags[SCALE] is None or tags[TIES] is None or len(tags[TIES]) != 6:
        return None
    wide, high = (float(value) for value in tags[SCALE][:2])
    column, row, _, x, y, _ = (float(value) for value in tags[TIES])
    return wide, 0.0, x - column * wide, 0.0, -high, y + row * high


def _is_point(place: Georeference) -> bool:
    """Tell whether coordinates in the tags are those of pixel centres."""
    return _short_keys(place).get(_RASTER) == 2


def _short_keys(place: Georeference) -> dict[int, int]:
    """Return the keys whose value is one whole number."""
    directory = next((value for code, _, value in place.keys if code == _KEYS), ())
    numbers = [int(value) for value in directory]
    entries = [numbers[n : n + 4] for n in range(4, len(numbers) - 3, 4)]
    return {entry[0]: entry[3] for entry in entries if entry[1] == 0}


def _listed(value: Any) -> tuple[Any, ...]:
    """Return several values; a tag of one value gives it bare."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
