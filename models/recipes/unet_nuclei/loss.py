"""The loss: foreground against background, and border against inside within it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .targets import BACKGROUND, BORDER, INSIDE

GAP_WEIGHT = 3.0
CROWDED_WEIGHT = 4.0


def nucleus_loss(logits: Tensor, classes: Tensor, crowded: Tensor) -> Tensor:
    """Return the sum of a foreground loss and a border loss.

    The softmax is split in two questions: is this pixel foreground (inside or
    border), and if so, which of both? Extra weight on borders between nuclei is
    thus free of influence on the outline of the foreground.

    Parameters
    ----------
    logits
        float32 (N, 3, Y, X).
    classes
        int64 (N, Y, X).
    crowded
        bool (N, Y, X), places between or on nuclei that are close together.

    Returns
    -------
    torch.Tensor
        A scalar.
    """
    foreground = (classes != BACKGROUND).float()
    nuclear = torch.logsumexp(logits[:, INSIDE:], dim=1)
    whether = nuclear - logits[:, BACKGROUND]
    gap = crowded & (classes == BACKGROUND)
    weights = 1.0 + (GAP_WEIGHT - 1.0) * gap.float()
    outline = F.binary_cross_entropy_with_logits(whether, foreground, weights)
    which = logits[:, BORDER] - logits[:, INSIDE]
    border = (classes == BORDER).float()
    weights = foreground * (1.0 + (CROWDED_WEIGHT - 1.0) * crowded.float())
    split = F.binary_cross_entropy_with_logits(which, border, weights, reduction="sum")
    return outline + 0.5 * _dice(whether, foreground) + split / (2.0 * foreground.sum() + 1000.0)


def _dice(logits: Tensor, target: Tensor) -> Tensor:
    """One minus the soft Dice index, over the batch."""
    probability = torch.sigmoid(logits)
    both = (probability * target).sum()
    return 1.0 - (2.0 * both + 1.0) / (probability.sum() + target.sum() + 1.0)
