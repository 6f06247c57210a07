"""The pixel size that a TIFF file gives."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any
from xml.etree import ElementTree

from napari_onnxseg.arrays.placing import unit_name

Sizes = dict[str, tuple[float, str]]
"""Pixel size and unit by the letter of the axis."""


def sizes_of(tif: Any, page: Any) -> Sizes:
    """Return the pixel sizes that OME or ImageJ wrote; others mean the size on paper.

    Parameters
    ----------
    tif : tifffile.TiffFile
        Open.
    page : tifffile.TiffPage
        The first page of the image.

    Returns
    -------
    dict of str to (float, str)
        Pixel size and unit by the letter of the axis.
    """
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
