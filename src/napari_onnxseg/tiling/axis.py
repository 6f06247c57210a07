"""Tiles along one axis: where they start and which part of each is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
        Pixels thrown away at sides that meet another tile.
    overlap : int
        Kept pixels that neighbours share at least; 0 when kept parts meet.
    multiple : int
        Tile starts lie on this grid, counted from the first.
    shrink : int
        Pixels per side that the network does not give back; the first tile starts that far
        outside the image.
    """

    padded: int
    tile: int
    halo: int
    overlap: int
    multiple: int
    shrink: int

    @property
    def first_end(self) -> int:
        """Where the kept part of the first tile ends when another tile follows."""
        trusted = self.tile - self.shrink - self.halo
        return trusted if self.overlap else trusted // self.multiple * self.multiple

    @property
    def step(self) -> int:
        """Pixels from one tile start to the next; not positive when the tile is too small."""
        reach = self.first_end - self.overlap - self.halo + self.shrink
        return reach // self.multiple * self.multiple

    @property
    def last_start(self) -> int:
        """Start of the last tile, flush with the far border."""
        return self.padded + self.shrink - self.tile

    @property
    def count(self) -> int:
        """Tiles on this axis."""
        rest = self.last_start + self.shrink
        return 1 + (-(-rest // self.step) if rest > 0 else 0)

    def box(self, number: int) -> tuple[int, int]:
        """Return what tile ``number`` sees, half open."""
        start = min(number * self.step - self.shrink, self.last_start)
        return start, start + self.tile

    def keep(self, number: int) -> tuple[int, int]:
        """Return what is kept of tile ``number``, half open."""
        last = number == self.count - 1
        if not self.overlap:
            start = self.first_end + (number - 1) * self.step if number else 0
            return start, self.padded if last else self.first_end + number * self.step
        box = self.box(number)
        return box[0] + self.halo if number else 0, self.padded if last else box[1] - self.halo


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
