"""Masks as polygons and as run lengths, and back without loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.correct.components import boxes, grown, pieces_of
from napari_onnxseg.types import AnyArray, Mask

Ring = NDArray[np.float64]
"""(N, 2) corners (x, y) of a closed line, the last not repeated; pixel (0, 0) covers [0, 1]."""


def rings_of(mask: Mask) -> tuple[list[Ring], list[Ring]]:
    """Trace a mask.

    Parameters
    ----------
    mask : numpy.ndarray
        (Y, X) bool.

    Returns
    -------
    outer : list of numpy.ndarray
        Rings around pieces (corners connect).
    holes : list of numpy.ndarray
        Rings around what they enclose. A pixel belongs to the mask when its centre lies in an
        odd number of rings.
    """
    from skimage.measure import find_contours  # here, because it takes 0.4 s to load

    padded = np.pad(mask, 1).astype(np.uint8)
    outer: list[Ring] = []
    holes: list[Ring] = []
    for line in find_contours(padded, 0.5, fully_connected="high"):
        ring = line[:-1, ::-1] - 0.5  # the padding takes one off, the centre of a pixel adds a half
        (outer if _turns_left(ring) else holes).append(ring)
    return outer, holes


def filled(rings: Sequence[Ring], shape: tuple[int, int]) -> Mask:
    """Draw rings.

    Parameters
    ----------
    rings : sequence of numpy.ndarray
        (N, 2) corners (x, y).
    shape : (int, int)
        Rows and columns.

    Returns
    -------
    numpy.ndarray
        (Y, X) bool: centres in an odd number of rings.
    """
    from skimage.draw import polygon

    mask = np.zeros(shape, bool)
    for ring in rings:
        rows, columns = polygon(ring[:, 1] - 0.5, ring[:, 0] - 0.5, shape)
        mask[rows, columns] ^= True
    return mask


def with_holes(outer: Ring, holes: Sequence[Ring]) -> Ring:
    """Return one ring that leaves holes out, by going to each and back on the same way.

    Parameters
    ----------
    outer : numpy.ndarray
        (N, 2) ring.
    holes : sequence of numpy.ndarray
        Rings inside it.

    Returns
    -------
    numpy.ndarray
        (M, 2) ring.
    """
    ring, left = outer, list(holes)
    while left:
        ways = [_nearest(ring, hole) for hole in left]
        number = int(np.argmin([way[0] for way in ways]))
        _, here, there = ways[number]
        hole = left.pop(number)
        turned = np.concatenate([hole[there:], hole[: there + 1]])
        ring = np.concatenate([ring[: here + 1], turned, ring[here:]])
    return ring


def run_lengths(mask: Mask) -> list[int]:
    """Return the lengths of runs, column by column, of 0 first: COCO's uncompressed RLE.

    Parameters
    ----------
    mask : numpy.ndarray
        (Y, X) bool.

    Returns
    -------
    list of int
        Their sum is the number of pixels.
    """
    flat = mask.ravel(order="F")
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    lengths = np.diff(np.concatenate([[0], changes, [len(flat)]])).tolist()
    return [0, *lengths] if flat[0] else lengths


def from_run_lengths(counts: Sequence[int], shape: Sequence[int]) -> Mask:
    """Return the mask of run lengths; see `run_lengths`.

    Parameters
    ----------
    counts : sequence of int
        Lengths.
    shape : sequence of int
        Rows and columns.

    Returns
    -------
    numpy.ndarray
        (Y, X) bool.
    """
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape(tuple(shape), order="F")


def objects_in(
    labels: AnyArray, objects: AnyArray | None, ignore: int
) -> Iterator[tuple[int, tuple[slice, ...], Mask]]:
    """Yield the objects of a tile.

    Parameters
    ----------
    labels : numpy.ndarray
        (Y, X) classes; 0 and ``ignore`` are no objects.
    objects : numpy.ndarray or None
        (Y, X) numbers of objects, 0 for none; connected pieces of a class when left out.
    ignore : int
        Class of pixels nobody has looked at.

    Yields
    ------
    label : int
        Class.
    box : tuple of slice
        Around it, one pixel wider where there is room.
    mask : numpy.ndarray
        Of the box, bool.
    """
    known = np.where(labels == ignore, 0, labels)
    numbers: Any = pieces_of(known) if objects is None else np.where(known > 0, objects, 0)
    for number, box in boxes(numbers).items():
        if number:
            where = grown(box, (1, 1), labels.shape)
            mask = numbers[where] == number
            ids, counts = np.unique(known[where][mask], return_counts=True)
            yield int(ids[counts.argmax()]), where, mask


def _turns_left(ring: Ring) -> bool:
    """Tell which way a ring goes, by the sign of its area."""
    x, y = ring[:, 0], ring[:, 1]
    return bool(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0)


def _nearest(one: Ring, other: Ring) -> tuple[float, int, int]:
    """Return the least distance of two rings, and the corners that have it."""
    from scipy.spatial import KDTree

    away, partner = map(np.asarray, KDTree(other).query(one))
    here = int(np.argmin(away))
    return float(away[here]), here, int(partner[here])
