"""The tile that computes least within a memory budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.tiling.axis import Axis, Sides, padded_length, per_axis, smallest_tile

_PER_AXIS = 96

REMEMBERED = 256
"""Choices that are kept in memory."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a tile may cost, as `choose_tile` takes it."""

    bytes_per_px: float
    budget_bytes: float
    workers: int
    smallest: int
    largest: int


def choose_tile(  # noqa: PLR0913  (three facts of the network, three of the machine)
    shape: Sequence[int],
    *,
    multiple: Sides = 1,
    halo: Sides = 0,
    shrink: Sides = 0,
    bytes_per_px: float,
    budget_bytes: float,
    workers: int = 1,
    smallest: int = 256,
    largest: int = 4096,
) -> tuple[int, ...]:
    """Choose the tile that computes the least area within the memory budget.

    Whole rounds of workers are counted, so that none stands idle in the last one.

    Parameters
    ----------
    shape : sequence of int
        Image in pixels.
    multiple : int or sequence of int
        Total downsampling of the network; the tile is a multiple of it.
    halo : int or sequence of int
        Pixels thrown away at inner sides.
    shrink : int or sequence of int
        Pixels per side that the network does not give back.
    bytes_per_px : float
        Working memory of the network per tile pixel.
    budget_bytes : float
        Working memory that all tiles at once may take.
    workers : int
        Tiles worked on at once.
    smallest, largest : int
        Sides to stay between, in pixels; the budget may force smaller ones.

    Returns
    -------
    tuple of int
        Sides in pixels, never larger than the padded image. When not even the smallest
        possible tile fits the budget, that one.
    """
    limits = _Limits(bytes_per_px, budget_bytes, workers, smallest, largest)
    named = {"multiple": multiple, "halo": halo, "shrink": shrink}
    facts = tuple(per_axis(name, value, len(shape)) for name, value in named.items())
    return _cheapest(tuple(shape), facts, limits)


@lru_cache(maxsize=REMEMBERED)
def _cheapest(
    shape: tuple[int, ...], facts: tuple[tuple[int, ...], ...], limits: _Limits
) -> tuple[int, ...]:
    """Return the tile of `choose_tile`; images of a folder often have one size."""
    workers, budget_bytes = limits.workers, limits.budget_bytes
    options = [_candidates(*axis, limits=limits) for axis in zip(shape, *facts, strict=True)]
    sides = np.meshgrid(*(sides for sides, _ in options), indexing="ij", sparse=True)
    counts = np.meshgrid(*(counts for _, counts in options), indexing="ij", sparse=True)
    area, tiles = _product(sides), _product(counts)
    memory = area * np.minimum(tiles, workers) * limits.bytes_per_px
    cost = np.ceil(tiles / workers) * area
    best = _best(cost, memory, budget_bytes, _roomy(sides, shape, limits.smallest))
    place = np.unravel_index(best, cost.shape)
    return tuple(int(sides[i]) for (sides, _), i in zip(options, place, strict=True))


def _candidates(
    length: int, multiple: int, halo: int, shrink: int, *, limits: _Limits
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return tile sides and their tile counts, the smallest side of each count."""
    whole = ceil(length / multiple) * multiple + 2 * shrink
    least = ceil(smallest_tile(halo, 0, multiple, shrink) / multiple) * multiple
    most = max(limits.largest // multiple * multiple, least)
    smallest_by_count = {1: whole} if whole <= most or whole <= least else {}
    for side in range(min(most, (whole - 1) // multiple * multiple), least - 1, -multiple):
        padded = padded_length(length, side, multiple, shrink)
        smallest_by_count[Axis(padded, side, halo, 0, multiple, shrink).count] = side
    counts = _thinned(sorted(smallest_by_count))
    sides = [smallest_by_count[count] for count in counts]
    return np.array(sides, np.float64), np.array(counts, np.float64)


def _thinned(counts: list[int]) -> list[int]:
    """Keep at most `_PER_AXIS`, first and last among them."""
    if len(counts) <= _PER_AXIS:
        return counts
    places = np.unique(np.linspace(0, len(counts) - 1, _PER_AXIS).round().astype(int))
    return [counts[i] for i in places]


def _product(grids: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Multiply open grids out."""
    full: NDArray[np.float64] = np.ones(1)
    for grid in grids:
        full = full * grid
    return full


def _roomy(sides: Sequence[NDArray[Any]], shape: Sequence[int], smallest: int) -> NDArray[np.bool_]:
    """Tell which tiles have no side below ``smallest`` (or the image, when that is smaller)."""
    roomy = np.ones((1,) * len(sides), bool)
    for side, length in zip(sides, shape, strict=True):
        roomy = roomy & (side >= min(smallest, length))
    return roomy


def _best(
    cost: NDArray[np.float64],
    memory: NDArray[np.float64],
    budget: float,
    roomy: NDArray[np.bool_],
) -> int:
    """Return the flat place of the cheapest that fits, else of the one that needs least."""
    for allowed in ((memory <= budget) & roomy, memory <= budget):
        if allowed.any():
            return int(np.argmin(np.where(allowed, cost, np.inf)))
    return int(np.argmin(memory))
