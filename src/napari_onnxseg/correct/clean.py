"""Take away, rename and fill: operations that look at whole pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import ndimage

from napari_onnxseg.correct.components import (
    Pieces,
    going_on,
    labels_of,
    piece_at,
    pieces_of,
)
from napari_onnxseg.correct.edit import Edit, check_fits
from napari_onnxseg.correct.scope import Scope, allowed, change
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask

ALL = Scope()
"""Everything may change."""


def delete(labels: Any, scope: Scope = ALL) -> Edit:
    """Make the selected labels background.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    scope : Scope, optional
        Where, and which labels; all when none is selected.

    Returns
    -------
    Edit
        To be applied.
    """
    return change(labels, scope, lambda old, _: np.where(scope.selects(old), 0, old))


def delete_at(labels: Any, points: Sequence[Sequence[int]], scope: Scope = ALL) -> Edit:
    """Make the pieces that were clicked background.

    Parameters
    ----------
    labels : array-like
        Label image of any size; only read, and no further than the pieces reach.
    points : sequence of sequence of int
        Pixels; those outside the region or on background do nothing.
    scope : Scope, optional
        Where; a piece that leaves the region is cut there.

    Returns
    -------
    Edit
        To be applied.
    """
    within = scope.within(labels.shape)
    pieces = [piece_at(labels, point, within) for point in points if _inside(point, within)]
    if not pieces:
        return _nothing(labels, scope)
    box = pieces[0][0]
    for region, _ in pieces[1:]:
        box = around(box, region)

    def without(old: AnyArray, seen: Region) -> AnyArray:
        for region, piece in pieces:
            old[region.relative_to(seen).slices][piece] = 0
        return old

    return change(labels, scope.at(box), without)


def relabel(labels: Any, ids: Mapping[int, int], scope: Scope = ALL) -> Edit:
    """Give labels other ids, all at once.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    ids : mapping of int to int
        New id of each old one; others stay.
    scope : Scope, optional
        Where.

    Returns
    -------
    Edit
        To be applied.

    Raises
    ------
    ImageError
        When a new id does not fit the dtype of the labels.
    ChoiceError
        When an id is negative.
    """
    if min(ids.values(), default=0) < 0:
        raise ChoiceError(f"Ids are whole numbers from 0 on, got {min(ids.values())}.")
    check_fits(np.dtype(labels.dtype), max(ids.values(), default=0))
    return change(labels, scope, lambda old, _: mapped(old, ids))


def mapped(values: AnyArray, ids: Mapping[int, int]) -> AnyArray:
    """Return labels with other ids.

    Parameters
    ----------
    values : numpy.ndarray
        Any shape, integers.
    ids : mapping of int to int
        New id of each old one; others stay.

    Returns
    -------
    numpy.ndarray
        Same shape and dtype.
    """
    new = values.copy()
    for old_id, new_id in ids.items():
        if old_id != new_id:
            new[values == old_id] = new_id
    return new


def remove_small(labels: Any, min_size: float, scope: Scope = ALL) -> Edit:
    """Make pieces that are smaller than a size background.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    min_size : float
        Area or volume in world units; pieces that have it stay.
    scope : Scope, optional
        Where, and which labels. Pieces that go on outside the region stay.

    Returns
    -------
    Edit
        To be applied; doing it again changes nothing.
    """
    pixel = float(np.prod(scope.sizes(len(labels.shape))))

    def small(pieces: Pieces, _: AnyArray) -> Mask:
        found: Mask = np.bincount(pieces.ravel()) * pixel < min_size - 1e-9 * pixel
        return found

    return _drop(labels, scope, small)


def keep_largest(labels: Any, scope: Scope = ALL) -> Edit:
    """Make all pieces of a label but its largest background.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    scope : Scope, optional
        Where, and which labels. Pieces that go on outside the region stay too; of equals the
        first stays.

    Returns
    -------
    Edit
        To be applied; doing it again changes nothing.
    """

    def others(pieces: Pieces, values: AnyArray) -> Mask:
        sizes, owners = np.bincount(pieces.ravel()), labels_of(pieces, values)
        order = np.lexsort((np.arange(len(sizes)), -sizes, owners))
        first = np.ones(len(order), bool)
        first[1:] = owners[order][1:] != owners[order][:-1]
        drop = np.ones(len(sizes), bool)
        drop[order[first]] = False
        return drop

    return _drop(labels, scope, others)


def fill_holes(labels: Any, scope: Scope = ALL, *, max_size: float | None = None) -> Edit:
    """Fill background that one label encloses on all sides.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    scope : Scope, optional
        Where, and which labels. Background that reaches the border of region or image is
        no hole, nor is what several labels enclose.
    max_size : float, optional
        Larger holes stay, area or volume in world units.

    Returns
    -------
    Edit
        To be applied; doing it again changes nothing.
    """
    pixel = float(np.prod(scope.sizes(len(labels.shape))))

    def filled(old: AnyArray, _: Region) -> AnyArray:
        holes, count = ndimage.label(old == 0)
        owners = _enclosing(holes, old, count)
        owners[_at_border(holes)] = 0
        if max_size is not None:
            owners[np.bincount(holes.ravel()) * pixel > max_size + 1e-9 * pixel] = 0
        owners[0] = 0
        return np.where(holes > 0, owners[holes], old)

    return change(labels, scope, filled)


def around(one: Region, other: Region) -> Region:
    """Return the smallest box that holds two others.

    Parameters
    ----------
    one, other : Region
        The boxes.

    Returns
    -------
    Region
        Around both.
    """
    return Region(
        tuple(map(min, zip(one.start, other.start, strict=True))),
        tuple(map(max, zip(one.stop, other.stop, strict=True))),
    )


def _drop(labels: Any, scope: Scope, choose: Any) -> Edit:
    """Make chosen pieces background, except those that go on outside."""
    region = scope.within(labels.shape)

    def dropped(old: AnyArray, seen: Region) -> AnyArray:
        pieces = pieces_of(old)
        drop = choose(pieces, old) & ~going_on(pieces, seen, region)
        drop &= scope.selects(labels_of(pieces, old))
        return np.where(drop[pieces], 0, old)

    return change(labels, scope, dropped, context=1)


def _enclosing(holes: AnyArray, values: AnyArray, count: int) -> AnyArray:
    """Return the one label around each hole, 0 where there are several."""
    wide = np.int64
    low, high = np.full(count + 1, np.iinfo(wide).max), np.zeros(count + 1, wide)
    for axis in range(values.ndim):
        hole, value = np.moveaxis(holes, axis, 0), np.moveaxis(values, axis, 0)
        for near, far in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
            meets = (hole[near] > 0) & (value[far] != 0)
            where, what = hole[near][meets], value[far][meets].astype(wide)
            np.minimum.at(low, where, what)
            np.maximum.at(high, where, what)
    return np.where(low == high, high, 0).astype(values.dtype)


def _at_border(holes: AnyArray) -> AnyArray:
    """Return the holes that touch the border, along axes that are more than a pixel long."""
    found = [np.zeros(0, holes.dtype)]
    for axis, side in enumerate(holes.shape):
        if side > 1 or holes.ndim == 1:
            line = np.moveaxis(holes, axis, 0)
            found += [np.unique(line[0]), np.unique(line[-1])]
    return np.unique(np.concatenate(found))


def _inside(point: Sequence[int], region: Region) -> bool:
    """Tell whether a pixel lies in a box."""
    return all(a <= n < b for a, n, b in zip(region.start, point, region.stop, strict=True))


def _nothing(labels: Any, scope: Scope) -> Edit:
    """Return a change of nothing."""
    ndim = len(labels.shape)
    empty = Region((0,) * ndim, (0,) * ndim)
    none = np.zeros(empty.shape, labels.dtype)
    return allowed(Scope(), empty, none, none)
