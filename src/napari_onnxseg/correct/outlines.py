"""Outlines of a class as points, and how far two outlines lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import KDTree

from napari_onnxseg.correct.pairs import blocks
from napari_onnxseg.tiling.region import Region

Points = NDArray[np.float64]


def outline(labels: Any, label: int, scale: Sequence[float]) -> Points:
    """Return the pixels of a class that touch another class or the border of the image.

    Parameters
    ----------
    labels : array-like
        Label image of any size, read block by block.
    label : int
        The class.
    scale : sequence of float
        World units per pixel, one per axis.

    Returns
    -------
    numpy.ndarray
        (N, axes) float64, world units, in row-major order within each block.
    """
    found = [
        _outline_within(labels, label, region) + np.asarray(region.start)
        for region in blocks(labels.shape)
    ]
    points: Points = np.concatenate(found) * np.asarray(scale, float)
    return points


def distances(one: Points, other: Points) -> NDArray[np.float64]:
    """Return how far each point of one outline lies from the nearest of the other.

    Parameters
    ----------
    one, other : numpy.ndarray
        (N, axes) and (M, axes), world units.

    Returns
    -------
    numpy.ndarray
        (N,) float64, world units; infinite where the other has no point.
    """
    if not len(other):
        return np.full(len(one), np.inf)
    if not len(one):
        return np.zeros(0)
    return np.asarray(KDTree(other).query(one)[0], np.float64)


def hausdorff(one: NDArray[np.float64], other: NDArray[np.float64], percent: float = 95) -> float:
    """Return the percentile Hausdorff distance of two outlines.

    Parameters
    ----------
    one, other : numpy.ndarray
        `distances` in both directions, world units.
    percent : float
        Percentile of each direction, in [0, 100]; the larger of the two counts.

    Returns
    -------
    float
        World units; infinite when one of them has no outline, NaN when both have none.

    References
    ----------
    The larger of both directed percentiles, as in MONAI's ``compute_hausdorff_distance``.
    """
    if not len(one) and not len(other):
        return float("nan")
    if not len(one) or not len(other):
        return float("inf")
    return float(max(np.percentile(one, percent), np.percentile(other, percent)))


def boundary_f(one: NDArray[np.float64], other: NDArray[np.float64], tolerance: float) -> float:
    """Return the F score of two outlines.

    Parameters
    ----------
    one, other : numpy.ndarray
        `distances` in both directions, world units.
    tolerance : float
        World units within which a point counts as met.

    Returns
    -------
    float
        In [0, 1]; NaN when neither has an outline.

    References
    ----------
    Csurka et al., "What is a good evaluation measure for semantic segmentation?", BMVC 2013.
    """
    if not len(one) and not len(other):
        return float("nan")
    if not len(one) or not len(other):
        return 0.0
    first, second = (float(np.mean(side <= tolerance)) for side in (one, other))
    return 2 * first * second / (first + second) if first + second else 0.0


def _outline_within(labels: Any, label: int, region: Region) -> NDArray[np.intp]:
    """Return the outline points of one block; its neighbours are looked at too."""
    whole = Region.of_shape(labels.shape)
    seen = region.grow((1,) * region.ndim).intersect(whole)
    inside = np.asarray(labels[seen.slices]) == label
    edge = inside & ~ndimage.binary_erosion(inside)
    rim = region.relative_to(seen)
    return np.argwhere(edge[rim.slices])
