"""Tiles for a network and an image: exact wherever the graph allows it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.errors import ChoiceError, TileError
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.tile_size import (
    BUDGET_BYTES,
    STORE_BUDGET_BYTES,
    Crew,
    automatic_tile,
    whole_tile,
)
from napari_onnxseg.pipeline.words import px_words, width_words
from napari_onnxseg.runtime.doctor import physical_cores
from napari_onnxseg.tiling.axis import per_axis, smallest_tile
from napari_onnxseg.tiling.plan import TilePlan, plan_tiles

MOST_WORKERS = 256
"""Threads that are never more than any machine can use."""


def settle_tiles(
    shape: Sequence[int], card: ModelCard, job: SegmentJob, *, planes: int = 1
) -> TilePlan:
    """Choose tile, halo and overlap for planes of ``shape``, or the part that the job wants.

    Exact tiles wherever the graph allows them, otherwise one tile for all when it fits the
    memory, otherwise overlapping tiles that are blended.

    Parameters
    ----------
    shape : sequence of int
        Spatial shape in pixels.
    card : ModelCard
        The model.
    job : SegmentJob
        The user's tile, halo, overlap and workers, each of which wins.
    planes : int
        Planes of the run; many planes keep all workers busy with one tile each.

    Returns
    -------
    TilePlan
        The tiles of each plane.

    Raises
    ------
    TileError
        When the user's numbers do not fit the model; the message gives legal ones.
    """
    whole = whole_tile(shape, card)
    tile = _requested_tile(card, job, whole)
    halo, overlap = _exact_halo(card), (0,) * len(whole)
    if tile is None:
        extent = _extent(shape, card, job)
        budget = BUDGET_BYTES if job.store is None else STORE_BUDGET_BYTES
        crew = Crew(job_threads(job.workers), planes, budget)
        tile = automatic_tile(extent, card, halo, crew)
    if job.overlap is not None:
        overlap = per_axis("overlap", job.overlap, len(whole))
    elif job.halo is None and not _is_exact(card, tile, halo, whole):
        halo, overlap = _blending(card, tile, whole)
    if job.halo is not None:
        halo = per_axis("halo", job.halo, len(whole))
    plan = plan_tiles(
        shape,
        tile=tile,
        halo=halo,
        overlap=overlap,
        multiple=card.geometry.multiple,
        shrink=card.geometry.shrink,
    )
    return plan if job.region is None else plan.part(job.region)


def _extent(shape: Sequence[int], card: ModelCard, job: SegmentJob) -> tuple[int, ...]:
    """Return how much of the image the network needs: all, or the part and its surroundings."""
    if job.region is None:
        return tuple(shape)
    around = zip(job.region.shape, _exact_halo(card), card.geometry.multiple, strict=True)
    wished = (n + 2 * (halo + multiple) for n, halo, multiple in around)
    return tuple(map(min, shape, wished))


def refuse_volumes(card: ModelCard) -> None:
    """Raise for a model that takes volumes: images are worked on plane by plane."""
    if card.input.spatial_ndim != 2:
        raise ChoiceError(
            f"'{card.name}' takes volumes ({card.input.layout}), and only models for planes "
            "can be run; choose a model for planes, which works through a stack plane by plane."
        )


def tile_notes(card: ModelCard, job: SegmentJob, plan: TilePlan) -> tuple[str, ...]:
    """Say when tiles are not exact, and why, and when the user's leave little of each."""
    needed, shared = _exact_halo(card), width_words(plan.overlap)
    if job.region is not None and not card.geometry.exact:
        return (
            f"'{card.name}' cannot be tiled exactly ({'; '.join(card.geometry.breakers[:3])}): "
            "this part may differ from what a run on the whole gives there.",
        )
    if len(plan) == 1:
        return ()
    if not card.geometry.exact:
        why = "; ".join(card.geometry.breakers[:3])
        cropped = f"tiles are cropped by {width_words(plan.halo)}"
        how = f"tiles share {shared} and are blended" if plan.blends else cropped
        return (f"'{card.name}' cannot be tiled exactly ({why}): {how}.",)
    if plan.blends and not _is_exact(card, plan.tile, needed, plan.shape):
        return (
            f"Tiles of {px_words(plan.tile)} are too small for the {width_words(needed)} halo "
            f"that '{card.name}' needs: they share {shared} and are blended.",
        )
    if any(h < e and n > 1 for h, e, n in zip(plan.halo, needed, plan.grid, strict=True)):
        return (
            f"A halo of {width_words(plan.halo)} is below the {width_words(needed)} that "
            f"'{card.name}' needs: seams are possible.",
        )
    return _waste_notes(card, job, plan)


