"""From plane to plane of a stack: copy labels, and fill in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from napari_onnxseg.correct.clean import ALL
from napari_onnxseg.correct.edit import Edit
from napari_onnxseg.correct.scope import Scope, change
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray

Depth = NDArray[np.float32]


def copy_plane(
    labels: Any, source: int, target: int, scope: Scope = ALL, *, axis: int = 0, over: bool = False
) -> Edit:
    """Copy labels to another plane.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    source, target : int
        Planes on the axis, negative from the end.
    scope : Scope, optional
        Where in the plane (its extent along the axis does not count), and which labels.
    axis : int, optional
        Axis of the planes.
    over : bool, optional
        Also where the target has other labels; by default only on its background.

    Returns
    -------
    Edit
        To be applied, of the target.

    Raises
    ------
    ChoiceError
        When there is no such plane or axis.
    """
    axis, (source, target) = _checked(labels, axis, (source, target))
    here = _plane(labels, scope, axis, target, target + 1)
    values = np.asarray(labels[_plane(labels, scope, axis, source, source + 1).slices])

    def copied(old: AnyArray, _: Region) -> AnyArray:
        write = (values != 0) & scope.selects(values)
        return np.where(write if over else write & (old == 0), values, old)

    return change(labels, _moved(scope, here, axis), copied)


def fill_between(labels: Any, first: int, last: int, scope: Scope = ALL, *, axis: int = 0) -> Edit:
    """Fill the planes between two with shapes that go over from one to the other.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    first, last : int
        The two planes on the axis, negative from the end.
    scope : Scope, optional
        Where in the planes (its extent along the axis does not count), and which labels;
        those that are in one of the two planes only stay as they are.
    axis : int, optional
        Axis of the planes.

    Returns
    -------
    Edit
        To be applied, of the planes between; what these have of the same labels is replaced,
        other labels stay.

    Raises
    ------
    ChoiceError
        When there is no such plane or axis.

    References
    ----------
    Shape-based interpolation (Raya and Udupa, IEEE Trans. Med. Imaging 9, 1990, 32-42), of
    shapes moved onto each other by their middles.
    """
    axis, planes = _checked(labels, axis, (first, last))
    first, last = sorted(planes)
    here = _plane(labels, scope, axis, first + 1, max(first + 1, last))
    ends = [
        np.asarray(labels[_plane(labels, scope, axis, n, n + 1).slices]).take(0, axis)
        for n in (first, last)
    ]
    common = np.intersect1d(*ends)
    common = common[(common != 0) & scope.selects(common)]
    sizes = scope.sizes(len(labels.shape))
    sampling = [size for i, size in enumerate(sizes) if i != axis]

    def filled(old: AnyArray, _: Region) -> AnyArray:
        count = old.shape[axis]
        best = np.zeros(old.shape, np.float32)
        new = np.where(np.isin(old, common), 0, old)
        for label in common.tolist():
            shapes = [_Shape(end == label, sampling) for end in ends]
            for n in range(count):
                depth = _mixed(shapes[0], shapes[1], (n + 1) / (count + 1))
                where = tuple(n if i == axis else slice(None) for i in range(old.ndim))
                won = (depth > best[where]) & (new[where] != label) & (_free(old[where], common))
                new[where] = np.where(won, label, new[where])
                best[where] = np.where(won, depth, best[where])
        return new

    return change(labels, _moved(scope, here, axis), filled)


class _Shape:
    """The signed depth of a shape, and its middle."""

    def __init__(self, inside: NDArray[np.bool_], sampling: list[float]) -> None:
        deep = ndimage.distance_transform_edt(np.pad(inside, 1), sampling)
        away = ndimage.distance_transform_edt(~inside, sampling)
        inner = (slice(1, -1),) * inside.ndim
        self.depth: Depth = (deep[inner] - away).astype(np.float32)
        self.middle = np.array([np.mean(axis) for axis in np.nonzero(inside)])

    def moved(self, middle: NDArray[np.float64]) -> Depth:
        """Return the depth with the middle elsewhere, moved by whole pixels."""
        offset = np.rint(middle - self.middle)
        moved: Depth = ndimage.shift(self.depth, offset, order=0, mode="nearest")
        return moved


def _mixed(one: _Shape, other: _Shape, part: float) -> Depth:
    """Return the depth of the shape at a part of the way."""
    middle = (1 - part) * one.middle + part * other.middle
    mixed: Depth = (1 - part) * one.moved(middle) + part * other.moved(middle)
    return mixed


def _free(old: AnyArray, common: AnyArray) -> NDArray[np.bool_]:
    """Tell where nothing else is."""
    free: NDArray[np.bool_] = (old == 0) | np.isin(old, common)
    return free


def _checked(labels: Any, axis: int, planes: tuple[int, int]) -> tuple[int, tuple[int, int]]:
    """Return axis and planes counted from the front."""
    ndim = len(labels.shape)
    if ndim < 3 or not -ndim <= axis < ndim:
        raise ChoiceError(
            f"Labels of shape {tuple(labels.shape)} have no planes on axis {axis}; a stack of "
            "three axes or more is needed."
        )
    axis %= ndim
    count = int(labels.shape[axis])
    if not all(-count <= n < count for n in planes):
        raise ChoiceError(f"There are planes 0 to {count - 1}, got {planes[0]} and {planes[1]}.")
    return axis, (planes[0] % count, planes[1] % count)


def _plane(labels: Any, scope: Scope, axis: int, start: int, stop: int) -> Region:
    """Return the box of some planes, as wide as the region of the scope."""
    wide = scope.within(labels.shape)
    return Region(
        tuple(start if i == axis else n for i, n in enumerate(wide.start)),
        tuple(stop if i == axis else n for i, n in enumerate(wide.stop)),
    )


def _moved(scope: Scope, here: Region, axis: int) -> Scope:
    """Return the scope for other planes; a mask counts when it is one plane thick."""
    if scope.mask is None or scope.region is None:
        return Scope(here, None, scope.selection, scope.locked, scope.scale)
    span = slice(scope.region.start[axis], scope.region.stop[axis])
    wide = Region(
        tuple(here.start[i] if i == axis else n for i, n in enumerate(scope.region.start)),
        tuple(here.stop[i] if i == axis else n for i, n in enumerate(scope.region.stop)),
    )
    same = span.stop - span.start == wide.shape[axis]
    mask = scope.mask if same else np.broadcast_to(scope.mask.any(axis, keepdims=True), wide.shape)
    return Scope(wide, mask, scope.selection, scope.locked, scope.scale).at(here)
