"""How well predicted classes agree with the truth."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.correct.outlines import boundary_f, distances, hausdorff, outline
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
    boundary_f : float
        F score of the outlines within the tolerance, in [0, 1].
    hausdorff95 : float
        95 % Hausdorff distance of the outlines, world units; infinite where one of them has
        none.
    """

    id: int
    name: str
    truth_px: int
    prediction_px: int
    common_px: int
    boundary_f: float
    hausdorff95: float

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
        out of all counts. Outlines are those of the images as they are.
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
    scale = (1.0,) * len(truth.shape) if scale is None else tuple(map(float, scale))
    if len(scale) != len(truth.shape) or min(scale) <= 0:
        raise ChoiceError(
            f"The scale {scale} does not fit {len(truth.shape)} axes; give one number above 0 "
            "for each."
        )
    tolerance = 2 * min(scale) if tolerance is None else tolerance
    known = names or {}
    ids = sorted({*known, *pairs.truth.tolist(), *pairs.prediction.tolist()} - set(ignore))
    outlines = {i: _outlines(prediction, truth, i, scale, tolerance) for i in ids}
    areas = pairs.area(pairs.truth), pairs.area(pairs.prediction)
    common = {int(t): int(n) for t, p, n in _rows(pairs) if t == p}
    classes = tuple(
        ClassAgreement(
            i,
            known.get(i, f"class {i}"),
            areas[0].get(i, 0),
            areas[1].get(i, 0),
            common.get(i, 0),
            *outlines[i],
        )
        for i in ids
    )
    return Agreement(classes, _confusion(pairs, ids))


def _outlines(
    prediction: Any, truth: Any, label: int, scale: Sequence[float], tolerance: float
) -> tuple[float, float]:
    """Return boundary F and Hausdorff distance of one class."""
    if tolerance <= 0:
        return float("nan"), float("nan")
    ours, theirs = (outline(image, label, scale) for image in (truth, prediction))
    both = distances(ours, theirs), distances(theirs, ours)
    return boundary_f(*both, tolerance), hausdorff(*both)


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
