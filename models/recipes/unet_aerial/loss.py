"""The loss: cross-entropy and Dice over the annotated pixels."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .data import IGNORED, NAMES

WEIGHTS = (1.2, 0.7, 1.4, 1.3, 1.1)


def aerial_loss(logits: Tensor, classes: Tensor) -> Tensor:
    """Return weighted cross-entropy plus one minus the mean soft Dice index.

    Parameters
    ----------
    logits
        float32 (N, 5, Y, X).
    classes
        int64 (N, Y, X), ``IGNORED`` where nothing is to be learnt.

    Returns
    -------
    torch.Tensor
        A scalar.
    """
    weights = torch.tensor(WEIGHTS)
    entropy = F.cross_entropy(logits, classes, weights, ignore_index=IGNORED)
    return entropy + _dice(logits, classes)


def _dice(logits: Tensor, classes: Tensor) -> Tensor:
    """One minus Dice, over the batch, averaged over the classes that occur in it."""
    known = (classes != IGNORED).unsqueeze(1)
    wanted = (classes.unsqueeze(1) == torch.arange(len(NAMES)).view(1, -1, 1, 1)).float()
    found = torch.softmax(logits, dim=1) * known
    both = (found * wanted).sum((0, 2, 3))
    total = found.sum((0, 2, 3)) + wanted.sum((0, 2, 3))
    dice = (2.0 * both + 1.0) / (total + 1.0)
    return 1.0 - dice[wanted.sum((0, 2, 3)) > 0].mean()
