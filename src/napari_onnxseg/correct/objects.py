"""How well predicted objects agree with true ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.correct.pairs import Pairs, count_pairs

THRESHOLDS = tuple(round(0.5 + 0.05 * i, 2) for i in range(10))
"""Overlaps at which the average precision is told."""


@dataclass(frozen=True, slots=True)
class ObjectAgreement:
    """Agreement of two images of objects.

    Parameters
    ----------
    truth, prediction : int
        Number of objects.
    precision : mapping of float to float
        Average precision TP / (TP + FP + FN) by the overlap (IoU) that counts as found; NaN
        when there is no object at all.
    split : int
        True objects in which two or more predicted ones have most of their area.
    merged : int
        Predicted objects that hold most of the area of two or more true ones.
    iou : tuple of float
        Overlap of each pair of objects that match at 0.5, the largest first.
    matched : tuple of (int, int)
        Those pairs, truth and prediction.
    """

    truth: int
    prediction: int
    precision: Mapping[float, float]
    split: int
    merged: int
    iou: tuple[float, ...]
    matched: tuple[tuple[int, int], ...] = ()

    @property
    def count_error(self) -> int:
        """Predicted minus true objects."""
        return self.prediction - self.truth

    @property
    def mean_precision(self) -> float:
        """Average precision, averaged over all thresholds."""
        return float(np.mean(list(self.precision.values())))


def pooled_objects(images: Sequence[ObjectAgreement]) -> ObjectAgreement:
    """Add the objects of several images up.

    Parameters
    ----------
    images : sequence of ObjectAgreement
        One per image.

    Returns
    -------
    ObjectAgreement
        Precision over all objects together; no pairs, whose numbers mean something in one
        image only.
    """
    overlaps = sorted((overlap for image in images for overlap in image.iou), reverse=True)
    truth, prediction = (sum(getattr(i, side) for i in images) for side in ("truth", "prediction"))
    return ObjectAgreement(
        truth=truth,
        prediction=prediction,
        precision={t: _precision(overlaps, t, truth + prediction) for t in THRESHOLDS},
        split=sum(image.split for image in images),
        merged=sum(image.merged for image in images),
        iou=tuple(overlaps),
    )


def object_agreement(
    prediction: Any, truth: Any, *, ignore: Collection[int] = ()
) -> ObjectAgreement:
    """Compare two images of objects, 0 being no object.

    Parameters
    ----------
    prediction, truth : array-like
        Same shape, integer ids; read block by block.
    ignore : collection of int, optional
        Ids of the truth that say nothing; their pixels are left out.

    Returns
    -------
    ObjectAgreement
        Precision by overlap, and objects that were split or merged.

    Raises
    ------
    ImageError
        When the two cannot be compared.

    References
    ----------
    Precision as in the 2018 Data Science Bowl (Caicedo et al., Nature Methods 16, 2019,
    1247-1253). Above an overlap of 0.5 no object can match two others; at exactly 0.5 each
    is matched once, the larger overlap first.
    """
    pairs = count_pairs(prediction, truth, ignore=ignore)
    areas = [pairs.area(side) for side in (pairs.truth, pairs.prediction)]
    for area in areas:
        area.pop(0, None)
    meeting = _meeting(pairs)
    matched = _matched(meeting, *areas)
    overlaps = [overlap for overlap, _, _ in matched]
    total = len(areas[0]) + len(areas[1])
    return ObjectAgreement(
        truth=len(areas[0]),
        prediction=len(areas[1]),
        precision={t: _precision(overlaps, t, total) for t in THRESHOLDS},
        split=_several(meeting[:, 0], meeting[:, 1], meeting[:, 2], areas[1]),
        merged=_several(meeting[:, 1], meeting[:, 0], meeting[:, 2], areas[0]),
        iou=tuple(overlaps),
        matched=tuple((ours, theirs) for _, ours, theirs in matched),
    )


def _meeting(pairs: Pairs) -> NDArray[np.int64]:
    """Return (truth, prediction, pixels) of objects that meet."""
    rows = np.stack([pairs.truth, pairs.prediction, pairs.count], axis=1)
    both: NDArray[np.int64] = rows[(rows[:, 0] != 0) & (rows[:, 1] != 0)]
    return both


def _matched(
    meeting: NDArray[np.int64], truth: Mapping[int, int], prediction: Mapping[int, int]
) -> list[tuple[float, int, int]]:
    """Return overlap, truth and prediction of each matched pair, the largest first."""
    overlaps = sorted(
        ((n / (truth[t] + prediction[p] - n), t, p) for t, p, n in meeting.tolist()),
        key=lambda row: (-row[0], row[1], row[2]),
    )
    used: tuple[set[int], set[int]] = set(), set()
    kept: list[tuple[float, int, int]] = []
    for overlap, ours, theirs in overlaps:
        if overlap >= THRESHOLDS[0] and ours not in used[0] and theirs not in used[1]:
            used[0].add(ours)
            used[1].add(theirs)
            kept.append((overlap, ours, theirs))
    return kept


def _precision(overlaps: list[float], threshold: float, total: int) -> float:
    """Return TP / (TP + FP + FN)."""
    hits = sum(overlap >= threshold for overlap in overlaps)
    return hits / (total - hits) if total else float("nan")


def _several(
    holders: NDArray[np.int64],
    held: NDArray[np.int64],
    common: NDArray[np.int64],
    area: Mapping[int, int],
) -> int:
    """Count holders that hold most of two or more others."""
    mostly = [2 * n > area[h] for h, n in zip(held.tolist(), common.tolist(), strict=True)]
    counts = np.unique(holders[np.array(mostly, bool)], return_counts=True)[1]
    return int(np.count_nonzero(counts >= 2))
