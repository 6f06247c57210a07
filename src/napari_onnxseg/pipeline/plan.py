"""Every decision of a segmentation, made before a pixel is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.decode.labels import label_dtype
from napari_onnxseg.errors import ChoiceError, ImageError, TileError
from napari_onnxseg.pipeline.job import SegmentJob, Sides
from napari_onnxseg.pipeline.words import bytes_words, count_words, px_words
from napari_onnxseg.prepare.channels import ChannelMap, map_channels
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.runtime.doctor import physical_cores
from napari_onnxseg.tiling.plan import TilePlan, choose_tile, plan_tiles

BUDGET_BYTES = 1_000_000_000
"""Working memory of the network, over all workers, that automatic tiles keep to."""

BLEND_SIDE_PX = 1024
"""Largest automatic tile side of networks that cannot be tiled exactly."""

WORKER_GAIN = 1.15
"""How much faster N tiles on N threads are than one tile on N threads (2 cores, measured)."""


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """What a run will do.

    Parameters
    ----------
    card : ModelCard
        The model.
    job : SegmentJob
        The choices it was made from.
    indices : tuple of tuple of int
        The planes, one index per leading axis each.
    channels : ChannelMap
        Image channels to model channels.
    normalization : Normalization
        The user's, or the card's.
    tiles : TilePlan
        Geometry of one plane.
    workers, threads : int
        Tiles at once, and threads of the network inside each.
    batch : int
        Tiles per run of the network.
    memory_bytes : int
        Estimate: working memory of the network plus the results.
    notes : tuple of str
        What the user should know before the run.
    """

    card: ModelCard
    job: SegmentJob
    indices: tuple[tuple[int, ...], ...]
    channels: ChannelMap
    normalization: Normalization
    tiles: TilePlan
    workers: int
    threads: int
    batch: int
    memory_bytes: int
    notes: tuple[str, ...]

    def words(self) -> str:
        """Return the plan in two lines for people.

        Returns
        -------
        str
            Axes and tiles; normalisation and memory.
        """
        planes = count_words(len(self.indices), "plane")
        scope = (
            ""
            if not self.normalization.needs_statistics
            else (f", measured once per {self.job.statistics}")
        )
        return (
            f"{planes} of {px_words(self.tiles.shape)}, {self.channels.words}; "
            f"{self.tiles.words()}\n"
            f"{self.normalization.words()}{scope}; about {bytes_words(self.memory_bytes)} "
            f"on {count_words(max(self.workers, self.threads), 'thread')}"
        )

    def record(self) -> dict[str, Any]:
        """Return the plan in JSON-able form.

        Returns
        -------
        dict
            Tiles, threads, channels and normalisation as they were used.
        """
        return {
            "plan": self.words(),
            "tile": list(self.tiles.tile),
            "halo": list(self.tiles.halo),
            "overlap": list(self.tiles.overlap),
            "multiple": list(self.tiles.multiple),
            "tiles": len(self.tiles),
            "batch": self.batch,
            "workers": self.workers,
            "threads": self.threads,
            "channels": self.channels.words,
            "normalization": self.normalization.to_json(),
        }


def plan_segment(stack: ImageStack, card: ModelCard, job: SegmentJob) -> SegmentPlan:
    """Settle planes, channels, tiles, threads and memory of a run.

    Parameters
    ----------
    stack : ImageStack
        The image; only its shape and dtype are looked at.
    card : ModelCard
        A semantic model.
    job : SegmentJob
        The user's choices.

    Returns
    -------
    SegmentPlan
        The plan; making it reads no pixel and runs no model.

    Raises
    ------
    ChoiceError, ImageError, TileError
        When the choices, the image and the model do not fit together.
    """
    _refuse_misfits(stack, card, job)
    batch, notes = _batch(card, job)
    indices = tuple(stack.indices(job.index))
    tiles = settle_tiles(stack.shape, card, job, planes=len(indices))
    workers = min(job_threads(job.workers), ceil(len(tiles) * len(indices) / batch))
    return SegmentPlan(
        card=card,
        job=job,
        indices=indices,
        channels=map_channels(
            stack.channels,
            card.input.channels or stack.channels,
            rgb=stack.rgb,
            order=job.colour_order or card.colour_order,
            chosen=job.channels,
        ),
        normalization=job.normalization or card.normalization,
        tiles=tiles,
        workers=workers,
        threads=job_threads(job.workers) if workers == 1 else 1,
        batch=batch,
        memory_bytes=_memory_bytes(stack, card, job, tiles, workers * batch, len(indices)),
        notes=(*card.notes, *notes, *_tile_notes(card, tiles)),
    )


def job_threads(workers: int | None) -> int:
    """Return how many threads a run may use: the user's number or the physical cores."""
    return workers or physical_cores()


