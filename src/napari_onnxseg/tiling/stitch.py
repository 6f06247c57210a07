"""From the scores of tiles to finished blocks of the image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from napari_onnxseg.errors import RunError
from napari_onnxseg.tiling.plan import Tile, TilePlan
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.tiling.window import axis_windows
from napari_onnxseg.types import Scores


def stitch(plan: TilePlan, scores: Iterable[Scores]) -> Iterator[tuple[Region, Scores]]:
    """Put the kept parts of tiles together, block by block.

    Cropped tiles pass through one by one. Tiles that overlap are added up, weighted, in a
    band as high as one tile and as wide as the image, whatever the height of the image.

    Parameters
    ----------
    plan : TilePlan
        The tiles.
    scores : iterable of numpy.ndarray
        (K, *kept shape) float32, one a tile, in the order of the plan.

    Yields
    ------
    region : Region
        Pixels of the image that are now final; every pixel comes once.
    block : numpy.ndarray
        (K, *region.shape) float32, their scores.

    Raises
    ------
    RunError
        When the scores of a tile do not have the shape of its kept part.
    """
    return _blended(plan, scores) if plan.blends else _cropped(plan, scores)


def _cropped(plan: TilePlan, scores: Iterable[Scores]) -> Iterator[tuple[Region, Scores]]:
    """Pass each tile through, cut at the image."""
    for tile, part in zip(plan, scores, strict=True):
        _check(tile, part)
        yield from _inside(plan, tile.keep, part)


def _blended(plan: TilePlan, scores: Iterable[Scores]) -> Iterator[tuple[Region, Scores]]:
    """Add tiles into a band; after each row of tiles let go of what no later one touches."""
    band = _Band(plan)
    last = tuple(count - 1 for count in plan.grid)
    for place, tile, part in zip(np.ndindex(plan.grid), plan, scores, strict=True):
        _check(tile, part)
        band.add(tile.keep, place, part)
        if place[1:] == last[1:]:
            more = place[0] < last[0]
            done = plan.axes[0].keep(place[0] + 1)[0] if more else plan.padded[0]
            yield from _inside(plan, *band.release(done))


class _Band:
    """Weighted sums of the rows still being worked on, (K, rows, *padded width) float32."""

    def __init__(self, plan: TilePlan) -> None:
        self._width = plan.padded[1:]
        self._windows = axis_windows(plan)
        self._top = 0
        self._sums: Scores = np.zeros((0, 0, *self._width), np.float32)

    def add(self, keep: Region, place: Sequence[int], part: Scores) -> None:
        """Add the scores of one tile, weighted."""
        self._reach(len(part), keep.stop[0] - self._top)
        weighted = part
        for axis, (windows, number) in enumerate(zip(self._windows, place, strict=True)):
            weight = windows[number].reshape(-1, *(1,) * (len(place) - 1 - axis))
            weighted = np.multiply(weighted, weight, out=None if axis == 0 else weighted)
        inside = keep.shift((-self._top, *(0,) * len(self._width)))
        self._sums[:, *inside.slices] += weighted

    def release(self, until: int) -> tuple[Region, Scores]:
        """Return the rows above ``until`` and forget them."""
        done = until - self._top
        region = Region((self._top, *(0,) * len(self._width)), (until, *self._width))
        block, self._sums = self._sums[:, :done], self._sums[:, done:]
        self._top = until
        return region, block

    def _reach(self, classes: int, rows: int) -> None:
        """Make room for ``rows``; released blocks keep their memory to themselves."""
        held = self._sums.shape[1]
        if held < rows:
            sums = np.zeros((classes, rows, *self._width), np.float32)
            if held:
                sums[:, :held] = self._sums
            self._sums = sums


def _check(tile: Tile, part: Scores) -> None:
    """Raise when scores do not cover the kept part."""
    if part.shape[1:] != tile.keep.shape:
        raise RunError(
            f"The scores of a tile are {part.shape[1:]} px, but {tile.keep.shape} px are kept; "
            "check halo and output size of the model."
        )


def _inside(plan: TilePlan, region: Region, block: Scores) -> Iterator[tuple[Region, Scores]]:
    """Cut a block at the image and yield it, unless nothing is left."""
    image = Region.of_shape(plan.shape)
    within = region.intersect(image)
    if within.size:
        yield within, block[:, *within.relative_to(region).slices]
