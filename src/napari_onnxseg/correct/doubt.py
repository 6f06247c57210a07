"""Where a model is in doubt, from the scores it gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.decode.blocks import row_blocks, write_bytes
from napari_onnxseg.decode.labels import ScoreKind, to_probabilities
from napari_onnxseg.errors import ModelError
from napari_onnxseg.types import AnyArray, Scores

Measure = Literal["margin", "entropy"]

DOUBT_SCALE = 1 / 255
"""What one step of a doubt map stands for; 255 is all doubt there can be."""


def doubt(
    scores: Scores, kind: ScoreKind, out: NDArray[np.uint8], *, measure: Measure = "margin"
) -> None:
    """Write how much in doubt the model is about every pixel of a block, times 255.

    Parameters
    ----------
    scores : numpy.ndarray
        (K, Y, X) or (K, Z, Y, X) float32; not changed.
    kind : {"logits", "probabilities", "labels"}
        What the scores are.
    out : numpy.ndarray
        (Y, X) or (Z, Y, X) uint8; overwritten. 255 where a score is not a number.
    measure : {"margin", "entropy"}, optional
        1 minus the lead of the best class over the second; or the entropy of all classes, as
        part of the largest it can be.

    Raises
    ------
    ModelError
        When the model gives class ids, which have no probabilities, or another size.
    """
    if kind == "labels":
        raise ModelError("The model gives class ids without scores, so it shows no doubt.")
    if scores.shape[1:] != out.shape:
        raise ModelError(
            f"The model gave scores of shape {scores.shape} for an image block of {out.shape} px."
        )
    rule = _entropy if measure == "entropy" else _margin
    for where in row_blocks(out.shape):
        values = rule(_both(to_probabilities(scores[(slice(None), *where)], kind)))
        values[np.isnan(values)] = 1
        write_bytes(values, out[where])


def disagreement(votes: Sequence[AnyArray], classes: int, out: NDArray[np.uint8]) -> None:
    """Write how much several runs disagree about every pixel of a block, times 255.

    Parameters
    ----------
    votes : sequence of numpy.ndarray
        (Y, X) or (Z, Y, X) class ids of each run, such as those of `flips`, turned back.
    classes : int
        Number of classes, at least 2.
    out : numpy.ndarray
        Same shape, uint8; overwritten. 255 where no more agree than must.

    Raises
    ------
    ModelError
        When there are fewer than two runs, or they differ in shape.
    """
    if len(votes) < 2 or any(vote.shape != out.shape for vote in votes):
        raise ModelError(
            f"Runs can disagree when there are two or more of {out.shape} px, got "
            f"{[vote.shape for vote in votes]}."
        )
    fewest = ceil(len(votes) / max(2, classes))
    for where in row_blocks(out.shape):
        cast = np.stack([vote[where] for vote in votes])
        agree = np.zeros(cast.shape[1:], np.float32)
        for vote in cast:
            np.maximum(agree, (cast == vote).sum(axis=0, dtype=np.float32), out=agree)
        write_bytes((len(votes) - agree) / np.float32(len(votes) - fewest), out[where])


def flips(ndim: int) -> tuple[tuple[int, ...], ...]:
    """List the ways to flip an image, none first.

    Parameters
    ----------
    ndim : int
        Spatial axes, 2 or 3.

    Returns
    -------
    tuple of tuple of int
        Axes to flip, counted from the end; 4 ways for an image, 8 for a volume.
    """
    axes = range(-1, -ndim - 1, -1)
    return tuple(way for n in range(ndim + 1) for way in combinations(axes, n))


def flipped(values: AnyArray, way: Sequence[int]) -> AnyArray:
    """Flip an array; doing it again turns it back.

    Parameters
    ----------
    values : numpy.ndarray
        (..., Y, X), leading axes such as channels stay.
    way : sequence of int
        Axes, as `flips` lists them.

    Returns
    -------
    numpy.ndarray
        A view.
    """
    return np.flip(values, tuple(way))


@dataclass(frozen=True, slots=True)
class Inverted:
    """A map of confidence seen as one of doubt.

    Parameters
    ----------
    confidence : array-like
        Array of uint8, of any size, 255 for sure.
    """

    confidence: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels on each axis."""
        return tuple(self.confidence.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always uint8."""
        return np.dtype(np.uint8)

    def __getitem__(self, index: Any) -> NDArray[np.uint8]:
        """Return the part at a tuple of ints and slices."""
        values: NDArray[np.uint8] = np.subtract(255, self.confidence[index], dtype=np.uint8)
        return values


def _both(probabilities: Scores) -> Scores:
    """Return two classes where there is one channel."""
    if len(probabilities) > 1:
        return probabilities
    return np.concatenate([1 - probabilities, probabilities])


def _margin(probabilities: Scores) -> NDArray[np.float32]:
    """Return 1 minus the lead of the best."""
    best = probabilities[0].copy()
    second = np.zeros_like(best)
    for plane in probabilities[1:]:
        np.maximum(second, np.minimum(best, plane), out=second)
        np.maximum(best, plane, out=best)
    return np.asarray(1 - (best - second), np.float32)


def _entropy(probabilities: Scores) -> NDArray[np.float32]:
    """Return the entropy as part of its largest."""
    total = np.zeros(probabilities.shape[1:], np.float32)
    for plane in probabilities:
        total -= plane * np.log(np.maximum(plane, np.finfo(np.float32).tiny))
    return total / np.float32(log(len(probabilities)))
