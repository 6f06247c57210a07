"""Divide what touches, and join what was divided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from napari_onnxseg.correct.clean import ALL, around
from napari_onnxseg.correct.components import (
    boxes,
    depth_of,
    grown,
    highest,
    labels_of,
    piece_at,
    pieces_of,
)
from napari_onnxseg.correct.drawn_line import drawn_line
from napari_onnxseg.correct.edit import Edit, check_fits
from napari_onnxseg.correct.scope import Scope, change
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask

Parts = NDArray[np.int32]

_LEVELS = 8
"""Steps of a pixel to which distances are rounded, so that a ridge is one seed."""


def split_touching(
    labels: Any, spacing: float, scope: Scope = ALL, *, gap: bool = False, first_id: int = 0
) -> Edit:
    """Divide each piece at its waists.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    spacing : float
        World units; the least distance of the middles of two objects along an axis.
    scope : Scope, optional
        Where, and which labels.
    gap : bool, optional
        Divide by a line of background, for classes. By default parts get new ids, the largest
        keeps the old one.
    first_id : int, optional
        First new id; 0 for the one after the highest.

    Returns
    -------
    Edit
        To be applied.

    Raises
    ------
    ChoiceError
        When the spacing is not above 0.
    ImageError
        When new ids do not fit the dtype of the labels.

    References
    ----------
    Watershed of the distance to the outside, seeded by its maxima.
    """
    if not spacing > 0:
        raise ChoiceError(f"The spacing is a number of world units above 0, got {spacing}.")
    ndim = len(labels.shape)
    sizes, reach = scope.sizes(ndim), scope.pixels(spacing, ndim)
    fresh = _Fresh(labels, first_id, needed=not gap)

    def divided(old: AnyArray, _: Region) -> AnyArray:
        for where, piece in _pieces(old, scope):
            parts = _waists(piece, sizes, reach, line=gap)
            if parts is not None:
                _write_parts(old[where], piece, parts, fresh)
        return old

    return change(labels, scope, divided, context=reach)


def split_along(
    labels: Any,
    line: Sequence[Sequence[float]],
    scope: Scope = ALL,
    *,
    gap: bool = False,
    first_id: int = 0,
) -> Edit:
    """Divide pieces along a drawn line.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    line : sequence of (float, float)
        Corners (row, column) in pixels. In a volume the line cuts through all planes of the
        region.
    scope : Scope, optional
        Where, and which labels.
    gap, first_id : optional
        As in `split_touching`.

    Returns
    -------
    Edit
        To be applied; of pieces that the line cuts in two or more.

    Raises
    ------
    ChoiceError
        When the line has fewer than two corners.
    ImageError
        When new ids do not fit the dtype of the labels.
    """
    if len(line) < 2:
        raise ChoiceError(f"A line has two corners at least, got {len(line)}.")
    fresh = _Fresh(labels, first_id, needed=not gap)

    def divided(old: AnyArray, seen: Region) -> AnyArray:
        cut = np.zeros(old.shape, bool)
        cut[..., :, :] = drawn_line(line, seen)
        for where, piece in _pieces(old, scope):
            parts = _cut_parts(piece, cut[where], line=gap)
            if parts is not None:
                _write_parts(old[where], piece, parts, fresh)
        return old

    return change(labels, scope, divided)


def merge(
    labels: Any,
    first: Sequence[int],
    second: Sequence[int],
    scope: Scope = ALL,
    *,
    bridge: float = 0,
) -> Edit:
    """Make two clicked pieces one: the second gets the label of the first.

    Parameters
    ----------
    labels : array-like
        Label image of any size; only read, and no further than the pieces reach.
    first, second : sequence of int
        A pixel of each.
    scope : Scope, optional
        Where. Both pixels must lie in the region.
    bridge : float, optional
        Background between the two becomes theirs too, when it is no wider than this, in world
        units.

    Returns
    -------
    Edit
        To be applied.

    Raises
    ------
    ChoiceError
        When a pixel lies outside the region, or on background.
    """
    within = scope.within(labels.shape)
    found = [_clicked(labels, point, within) for point in (first, second)]
    label = np.asarray(labels[tuple(slice(n, n + 1) for n in first)]).item()
    box = around(found[0][0], found[1][0])

    def merged(old: AnyArray, seen: Region) -> AnyArray:
        ours, theirs = (_placed(piece, region, seen) for region, piece in found)
        if bridge > 0:
            old[_between(ours, theirs, scope.sizes(old.ndim), bridge) & (old == 0)] = label
        old[theirs] = label
        return old

    return change(labels, scope.at(box), merged)


class _Fresh:
    """Hands out ids that no label has."""

    def __init__(self, labels: Any, first_id: int, *, needed: bool) -> None:
        self.next: int | None = (first_id or highest(labels) + 1) if needed else None
        self.dtype = np.dtype(labels.dtype)

    def ids(self, count: int) -> range:
        """Return so many new ids."""
        assert self.next is not None
        check_fits(self.dtype, self.next + count - 1)
        found = range(self.next, self.next + count)
        self.next = found.stop
        return found


def _pieces(old: AnyArray, scope: Scope) -> Iterator[tuple[tuple[slice, ...], Mask]]:
    """Yield the box and the pixels of each piece that may be worked on."""
    pieces = pieces_of(old)
    chosen = scope.selects(labels_of(pieces, old))
    for number, box in boxes(pieces).items():
        if number and chosen[number]:
            where = grown(box, (1,) * old.ndim, old.shape)
            yield where, pieces[where] == number


def _write_parts(block: AnyArray, piece: Mask, parts: Parts, fresh: _Fresh) -> None:
    """Write the parts of a piece: a line of background between, or new ids."""
    if fresh.next is None:
        block[piece & (parts == 0)] = 0
        return
    sizes = np.bincount(parts[piece])
    sizes[0] = 0
    others = [number for number in np.flatnonzero(sizes) if number != sizes.argmax()]
    for number, new in zip(others, fresh.ids(len(others)), strict=True):
        block[parts == number] = new


def _waists(
    piece: Mask, sizes: Sequence[float], reach: Sequence[int], *, line: bool
) -> Parts | None:
    """Return the parts of a piece between its waists; None when it has none."""
    if all(side <= n for side, n in zip(piece.shape, reach, strict=True)):
        return None
    depth = depth_of(piece, sizes).astype(np.float32)
    even = ndimage.gaussian_filter(depth, [min(1.0, n / 4) for n in reach], mode="nearest")
    even = np.round(even * (_LEVELS / min(sizes)))
    top = ndimage.maximum_filter(even, [2 * n - 1 for n in reach], mode="nearest")
    seeds, count = ndimage.label(piece & (even == top), np.ones((3,) * piece.ndim))
    if count < 2:
        return None
    from skimage.segmentation import watershed  # here, because it takes 0.4 s to load

    parts: Parts = watershed(-even, seeds, mask=piece, connectivity=piece.ndim)
    return np.where(_lines(parts), 0, parts) if line else parts


def _lines(parts: Parts) -> Mask:
    """Return the pixels of each part that touch, also by a corner, one of a higher number.

    The lines that the watershed draws itself take 30 times as long.
    """
    found: Mask = (parts > 0) & (ndimage.maximum_filter(parts, 3) > parts)
    return found


def _cut_parts(piece: Mask, cut: Mask, *, line: bool) -> Parts | None:
    """Return the parts of a piece that a cut leaves; None when it is still one."""
    if not (piece & cut).any():
        return None
    parts, count = ndimage.label(piece & ~cut, np.ones((3,) * piece.ndim))
    if count < 2:
        return None
    if line:
        return np.asarray(parts, np.int32)
    nearest = ndimage.distance_transform_edt(parts == 0, return_indices=True)[1]
    return np.where(piece, parts[tuple(nearest)], 0).astype(np.int32)


def _clicked(labels: Any, point: Sequence[int], within: Region) -> tuple[Region, Mask]:
    """Return the piece at a pixel, which must be one."""
    here = Region(tuple(point), tuple(n + 1 for n in point))
    if not within.contains(here):
        raise ChoiceError(f"The pixel {tuple(point)} lies outside the region; click inside it.")
    if not np.asarray(labels[here.slices]).any():
        raise ChoiceError(f"The pixel {tuple(point)} is background; click on an object.")
    return piece_at(labels, point, within)


def _placed(piece: Mask, region: Region, seen: Region) -> Mask:
    """Return a piece in a larger box."""
    mask = np.zeros(seen.shape, bool)
    mask[region.relative_to(seen).slices] = piece
    return mask


def _between(one: Mask, other: Mask, sizes: Sequence[float], widest: float) -> Mask:
    """Return the pixels on the shortest ways between two pieces, when these are short."""
    first, second = (ndimage.distance_transform_edt(~mask, sizes) for mask in (one, other))
    way = first + second
    gap = float(first[other].min()) - min(sizes)  # background between two pieces that touch: 0
    if gap > widest or gap <= 0:
        return np.zeros(one.shape, bool)
    found: Mask = way <= float(way[one | other].min()) + min(sizes)
    return found
