"""From class scores to separate nuclei."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.segmentation import watershed

from .targets import BORDER, INSIDE


@dataclass(frozen=True, slots=True)
class ObjectRule:
    """How nuclei are made from probabilities; the numbers of the model card.

    Attributes
    ----------
    foreground_threshold
        Foreground is where p(inside) + p(border) is above this.
    seed_threshold
        Seeds are the 4-connected parts of p(inside) above this.
    min_area_px
        Smaller nuclei are dropped.
    landscape
        What the watershed descends: ``"score"`` for -p(inside), ``"distance"``
        for minus the Euclidean distance to the background.
    """

    foreground_threshold: float = 0.5
    seed_threshold: float = 0.6
    min_area_px: int = 20
    landscape: str = "score"


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the softmax of float32 (3, Y, X) over the first axis."""
    shifted = np.exp(logits - logits.max(axis=0, keepdims=True))
    return shifted / shifted.sum(axis=0, keepdims=True)


def objects(probabilities: NDArray[np.float32], rule: ObjectRule) -> NDArray[np.int32]:
    """Return one id for each nucleus.

    Parameters
    ----------
    probabilities
        float32 (3, Y, X), which sum to one.
    rule
        The thresholds.

    Returns
    -------
    numpy.ndarray
        int32 (Y, X), 0 for background. Foreground without a seed is background.
    """
    inside = probabilities[INSIDE]
    foreground = inside + probabilities[BORDER] > rule.foreground_threshold
    seeds, _ = ndimage.label((inside > rule.seed_threshold) & foreground)
    deep = inside if rule.landscape == "score" else ndimage.distance_transform_edt(foreground)
    labels = watershed(-deep, seeds, mask=foreground)
    return drop_small(labels, rule.min_area_px)


def drop_small(labels: NDArray[np.int32], min_area_px: int) -> NDArray[np.int32]:
    """Set nuclei of fewer than ``min_area_px`` pixels to background."""
    areas = np.bincount(labels.ravel())
    keep = areas >= min_area_px
    keep[0] = False
    return np.where(keep[labels], labels, 0).astype(np.int32)
