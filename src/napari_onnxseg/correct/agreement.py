"""How well predicted classes agree with the truth."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.correct.outlines import OutlineAgreement, compare_outlines, outlines
from napari_onnxseg.correct.pairs import Pairs, count_pairs
from napari_onnxseg.errors import ChoiceError


@dataclass(frozen=True, slots=True)
class ClassAgreement:
    """Agreement on one class; NaN where it cannot be said.

    Parameters
    ----------
    id : int
        The class.
    name : str
        What people call it.
    truth_px, prediction_px, common_px : int
        Pixels of the class in the truth, in the prediction, and in both.
    outline : OutlineAgreement or None
        Agreement of the outlines; None when it was not asked for.
    """

    id: int
    name: str
    truth_px: int
    prediction_px: int
    common_px: int
    outline: OutlineAgreement | None = None

    @property
    def boundary_f(self) -> float:
        """F score of the outlines within the tolerance, in [0, 1]; NaN when unknown."""
        return float("nan") if self.outline is None else self.outline.f

    @property
    def hausdorff95(self) -> float:
        """95 % Hausdorff distance, world units; infinite when one has no outline."""
        return float("nan") if self.outline is None else self.outline.hausdorff95

    @property
    def iou(self) -> float:
        """Intersection over union, in [0, 1]; NaN when the class is nowhere."""
        return _part(self.common_px, self.truth_px + self.prediction_px - self.common_px)

    @property
    def dice(self) -> float:
        """Dice coefficient, in [0, 1]; NaN when the class is nowhere."""
        return _part(2 * self.common_px, self.truth_px + self.prediction_px)

    @property
    def precision(self) -> float:
        """Part of the predicted pixels that are right; NaN when none was predicted."""
        return _part(self.common_px, self.prediction_px)

    @property
    def recall(self) -> float:
        """Part of the true pixels that were found; NaN when there are none."""
        return _part(self.common_px, self.truth_px)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two label images.

    Parameters
    ----------
    classes : tuple of ClassAgreement
        By ascending id.
    confusion : numpy.ndarray
        (K, K) int64 pixels, rows the truth and columns the prediction, in the order of
        ``classes``.
    """

    classes: tuple[ClassAgreement, ...]
    confusion: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """Part of all pixels that are right, in [0, 1]."""
        return _part(int(np.trace(self.confusion)), int(self.confusion.sum()))

    @property
    def mean_iou(self) -> float:
        """Mean over the classes that are in either image, in [0, 1]."""
        known = [entry.iou for entry in self.classes if not np.isnan(entry.iou)]
        return float(np.mean(known)) if known else float("nan")


def agreement(
    prediction: Any,
    truth: Any,
    *,
    names: Mapping[int, str] | None = None,
    ignore: Collection[int] = (),
    scale: Sequence[float] | None = None,
    tolerance: float | None = None,
) -> Agreement:
    """Compare two label images class by class.

    Parameters
    ----------
    prediction, truth : array-like
        Same shape, integers; read block by block, so that they may be of any size.
    names : mapping of int to str, optional
        Classes that are listed even when they are nowhere, and what they are called.
    ignore : collection of int, optional
        Labels of the truth that say nothing, such as "not annotated": their pixels are left
        out of all counts, and where a class meets them is no outline.
    scale : sequence of float, optional
        World units per pixel, one per axis; 1 when left out.
    tolerance : float, optional
        World units within which outlines count as met; left out, two pixels of the finest
        axis. 0 and below leaves outlines out.

    Returns
    -------
    Agreement
        Figures of each class, and the confusion of all.

    Raises
    ------
    ImageError
        When the two cannot be compared.
    ChoiceError
        When the scale does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> found = agreement(np.array([[0, 1, 1]]), np.array([[0, 0, 1]]))
    >>> round(found.classes[1].iou, 2), round(found.accuracy, 2)
    (0.5, 0.67)
    """
    pairs = count_pairs(prediction, truth, ignore=ignore)
    scale = fitting_scale(scale, len(truth.shape))
    tolerance = 2 * min(scale) if tolerance is None else tolerance
    known = names or {}
    ids = sorted({*known, *pairs.truth.tolist(), *pairs.prediction.tolist()} - set(ignore))
    met: dict[int, OutlineAgreement] = {}
    if tolerance > 0:
        ours = outlines(truth, scale, ignore=ignore)
        theirs = outlines(prediction, scale, truth=truth, ignore=ignore)
        none = np.zeros((0, len(scale)))
        met = {i: compare_outlines(ours.get(i, none), theirs.get(i, none), tolerance) for i in ids}
    areas = pairs.area(pairs.truth), pairs.area(pairs.prediction)
    common = {int(t): int(n) for t, p, n in _rows(pairs) if t == p}
    classes = tuple(
        ClassAgreement(
            i,
            known.get(i, f"class {i}"),
            areas[0].get(i, 0),
            areas[1].get(i, 0),
            common.get(i, 0),
            met.get(i),
        )
        for i in ids
    )
    return Agreement(classes, _confusion(pairs, ids))


