"""Where a prediction differs from the truth, and in what way."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.correct.objects import ObjectAgreement
from napari_onnxseg.correct.pairs import blocks, check_alike
from napari_onnxseg.types import AnyArray

EQUAL, MISSED, FALSE, WRONG = range(4)
"""What a pixel of a difference image says."""

DIFFERENCE_NAMES = {EQUAL: "equal", MISSED: "missed", FALSE: "false", WRONG: "wrong class"}
DIFFERENCE_COLOURS = {EQUAL: None, MISSED: "#0072b2", FALSE: "#d55e00", WRONG: "#f0e442"}


SILENT = 2
"""What `Foreground` makes of labels that say nothing."""


@dataclass(frozen=True, slots=True)
class Foreground:
    """A label image seen as 0, background, and 1, everything else.

    Parameters
    ----------
    labels : array-like
        Label image of any size.
    silent : collection of int
        Labels that say nothing; seen as `SILENT`.
    """

    labels: Any
    silent: Collection[int] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels on each axis."""
        return tuple(self.labels.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always uint8."""
        return np.dtype(np.uint8)

    def __getitem__(self, index: Any) -> NDArray[np.uint8]:
        """Return the part at a tuple of ints and slices."""
        values = np.asarray(self.labels[index])
        seen: NDArray[np.uint8] = (values != 0).astype(np.uint8)
        if self.silent:
            seen[np.isin(values, list(self.silent))] = SILENT
        return seen


def difference(
    prediction: Any,
    truth: Any,
    *,
    ignore: Collection[int] = (),
    objects: ObjectAgreement | None = None,
) -> NDArray[np.uint8]:
    """Draw where a prediction differs from the truth.

    Parameters
    ----------
    prediction, truth : array-like
        Same shape, integers, 0 being background; read block by block.
    ignore : collection of int, optional
        Labels of the truth that say nothing; equal there.
    objects : ObjectAgreement, optional
        For images of objects, whose numbers differ: those that match are equal.

    Returns
    -------
    numpy.ndarray
        Same shape, uint8: 0 equal, 1 missed, 2 false, 3 another class (or object).

    Raises
    ------
    ImageError
        When the two cannot be compared.
    """
    check_alike(prediction, truth)
    drawn = np.zeros(tuple(truth.shape), np.uint8)
    for region in blocks(drawn.shape):
        ours, theirs = (np.asarray(image[region.slices]) for image in (truth, prediction))
        same = ours == theirs if objects is None else _matched(ours, theirs, objects)
        block = np.select(
            [same, theirs == 0, ours == 0], [EQUAL, MISSED, FALSE], default=WRONG
        ).astype(np.uint8)
        if ignore:
            block[np.isin(ours, list(ignore))] = EQUAL
        drawn[region.slices] = block
    return drawn


def _matched(truth: AnyArray, prediction: AnyArray, objects: ObjectAgreement) -> NDArray[np.bool_]:
    """Tell where both are background, or objects that match."""
    partner = dict(objects.matched)
    numbers, where = np.unique(truth, return_inverse=True)
    wanted = np.array([partner.get(int(n), 0 if n == 0 else -1) for n in numbers], np.int64)
    same: NDArray[np.bool_] = wanted[where].reshape(truth.shape) == prediction
    return same
