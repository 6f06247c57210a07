"""Compare a prediction with the truth: classes, objects, and a picture of the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.correct.agreement import Agreement, agreement, pooled
from napari_onnxseg.correct.difference import SILENT, Foreground, difference
from napari_onnxseg.correct.objects import ObjectAgreement, object_agreement, pooled_objects
from napari_onnxseg.correct.pairs import check_alike
from napari_onnxseg.errors import ChoiceError

FOREGROUND = {0: "background", 1: "foreground"}
"""Classes where everything that is not 0 is one."""


@dataclass(frozen=True, slots=True)
class EvaluateJob:
    """What to compare, and how.

    Parameters
    ----------
    names : mapping of int to str
        Classes that are listed even when they are nowhere.
    ignore : tuple of int
        Labels of the truth that say nothing.
    scale : tuple of float or None
        World units per pixel, one per spatial axis.
    tolerance : float or None
        World units within which outlines count as met; None for two pixels of the finest
        axis, 0 leaves outlines out.
    foreground : bool
        Take everything that is not 0 for one class.
    objects : bool
        The labels are numbers of objects; implies ``foreground`` for the classes.
    spatial_ndim : int
        How many of the last axes are spatial, 2 or 3; planes of others are pooled.
    draw : bool
        Also draw the difference.
    """

    names: Mapping[int, str] = field(default_factory=dict)
    ignore: tuple[int, ...] = ()
    scale: tuple[float, ...] | None = None
    tolerance: float | None = None
    foreground: bool = False
    objects: bool = False
    spatial_ndim: int = 2
    draw: bool = False


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was found.

    Parameters
    ----------
    classes : Agreement
        Class by class.
    objects : ObjectAgreement or None
        Object by object, where that was asked for.
    difference : numpy.ndarray or None
        Shape of the labels, uint8, see `difference`.
    """

    classes: Agreement
    objects: ObjectAgreement | None = None
    difference: NDArray[np.uint8] | None = None


def evaluate(prediction: Any, truth: Any, job: EvaluateJob) -> Evaluation:
    """Compare two label images.

    Parameters
    ----------
    prediction, truth : array-like
        (..., Y, X) or (..., Z, Y, X) integers of one shape; read block by block.
    job : EvaluateJob
        What to compare, and how.

    Returns
    -------
    Evaluation
        All planes pooled.

    Raises
    ------
    ImageError
        When the two cannot be compared.
    ChoiceError
        When the job does not fit them.
    """
    check_alike(prediction, truth)
    leading = len(truth.shape) - job.spatial_ndim
    if leading < 0:
        raise ChoiceError(
            f"Labels of shape {tuple(truth.shape)} have fewer than {job.spatial_ndim} axes; "
            "compare images or volumes."
        )
    if leading == 0:
        return _evaluate_plane(prediction, truth, job)
    drawn = np.zeros(tuple(truth.shape), np.uint8) if job.draw else None
    found = []
    for index in np.ndindex(*truth.shape[:leading]):
        plane = _evaluate_plane(prediction[index], truth[index], job)
        if drawn is not None and plane.difference is not None:
            drawn[index] = plane.difference
        found.append(replace(plane, difference=None))
    return replace(pooled_evaluation(found), difference=drawn)


def pooled_evaluation(found: Sequence[Evaluation]) -> Evaluation:
    """Add several evaluations up, as if they were of one image.

    Parameters
    ----------
    found : sequence of Evaluation
        All with objects, or none.

    Returns
    -------
    Evaluation
        Without a difference.
    """
    objects = [one.objects for one in found if one.objects is not None]
    return Evaluation(
        pooled([one.classes for one in found]), pooled_objects(objects) if objects else None
    )


def _evaluate_plane(prediction: Any, truth: Any, job: EvaluateJob) -> Evaluation:
    """Compare two label images without further axes."""
    objects = object_agreement(prediction, truth, ignore=job.ignore) if job.objects else None
    ours, theirs, ignore, names = truth, prediction, job.ignore, job.names
    if job.objects or job.foreground:
        ours, theirs = Foreground(truth, job.ignore), Foreground(prediction)
        ignore, names = (SILENT,), {**FOREGROUND, **job.names}
    classes = agreement(
        theirs, ours, names=names, ignore=ignore, scale=job.scale, tolerance=job.tolerance
    )
    drawn = None
    if job.draw and objects is not None:
        drawn = difference(prediction, truth, ignore=job.ignore, objects=objects)
    elif job.draw:
        drawn = difference(theirs, ours, ignore=ignore)
    return Evaluation(classes, objects, drawn)
