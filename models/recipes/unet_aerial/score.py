"""Figures of merit: confusion, intersection over union, pixel accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from geometry import model_input
from numpy.typing import NDArray
from torch import nn

from .data import NAMES, Scene, normalise

MULTIPLE = 32
Predict = Callable[[Scene], NDArray[np.integer]]
"""From a scene to the place in ``NAMES`` of each pixel, (Y, X)."""


def network_predictor(net: nn.Module) -> Predict:
    """Return what classifies whole scenes with a network, in float32."""
    net.eval()

    def predict(scene: Scene) -> NDArray[np.integer]:
        pixels = torch.from_numpy(model_input(normalise(scene.image), MULTIPLE))
        with torch.inference_mode():
            logits = net(pixels)[0].numpy()
        height, width = scene.classes.shape
        return logits[:, :height, :width].argmax(axis=0)

    return predict


def confusion(scene: Scene, found: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count annotated pixels, (5, 5): rows are the truth, columns what was found."""
    known = scene.classes < len(NAMES)
    pairs = scene.classes[known].astype(np.int64) * len(NAMES) + found[known]
    return np.bincount(pairs, minlength=len(NAMES) ** 2).reshape(len(NAMES), len(NAMES))


def figures(table: NDArray[np.int64]) -> dict[str, Any]:
    """Return the figures of a confusion table.

    Parameters
    ----------
    table
        (5, 5) pixels, rows are the truth.

    Returns
    -------
    dict
        ``iou`` by class (over all pixels of all scenes together), ``mean_iou`` and
        ``pixel_accuracy``.
    """
    both = np.diag(table)
    either = table.sum(axis=0) + table.sum(axis=1) - both
    iou = both / np.maximum(either, 1)
    return {
        "iou": {name: float(value) for name, value in zip(NAMES, iou, strict=True)},
        "mean_iou": float(iou.mean()),
        "pixel_accuracy": float(both.sum() / table.sum()),
    }


def measure(scenes: list[Scene], predict: Predict) -> dict[str, Any]:
    """Return the figures of a predictor on scenes, all their pixels together."""
    return figures(sum(confusion(scene, predict(scene)) for scene in scenes))
