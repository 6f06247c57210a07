"""Whether a model gives the same for test pictures in tiles as in one piece."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import numpy as np

from napari_onnxseg.cards.card import Geometry, ModelCard
from napari_onnxseg.pipeline.heads import tiled_as
from napari_onnxseg.pipeline.job import HeadResult
from napari_onnxseg.pipeline.semantic import segment_image
from napari_onnxseg.tiling.axis import smallest_tile
from napari_onnxseg.types import AnyArray


def small_tile(card: ModelCard, sides: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """Return a tile that divides a picture and is exact, or why there is none.

    Parameters
    ----------
    card : ModelCard
        The model.
    sides : tuple of int
        Of the picture, in pixels.

    Returns
    -------
    tile : tuple of int
        In pixels; empty when there is none.
    why : str
        A sentence, when there is none.
    """
    geometry = tiled_as(card, card.heads).geometry
    if card.input.spatial_ndim != 2 or card.task == "matting":
        return (), "Only models for planes are run in tiles, so that only the whole was compared."
    if any(card.input.sides) or not geometry.exact:
        what = "has fixed sides" if any(card.input.sides) else "cannot be tiled exactly"
        return (), f"The model {what}, so that only the whole was compared."
    numbers = zip(
        sides, geometry.halo, geometry.ratio, geometry.multiple, geometry.shrink, strict=True
    )
    tile = tuple(
        max(smallest_tile(halo if r >= 1 else halo + m, 0, m, s), ceil(side / 2 / m) * m)
        for side, halo, r, m, s in numbers
    )
    if all(a >= b for a, b in zip(tile, sides, strict=True)):
        return (), "The test tensors are too small for tiles, so that only the whole was compared."
    return tuple(map(min, tile, _whole(geometry, sides))), ""


def both_ways(
    picture: AnyArray, given: Path, card: ModelCard, tile: tuple[int, ...], device: str
) -> list[tuple[str, AnyArray, AnyArray]]:
    """Run a picture in tiles and in one piece.

    Parameters
    ----------
    picture : numpy.ndarray
        (C, Y, X).
    given : Path
        The model.
    card : ModelCard
        Of it.
    tile : tuple of int
        Sides of the tiles, in pixels.
    device : str
        What to run on.

    Returns
    -------
    list of (str, numpy.ndarray, numpy.ndarray)
        For each output its name, the result in tiles and that in one piece.
    """
    whole = _whole(tiled_as(card, card.heads).geometry, picture.shape[1:])
    tiled, single = (
        segment_image(
            picture, given, card=card, channel_axis=0, rgb=False, device=device, tile=sides
        ).heads
        for sides in (tile, whole)
    )
    return [
        (one.name, _array(one), _array(other)) for one, other in zip(tiled, single, strict=True)
    ]


def _whole(geometry: Geometry, sides: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sides of one tile that holds a picture."""
    return tuple(
        ceil(n / m) * m + 2 * s
        for n, m, s in zip(sides, geometry.multiple, geometry.shrink, strict=True)
    )


def _array(head: HeadResult) -> AnyArray:
    """Return the labels or the image."""
    found = head.labels if head.image is None else head.image
    return np.zeros(0) if found is None else found
