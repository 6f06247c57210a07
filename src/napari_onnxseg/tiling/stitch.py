"""From the scores of tiles to finished blocks of the image."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from math import prod

import numpy as np

from napari_onnxseg.errors import RunError
from napari_onnxseg.tiling.plan import TilePlan
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.tiling.window import axis_windows
from napari_onnxseg.types import Scores


def stitch(plan: TilePlan, scores: Iterable[Scores]) -> Iterator[tuple[Region, Scores]]:
    """Put the kept parts of tiles together, block by block.

    Cropped tiles pass through one by one. Tiles that overlap are added up, weighted, in
    bands as wide as the image, whatever its height.

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

    Tiles that are cropped may come in any order. Of tiles that are blended, those of one row
    come one after the other; the rows come in any order, and the sums do not depend on it.
    After all tiles of a plan it is ready for the next plane.

    Parameters
    ----------
    plan : TilePlan
        The tiles.
    """

    def __init__(self, plan: TilePlan) -> None:
        self._plan = plan
        self._rows = _Rows(plan) if plan.blends else None
        self._seen = 0

    @property
    def missing(self) -> int:
        """Tiles still to come before the plane is whole; 0 between planes."""
        return -self._seen % len(self._plan)

    def add(self, part: Scores, number: int | None = None) -> list[tuple[Region, Scores]]:
        """Add the kept part of a tile.

        Parameters
        ----------
        part : numpy.ndarray
            (K, *kept shape) float32.
        number : int, optional
            Of the tile in the plan; the next one when left out.

        Returns
        -------
        list of (Region, numpy.ndarray)
            What is final now, as `stitch` yields it; empty while nothing is.

        Raises
        ------
        RunError
            When the scores do not have the shape of the kept part.
        """
        number = self._seen if number is None else number
        keep = self._plan.tile_at(number).keep
        if part.shape[1:] != keep.shape:
            raise RunError(
                f"The scores of a tile are {part.shape[1:]} px, but {keep.shape} px are kept; "
                "check halo and output size of the model."
            )
        self._seen = (self._seen + 1) % len(self._plan)
        if self._rows is None:
            return self._inside(keep, part)
        done = self._rows.add(number, keep, part)
        return [block for band in done for block in self._inside(*band)]

    def _inside(self, region: Region, block: Scores) -> list[tuple[Region, Scores]]:
        """Cut a block at what is wanted; nothing may be left."""
        within = region.intersect(self._plan.wanted)
        return [(within, block[:, *within.relative_to(region).slices])] if within.size else []


def rows_to_do(plan: TilePlan, done: Collection[int]) -> list[int]:
    """Return which rows of blended tiles some band still needs.

    Parameters
    ----------
    plan : TilePlan
        The tiles, which overlap.
    done : collection of int
        Bands that are finished; band ``i`` begins where row ``i`` begins.

    Returns
    -------
    list of int
        Numbers of rows, ascending.
    """
    members = _rows_in_bands(plan)
    return sorted({row for band, rows in enumerate(members) if band not in done for row in rows})


def _rows_in_bands(plan: TilePlan) -> list[list[int]]:
    """Return the rows of tiles that lie in each band, in their order."""
    spans = [plan.axes[0].keep(row) for row in range(plan.grid[0])]
    members: list[list[int]] = [[] for _ in spans]
    for row, (_, stop) in enumerate(spans):
        for band in range(row, len(spans)):
            if spans[band][0] >= stop:
                break
            members[band].append(row)
    return members


class _Rows:
    """Weighted sums of rows of tiles, and the bands that neighbouring rows make together.

    Band ``i`` reaches from where row ``i`` begins to where the next row begins. It is the sum
    of the rows that lie in it, in their order, whichever came first.
    """

    def __init__(self, plan: TilePlan) -> None:
        self._grid = plan.grid
        self._windows = axis_windows(plan)
        self._kept = plan.kept
        self._spans = [plan.axes[0].keep(row) for row in range(plan.grid[0])]
        self._begins = [*(start for start, _ in self._spans), plan.kept.stop[0]]
        self._members = _rows_in_bands(plan)
        self._sums: dict[int, Scores] = {}
        self._tiles: dict[int, int] = {}
        self._given: set[int] = set()

    def add(self, number: int, keep: Region, part: Scores) -> list[tuple[Region, Scores]]:
        """Add the scores of one tile; when they complete its row, give the bands now final."""
        row, *across = (int(i) for i in np.unravel_index(number, self._grid))
        shape = (len(part), keep.shape[0], *self._kept.shape[1:])
        sums = self._sums.setdefault(row, np.zeros(shape, np.float32))
        inside = keep.shift((-keep.start[0], *(-start for start in self._kept.start[1:])))
        sums[:, *inside.slices] += self._weighted((row, *across), part)
        self._tiles[row] = self._tiles.get(row, 0) + 1
        return self._final(row) if self._whole(row) else []

    def _weighted(self, place: Sequence[int], part: Scores) -> Scores:
        """Multiply by the weights of a tile, axis by axis."""
        weighted = part
        for axis, (windows, number) in enumerate(zip(self._windows, place, strict=True)):
            weight = windows[number].reshape(-1, *(1,) * (len(place) - 1 - axis))
            weighted = np.multiply(weighted, weight, out=None if axis == 0 else weighted)
        return weighted

    def _whole(self, row: int) -> bool:
        """Whether all tiles of a row came."""
        return self._tiles.get(row, 0) == prod(self._grid[1:])

    def _final(self, row: int) -> list[tuple[Region, Scores]]:
        """Give the bands that waited for this row alone."""
        waiting = [band for band in self._bands_of(row) if band not in self._given]
        final = [band for band in waiting if all(map(self._whole, self._members[band]))]
        bands = [self._band(band) for band in final]
        self._given.update(final)
        self._forget()
        return bands

    def _bands_of(self, row: int) -> Iterator[int]:
        """Give the bands that a row lies in."""
        stop = self._spans[row][1]
        return takewhile(lambda band: self._begins[band] < stop, range(row, self._grid[0]))

    def _band(self, band: int) -> tuple[Region, Scores]:
        """Add up the rows of a band."""
        start, stop = self._begins[band], self._begins[band + 1]
        total: Scores | None = None
        for row in self._members[band]:
            first, last = self._spans[row]
            piece = self._sums[row][:, start - first : min(stop, last) - first]
            if total is None and piece.shape[1] == stop - start:
                total = piece.copy()
            else:
                total = self._onto(total, piece, stop - start)
        assert total is not None
        region = Region((start, *self._kept.start[1:]), (stop, *self._kept.stop[1:]))
        return region, total

    @staticmethod
    def _onto(total: Scores | None, piece: Scores, rows: int) -> Scores:
        """Add a piece to the upper rows of a sum."""
        if total is None:
            total = np.zeros((len(piece), rows, *piece.shape[2:]), np.float32)
        total[:, : piece.shape[1]] += piece
        return total

    def _forget(self) -> None:
        """Let go of rows whose bands were all given; after the last one begin anew."""
        for row in list(self._sums):
            if all(band in self._given for band in self._bands_of(row)):
                del self._sums[row]
        if len(self._given) == self._grid[0]:
            self._given.clear()
            self._tiles.clear()
