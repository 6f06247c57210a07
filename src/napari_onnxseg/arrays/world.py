"""Where an image lies on earth or in a patient: read with it, written with its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Georeference:
    """Place of a picture on a map.

    Parameters
    ----------
    transform : tuple of float
        (a, b, c, d, e, f): a point (column, row) counted from the outer corner of the first
        pixel lies at (a * column + b * row + c, d * column + e * row + f) on the map.
    keys : tuple of (int, str, tuple)
        GeoTIFF tags that describe the map's coordinates: number, kind of value, values.
    """

    transform: tuple[float, ...]
    keys: tuple[tuple[int, str, tuple[float, ...] | str], ...] = ()

    def at(self, first: Sequence[float], factor: Sequence[float] = (1.0, 1.0)) -> Georeference:
        """Return the place of a part of the picture, or of a coarser level.

        Parameters
        ----------
        first : sequence of float
            (row, column) of the outer corner of the part's first pixel, in pixels; (0, 0) is
            the outer corner of the picture.
        factor : sequence of float, optional
            (rows, columns) of the picture that one pixel of the part is long.

        Returns
        -------
        Georeference
            Of the part.
        """
        a, b, c, d, e, f = self.transform
        row, column = first
        moved = (
            a * factor[1],
            b * factor[0],
            a * column + b * row + c,
            d * factor[1],
            e * factor[0],
            d * column + e * row + f,
        )
        return replace(self, transform=moved)


@dataclass(frozen=True, slots=True)
class VoxelGrid:
    """Place of a volume in a patient or a scanner.

    Parameters
    ----------
    affine : tuple of tuple of float
        (4, 4): voxel (x, y, z), in the order of the NIfTI file, to millimetres to the right,
        to the front and upwards. The array of an `ImageFile` has the axes (Z, Y, X).
    codes : tuple of int
        What NIfTI calls the coordinates: codes of sform and qform.
    """

    affine: Matrix
    codes: tuple[int, int] = (1, 0)

    def at(self, first: Sequence[float], factor: Sequence[float] = (1.0, 1.0, 1.0)) -> VoxelGrid:
        """Return the place of a part of the volume, or of a coarser level.

        Parameters
        ----------
        first : sequence of float
            (z, y, x) of the centre of the part's first voxel, in voxels of the volume.
        factor : sequence of float, optional
            (z, y, x): voxels of the volume that one of the part is long.

        Returns
        -------
        VoxelGrid
            Of the part.
        """
        back, wide = tuple(first)[::-1], tuple(factor)[::-1]
        rows = []
        for row in self.affine[:3]:
            start = row[3] + sum(r * b for r, b in zip(row, back, strict=False))
            rows.append((*(r * w for r, w in zip(row, wide, strict=False)), start))
        return replace(self, affine=(*rows, self.affine[3]))


World: TypeAlias = Georeference | VoxelGrid
"""Opaque to all but the writers."""