def _waste_notes(card: ModelCard, job: SegmentJob, plan: TilePlan) -> tuple[str, ...]:
    """Say when the halos take more than half of each tile that the user asked for."""
    sides = zip(plan.tile, plan.halo, plan.grid, strict=True)
    kept = tuple(t - 2 * h if n > 1 else t for t, h, n in sides)
    if plan.blends or 2 * prod(kept) >= prod(plan.tile):
        return ()
    if any(side is not None for side in card.input.sides):
        return (_fixed_waste(card, plan, kept),)
    if job.tile is None:
        return ()
    larger = tuple(2 * t if n > 1 else t for t, n in zip(plan.tile, plan.grid, strict=True))
    return (
        f"Halo {width_words(plan.halo)} leaves {width_words(kept)} of each "
        f"{width_words(plan.tile)} tile; tiles of {width_words(larger)} or more are faster.",
    )


def _fixed_waste(card: ModelCard, plan: TilePlan, kept: tuple[int, ...]) -> str:
    """Say what exact tiles cost where the model fixes their size."""
    given = card.suggested.halo if card.suggested else None
    author = f", such as the {width_words(given)} of its author," if given else ""
    return (
        f"'{card.name}' takes tiles of {px_words(plan.tile)} only, and looks so far that "
        f"{px_words(kept)} of each are exact: {prod(plan.tile) / prod(kept):.0f} × the work. "
        f"A smaller halo{author} is faster and may leave seams; a model with free sides is both."
    )


def job_threads(workers: int | None) -> int:
    """Return how many threads a run may use: the user's number or the physical cores."""
    if workers is not None and workers > MOST_WORKERS:
        raise ChoiceError(
            f"At most {MOST_WORKERS} workers can be started, got {workers}; "
            f"this computer has {physical_cores()} cores, so leave it to automatic."
        )
    return workers or physical_cores()


def _requested_tile(
    card: ModelCard, job: SegmentJob, whole: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the model's fixed sides or the user's tile, never larger than the image needs."""
    fixed = card.input.sides
    asked = None if job.tile is None else per_axis("tile", job.tile, len(whole))
    if all(side is None for side in fixed):
        return None if asked is None else tuple(map(min, asked, whole))
    tile = tuple(side or w for side, w in zip(fixed, whole, strict=True))
    if asked is not None and any(f not in (None, a) for f, a in zip(fixed, asked, strict=True)):
        raise TileError(
            f"'{card.name}' takes tiles of exactly {px_words(tile)}, "
            f"got {px_words(asked)}; leave the tile to automatic."
        )
    return tile


def _exact_halo(card: ModelCard) -> tuple[int, ...]:
    """Return the graph's halo, widened where scores are interpolated up to the image."""
    geometry = card.geometry
    return tuple(
        h if r >= 1 else ceil(h / m) * m + m
        for h, m, r in zip(geometry.halo, geometry.multiple, geometry.ratio, strict=True)
    )


def _is_exact(
    card: ModelCard, tile: Sequence[int], halo: Sequence[int], whole: Sequence[int]
) -> bool:
    """Tell whether tiles of this size can equal the whole image."""
    geometry = card.geometry
    fits = all(
        t >= w or t >= smallest_tile(h, 0, m, s)
        for t, h, w, m, s in zip(tile, halo, whole, geometry.multiple, geometry.shrink, strict=True)
    )
    return fits and (geometry.exact or tuple(tile) == tuple(whole))


def _blending(
    card: ModelCard, tile: tuple[int, ...], whole: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return halo and overlap for tiles that cannot be exact: a quarter of the tile is shared.

    Class ids cannot be blended; there the quarter is split into the halos of both sides.
    """
    quarter = tuple(
        0 if t >= w else ceil(t / 4 / m) * m
        for t, w, m in zip(tile, whole, card.geometry.multiple, strict=True)
    )
    rim = _rim(card, tile, quarter)
    if card.scores == "labels":
        eighth = tuple(
            max(r, ceil(q / 2 / m) * m)
            for q, r, m in zip(quarter, rim, card.geometry.multiple, strict=True)
        )
        return eighth, (0,) * len(tile)
    return rim, quarter


def _rim(card: ModelCard, tile: tuple[int, ...], overlap: tuple[int, ...]) -> tuple[int, ...]:
    """Return the halo of blended tiles: what the graph loses, and what its author distrusts."""
    geometry = card.geometry
    given = card.suggested.halo if card.suggested else None
    least = tuple(ceil(s / m) * m for s, m in zip(geometry.shrink, geometry.multiple, strict=True))
    if given is None or len(given) != len(tile):
        return least
    wide = tuple(
        max(r, ceil(g / m) * m) for r, g, m in zip(least, given, geometry.multiple, strict=True)
    )
    rooms = zip(tile, wide, overlap, geometry.multiple, geometry.shrink, strict=True)
    return (
        wide if all(not o or t >= smallest_tile(h, o, m, s) for t, h, o, m, s in rooms) else least
    )