def settle_tiles(
    shape: Sequence[int], card: ModelCard, job: SegmentJob, *, planes: int = 1
) -> TilePlan:
    """Choose tile, halo and overlap for planes of ``shape``.

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
    whole = _whole(shape, card)
    tile = _requested_tile(card, job, whole)
    halo, overlap = _exact_halo(card), (0,) * len(whole)
    if tile is None:
        tile = _automatic_tile(shape, card, halo, job_threads(job.workers), planes)
    if job.overlap is not None:
        overlap = _sides(job.overlap, len(whole), "overlap")
    elif job.halo is None and not _is_exact(card, tile, halo, whole):
        halo, overlap = _blending(card, tile, whole)
    if job.halo is not None:
        halo = _sides(job.halo, len(whole), "halo")
    return plan_tiles(
        shape,
        tile=tile,
        halo=halo,
        overlap=overlap,
        multiple=card.geometry.multiple,
        shrink=card.geometry.shrink,
    )


def _refuse_misfits(stack: ImageStack, card: ModelCard, job: SegmentJob) -> None:
    """Raise for a model of another task or rank, and for numbers outside their range."""
    if card.task != "semantic":
        raise ChoiceError(
            f"'{card.name}' cuts out one subject and gives no classes; "
            "use the cut-out (matte) instead, or a semantic model here."
        )
    if card.input.spatial_ndim != len(stack.shape):
        raise ImageError(
            f"'{card.name}' works on {card.input.spatial_ndim}-D images, "
            f"this one is planned as {len(stack.shape)}-D."
        )
    if not 0 < job.threshold < 1:
        raise ChoiceError(f"The threshold must lie between 0 and 1, got {job.threshold}.")
    for name in ("batch", "workers"):
        value = getattr(job, name)
        if value is not None and value < 1:
            raise ChoiceError(f"The number of {name} must be at least 1, got {value}.")
    if card.scores == "labels":
        _refuse_scores(card, job)
    if job.objects and card.objects is None:
        raise ChoiceError(
            f"The card of '{card.name}' has no rule for separating objects; "
            "run without objects, or add an 'objects' entry to the card."
        )


def _refuse_scores(card: ModelCard, job: SegmentJob) -> None:
    """Raise for whatever needs scores when the model gives class ids only."""
    blended = job.overlap is not None and any(_sides(job.overlap, len(card.input.sides), "overlap"))
    wanted = {
        "blend": blended,
        "give a confidence": job.confidence,
        "separate objects": job.objects,
    }
    for what, asked in wanted.items():
        if asked:
            raise ChoiceError(
                f"'{card.name}' gives class ids and no scores, which is too little to {what}; "
                "leave that out, or export the model without its ArgMax."
            )


def _batch(card: ModelCard, job: SegmentJob) -> tuple[int, tuple[str, ...]]:
    """Return tiles per run, and a note when the model's fixed batch overrules the user."""
    fixed = card.input.batch
    if fixed is None:
        return job.batch or 1, ()
    if job.batch in (None, fixed):
        return fixed, ()
    return fixed, (f"'{card.name}' has a fixed batch of {fixed}; {job.batch} was asked for.",)


def _sides(value: Sides, ndim: int, name: str) -> tuple[int, ...]:
    """Return one number per axis."""
    sides = (value,) * ndim if isinstance(value, int) else tuple(value)
    if len(sides) != ndim:
        raise TileError(f"The {name} needs 1 or {ndim} numbers, got {len(sides)}: {sides}.")
    return sides


def _whole(shape: Sequence[int], card: ModelCard) -> tuple[int, ...]:
    """Return the sides of one tile that sees the whole padded image."""
    return tuple(
        ceil(n / m) * m + 2 * s
        for n, m, s in zip(shape, card.geometry.multiple, card.geometry.shrink, strict=True)
    )


