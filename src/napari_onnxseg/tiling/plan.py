"""The geometry of a run: every tile, known before a pixel is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil, prod

from napari_onnxseg.errors import TileError
from napari_onnxseg.tiling.axis import Axis, Sides, padded_length, per_axis, smallest_tile
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.tiling.size import choose_tile

__all__ = ["Tile", "TilePlan", "choose_tile", "fit_tile", "plan_tiles"]


@dataclass(frozen=True, slots=True)
class Tile:
    """One piece of work.

    Parameters
    ----------
    box : Region
        What the network sees, in image pixels; where it leaves the image, the image is
        continued by reflection.
    keep : Region
        The trusted part, in image pixels, inside ``box``.
    """

    box: Region
    keep: Region

    @property
    def crop(self) -> Region:
        """The trusted part in tile pixels."""
        return self.keep.relative_to(self.box)


@dataclass(frozen=True, slots=True)
class TilePlan:
    """All tiles of an image, made on demand in row-major order.

    Tiles at the border lie flush with the padded image, so that the network's own border
    handling is that of the whole image; only sides that meet another tile have a halo.
    Starts lie on multiples of ``multiple``, the last tile moves back along that grid.

    Parameters
    ----------
    shape : tuple of int
        Image in pixels.
    padded : tuple of int
        Image continued by reflection at the far sides.
    tile : tuple of int
        Sides of every tile in pixels.
    halo : tuple of int
        Pixels thrown away at inner sides.
    overlap : tuple of int
        Kept pixels that neighbours share and blend; 0 where kept parts meet.
    multiple : tuple of int
        Grid of the tile starts in pixels.
    shrink : tuple of int
        Pixels per side that the network sees but does not give back.
    """

    shape: tuple[int, ...]
    padded: tuple[int, ...]
    tile: tuple[int, ...]
    halo: tuple[int, ...]
    overlap: tuple[int, ...]
    multiple: tuple[int, ...]
    shrink: tuple[int, ...]
    axes: tuple[Axis, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        facts = (self.padded, self.tile, self.halo, self.overlap, self.multiple, self.shrink)
        object.__setattr__(self, "axes", tuple(Axis(*f) for f in zip(*facts, strict=True)))

    @property
    def grid(self) -> tuple[int, ...]:
        """Tiles on each axis."""
        return tuple(axis.count for axis in self.axes)

    @property
    def blends(self) -> bool:
        """Whether neighbours share kept pixels, which are then blended."""
        return any(self.overlap)

    def __len__(self) -> int:
        return prod(self.grid)

    def tile_at(self, number: int) -> Tile:
        """Return tile ``number`` of the row-major order.

        Parameters
        ----------
        number : int
            From 0 to ``len(plan) - 1``.

        Returns
        -------
        Tile
            That tile.

        Raises
        ------
        IndexError
            When there is no such tile.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"There is no tile {number}; the plan has {len(self)}.")
        place = []
        for count in reversed(self.grid):
            number, along = divmod(number, count)
            place.append(along)
        spans = [
            (axis.box(i), axis.keep(i)) for axis, i in zip(self.axes, reversed(place), strict=True)
        ]
        return _tile(spans)

    def __iter__(self) -> Iterator[Tile]:
        spans = ([(axis.box(i), axis.keep(i)) for i in range(axis.count)] for axis in self.axes)
        return map(_tile, product(*spans))

    def words(self) -> str:
        """Return the plan for people, such as ``"12 × 16 tiles of 512 × 512 px, halo 48 px"``."""
        if len(self) == 1:
            return f"1 tile of {_by(self.tile)} px, the whole image at once"
        words = f"{_by(self.grid)} tiles of {_by(self.tile)} px, halo {_short(self.halo)} px"
        return f"{words}, blended over {_short(self.overlap)} px" if self.blends else words


