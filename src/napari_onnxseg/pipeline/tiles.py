"""Tiles through the network: read, prepare, run, decode, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np

from napari_onnxseg.arrays.source import read_padded
from napari_onnxseg.cards.card import Head
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.after import staged
from napari_onnxseg.pipeline.bench import Bench, Finished, Plane, Position
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.pipeline.returning import BAND_VALUES, Bands, on_image
from napari_onnxseg.pipeline.work import work_through
from napari_onnxseg.prepare.regrid import row_bands
from napari_onnxseg.prepare.resample import repeat_ids, rescale_scores
from napari_onnxseg.tiling.order import Agenda
from napari_onnxseg.tiling.plan import Tile
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.tiling.stitch import Stitcher
from napari_onnxseg.types import Batch, Mask, Scores

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class _Seen:
    """One tile that went through the network."""

    plane: Plane
    number: int
    tile: Tile
    scores: tuple[Scores, ...]
    invalid: Mask | None


def finished_blocks(
    bench: Bench, planes: Iterable[Plane]
) -> Iterator[tuple[Position, Iterable[Finished]]]:
    """Run all tiles of all planes.

    Parameters
    ----------
    bench : Bench
        What the workers share.
    planes : iterable of Plane
        Taken lazily.

    Returns
    -------
    iterator of (tuple of int, iterable of Finished)
        Once per tile: the plane of the tile that was done, and what is final now: the
        tile's own part, or the band it completed, or nothing yet. To be gone through
        before the next tile is asked for.
    """
    return _blended(bench, planes) if bench.plan.tiles.blends else _cropped(bench, planes)


def _cropped(
    bench: Bench, planes: Iterable[Plane]
) -> Iterator[tuple[Position, Iterable[Finished]]]:
    """Keep the trusted part of each tile; any order."""

    def work(group: tuple[Plane, list[int]]) -> list[tuple[Position, Iterable[Finished]]]:
        return [(seen.plane.position, _crop(bench, seen)) for seen in _seen(bench, *group)]

    for done in _through(bench, work, planes, ordered=False):
        yield from done


def _blended(
    bench: Bench, planes: Iterable[Plane]
) -> Iterator[tuple[Position, Iterable[Finished]]]:
    """Blend numbers where tiles overlap, plane by plane and row by row."""

    def work(group: tuple[Plane, list[int]]) -> list[tuple[_Seen, list[Scores]]]:
        return [(seen, _blendable(bench, seen)) for seen in _seen(bench, *group)]

    resolution, at = bench.plan.resolution, None
    for done in _through(bench, work, planes, ordered=True):
        for seen, parts in done:
            plane = seen.plane
            if at != plane.position:
                at, stitchers = plane.position, [Stitcher(bench.plan.tiles) for _ in parts]
                rows = Bands(resolution) if resolution else None
            bands = [s.add(part, seen.number) for s, part in zip(stitchers, parts, strict=True)]
            yield plane.position, _decoded(bench, plane, zip(*bands, strict=True), rows)


def _through(
    bench: Bench,
    work: Callable[[tuple[Plane, list[int]]], list[Done]],
    planes: Iterable[Plane],
    *,
    ordered: bool,
) -> Iterator[list[Done]]:
    """Work through all planes, a batch of tiles at a time."""
    groups = _groups(bench, planes)
    return work_through(
        work, groups, workers=bench.plan.workers, ordered=ordered, stop=bench.engine.stop
    )


def _groups(bench: Bench, planes: Iterable[Plane]) -> Iterator[tuple[Plane, list[int]]]:
    """Give the tiles of each plane in batches, the nearest to the view first."""
    for plane in planes:
        agenda = Agenda(bench.plan.tiles, bench.leave_out.get(plane.position, ()))
        numbers = _numbers(agenda, bench)
        while group := list(islice(numbers, bench.plan.batch)):
            yield plane, group


def _numbers(agenda: Agenda, bench: Bench) -> Iterator[int]:
    """Give what is left, the nearest to where somebody looks when it is asked for."""
    downwards = bench.plan.tiles.blends and bench.plan.resolution is not None
    while (number := agenda.take(None if downwards else bench.look())) is not None:
        yield number


def _seen(bench: Bench, plane: Plane, numbers: list[int]) -> list[_Seen]:
    """Read, prepare and run one batch of tiles."""
    bench.cancel.check()
    tiles = [bench.plan.tiles.tile_at(number) for number in numbers]
    batch = _desk(bench)[: len(tiles)]
    with bench.watch.stage("prepare"):
        masks = [
            plane.feeder.fill(read_padded(plane.source, tile.box), out)
            for tile, out in zip(tiles, batch, strict=True)
        ]
    with bench.watch.stage("run"):
        scores = bench.engine.run(batch)
    each = zip(numbers, tiles, zip(*scores, strict=True), masks, strict=True)
    return [_Seen(plane, *seen) for seen in each]


def _desk(bench: Bench) -> Batch:
    """Return this worker's input buffer."""
    plan = bench.plan
    buffer: Batch | None = getattr(bench.desk, "batch", None)
    if buffer is None:
        shape = (plan.batch, plan.channels.model_channels, *plan.tiles.tile)
        buffer = bench.desk.batch = np.empty(shape, plan.card.input.dtype)
    return buffer


