"""The geometry of a run: every tile, known before a pixel is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import ceil, prod

from napari_onnxseg.errors import TileError
from napari_onnxseg.tiling.axis import Axis, Sides, per_axis
from napari_onnxseg.tiling.legal import checked_length, refuse_outside
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
    target : Region or None
        Part of the image that is wanted, in pixels; None for all of it.
    """

    shape: tuple[int, ...]
    padded: tuple[int, ...]
    tile: tuple[int, ...]
    halo: tuple[int, ...]
    overlap: tuple[int, ...]
    multiple: tuple[int, ...]
    shrink: tuple[int, ...]
    target: Region | None = None
    axes: tuple[Axis, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", tuple(map(self._axis, range(len(self.shape)))))

    @property
    def wanted(self) -> Region:
        """Pixels of the image that the result covers."""
        return Region.of_shape(self.shape) if self.target is None else self.target

    @property
    def kept(self) -> Region:
        """Union of the kept parts: what is wanted, widened to the grid, in padded pixels."""
        return Region(tuple(a.begin for a in self.axes), tuple(a.stop for a in self.axes))

    def _axis(self, i: int) -> Axis:
        """Return the tiles along one axis; kept parts end on the grid or at the far border."""
        multiple, wanted = self.multiple[i], self.wanted
        return Axis(
            self.padded[i],
            self.tile[i],
            self.halo[i],
            self.overlap[i],
            multiple,
            self.shrink[i],
            begin=wanted.start[i] // multiple * multiple,
            end=self._end(i),
        )

    def _end(self, i: int) -> int | None:
        """Return where kept parts end along an axis; None for the far border."""
        end = ceil(self.wanted.stop[i] / self.multiple[i]) * self.multiple[i]
        return None if self.wanted.stop[i] >= self.shape[i] or end >= self.padded[i] else end

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

    def part(self, target: Region) -> TilePlan:
        """Return the tiles that a part of the image needs.

        They lie on the grid of the whole image and see beyond the part, so that exact tiles
        give there what a run on all of it gives.

        Parameters
        ----------
        target : Region
            In pixels of the image, inside it.

        Returns
        -------
        TilePlan
            A plan whose kept parts cover the part, widened to the grid.

        Raises
        ------
        TileError
            When the part is empty or does not lie in the image.
        """
        refuse_outside(target, self.shape)
        whole = target == Region.of_shape(self.shape)
        return replace(self, target=None if whole else target)

    def words(self) -> str:
        """Return the plan for people, such as ``"12 × 16 tiles of 512 × 512 px, halo 48 px"``."""
        if len(self) == 1:
            all_of_it = "" if self.target else ", the whole image at once"
            return f"1 tile of {_by(self.tile)} px{all_of_it}"
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
        padded.append(checked_length(length, *facts))
    return TilePlan(
        shape=tuple(int(n) for n in shape),
        padded=tuple(padded),
        tile=sides["tile"],
        halo=sides["halo"],
        overlap=sides["overlap"],
        multiple=sides["multiple"],
        shrink=sides["shrink"],
    )


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


def _by(sides: Sequence[int]) -> str:
    """Return ``"512 × 640"``."""
    return " × ".join(str(s) for s in sides)


def _short(sides: Sequence[int]) -> str:
    """Return one number when all are equal."""
    return str(sides[0]) if len(set(sides)) == 1 else _by(sides)
