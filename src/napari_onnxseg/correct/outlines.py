"""Outlines of classes as points, and how far two outlines lie apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from napari_onnxseg.correct.pairs import blocks
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask

Points = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OutlineAgreement:
    """How well two outlines agree.

    Parameters
    ----------
    truth_px, prediction_px : int
        Points of each outline.
    truth_met, prediction_met : int
        Those that lie within the tolerance of the other outline.
    hausdorff95 : float
        95 % Hausdorff distance, world units; infinite where one has no outline, NaN where
        neither has.

    References
    ----------
    Csurka et al., "What is a good evaluation measure for semantic segmentation?", BMVC 2013.
    """

    truth_px: int
    prediction_px: int
    truth_met: int
    prediction_met: int
    hausdorff95: float

    @property
    def f(self) -> float:
        """F score of the outlines, in [0, 1]; NaN where neither has any."""
        if not self.truth_px and not self.prediction_px:
            return float("nan")
        if not self.truth_met or not self.prediction_met:
            return 0.0
        recall, precision = self.truth_met / self.truth_px, self.prediction_met / self.prediction_px
        return 2 * precision * recall / (precision + recall)


def outlines(
    labels: Any, scale: Sequence[float], *, truth: Any = None, ignore: Collection[int] = ()
) -> dict[int, Points]:
    """Return the pixels of each class that touch another class or the border of the image.

    Parameters
    ----------
    labels : array-like
        Label image of any size, read block by block.
    scale : sequence of float
        World units per pixel, one per axis.
    truth : array-like, optional
        Where pixels that say nothing are found; ``labels`` itself when left out.
    ignore : collection of int, optional
        Labels of the truth that say nothing: where a class meets them is no outline.

    Returns
    -------
    dict of int to numpy.ndarray
        (N, axes) float64 for each class that is there, world units, block by block in
        row-major order.
    """
    found: dict[int, list[NDArray[np.intp]]] = {}
    for region in blocks(labels.shape):
        places, classes = _outline_within(
            labels, labels if truth is None else truth, ignore, region
        )
        for label in np.unique(classes):
            found.setdefault(int(label), []).append(places[classes == label])
    steps = np.asarray(scale, float)
    return {label: np.concatenate(found[label]) * steps for label in sorted(found)}


def compare_outlines(truth: Points, prediction: Points, tolerance: float) -> OutlineAgreement:
    """Compare two outlines.

    Parameters
    ----------
    truth, prediction : numpy.ndarray
        (N, axes) and (M, axes), world units.
    tolerance : float
        World units within which a point counts as met.

    Returns
    -------
    OutlineAgreement
        Points, points met, and distance.
    """
    there, back = distances(truth, prediction), distances(prediction, truth)
    met = [int(np.count_nonzero(side <= tolerance)) for side in (there, back)]
    return OutlineAgreement(len(truth), len(prediction), met[0], met[1], hausdorff(there, back))


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


def _outline_within(
    labels: Any, truth: Any, ignore: Collection[int], region: Region
) -> tuple[NDArray[np.intp], AnyArray]:
    """Return outline pixels of one block and their classes; its neighbours are looked at too."""
    seen = region.grow((1,) * region.ndim).intersect(Region.of_shape(labels.shape))
    values = np.asarray(labels[seen.slices])
    silent = None
    if ignore:
        silent = np.isin(np.asarray(truth[seen.slices]), list(ignore))
    inner = region.relative_to(seen).slices
    edge = _edges(values, silent, _at_border(seen, labels.shape))[inner]
    places = np.argwhere(edge)
    return places + np.asarray(region.start), values[inner][edge]


def _edges(values: AnyArray, silent: Mask | None, border: list[tuple[bool, bool]]) -> Mask:
    """Return where a face neighbour has another label, or the image ends."""
    edge = np.zeros(values.shape, bool)
    for axis, ends in enumerate(border):
        line = np.moveaxis(values, axis, 0)
        differs = line[1:] != line[:-1]
        if silent is not None:
            quiet = np.moveaxis(silent, axis, 0)
            differs &= ~(quiet[1:] | quiet[:-1])
        marked = np.moveaxis(edge, axis, 0)
        marked[1:] |= differs
        marked[:-1] |= differs
        marked[0] |= ends[0]
        marked[-1] |= ends[1]
    return edge if silent is None else edge & ~silent


def _at_border(region: Region, shape: Sequence[int]) -> list[tuple[bool, bool]]:
    """Tell for each axis whether a box begins and ends where the image does."""
    return [(a == 0, b == n) for a, b, n in zip(region.start, region.stop, shape, strict=True)]