def _requested_tile(
    card: ModelCard, job: SegmentJob, whole: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the model's fixed sides or the user's tile, never larger than the image needs."""
    fixed = card.input.sides
    asked = None if job.tile is None else _sides(job.tile, len(whole), "tile")
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
        h + (m if r < 1 else 0)
        for h, m, r in zip(geometry.halo, geometry.multiple, geometry.ratio, strict=True)
    )


def _is_exact(
    card: ModelCard, tile: Sequence[int], halo: Sequence[int], whole: Sequence[int]
) -> bool:
    """Tell whether tiles of this size can equal the whole image."""
    fits = all(
        t >= w or t >= 2 * h + m
        for t, h, w, m in zip(tile, halo, whole, card.geometry.multiple, strict=True)
    )
    return fits and (card.geometry.exact or tuple(tile) == tuple(whole))


def _automatic_tile(
    shape: Sequence[int], card: ModelCard, halo: tuple[int, ...], workers: int, planes: int
) -> tuple[int, ...]:
    """Return the cheapest exact tile within the budget, or a square one for blending."""
    whole = _whole(shape, card)
    per_px = max(card.geometry.bytes_per_px, 1.0)
    whole_fits = prod(whole) * per_px * min(workers, planes) <= BUDGET_BYTES
    smallest = prod(2 * h + m for h, m in zip(halo, card.geometry.multiple, strict=True))
    if not card.geometry.exact or smallest * per_px * workers > BUDGET_BYTES:
        return whole if whole_fits else _blend_tile(card, whole, per_px, workers)
    together = 1 if planes >= workers else workers
    tile = choose_tile(
        shape,
        multiple=card.geometry.multiple,
        halo=halo,
        shrink=card.geometry.shrink,
        bytes_per_px=per_px * workers / together,
        budget_bytes=BUDGET_BYTES,
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


def _blend_tile(
    card: ModelCard, whole: tuple[int, ...], per_px: float, workers: int
) -> tuple[int, ...]:
    """Return a tile with about equal sides that fits the budget."""
    affordable = int((BUDGET_BYTES / per_px / workers) ** (1 / len(whole)))
    side = min(BLEND_SIDE_PX, max(affordable, 1))
    return tuple(
        min(w, max(side // m, 1) * m) for w, m in zip(whole, card.geometry.multiple, strict=True)
    )


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
    rim = tuple(
        ceil(s / m) * m for s, m in zip(card.geometry.shrink, card.geometry.multiple, strict=True)
    )
    if card.scores == "labels":
        eighth = tuple(
            max(r, ceil(q / 2 / m) * m)
            for q, r, m in zip(quarter, rim, card.geometry.multiple, strict=True)
        )
        return eighth, (0,) * len(tile)
    return rim, quarter


def _tile_notes(card: ModelCard, plan: TilePlan) -> tuple[str, ...]:
    """Say when tiles are not exact, and why."""
    if len(plan) == 1:
        return ()
    if not card.geometry.exact:
        why = "; ".join(card.geometry.breakers[:3])
        how = (
            f"tiles share {px_words(plan.overlap)} and are blended"
            if plan.blends
            else f"tiles are cropped by {px_words(plan.halo)}"
        )
        return (f"'{card.name}' cannot be tiled exactly ({why}): {how}.",)
    if plan.blends:
        return (
            f"Tiles of {px_words(plan.tile)} are too small for the {px_words(card.geometry.halo)} "
            f"halo that '{card.name}' needs: they share {px_words(plan.overlap)} and are blended.",
        )
    if any(
        h < e and n > 1 for h, e, n in zip(plan.halo, _exact_halo(card), plan.grid, strict=True)
    ):
        return (
            f"A halo of {px_words(plan.halo)} is below the {px_words(_exact_halo(card))} that "
            f"'{card.name}' needs: seams are possible.",
        )
    return ()


def _memory_bytes(
    stack: ImageStack,
    card: ModelCard,
    job: SegmentJob,
    tiles: TilePlan,
    at_once: int,
    planes: int,
) -> int:
    """Estimate the network's working memory plus the results."""
    network = at_once * prod(tiles.tile) * max(card.geometry.bytes_per_px, 1.0)
    per_px = label_dtype(len(card.classes) or 2).itemsize + job.confidence + 6 * job.objects
    return int(network + planes * prod(stack.shape) * per_px)
