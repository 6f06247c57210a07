"""Tiles through the network: read, prepare, run, decode, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from threading import local
from typing import TypeVar

import numpy as np

from napari_onnxseg.arrays.source import ImageSource, read_padded
from napari_onnxseg.decode.labels import to_probabilities
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.decoding import Block, Decoder
from napari_onnxseg.pipeline.engine import Engine
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.pipeline.record import Stopwatch
from napari_onnxseg.pipeline.work import work_through
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.resample import repeat_ids, rescale_scores
from napari_onnxseg.tiling.plan import Tile
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.tiling.stitch import Stitcher
from napari_onnxseg.types import Batch, Mask, Scores

Position = tuple[int, ...]
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Bench:
    """What every worker of a run shares.

    Parameters
    ----------
    plan : SegmentPlan
        The decisions.
    engine : Engine
        The network.
    decoder : Decoder
        What its scores mean.
    watch : Stopwatch
        Seconds by stage.
    cancel : Cancel
        Polled before each batch.
    desk : threading.local
        Each worker's own input buffer.
    """

    plan: SegmentPlan
    engine: Engine
    decoder: Decoder
    watch: Stopwatch
    cancel: Cancel
    desk: local


@dataclass(frozen=True, slots=True)
class Plane:
    """One plane in hand: where its pixels come from, and where they go.

    Parameters
    ----------
    position : tuple of int
        Of the plane in the result.
    source : ImageSource
        Its pixels.
    feeder : Feeder
        Fills network input from them.
    """

    position: Position
    source: ImageSource
    feeder: Feeder


@dataclass(frozen=True, slots=True)
class _Seen:
    """One tile that went through the network."""

    plane: Plane
    tile: Tile
    scores: Scores
    invalid: Mask | None


def finished_blocks(
    bench: Bench, planes: Iterable[Plane]
) -> Iterator[tuple[Position, list[Block]]]:
    """Run all tiles of all planes.

    Parameters
    ----------
    bench : Bench
        What the workers share.
    planes : iterable of Plane
        Taken lazily.

    Returns
    -------
    iterator of (tuple of int, list of Block)
        Once per tile: the plane of the tile that was done, and what is final now: the
        tile's own part, or the band it completed, or nothing yet.
    """
    return _blended(bench, planes) if bench.plan.tiles.blends else _cropped(bench, planes)


def _cropped(bench: Bench, planes: Iterable[Plane]) -> Iterator[tuple[Position, list[Block]]]:
    """Keep the trusted part of each tile; any order."""

    def work(group: tuple[Plane, list[Tile]]) -> list[tuple[Position, list[Block]]]:
        return [(seen.plane.position, [_crop(bench, seen)]) for seen in _seen(bench, *group)]

    for done in _through(bench, work, planes, ordered=False):
        yield from done


def _blended(bench: Bench, planes: Iterable[Plane]) -> Iterator[tuple[Position, list[Block]]]:
    """Blend probabilities where tiles overlap, plane by plane in the order of the tiles."""

    def work(group: tuple[Plane, list[Tile]]) -> list[tuple[Plane, Scores]]:
        return [(seen.plane, _probabilities(bench, seen)) for seen in _seen(bench, *group)]

    stitcher = Stitcher(bench.plan.tiles)
    for done in _through(bench, work, planes, ordered=True):
        for plane, scores in done:
            bands = stitcher.add(scores)
            yield plane.position, [_blended_block(bench, plane, *band) for band in bands]


def _through(
    bench: Bench,
    work: Callable[[tuple[Plane, list[Tile]]], list[Done]],
    planes: Iterable[Plane],
    *,
    ordered: bool,
) -> Iterator[list[Done]]:
    """Work through all planes, a batch of tiles at a time."""
    groups = _groups(planes, bench.plan)
    return work_through(
        work, groups, workers=bench.plan.workers, ordered=ordered, stop=bench.engine.stop
    )


def _groups(planes: Iterable[Plane], plan: SegmentPlan) -> Iterator[tuple[Plane, list[Tile]]]:
    """Give the tiles of each plane in batches."""
    for plane in planes:
        tiles = iter(plan.tiles)
        while group := list(islice(tiles, plan.batch)):
            yield plane, group


def _seen(bench: Bench, plane: Plane, tiles: list[Tile]) -> list[_Seen]:
    """Read, prepare and run one batch of tiles."""
    bench.cancel.check()
    batch = _desk(bench)[: len(tiles)]
    with bench.watch.stage("prepare"):
        masks = [
            plane.feeder.fill(read_padded(plane.source, tile.box), out)
            for tile, out in zip(tiles, batch, strict=True)
        ]
    with bench.watch.stage("run"):
        scores = bench.engine.run(batch)
    return [_Seen(plane, *seen) for seen in zip(tiles, scores, masks, strict=True)]


def _desk(bench: Bench) -> Batch:
    """Return this worker's input buffer."""
    plan = bench.plan
    buffer: Batch | None = getattr(bench.desk, "batch", None)
    if buffer is None:
        shape = (plan.batch, plan.channels.model_channels, *plan.tiles.tile)
        buffer = bench.desk.batch = np.empty(shape, plan.card.input.dtype)
    return buffer


def _kept(bench: Bench, seen: _Seen, keep: Region) -> Scores:
    """Return the scores of a part of the tile, at the image's resolution."""
    geometry = bench.plan.card.geometry
    covered = seen.tile.box.grow(tuple(-s for s in geometry.shrink))
    scores = seen.scores
    if any(r != 1 for r in geometry.ratio):
        resize = repeat_ids if bench.plan.card.scores == "labels" else rescale_scores
        scores = resize(scores, covered.shape)
    if scores.shape[1:] != covered.shape:
        raise ModelError(
            f"'{bench.plan.card.name}' gave scores of {scores.shape[1:]} px for a tile of "
            f"{seen.tile.box.shape} px where {covered.shape} px were expected; "
            "its graph does not do what it declares, so export it again."
        )
    return scores[(slice(None), *keep.relative_to(covered).slices)]


def _crop(bench: Bench, seen: _Seen) -> Block:
    """Decode the trusted part of a tile that lies in the image."""
    keep = seen.tile.keep.intersect(Region.of_shape(bench.plan.tiles.shape))
    invalid = seen.invalid
    if invalid is not None:
        invalid = invalid[keep.relative_to(seen.tile.box).slices]
    with bench.watch.stage("decode"):
        return bench.decoder.decode(_kept(bench, seen, keep), keep, invalid)


def _probabilities(bench: Bench, seen: _Seen) -> Scores:
    """Return what is blended."""
    with bench.watch.stage("decode"):
        scores = _kept(bench, seen, seen.tile.keep)
        return to_probabilities(scores, bench.plan.card.scores)


def _blended_block(bench: Bench, plane: Plane, region: Region, scores: Scores) -> Block:
    """Decode a finished band, whose pixels are looked at once more for missing data."""
    decoder = replace(bench.decoder, kind="probabilities")
    with bench.watch.stage("decode"):
        invalid = plane.feeder.invalid(plane.source.read(region))
        return decoder.decode(scores, region, invalid)
