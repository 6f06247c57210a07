"""The tile that nobody has chosen: the cheapest within the memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.tiling.plan import choose_tile, plan_tiles

BUDGET_BYTES = 1_000_000_000
"""Working memory of the network, over all workers, that automatic tiles keep to."""

STORE_BUDGET_BYTES = 250_000_000
"""The same for results that go to a store: memory is what such a run is meant to save."""

BLEND_SIDE_PX = 1024
"""Largest automatic tile side of networks that cannot be tiled exactly."""

WORKER_GAIN = 1.15
"""How much faster N tiles on N threads are than one tile on N threads (2 cores, measured)."""


@dataclass(frozen=True, slots=True)
class Crew:
    """Who works on a run.

    Parameters
    ----------
    workers : int
        Tiles at once.
    planes : int
        Planes of the run.
    budget_bytes : int
        Working memory that the network may take for all of them.
    """

    workers: int
    planes: int
    budget_bytes: int


def automatic_tile(
    shape: Sequence[int], card: ModelCard, halo: tuple[int, ...], crew: Crew
) -> tuple[int, ...]:
    """Return the cheapest exact tile within the budget, or a square one for blending.

    Parameters
    ----------
    shape : sequence of int
        What is tiled, in pixels.
    card : ModelCard
        The model.
    halo : tuple of int
        Pixels per side for which tiles are exact.
    crew : Crew
        Who works, and with how much memory.

    Returns
    -------
    tuple of int
        Sides in pixels.
    """
    whole, workers, planes = whole_tile(shape, card), crew.workers, crew.planes
    per_px = max(card.geometry.bytes_per_px, 1.0)
    whole_fits = prod(whole) * per_px * min(workers, planes) <= crew.budget_bytes
    smallest = prod(2 * h + m for h, m in zip(halo, card.geometry.multiple, strict=True))
    if not card.geometry.exact or smallest * per_px * workers > crew.budget_bytes:
        least = (
            whole if whole_fits else _blend_tile(card, whole, crew.budget_bytes / per_px / workers)
        )
        return _suggested_tile(card, whole, crew.budget_bytes / per_px / workers) or least
    together = 1 if planes >= workers else workers
    tile = choose_tile(
        shape,
        multiple=card.geometry.multiple,
        halo=halo,
        shrink=card.geometry.shrink,
        bytes_per_px=per_px * workers / together,
        budget_bytes=crew.budget_bytes,
        workers=together,
    )
    if together == 1 or not whole_fits:
        return tile
    tiles = len(
        plan_tiles(
            shape,
            tile=tile,
            halo=halo,
            multiple=card.geometry.multiple,
            shrink=card.geometry.shrink,
        )
    )
    rounds = ceil(tiles / workers) * prod(tile)
    return whole if prod(whole) / workers * WORKER_GAIN <= rounds else tile


def _suggested_tile(
    card: ModelCard, whole: tuple[int, ...], affordable_px: float
) -> tuple[int, ...] | None:
    """Return the author's tile, on the multiple, where the answer depends on it and it fits."""
    given = card.suggested.tile if card.suggested else None
    geometry = card.geometry
    if geometry.exact or any(geometry.shrink) or given is None or len(given) != len(whole):
        return None
    tile = tuple(
        min(w, ceil(g / m) * m) for g, w, m in zip(given, whole, geometry.multiple, strict=True)
    )
    return tile if prod(tile) <= affordable_px else None


def _blend_tile(card: ModelCard, whole: tuple[int, ...], affordable_px: float) -> tuple[int, ...]:
    """Return a tile with about equal sides that fits the budget."""
    affordable = int(affordable_px ** (1 / len(whole)))
    side = min(BLEND_SIDE_PX, max(affordable, 1))
    return tuple(
        min(w, max(side // m, 1) * m) for w, m in zip(whole, card.geometry.multiple, strict=True)
    )


def whole_tile(shape: Sequence[int], card: ModelCard) -> tuple[int, ...]:
    """Return the sides of one tile that sees the whole padded image.

    Parameters
    ----------
    shape : sequence of int
        Of the image, in pixels.
    card : ModelCard
        The model.

    Returns
    -------
    tuple of int
        Sides in pixels.
    """
    return tuple(
        ceil(n / m) * m + 2 * s
        for n, m, s in zip(shape, card.geometry.multiple, card.geometry.shrink, strict=True)
    )
