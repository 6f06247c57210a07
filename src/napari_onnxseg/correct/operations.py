"""Operations on label images: each returns an `Edit` of what its scope allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from napari_onnxseg.correct.boundary import grow, shrink, smooth
from napari_onnxseg.correct.clean import (
    delete,
    delete_at,
    fill_holes,
    keep_largest,
    relabel,
    remove_small,
)
from napari_onnxseg.correct.divide import merge, split_along, split_touching
from napari_onnxseg.correct.edit import Edit, Step
from napari_onnxseg.correct.scope import Scope
from napari_onnxseg.correct.slices import copy_plane, fill_between
from napari_onnxseg.correct.snap import snap
from napari_onnxseg.tiling.region import Region

__all__ = [
    "Edit",
    "Scope",
    "Step",
    "by_planes",
    "copy_plane",
    "delete",
    "delete_at",
    "fill_between",
    "fill_holes",
    "grow",
    "keep_largest",
    "merge",
    "relabel",
    "remove_small",
    "shrink",
    "smooth",
    "snap",
    "split_along",
    "split_touching",
]


def by_planes(
    labels: Any, scope: Scope, operate: Callable[[Any, Scope], Edit], *, spatial_ndim: int = 2
) -> Step:
    """Do an operation on each plane of a stack by itself, such as on the frames of a film.

    Parameters
    ----------
    labels : array-like
        (..., Y, X), or (..., Z, Y, X); only read.
    scope : Scope
        What may change.
    operate : callable
        An operation, given the labels and the scope of one plane.
    spatial_ndim : int, optional
        How many of the last axes are spatial.

    Returns
    -------
    Step
        To be applied. Planes may get the same new ids.
    """
    region = scope.within(labels.shape)
    leading = region.ndim - spatial_ndim
    edits = []
    for place in np.ndindex(region.shape[:leading]):
        start = tuple(a + n for a, n in zip(region.start, place, strict=False))
        stop = tuple(a + 1 for a in start)
        plane = Region(start + region.start[leading:], stop + region.stop[leading:])
        edits.append(operate(labels, scope.at(plane)))
    return Step.of(edits)
