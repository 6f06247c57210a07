"""How sure the model is of the class it chose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.decode.blocks import row_blocks, write_bytes
from napari_onnxseg.decode.labels import (
    ScoreKind,
    best_probability,
    score_at,
    to_probabilities,
)
from napari_onnxseg.errors import ModelError
from napari_onnxseg.types import Scores


def confidence(
    scores: Scores, kind: ScoreKind, out: NDArray[np.uint8], *, threshold: float | None = None
) -> None:
    """Write the probability of the chosen class of every pixel, times 255.

    Parameters
    ----------
    scores : numpy.ndarray
        (K, Y, X) or (K, Z, Y, X) float32.
    kind : {"logits", "probabilities", "labels"}
        What the scores are.
    out : numpy.ndarray
        (Y, X) or (Z, Y, X) uint8; overwritten. 0 where a score is not a number.
    threshold : float, optional
        The one that made the labels. Below it, class 0 was chosen of several.

    Raises
    ------
    ModelError
        When the model gives class ids, which have no probabilities, or another size.
    ChoiceError
        When the threshold is outside [0, 1].
    """
    if kind == "labels":
        raise ModelError("The model gives class ids without scores, so there is no confidence.")
    if scores.shape[1:] != out.shape:
        raise ModelError(
            f"The model gave scores of shape {scores.shape} for an image block of {out.shape} px."
        )
    limit = score_at(0.5 if threshold is None else threshold, kind)
    least = None if threshold is None else np.float32(threshold)
    for where in row_blocks(out.shape):
        block = scores[(slice(None), *where)]
        one = len(block) == 1
        chosen = _of_one_channel(block, kind, limit) if one else _of_several(block, kind, least)
        write_bytes(chosen, out[where])


def _of_one_channel(block: Scores, kind: ScoreKind, limit: float) -> NDArray[np.float32]:
    """Return P(foreground) where that was chosen, else P(background)."""
    foreground = to_probabilities(block, kind)[0]
    chosen: NDArray[np.float32] = np.where(block[0] > limit, foreground, 1 - foreground)
    return chosen


def _of_several(block: Scores, kind: ScoreKind, least: np.float32 | None) -> NDArray[np.float32]:
    """Return the largest probability; that of class 0 where it is below ``least``."""
    best = best_probability(block, kind)
    if least is None or not (unsure := best < least).any():
        return best
    chosen: NDArray[np.float32] = np.where(unsure, to_probabilities(block, kind)[0], best)
    return chosen