def _covered(tile: Tile, head: Head) -> Region:
    """Return the part of a tile of which an output tells something."""
    return tile.box.grow(tuple(-side for side in head.geometry.shrink))


def _kept(bench: Bench, seen: _Seen, number: int, keep: Region) -> Scores:
    """Return the numbers of one output in a part of the tile, at the resolution it was fed."""
    head, decoder = bench.plan.heads[number], bench.decoders[number]
    geometry, scores = head.geometry, seen.scores[number]
    covered = _covered(seen.tile, head)
    resized = any(r != 1 for r in geometry.ratio)
    if resized:
        resize = repeat_ids if head.scores == "labels" else rescale_scores
        scores = resize(staged(scores, decoder.early), covered.shape)
    if scores.shape[1:] != covered.shape:
        raise ModelError(
            f"'{bench.plan.card.name}' gave scores of {scores.shape[1:]} px for a tile of "
            f"{seen.tile.box.shape} px where {covered.shape} px were expected; "
            "its graph does not do what it declares, so export it again."
        )
    part = scores[(slice(None), *keep.relative_to(covered).slices)]
    return part if resized else staged(part, decoder.early)


def _crop(bench: Bench, seen: _Seen) -> Iterable[Finished]:
    """Decode the trusted part of a tile that lies in the image."""
    return [_as_seen(bench, seen)] if bench.plan.resolution is None else _returned(bench, seen)


def _as_seen(bench: Bench, seen: _Seen) -> Finished:
    """Decode it at the resolution that the network saw."""
    keep = seen.tile.keep.intersect(bench.plan.part)
    invalid = seen.invalid
    if invalid is not None:
        invalid = invalid[keep.relative_to(seen.tile.box).slices]
    with bench.watch.stage("decode"):
        parts = (_kept(bench, seen, number, keep) for number in range(len(bench.decoders)))
        blocks = [
            decoder.decode(part, keep, invalid)
            for decoder, part in zip(bench.decoders, parts, strict=True)
        ]
    return Finished(seen.number, keep, blocks)


def _blendable(bench: Bench, seen: _Seen) -> list[Scores]:
    """Return what is blended of each output."""
    with bench.watch.stage("decode"):
        return [
            decoder.blendable(_kept(bench, seen, number, seen.tile.keep))
            for number, decoder in enumerate(bench.decoders)
        ]


def _returned(bench: Bench, seen: _Seen) -> Iterable[Finished]:
    """Decode it at the resolution of the image; a large part later, some rows at a time."""
    resolution = bench.plan.resolution
    assert resolution is not None
    back, heads = resolution.back, bench.plan.heads
    keep = seen.tile.keep.intersect(Region.of_shape(resolution.model))
    target = back.within(keep).intersect(bench.plan.part)
    if not target.size:
        return ()
    needed = back.needs(target)
    with bench.watch.stage("decode"):
        views = [needed.intersect(_covered(seen.tile, head)) for head in heads]
        parts = [_kept(bench, seen, number, view) for number, view in enumerate(views)]

    def finished(region: Region) -> Finished:
        bench.cancel.check()
        numbers = [
            on_image(back, part, view.start, region, ids=head.scores == "labels")
            for part, view, head in zip(parts, views, heads, strict=True)
        ]
        return _finished(bench, seen.plane, seen.number, region, numbers)

    per_row = target.shape[1] * sum(map(len, parts))
    bands = list(row_bands(target, per_row, BAND_VALUES))
    return map(finished, bands) if bands[1:] else [finished(target)]


def _decoded(
    bench: Bench,
    plane: Plane,
    bands: Iterable[tuple[tuple[Region, Scores], ...]],
    rows: Bands | None,
) -> Iterator[Finished]:
    """Decode bands of blended numbers, whose pixels are looked at for missing data."""
    for band in bands:
        region, parts = band[0][0], [scores for _, scores in band]
        row = _band(bench.plan, region)
        for place, numbers in [(region, parts)] if rows is None else rows.add(parts, region):
            within = place.intersect(bench.plan.part)
            if within.size:
                inner = (slice(None), *within.relative_to(place).slices)
                cut = [part[inner] for part in numbers]
                yield _finished(bench, plane, row, within, cut, blended=True)


def _band(plan: SegmentPlan, region: Region) -> int:
    """Return the number of the row of tiles that begins where a band begins."""
    axis = plan.tiles.axes[0]
    begins = (axis.keep(row)[0] for row in range(axis.count))
    return max(row for row, begin in enumerate(begins) if begin <= region.start[0])


def _finished(
    bench: Bench,
    plane: Plane,
    number: int,
    region: Region,
    numbers: list[Scores],
    *,
    blended: bool = False,
) -> Finished:
    """Decode numbers of a region of the image."""
    with bench.watch.stage("decode"):
        invalid = plane.invalid(region)
        blocks = [
            decoder.decode(scores, region, invalid, blended=blended)
            for decoder, scores in zip(bench.decoders, numbers, strict=True)
        ]
    return Finished(number, region, blocks)
