"""From the scores of one block to everything that the result keeps of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.cards.card import ObjectRule, ScoreKind
from napari_onnxseg.decode.confidence import confidence
from napari_onnxseg.decode.labels import decode_labels, label_dtype, nonfinite_count
from napari_onnxseg.decode.objects import object_planes
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask, Scores


@dataclass(frozen=True, slots=True)
class Block:
    """A finished part of one plane.

    Parameters
    ----------
    region : Region
        Where it lies in the plane.
    labels : numpy.ndarray
        Class ids, uint8 or uint16.
    counts : numpy.ndarray
        Pixels of each class, int64.
    nonfinite : int
        Scores that were NaN or infinite.
    confidence, inside, foreground : numpy.ndarray or None
        Probabilities times 255, uint8, where they were asked for.
    """

    region: Region
    labels: AnyArray
    counts: NDArray[np.int64]
    nonfinite: int
    confidence: AnyArray | None = None
    inside: AnyArray | None = None
    foreground: AnyArray | None = None


@dataclass(frozen=True, slots=True)
class Decoder:
    """What the scores mean, and which results are kept.

    Parameters
    ----------
    kind : {"logits", "probabilities", "labels"}
        What the scores are.
    classes : int
        Number of class ids that may occur.
    threshold : float
        Of one-channel scores.
    confidence : bool
        Keep the probability of the chosen class.
    rule : ObjectRule or None
        Keep what this rule needs to separate objects.
    """

    kind: ScoreKind
    classes: int
    threshold: float
    confidence: bool
    rule: ObjectRule | None

    def decode(self, scores: Scores, region: Region, invalid: Mask | None) -> Block:
        """Decode one block; pixels that are no data become background.

        Parameters
        ----------
        scores : numpy.ndarray
            (K, *region.shape) float32.
        region : Region
            Where the block lies.
        invalid : numpy.ndarray or None
            (*region.shape,) bool, True where the image has no data.

        Returns
        -------
        Block
            Everything the result keeps.
        """
        labels = np.empty(region.shape, label_dtype(self.classes))
        decode_labels(scores, labels, kind=self.kind, threshold=self.threshold)
        sure = inside = foreground = None
        if self.confidence:
            sure = np.empty(region.shape, np.uint8)
            confidence(scores, self.kind, sure, threshold=self.threshold)
        if self.rule is not None:
            inside, foreground = object_planes(
                scores, self.kind, self.rule.inside, self.rule.border
            )
        kept = [part for part in (labels, sure, inside, foreground) if part is not None]
        if invalid is not None:
            for part in kept:
                part[invalid] = 0
        counts = np.bincount(labels.reshape(-1), minlength=self.classes)
        return Block(region, labels, counts, nonfinite_count(scores), sure, inside, foreground)
