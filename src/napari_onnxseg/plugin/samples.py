"""Sample data that the viewer offers under *File > Open Sample*."""

from __future__ import annotations

from typing import Any

from napari_onnxseg.arrays.files import read_image
from napari_onnxseg.cards.catalog import bundled_folder

LayerData = tuple[Any, dict[str, Any], str]


def nuclei() -> list[LayerData]:
    """Open fluorescent nuclei, for the segmentation.

    Returns
    -------
    list of tuple
        One image, as napari takes it.
    """
    return _sample("nuclei.png", "nuclei")


def stained() -> list[LayerData]:
    """Open nuclei in a stained section, for the segmentation.

    Returns
    -------
    list of tuple
        One image, as napari takes it.
    """
    return _sample("nuclei-stained.png", "stained nuclei")


def photograph() -> list[LayerData]:
    """Open a photograph with one subject, for the cut-out.

    Returns
    -------
    list of tuple
        One image, as napari takes it.
    """
    return _sample("photograph.jpg", "photograph")


def aerial() -> list[LayerData]:
    """Open land seen from above, for the segmentation into kinds of land cover.

    Returns
    -------
    list of tuple
        One image, as napari takes it.
    """
    return _sample("aerial.jpg", "aerial")


def _sample(file: str, name: str) -> list[LayerData]:
    """Read one of the bundled pictures."""
    image = read_image(bundled_folder() / "samples" / file)
    return [(image.data, {"name": name, "rgb": image.rgb}, "image")]
