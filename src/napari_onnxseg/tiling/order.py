"""Which tile is next: the nearest to where somebody looks, now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.tiling.plan import TilePlan


class Agenda:
    """The tiles of a plane that are still to do, taken one by one.

    Tiles that are blended are taken a row at a time, the nearest row first, because a band is
    only final once its rows are.

    Parameters
    ----------
    plan : TilePlan
        The tiles.
    leave_out : collection of int
        Numbers of tiles that need not be done.
    """

    def __init__(self, plan: TilePlan, leave_out: Collection[int] = ()) -> None:
        self._grid = plan.grid
        self._rows = plan.blends
        self._centres = [_centres(plan, axis) for axis in range(len(plan.grid))]
        self._left = np.ones(plan.grid, bool)
        self._left.reshape(-1)[list(leave_out)] = False
        self._row: list[int] = []
        self._first = 0

    def __len__(self) -> int:
        return int(np.count_nonzero(self._left)) + len(self._row)

    def take(self, focus: Sequence[float] | None = None) -> int | None:
        """Return the number of the next tile, and count it as done.

        Parameters
        ----------
        focus : sequence of float, optional
            Where somebody looks, in pixels of the image; without it tiles come in the order
            of the plan.

        Returns
        -------
        int or None
            None when nothing is left.
        """
        if self._row:
            return self._row.pop(0)
        number = self._in_order() if focus is None else self._nearest(focus)
        if number is None or not self._rows:
            return number
        return self._whole_row(number)

    def in_order(self, focus: Sequence[float] | None = None) -> Iterator[int]:
        """Take all that is left for one focus.

        Parameters
        ----------
        focus : sequence of float, optional
            As for `take`.

        Yields
        ------
        int
            Numbers of tiles.
        """
        while (number := self.take(focus)) is not None:
            yield number

    def _in_order(self) -> int | None:
        """Take the first tile that is left."""
        flat = self._left.reshape(-1)
        ahead = int(np.argmax(flat[self._first :])) + self._first if self._first < flat.size else 0
        if ahead >= flat.size or not flat[ahead]:
            return None
        flat[ahead] = False
        self._first = ahead + 1
        return ahead

    def _nearest(self, focus: Sequence[float]) -> int | None:
        """Take the tile whose kept part has the nearest centre; the first of several."""
        if not self._left.any():
            return None
        distance = np.zeros((1,) * len(self._grid))
        for axis, (centres, place) in enumerate(zip(self._centres, focus, strict=True)):
            shape = [-1 if i == axis else 1 for i in range(len(self._grid))]
            distance = distance + np.square(centres - place).reshape(shape)
        number = int(np.argmin(np.where(self._left, distance, np.inf)))
        self._left.reshape(-1)[number] = False
        return number

    def _whole_row(self, number: int) -> int:
        """Take the other tiles of a row as well, and return the first."""
        row = number // (self._left.size // self._grid[0])
        width = self._left.size // self._grid[0]
        left = self._left.reshape(self._grid[0], width)[row]
        left[number - row * width] = True
        self._row = [row * width + int(i) for i in np.flatnonzero(left)]
        left[:] = False
        return self._row.pop(0)


def _centres(plan: TilePlan, axis: int) -> NDArray[np.float64]:
    """Return the middle of each kept part along an axis."""
    tiles = plan.axes[axis]
    return np.array([sum(tiles.keep(i)) / 2 for i in range(tiles.count)])