def plan_tiles(
    shape: Sequence[int],
    *,
    tile: Sides,
    halo: Sides = 0,
    overlap: Sides = 0,
    multiple: Sides = 1,
    shrink: Sides = 0,
) -> TilePlan:
    """Lay tiles over an image.

    An image smaller than the tile is continued by reflection up to one tile; cap the tile
    with `fit_tile` first where the network takes smaller ones.

    Parameters
    ----------
    shape : sequence of int
        Image in pixels, any number of axes.
    tile : int or sequence of int
        Sides of each tile in pixels; multiples of ``multiple``.
    halo : int or sequence of int
        Pixels thrown away at inner sides; multiples of ``multiple``, at least ``shrink``.
    overlap : int or sequence of int
        Kept pixels that neighbours share at least; 0 crops, more blends.
    multiple : int or sequence of int
        Total downsampling of the network.
    shrink : int or sequence of int
        Pixels per side that the network sees but does not give back (no padding inside).

    Returns
    -------
    TilePlan
        The plan; making it takes the same time for any image.

    Raises
    ------
    TileError
        Naming the nearest legal values.
    """
    ndim = len(shape)
    named = {"tile": tile, "halo": halo, "overlap": overlap, "multiple": multiple, "shrink": shrink}
    sides = {name: per_axis(name, value, ndim) for name, value in named.items()}
    if not ndim or min(shape) < 1:
        raise TileError(f"An image needs at least one pixel on each axis, got {tuple(shape)}.")
    padded = []
    for length, *facts in zip(shape, *sides.values(), strict=True):
        padded.append(_checked_length(length, *facts))
    return TilePlan(tuple(int(n) for n in shape), tuple(padded), **sides)


def fit_tile(
    shape: Sequence[int], tile: Sides, *, multiple: Sides, shrink: Sides = 0
) -> tuple[int, ...]:
    """Cap a tile at the padded image, for networks that take tiles of any size.

    Parameters
    ----------
    shape : sequence of int
        Image in pixels.
    tile : int or sequence of int
        Sides wished for, in pixels.
    multiple : int or sequence of int
        Total downsampling of the network.
    shrink : int or sequence of int
        Pixels per side that the network does not give back.

    Returns
    -------
    tuple of int
        Sides that are no larger than what the whole image needs.
    """
    ndim = len(shape)
    facts = (
        per_axis("tile", tile, ndim),
        per_axis("multiple", multiple, ndim),
        per_axis("shrink", shrink, ndim),
    )
    return tuple(min(t, ceil(n / m) * m + 2 * s) for n, t, m, s in zip(shape, *facts, strict=True))


def _tile(spans: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> Tile:
    """Put the spans of all axes together."""
    boxes, keeps = zip(*spans, strict=True)
    return Tile(Region(*zip(*boxes, strict=True)), Region(*zip(*keeps, strict=True)))


def _checked_length(
    length: int, tile: int, halo: int, overlap: int, multiple: int, shrink: int
) -> int:
    """Check one axis and return its padded length."""
    if not shrink:
        _check_multiple("Tile", tile, multiple)
    if halo < shrink:
        raise TileError(f"Halo {halo} px is less than the {shrink} px a side the model gives up.")
    if halo != shrink:
        _check_multiple("Halo", halo, multiple)
    if tile <= 2 * shrink:
        raise TileError(
            f"Tile {tile} px is used up by the {shrink} px a side the model gives up; "
            f"use more than {2 * shrink} px."
        )
    padded = padded_length(length, tile, multiple, shrink)
    if padded > tile - 2 * shrink:
        _check_room(Axis(padded, tile, halo, overlap, multiple, shrink))
    return padded


def _check_room(axis: Axis) -> None:
    """Raise when a second tile would not get on, or would share too much."""
    if axis.step < axis.multiple:
        raise TileError(_too_small(axis))
    kept = axis.tile - 2 * axis.halo
    if axis.overlap * 4 > kept * 3:
        raise TileError(_too_shared(kept, axis.overlap))


def _check_multiple(name: str, value: int, multiple: int) -> None:
    """Raise with the nearest multiples."""
    if value % multiple:
        below, above = value // multiple * multiple, ceil(value / multiple) * multiple
        near = f"{below} or {above}" if below or name == "Halo" else f"{above}"
        raise TileError(
            f"{name} {value} px is not a multiple of {multiple}, which the model needs; use {near}."
        )


def _too_small(axis: Axis) -> str:
    """Explain that halos and overlap leave no room, with the smallest tile that does."""
    needed = smallest_tile(axis.halo, axis.overlap, axis.multiple, axis.shrink)
    shared = f" and an overlap of {axis.overlap} px" if axis.overlap else ""
    return (
        f"Tile {axis.tile} px leaves nothing beside two halos of {axis.halo} px{shared}; "
        f"use a tile of at least {needed} px or a smaller halo."
    )


def _too_shared(trusted: int, overlap: int) -> str:
    """Explain that neighbours share too much of what they keep."""
    return (
        f"Overlap {overlap} px is more than three quarters of the {trusted} px that a tile "
        f"keeps; use {trusted * 3 // 4} px or less."
    )


def _by(sides: Sequence[int]) -> str:
    """Return ``"512 × 640"``."""
    return " × ".join(str(s) for s in sides)


def _short(sides: Sequence[int]) -> str:
    """Return one number when all are equal."""
    return str(sides[0]) if len(set(sides)) == 1 else _by(sides)
