"""Connected pieces of a label image: which they are, where they lie, where they go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from napari_onnxseg.correct.pairs import blocks
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask

Pieces = NDArray[np.int32] | NDArray[np.int64]

_FIRST_REACH = 64


def pieces_of(values: AnyArray) -> Pieces:
    """Return numbers for the connected pieces of equal labels; corners connect.

    Parameters
    ----------
    values : numpy.ndarray
        Any shape, integers; 0 is no piece.

    Returns
    -------
    numpy.ndarray
        Same shape, from 1 in row-major order of their first pixel, 0 where the label is 0.

    Raises
    ------
    ChoiceError
        When more than three axes are longer than a pixel.
    """
    from skimage.measure import label  # here, because it takes 0.4 s to load

    flat = np.atleast_1d(values.squeeze())  # label takes three axes at most
    if flat.ndim > 3:
        raise ChoiceError(
            f"Pieces are found in three dimensions at most, got a region of {values.shape} px; "
            "work plane by plane."
        )
    found: Pieces = label(flat, background=0, connectivity=flat.ndim).reshape(values.shape)
    return found


def labels_of(pieces: Pieces, values: AnyArray) -> AnyArray:
    """Return the label of each piece.

    Parameters
    ----------
    pieces, values : numpy.ndarray
        As `pieces_of` gives and takes them.

    Returns
    -------
    numpy.ndarray
        (pieces + 1,), 0 first.
    """
    found = np.zeros(int(pieces.max(initial=0)) + 1, values.dtype)
    found[pieces] = values
    return found


def going_on(pieces: Pieces, seen: Region, region: Region) -> Mask:
    """Tell which pieces reach beyond a region.

    Parameters
    ----------
    pieces : numpy.ndarray
        Of seen.shape, from `pieces_of`.
    seen, region : Region
        What was looked at, and the part of it that is meant.

    Returns
    -------
    numpy.ndarray
        (pieces + 1,) bool; the first, no piece, is True.
    """
    outside = np.ones(pieces.shape, bool)
    outside[region.relative_to(seen).slices] = False
    found = np.zeros(int(pieces.max(initial=0)) + 1, bool)
    found[pieces[outside]] = True
    found[0] = True
    return found


def boxes(values: AnyArray) -> dict[int, tuple[slice, ...]]:
    """Return the box around each label.

    Parameters
    ----------
    values : numpy.ndarray
        Any shape, integers.

    Returns
    -------
    dict of int to tuple of slice
        By ascending label, 0 too.
    """
    ids, where = numbered(values)
    found = ndimage.find_objects(where + 1, len(ids))
    return {int(i): box for i, box in zip(ids, found, strict=True) if box is not None}


def numbered(values: AnyArray) -> tuple[AnyArray, NDArray[np.intp]]:
    """Return the labels of an array, and which of them each pixel has.

    Parameters
    ----------
    values : numpy.ndarray
        Any shape, integers.

    Returns
    -------
    ids : numpy.ndarray
        (N,) ascending.
    where : numpy.ndarray
        Same shape, intp, index into ``ids``.
    """
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if low < 0 or high > 4 * values.size + 255:
        ids, where = np.unique(values, return_inverse=True)
        return ids, where.reshape(values.shape)
    places = values.astype(np.intp, copy=False)
    ids = np.flatnonzero(np.bincount(places.ravel()))  # no sorting: several times as fast
    table = np.zeros(high + 1, np.intp)
    table[ids] = np.arange(len(ids))
    return ids.astype(values.dtype), table[places]


def depth_of(mask: Mask, sizes: Sequence[float]) -> NDArray[np.float64]:
    """Return how deep each pixel lies in a mask; beyond the array is outside.

    Parameters
    ----------
    mask : numpy.ndarray
        Any shape, bool. Along an axis of one pixel there is no depth: it is a plane.
    sizes : sequence of float
        World units per pixel, one per axis.

    Returns
    -------
    numpy.ndarray
        Same shape, float64, world units; 0 outside.
    """
    thick = [int(side > 1) for side in mask.shape]
    padded = np.pad(mask, [(n, n) for n in thick])
    inner = tuple(slice(n, n + side) for n, side in zip(thick, mask.shape, strict=True))
    depth: NDArray[np.float64] = ndimage.distance_transform_edt(padded, sizes)[inner]
    return depth


def grown(box: tuple[slice, ...], by: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    """Return a box widened by pixels on each axis, inside an array of this shape.

    Parameters
    ----------
    box : tuple of slice
        The box.
    by, shape : sequence of int
        Pixels on each axis: how much wider, and of the array.

    Returns
    -------
    tuple of slice
        The wider box.
    """
    return tuple(
        slice(max(0, s.start - n), min(side, s.stop + n))
        for s, n, side in zip(box, by, shape, strict=True)
    )


def piece_at(labels: Any, point: Sequence[int], within: Region) -> tuple[Region, Mask]:
    """Return the connected piece that a point lies in, looking no further than needed.

    Parameters
    ----------
    labels : array-like
        Label image of any size.
    point : sequence of int
        Pixel, one number per axis, in the region.
    within : Region
        Where to look, inside the image.

    Returns
    -------
    region : Region
        Box around the piece.
    piece : numpy.ndarray
        Of region.shape, bool.
    """
    here = Region(tuple(point), tuple(n + 1 for n in point))
    reach = _FIRST_REACH
    while True:
        seen = here.grow((reach,) * here.ndim).intersect(within)
        values = np.asarray(labels[seen.slices])
        centre = here.relative_to(seen).start
        same = values == values[centre]
        numbered = ndimage.label(same, np.ones((3,) * same.ndim))[0]
        piece = numbered == numbered[centre]
        if seen == within or not _touches_open(piece, seen, within):
            (box,) = ndimage.find_objects(piece.astype(np.uint8))
            start = tuple(s.start for s in box)
            return Region(start, tuple(s.stop for s in box)).shift(seen.start), piece[box]
        reach *= 2


def highest(labels: Any) -> int:
    """Return the largest id of a label image of any size.

    Parameters
    ----------
    labels : array-like
        Integers; read block by block.

    Returns
    -------
    int
        0 when there is no pixel.
    """
    return max(
        (int(np.asarray(labels[r.slices]).max(initial=0)) for r in blocks(tuple(labels.shape))),
        default=0,
    )


def _touches_open(piece: Mask, seen: Region, within: Region) -> bool:
    """Tell whether a piece touches a side of the box beyond which there is more."""
    for axis in range(seen.ndim):
        line = np.moveaxis(piece, axis, 0)
        if seen.start[axis] > within.start[axis] and line[0].any():
            return True
        if seen.stop[axis] < within.stop[axis] and line[-1].any():
            return True
    return False
