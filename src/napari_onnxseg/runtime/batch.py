"""Batches in the layout and dtype of a model, and its answers as scores."""

from __future__ import annotations

import numpy as np

from napari_onnxseg.cards.card import TensorSpec
from napari_onnxseg.types import AnyArray, Batch, Scores


def to_input(batch: Batch, spec: TensorSpec) -> AnyArray:
    """Bring a batch to the layout and dtype of the model.

    Parameters
    ----------
    batch : numpy.ndarray
        (N, C, ...), any dtype; rounded and clipped for a model of integers.
    spec : TensorSpec
        The input of the model.

    Returns
    -------
    numpy.ndarray
        Contiguous, in the layout and dtype of the model.
    """
    dtype = np.dtype(spec.dtype)
    if batch.dtype != dtype and dtype.kind in "iu" and batch.dtype.kind == "f":
        limits = np.iinfo(dtype)
        batch = np.rint(batch).clip(limits.min, limits.max)
    moved = np.moveaxis(batch, 1, -1) if spec.layout.endswith("C") else batch
    return np.ascontiguousarray(moved, dtype)


def to_scores(answer: AnyArray, spec: TensorSpec) -> Scores:
    """Bring the model's answer to scores.

    Parameters
    ----------
    answer : numpy.ndarray
        In the layout of the model.
    spec : TensorSpec
        The output of the model.

    Returns
    -------
    numpy.ndarray
        (N, K, ...) float32.
    """
    if "C" not in spec.layout:
        answer = answer[:, np.newaxis]
    elif spec.layout.endswith("C"):
        answer = np.moveaxis(answer, -1, 1)
    return answer.astype(np.float32, copy=False)
