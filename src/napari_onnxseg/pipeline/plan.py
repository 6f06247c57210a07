"""Every decision of a segmentation, made before a pixel is read."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.decode.labels import label_dtype
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.settle import job_threads, refuse_volumes, settle_tiles, tile_notes
from napari_onnxseg.pipeline.words import bytes_words, count_words, px_words
from napari_onnxseg.prepare.channels import ChannelMap, map_channels
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.tiling.axis import per_axis
from napari_onnxseg.tiling.plan import TilePlan

HALF = 0.5
"""Threshold that nobody has chosen."""


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

    @property
    def threshold(self) -> float:
        """Probability above which one channel is foreground: the user's, the card's or half."""
        if self.job.threshold is not None:
            return self.job.threshold
        return (self.card.suggested.threshold if self.card.suggested else None) or HALF

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
            "threshold": self.threshold,
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
    indices = tuple(stack.indices(job.index))
    tiles = settle_tiles(stack.shape, card, job, planes=len(indices))
    batch, notes = _batch(card, job, len(tiles))
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
        notes=(*card.notes, *notes, *tile_notes(card, job, tiles)),
    )


def _refuse_misfits(stack: ImageStack, card: ModelCard, job: SegmentJob) -> None:
    """Raise for a model of another task or rank, and for numbers outside their range."""
    if card.task != "semantic":
        raise ChoiceError(
            f"'{card.name}' cuts out one subject and gives no classes; "
            "use the cut-out (matte) instead, or a semantic model here."
        )
    refuse_volumes(card)
    if job.threshold is not None:
        _refuse_threshold(card, job.threshold)
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


def _refuse_threshold(card: ModelCard, threshold: float) -> None:
    """Raise for a threshold out of range, or for a model on which it would not act."""
    if not 0 < threshold < 1:
        raise ChoiceError(f"The threshold must lie between 0 and 1, got {threshold}.")
    channels = card.output.channels
    if card.scores == "labels" or (channels or 1) > 1:
        gives = "class ids" if card.scores == "labels" else f"scores of {channels} classes"
        raise ChoiceError(
            f"A threshold of {threshold:g} was given, but '{card.name}' gives {gives}, of which "
            "the highest wins; leave the threshold out."
        )


def _refuse_scores(card: ModelCard, job: SegmentJob) -> None:
    """Raise for whatever needs scores when the model gives class ids only."""
    blended = job.overlap is not None and any(
        per_axis("overlap", job.overlap, len(card.input.sides))
    )
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


def _batch(card: ModelCard, job: SegmentJob, tiles: int) -> tuple[int, tuple[str, ...]]:
    """Return tiles per run, and a note when the model's fixed batch overrules the user."""
    fixed = card.input.batch
    if fixed is None:
        return min(job.batch or 1, tiles), ()
    if job.batch in (None, fixed):
        return fixed, ()
    return fixed, (f"'{card.name}' has a fixed batch of {fixed}; {job.batch} was asked for.",)


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
    if tiles.blends:  # the band of scores that is being added up
        network += 4 * (card.output.channels or 1) * prod((tiles.tile[0], *tiles.padded[1:]))
    per_px = label_dtype(len(card.classes) or 2).itemsize + job.confidence + 6 * job.objects
    return int(network + planes * prod(stack.shape) * per_px)
