"""Tiles along one axis: where they start and which part of each is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from napari_onnxseg.errors import TileError

Sides: TypeAlias = int | Sequence[int]
"""One number for all axes, or one an axis."""


def per_axis(name: str, value: Sides, ndim: int) -> tuple[int, ...]:
    """Return one checked whole number an axis, or raise naming the fault."""
    sides = tuple(value) if isinstance(value, Sequence) else (value,) * ndim
    if len(sides) != ndim:
        raise TileError(f"The {name} needs 1 or {ndim} numbers, got {len(sides)}: {sides}.")
    lowest = 1 if name in ("tile", "multiple") else 0
    wrong = [s for s in sides if int(s) != s or s < lowest]
    if wrong:
        raise TileError(
            f"The {name} must be a whole number of at least {lowest} px, got {wrong[0]}."
        )
    return tuple(int(s) for s in sides)


def padded_length(length: int, tile: int, multiple: int, shrink: int) -> int:
    """Return the length after padding: at least one tile, the last start on the grid.

    Without ``shrink`` this is ``length`` rounded up to ``multiple``, or the tile.

    Parameters
    ----------
    length : int
        Image in pixels.
    tile : int
        Side of the tile in pixels.
    multiple : int
        Total downsampling of the network.
    shrink : int
        Pixels per side that the network does not give back.

    Returns
    -------
    int
        Pixels, at least ``length``.
    """
    first = tile - 2 * shrink
    return first + -(-max(length - first, 0) // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Axis:
    """Tiles along one axis, each found from its number alone.

    Parameters
    ----------
    padded : int
        Padded image in pixels, as `padded_length` gives it.
    tile : int
        Side of every tile in pixels.
    halo : int
        Pixels thrown away at sides that meet another tile, or the rest of the image.
    overlap : int
        Kept pixels that neighbours share at least; 0 when kept parts meet.
    multiple : int
        Tile starts lie on this grid, counted from the first possible one.
    shrink : int
        Pixels per side that the network does not give back; tiles may start that far outside
        the image.
    begin : int
        First pixel that is kept, on the grid.
    end : int or None
        One past the last pixel that is kept, on the grid; None for the padded image.
    """

    padded: int
    tile: int
    halo: int
    overlap: int
    multiple: int
    shrink: int
    begin: int = 0
    end: int | None = None
    stop: int = field(init=False, compare=False)
    """One past the last pixel that is kept."""
    first_start: int = field(init=False, compare=False)
    """Start of the first tile: flush with the near border, or a halo before ``begin``."""
    first_end: int = field(init=False, compare=False)
    """Where the kept part of the first tile ends when another tile follows."""
    step: int = field(init=False, compare=False)
    """Pixels from one tile start to the next; not positive when the tile is too small."""
    last_start: int = field(init=False, compare=False)
    """Start of the last tile: flush with the far border, or reaching a halo past the end."""
    count: int = field(init=False, compare=False)
    """Tiles on this axis; 0 when the tile is too small for a second one."""

    def __post_init__(self) -> None:
        for name in ("stop", "first_start", "first_end", "step", "last_start", "count"):
            object.__setattr__(self, name, getattr(self, f"_{name}")())

    def _stop(self) -> int:
        return self.padded if self.end is None else self.end

    def _first_start(self) -> int:
        wished = self.begin - self.halo + self.shrink if self.begin else 0
        return min(max(wished, 0) // self.multiple * self.multiple - self.shrink, self._highest)

    def _first_end(self) -> int:
        trusted = self.first_start + self.tile - self.halo
        return trusted if self.overlap else trusted // self.multiple * self.multiple

    def _step(self) -> int:
        reach = self.first_end - self.overlap - self.halo - self.first_start
        return reach // self.multiple * self.multiple

    def _last_start(self) -> int:
        if self.stop == self.padded:
            return self._highest
        wished = self.stop + self.halo - self.tile + self.shrink
        on_grid = -(-wished // self.multiple) * self.multiple - self.shrink
        return min(max(on_grid, self.first_start), self._highest)

    def _count(self) -> int:
        rest = self.last_start - self.first_start
        if rest <= 0:
            return 1
        return 1 - (-rest // self.step) if self.step > 0 else 0

    def box(self, number: int) -> tuple[int, int]:
        """Return what tile ``number`` sees, half open."""
        start = min(self.first_start + number * self.step, self.last_start)
        return start, start + self.tile

    def keep(self, number: int) -> tuple[int, int]:
        """Return what is kept of tile ``number``, half open."""
        last = number == self.count - 1
        if not self.overlap:
            start = self.first_end + (number - 1) * self.step if number else self.begin
            return start, self.stop if last else self.first_end + number * self.step
        box = self.box(number)
        start = box[0] + self.halo if number else self.begin
        return start, self.stop if last else box[1] - self.halo

    @property
    def _highest(self) -> int:
        """The last start that lies in the image."""
        return self.padded + self.shrink - self.tile


def smallest_tile(halo: int, overlap: int, multiple: int, shrink: int) -> int:
    """Return the smallest tile that a second one can follow.

    That is ``2 * halo + overlap + multiple``, or some pixels more where ``shrink`` keeps
    starts and kept parts off the grid. Without ``shrink`` it is a multiple.

    Parameters
    ----------
    halo : int
        Pixels thrown away at inner sides.
    overlap : int
        Kept pixels that neighbours share.
    multiple : int
        Total downsampling of the network.
    shrink : int
        Pixels per side that the network does not give back.

    Returns
    -------
    int
        Side in pixels.
    """
    grain = 1 if shrink else multiple
    side = -(-(2 * halo + overlap + 1) // grain) * grain
    while Axis(0, side, halo, overlap, multiple, shrink).step < multiple:
        side += grain
    return side
