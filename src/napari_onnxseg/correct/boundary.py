"""Move boundaries: smooth, grow, shrink."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from napari_onnxseg.correct.clean import ALL
from napari_onnxseg.correct.components import boxes, grown
from napari_onnxseg.correct.edit import Edit
from napari_onnxseg.correct.scope import Scope, change
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray

_TRUNCATE = 3.0


def smooth(labels: Any, radius: float, scope: Scope = ALL) -> Edit:
    """Smooth the boundaries of labels.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    radius : float
        World units; details smaller than it go. Each pixel gets the label that has most of
        its surroundings, weighted by a Gaussian of half this radius as deviation.
    scope : Scope, optional
        Where, and which labels.

    Returns
    -------
    Edit
        To be applied; the same in a region as in the whole image.

    Raises
    ------
    ChoiceError
        When the radius is not above 0.
    """
    _check(radius)
    ndim = len(labels.shape)
    sigma = [radius / 2 / size for size in scope.sizes(ndim)]
    reach = [int(_TRUNCATE * s + 0.5) for s in sigma]

    def smoothed(old: AnyArray, seen: Region) -> AnyArray:
        flat = [0.0 if side == 1 else s for s, side in zip(sigma, seen.shape, strict=True)]
        new, best = old.copy(), np.zeros(old.shape, np.float32)
        for label, box in boxes(old).items():
            where = grown(box, reach, old.shape)
            share = ndimage.gaussian_filter(
                (old[where] == label).astype(np.float32), flat, mode="nearest", truncate=_TRUNCATE
            )
            more = share > best[where]
            new[where][more] = label
            np.maximum(best[where], share, out=best[where])
        return new

    return change(labels, scope, smoothed, context=reach)


def grow(labels: Any, distance: float, scope: Scope = ALL) -> Edit:
    """Let labels grow into the background.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    distance : float
        World units; background no further than this from a label becomes the nearest.
    scope : Scope, optional
        Where, and which labels.

    Returns
    -------
    Edit
        To be applied.

    Raises
    ------
    ChoiceError
        When the distance is not above 0.
    """
    _check(distance)
    ndim = len(labels.shape)
    sizes = scope.sizes(ndim)

    def larger(old: AnyArray, _: Region) -> AnyArray:
        seeds = (old != 0) & scope.selects(old)
        if not seeds.any():
            return old
        away, nearest = ndimage.distance_transform_edt(~seeds, sizes, return_indices=True)
        reached = (old == 0) & (away <= distance * (1 + 1e-9))
        return np.where(reached, old[tuple(nearest)], old)

    return change(labels, scope, larger, context=scope.pixels(distance, ndim))


def shrink(labels: Any, distance: float, scope: Scope = ALL) -> Edit:
    """Let labels shrink away from everything else, also from each other.

    Parameters
    ----------
    labels : array-like
        Label image; only read.
    distance : float
        World units; pixels no further than this from another label become background. The
        border of the image is no edge.
    scope : Scope, optional
        Where, and which labels.

    Returns
    -------
    Edit
        To be applied.

    Raises
    ------
    ChoiceError
        When the distance is not above 0.
    """
    _check(distance)
    ndim = len(labels.shape)
    sizes, reach = scope.sizes(ndim), scope.pixels(distance, ndim)

    def smaller(old: AnyArray, _: Region) -> AnyArray:
        new = old.copy()
        for label, box in boxes(old).items():
            if label == 0 or not scope.selects(np.array(label)):
                continue
            where = grown(box, [1] * ndim, old.shape)
            inside = old[where] == label
            if not inside.all():
                away = ndimage.distance_transform_edt(inside, sizes)
                new[where][inside & (away <= distance * (1 + 1e-9))] = 0
        return new

    return change(labels, scope, smaller, context=reach)


def _check(distance: float) -> None:
    """Refuse what is no distance."""
    if not 0 < distance < float("inf"):
        raise ChoiceError(f"The distance is a number of world units above 0, got {distance}.")
