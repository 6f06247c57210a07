"""Which numbers of a plan are legal, and which legal ones are nearest."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from napari_onnxseg.errors import TileError
from napari_onnxseg.tiling.axis import Axis, padded_length, smallest_tile
from napari_onnxseg.tiling.region import Region


def refuse_outside(part: Region, shape: Sequence[int]) -> None:
    """Raise for a part that does not lie in an image.

    Parameters
    ----------
    part : Region
        In pixels.
    shape : sequence of int
        Of the image.

    Raises
    ------
    TileError
        When it is empty or reaches outside.
    """
    if not (part.size and Region.of_shape(shape).contains(part)):
        raise TileError(
            f"The part {part.start} to {part.stop} does not lie in the image of "
            f"{' × '.join(map(str, shape))} px; choose one that does."
        )


def checked_length(
    length: int, tile: int, halo: int, overlap: int, multiple: int, shrink: int
) -> int:
    """Check the numbers of one axis and return its padded length.

    Parameters
    ----------
    length, tile, halo, overlap, multiple, shrink : int
        As for `napari_onnxseg.tiling.plan.plan_tiles`, in pixels.

    Returns
    -------
    int
        Pixels, at least ``length``.

    Raises
    ------
    TileError
        Naming the nearest legal values.
    """
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
