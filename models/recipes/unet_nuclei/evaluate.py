"""Figures of merit: foreground IoU and average precision at IoU 0.5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from geometry import model_input
from numpy.typing import NDArray
from torch import nn

from .data import MODALITIES, Sample
from .decode import ObjectRule, objects, softmax

MULTIPLE = 16


@dataclass(frozen=True, slots=True)
class Score:
    """What one image scored.

    Attributes
    ----------
    iou
        Intersection over union of the foreground.
    found, spurious, missed
        Numbers of nuclei matched at IoU above 0.5, of objects without a nucleus
        and of nuclei without an object.
    """

    modality: str
    iou: float
    found: int
    spurious: int
    missed: int

    @property
    def ap50(self) -> float:
        """Return found / (found + spurious + missed), 1 for an empty image left empty."""
        total = self.found + self.spurious + self.missed
        return self.found / total if total else 1.0


def predict_all(net: nn.Module, samples: list[Sample]) -> list[NDArray[np.float32]]:
    """Run the network in float32 on whole images.

    Parameters
    ----------
    net
        The network; it is put in evaluation mode.
    samples
        The images.

    Returns
    -------
    list of numpy.ndarray
        float32 (3, Y, X) probabilities of each image.
    """
    net.eval()
    results = []
    for sample in samples:
        height, width = sample.labels.shape
        pixels = torch.from_numpy(model_input(sample.normalised(), MULTIPLE))
        with torch.inference_mode():
            logits = net(pixels)[0].numpy()
        results.append(softmax(logits[:, :height, :width]))
    return results


def score_all(
    samples: list[Sample],
    probabilities: list[NDArray[np.float32]],
    rule: ObjectRule | None = None,
) -> list[Score]:
    """Decode each image and compare it with the annotation."""
    rule = rule or ObjectRule()
    pairs = zip(samples, probabilities, strict=True)
    return [score(s.modality, s.labels, objects(p, rule)) for s, p in pairs]


def score(modality: str, truth: NDArray[np.integer], found: NDArray[np.integer]) -> Score:
    """Compare two label images.

    Parameters
    ----------
    modality
        Kept in the score.
    truth, found
        (Y, X) ids, 0 for background.

    Returns
    -------
    Score
    """
    either = ((truth > 0) | (found > 0)).sum()
    iou = ((truth > 0) & (found > 0)).sum() / either if either else 1.0
    matches, true_count, found_count = count_matches(truth, found)
    return Score(modality, float(iou), matches, found_count - matches, true_count - matches)


def count_matches(truth: NDArray[np.integer], found: NDArray[np.integer]) -> tuple[int, int, int]:
    """Return the pairs with IoU above 0.5 (they are unique) and both numbers of objects."""
    _, a = np.unique(truth, return_inverse=True)
    _, b = np.unique(found, return_inverse=True)
    a, b = a.ravel() + (truth.min() > 0), b.ravel() + (found.min() > 0)
    shape = (a.max() + 1, b.max() + 1)
    table = np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1]).reshape(shape)
    union = table.sum(1, keepdims=True) + table.sum(0, keepdims=True) - table
    matched = (table[1:, 1:] > 0.5 * union[1:, 1:]).sum()
    return int(matched), table.shape[0] - 1, table.shape[1] - 1


def mean_scores(scores: list[Score]) -> dict[str, dict[str, float]]:
    """Return IoU and AP averaged over images, and AP pooled over nuclei, by modality."""
    groups = {m: [s for s in scores if s.modality == m] for m in MODALITIES} | {"all": scores}
    return {name: _means(group) for name, group in groups.items() if group}


def _means(scores: list[Score]) -> dict[str, float]:
    found = sum(s.found for s in scores)
    total = sum(s.found + s.spurious + s.missed for s in scores)
    return {
        "images": len(scores),
        "iou": float(np.mean([s.iou for s in scores])),
        "iou_median": float(np.median([s.iou for s in scores])),
        "ap50": float(np.mean([s.ap50 for s in scores])),
        "ap50_pooled": found / total if total else 1.0,
    }
