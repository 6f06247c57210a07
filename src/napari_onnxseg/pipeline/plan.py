"""Every decision of a segmentation, made before a pixel is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from napari_onnxseg.arrays.source import ImageSource, ImageStack
from napari_onnxseg.cards.card import Head, ModelCard
from napari_onnxseg.pipeline.heads import choose_heads, tiled_as
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.memory import network_bytes, result_bytes
from napari_onnxseg.pipeline.refusals import refuse_misfits
from napari_onnxseg.pipeline.resolution import Resolution, settle_resolution
from napari_onnxseg.pipeline.settle import (
    job_threads,
    settle_tiles,
    tile_notes,
)
from napari_onnxseg.pipeline.shelf import refuse_places
from napari_onnxseg.pipeline.tile_size import whole_tile
from napari_onnxseg.pipeline.words import bytes_words, count_words, px_words
from napari_onnxseg.prepare.channels import ChannelMap, map_channels
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.step_words import chain_words
from napari_onnxseg.tiling.legal import refuse_outside
from napari_onnxseg.tiling.plan import TilePlan
from napari_onnxseg.tiling.region import Region

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
    heads : tuple of Head
        The outputs that are wanted.
    tiles : TilePlan
        Geometry of one plane as the network sees it, in which every output is exact where the
        graph allows it.
    resolution : Resolution or None
        The grid that the network works on, where it is not that of the image.
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
    heads: tuple[Head, ...]
    tiles: TilePlan
    resolution: Resolution | None
    workers: int
    threads: int
    batch: int
    memory_bytes: int
    notes: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels of one plane of the image, and of the result."""
        return self.resolution.image if self.resolution else self.tiles.shape

    def seen(self, plane: ImageSource) -> ImageSource:
        """Return a plane of the image as the network sees it.

        Parameters
        ----------
        plane : ImageSource
            At the image's own resolution.

        Returns
        -------
        ImageSource
            The same one where nothing is resampled.
        """
        if self.resolution is None:
            return plane
        return self.resolution.source(plane, self.channels, self.job.nodata)

    @property
    def part(self) -> Region:
        """What of each plane the results cover, in pixels of the image."""
        return Region.of_shape(self.shape) if self.job.region is None else self.job.region

    @property
    def threshold(self) -> float | None:
        """That of the first output that gives classes; None without a threshold."""
        first = next((head for head in self.heads if head.task == "semantic"), None)
        return None if first is None else self.threshold_of(first)

    def threshold_of(self, head: Head) -> float | None:
        """Return the probability that decides: the user's, the card's, or half of one channel.

        Parameters
        ----------
        head : Head
            An output that gives classes.

        Returns
        -------
        float or None
            None where the best class of several wins, however unlikely it is.
        """
        if head.scores == "labels":
            return None
        suggested = self.card.suggested.threshold if self.card.suggested else None
        half = HALF if head.output.planes == 1 else None
        return self.job.threshold or suggested or half

    def words(self) -> str:
        """Return the plan in two lines for people.

        Returns
        -------
        str
            Axes and tiles; normalisation and memory.
        """
        planes = count_words(len(self.indices), "plane")
        seen = f"{self.resolution.words}; " if self.resolution else ""
        part = "" if self.job.region is None else f"{px_words(self.part.shape)} of "
        scope = (
            ""
            if not self.normalization.needs_statistics
            else (f", measured once per {self.job.statistics}")
        )
        return (
            f"{planes} of {part}{px_words(self.shape)}, {self.channels.words}; "
            f"{seen}{self.tiles.words()}\n"
            f"{self.normalization.words()}{scope}; {self._answer_words()}"
            f"about {bytes_words(self.memory_bytes)} "
            f"on {count_words(max(self.workers, self.threads), 'thread')}"
        )

    def _answer_words(self) -> str:
        """Say what is done to the numbers of the outputs, where it is more than the usual."""
        parts = [f"outputs {', '.join(h.name for h in self.heads)}"] if len(self.heads) > 1 else []
        for head in self.heads:
            whose = f"{head.name}: " if len(self.heads) > 1 else "output: "
            parts += [f"{whose}{chain_words(head.after)}"] if head.after else []
        unsure = {self.threshold_of(h) for h in self.heads if _may_be_unsure(h)} - {None}
        parts += [f"class 0 where the best is below {least:g}" for least in unsure]
        return "".join(f"{part}; " for part in parts)

    def record(self) -> dict[str, Any]:
        """Return the plan in JSON-able form.

        Returns
        -------
        dict
            Tiles, threads, channels and normalisation as they were used.
        """
        return {
            "plan": self.words(),
            "resolution": self.resolution and self.resolution.record(),
            "tile": list(self.tiles.tile),
            "halo": list(self.tiles.halo),
            "overlap": list(self.tiles.overlap),
            "multiple": list(self.tiles.multiple),
            "tiles": len(self.tiles),
            "region": [list(self.part.start), list(self.part.stop)],
            "batch": self.batch,
            "workers": self.workers,
            "threads": self.threads,
            "threshold": self.threshold,
            "heads": [head.name for head in self.heads],
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
        A model that gives classes or images.
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
    heads = choose_heads(card, job.heads)
    refuse_misfits(card, job, heads)
    refuse_places(job, heads)
    indices = tuple(stack.indices(job.index))
    seen, said = settle_resolution(stack.shape, card, job)
    tiled = tiled_as(card, heads)
    tiled, heads = (seen.tiled(tiled), seen.heads(heads)) if seen else (tiled, heads)
    tiles = _tiles(stack, tiled, job, seen, planes=len(indices))
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
        heads=heads,
        tiles=tiles,
        resolution=seen if seen and seen.changes else None,
        workers=workers,
        threads=job_threads(job.workers) if workers == 1 else 1,
        batch=batch,
        memory_bytes=network_bytes(tiled, heads, tiles, workers * batch)
        + result_bytes(stack, heads, job, len(indices)),
        notes=(*card.notes, *said, *notes, *tile_notes(tiled, job, tiles)),
    )


def _tiles(
    stack: ImageStack, tiled: ModelCard, job: SegmentJob, seen: Resolution | None, *, planes: int
) -> TilePlan:
    """Settle the tiles of what the network sees; one alone where it sees whole pictures."""
    if seen is None:
        return settle_tiles(stack.shape, tiled, job, planes=planes)
    if job.region is not None:
        refuse_outside(job.region, stack.shape)
        job = replace(job, region=seen.back.needs(job.region))
    if seen.once and job.tile is None and all(side is None for side in tiled.input.sides):
        job = replace(job, tile=whole_tile(seen.model, tiled))
    tiles = settle_tiles(seen.model, tiled, job, planes=planes)
    return replace(tiles, target=None) if tiles.blends else tiles


def _may_be_unsure(head: Head) -> bool:
    """Tell whether a threshold acts on the best of several classes."""
    return head.task == "semantic" and head.output.planes != 1


def _batch(card: ModelCard, job: SegmentJob, tiles: int) -> tuple[int, tuple[str, ...]]:
    """Return tiles per run, and a note when the model's fixed batch overrules the user."""
    fixed = card.input.batch
    if fixed is None:
        return min(job.batch or 1, tiles), ()
    if job.batch in (None, fixed):
        return fixed, ()
    return fixed, (f"'{card.name}' has a fixed batch of {fixed}; {job.batch} was asked for.",)