def pooled(images: Sequence[Agreement]) -> Agreement:
    """Add the pixels of several images up, as if they were one.

    Parameters
    ----------
    images : sequence of Agreement
        Of any classes.

    Returns
    -------
    Agreement
        Of all pixels and all points of outlines together. The Hausdorff distance is the
        median over the images that have one.
    """
    entries = [entry for image in images for entry in image.classes]
    ids = sorted({entry.id for entry in entries})
    place = {label: i for i, label in enumerate(ids)}
    confusion = np.zeros((len(ids), len(ids)), np.int64)
    for image in images:
        where = [place[entry.id] for entry in image.classes]
        confusion[np.ix_(where, where)] += image.confusion
    same = [[entry for entry in entries if entry.id == label] for label in ids]
    return Agreement(tuple(_summed(group) for group in same), confusion)


def fitting_scale(scale: Sequence[float] | None, ndim: int) -> tuple[float, ...]:
    """Return world units per pixel for each axis, 1 when nothing is known.

    Parameters
    ----------
    scale : sequence of float or None
        One number per axis.
    ndim : int
        Number of axes.

    Returns
    -------
    tuple of float
        One positive number per axis.

    Raises
    ------
    ChoiceError
        When it does not fit.
    """
    fitting = (1.0,) * ndim if scale is None else tuple(map(float, scale))
    if len(fitting) != ndim or not all(np.isfinite(n) and n > 0 for n in fitting):
        raise ChoiceError(
            f"The scale {fitting} does not fit {ndim} axes; give one number above 0 for each."
        )
    return fitting


def _summed(group: Sequence[ClassAgreement]) -> ClassAgreement:
    """Return the sum of one class over images."""
    known = [entry.outline for entry in group if entry.outline is not None]
    return ClassAgreement(
        group[0].id,
        group[0].name,
        sum(entry.truth_px for entry in group),
        sum(entry.prediction_px for entry in group),
        sum(entry.common_px for entry in group),
        _summed_outlines(known) if known else None,
    )


def _summed_outlines(group: Sequence[OutlineAgreement]) -> OutlineAgreement:
    """Return the sum of the points of outlines, and the median of their distances."""
    known = [one.hausdorff95 for one in group if not np.isnan(one.hausdorff95)]
    return OutlineAgreement(
        sum(one.truth_px for one in group),
        sum(one.prediction_px for one in group),
        sum(one.truth_met for one in group),
        sum(one.prediction_met for one in group),
        float(np.median(known)) if known else float("nan"),
    )


def _confusion(pairs: Pairs, ids: Sequence[int]) -> NDArray[np.int64]:
    """Return the table of the classes listed."""
    place = {label: i for i, label in enumerate(ids)}
    table = np.zeros((len(ids), len(ids)), np.int64)
    for truth, prediction, count in _rows(pairs):
        if truth in place and prediction in place:
            table[place[truth], place[prediction]] = count
    return table


def _rows(pairs: Pairs) -> list[tuple[int, int, int]]:
    """Return pairs as plain rows."""
    columns = (pairs.truth.tolist(), pairs.prediction.tolist(), pairs.count.tolist())
    return list(zip(*columns, strict=True))


def _part(some: int, of: int) -> float:
    """Return a quotient, NaN of nothing."""
    return some / of if of else float("nan")
