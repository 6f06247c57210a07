"""From the scores of tiles to finished blocks of the image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from napari_onnxseg.errors import RunError
from napari_onnxseg.tiling.plan import TilePlan
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
    stitcher = Stitcher(plan)
    for part in scores:
        yield from stitcher.add(part)
    if stitcher.missing:
        raise RunError(f"Of {len(plan)} tiles, {stitcher.missing} did not come.")


class Stitcher:
    """Takes the scores of tiles one by one and gives back what they finish.

    After the last tile of a plan it is ready for the first one of the next plane.

    Parameters
    ----------
    plan : TilePlan
        The tiles.
    """

    def __init__(self, plan: TilePlan) -> None:
        self._plan = plan
        self._band = _Band(plan) if plan.blends else None
        self._number = 0

    @property
    def missing(self) -> int:
        """Tiles still to come before the plane is whole; 0 between planes."""
        return -self._number % len(self._plan)

    def add(self, part: Scores) -> list[tuple[Region, Scores]]:
        """Add the kept part of the next tile.

        Parameters
        ----------
        part : numpy.ndarray
            (K, *kept shape) float32.

        Returns
        -------
        list of (Region, numpy.ndarray)
            What is final now, as `stitch` yields it; empty while nothing is.

        Raises
        ------
        RunError
            When the scores do not have the shape of the kept part.
        """
        number, keep = self._number, self._plan.tile_at(self._number).keep
        if part.shape[1:] != keep.shape:
            raise RunError(
                f"The scores of a tile are {part.shape[1:]} px, but {keep.shape} px are kept; "
                "check halo and output size of the model."
            )
        self._number = (number + 1) % len(self._plan)
        if self._band is None:
            return self._inside(keep, part)
        return self._blend(self._band, number, keep, part)

    def _blend(
        self, band: _Band, number: int, keep: Region, part: Scores
    ) -> list[tuple[Region, Scores]]:
        """Add to the band; after a whole row of tiles let go of what no later one touches."""
        grid = self._plan.grid
        row, *across = (int(i) for i in np.unravel_index(number, grid))
        band.add(keep, (row, *across), part)
        if across != [count - 1 for count in grid[1:]]:
            return []
        last = row == grid[0] - 1
        done = self._plan.padded[0] if last else self._plan.axes[0].keep(row + 1)[0]
        return self._inside(*band.release(done, last=last))

    def _inside(self, region: Region, block: Scores) -> list[tuple[Region, Scores]]:
        """Cut a block at the image; nothing may be left."""
        within = region.intersect(Region.of_shape(self._plan.shape))
        return [(within, block[:, *within.relative_to(region).slices])] if within.size else []


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

    def release(self, until: int, *, last: bool) -> tuple[Region, Scores]:
        """Return the rows above ``until`` and forget them; after the last ones begin anew."""
        done = until - self._top
        region = Region((self._top, *(0,) * len(self._width)), (until, *self._width))
        block, self._sums = self._sums[:, :done], self._sums[:, done:]
        self._top = 0 if last else until
        return region, block

    def _reach(self, classes: int, rows: int) -> None:
        """Make room for ``rows``; released blocks keep their memory to themselves."""
        held = self._sums.shape[1]
        if held < rows:
            sums = np.zeros((classes, rows, *self._width), np.float32)
            if held:
                sums[:, :held] = self._sums
            self._sums = sums
