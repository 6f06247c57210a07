"""From the numbers of one block to everything that the result keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.cards import card as cards
from napari_onnxseg.cards.card import ObjectRule
from napari_onnxseg.decode.confidence import confidence
from napari_onnxseg.decode.labels import (
    ScoreKind,
    decode_labels,
    label_dtype,
    nonfinite_count,
    to_probabilities,
)
from napari_onnxseg.decode.objects import object_planes
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.after import in_place, staged
from napari_onnxseg.prepare.stages import Stage
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask, Scores

NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Block:
    """A finished part of one plane of one output.

    Parameters
    ----------
    region : Region
        Where it lies in the plane.
    parts : mapping of str to numpy.ndarray
        ``labels`` (uint8 or uint16), ``confidence``, ``inside``, ``foreground`` (uint8), each
        (*region.shape,); ``image`` and ``values`` (float32), (C, *region.shape).
    nonfinite : int
        Pixels of which a number is NaN or infinite.
    counts : numpy.ndarray
        Pixels of each class, int64.
    limits : numpy.ndarray or None
        (C, 2) float32, smallest and largest finite value of each channel of an image.
    valid : int
        Pixels where the image has data.
    """

    region: Region
    parts: Mapping[str, AnyArray]
    nonfinite: int
    counts: NDArray[np.int64] = field(default_factory=lambda: NOTHING)
    limits: NDArray[np.float32] | None = None
    valid: int = 0


class Decoder(Protocol):
    """What the numbers of an output mean, and which results are kept."""

    @property
    def early(self) -> tuple[Stage, ...]:
        """What is done to the network's own numbers, before they are resized or blended."""
        ...

    def blendable(self, scores: Scores) -> Scores:
        """Return (K, ...) numbers that may be averaged, after `early`."""
        ...

    def decode(
        self, scores: Scores, region: Region, invalid: Mask | None, *, blended: bool = False
    ) -> Block:
        """Decode one block, (K, *region.shape); ``invalid`` is True where there is no data."""
        ...


@dataclass(frozen=True, slots=True)
class ClassDecoder:
    """Scores of classes.

    Parameters
    ----------
    kind : {"logits", "probabilities", "labels"}
        What the scores are.
    classes : int
        Number of class ids that may occur.
    threshold : float or None
        As `decode_labels` takes it.
    confidence : bool
        Keep the probability of the chosen class.
    rule : ObjectRule or None
        Keep what this rule needs to separate objects.
    early, late : tuple of Stage
        What is done to the numbers first, before and after blending.
    """

    kind: ScoreKind
    classes: int
    threshold: float | None
    confidence: bool
    rule: ObjectRule | None
    early: tuple[Stage, ...] = ()
    late: tuple[Stage, ...] = ()

    def blendable(self, scores: Scores) -> Scores:
        """Return probabilities, or the numbers as they are when a decision follows.

        Parameters
        ----------
        scores : numpy.ndarray
            (K, ...) float32, after `early`.

        Returns
        -------
        numpy.ndarray
            (K, ...) float32.
        """
        return scores if self.late else to_probabilities(scores, self.kind)

    def decode(
        self, scores: Scores, region: Region, invalid: Mask | None, *, blended: bool = False
    ) -> Block:
        """Decode one block; pixels that are no data become background.

        Parameters
        ----------
        scores : numpy.ndarray
            (K, *region.shape) float32.
        region : Region
            Where the block lies.
        invalid : numpy.ndarray or None
            (*region.shape,) bool, True where the image has no data.
        blended : bool
            Whether the scores went through `blendable`.

        Returns
        -------
        Block
            Labels, and what else was asked for.
        """
        kind: ScoreKind = "probabilities" if blended and not self.late else self.kind
        scores = staged(scores, self.late)
        parts: dict[str, AnyArray] = {"labels": np.empty(region.shape, label_dtype(self.classes))}
        decode_labels(scores, parts["labels"], kind=kind, threshold=self.threshold)
        if self.confidence:
            parts["confidence"] = np.empty(region.shape, np.uint8)
            confidence(scores, kind, parts["confidence"], threshold=self.threshold)
        if self.rule is not None:
            inside, foreground = object_planes(scores, kind, self.rule.inside, self.rule.border)
            parts |= {"inside": inside, "foreground": foreground}
        if invalid is not None:
            for part in parts.values():
                part[invalid] = 0
        counts = np.bincount(parts["labels"].reshape(-1), minlength=self.classes)
        return Block(region, parts, nonfinite_count(scores), counts)


@dataclass(frozen=True, slots=True)
class ImageDecoder:
    """Numbers that are the result themselves.

    Parameters
    ----------
    early, late : tuple of Stage
        What is done to them, before and after blending.
    name : {"image", "values"}
        Where they go: into the result, or aside until the whole output has been measured.
    """

    early: tuple[Stage, ...] = ()
    late: tuple[Stage, ...] = ()
    name: str = "image"

    def blendable(self, scores: Scores) -> Scores:
        """Return the numbers as they are.

        Parameters
        ----------
        scores : numpy.ndarray
            (K, ...) float32, after `early`.

        Returns
        -------
        numpy.ndarray
            The same.
        """
        return scores

    def decode(
        self, scores: Scores, region: Region, invalid: Mask | None, *, blended: bool = False
    ) -> Block:
        """Finish one block; pixels that are no data become NaN.

        Parameters
        ----------
        scores : numpy.ndarray
            (K, *region.shape) float32; not changed.
        region : Region
            Where the block lies.
        invalid : numpy.ndarray or None
            (*region.shape,) bool, True where the image has no data.
        blended : bool
            Makes no difference.

        Returns
        -------
        Block
            The values, float32.
        """
        values = np.array(scores, np.float32)
        in_place(values, self.late)
        valid = region.size
        if invalid is not None:
            values[:, invalid] = 0
            valid -= int(np.count_nonzero(invalid))
        nonfinite, limits = nonfinite_count(values), None
        if invalid is not None:
            values[:, invalid] = np.nan
        if self.name == "image":
            limits = limits_of(values, finite=invalid is None and not nonfinite)
        return Block(region, {self.name: values}, nonfinite, limits=limits, valid=valid)


def limits_of(values: Scores, *, finite: bool = False) -> NDArray[np.float32]:
    """Return the smallest and largest finite value of each channel.

    Parameters
    ----------
    values : numpy.ndarray
        (C, ...) float32.
    finite : bool
        Whether all are known to be finite.

    Returns
    -------
    numpy.ndarray
        (C, 2) float32; (inf, -inf) for a channel without any.
    """
    where = True if finite else np.isfinite(values)
    axes = tuple(range(1, values.ndim))
    low = np.min(values, axis=axes, initial=np.inf, where=where)
    return np.stack([low, np.max(values, axis=axes, initial=-np.inf, where=where)], axis=1)


def score_kind(name: str, scores: cards.ScoreKind) -> ScoreKind:
    """Return what the scores of classes are.

    Parameters
    ----------
    name : str
        Model or output, for the message.
    scores : str
        As on its card.

    Returns
    -------
    {"logits", "probabilities", "labels"}
        The same.

    Raises
    ------
    ModelError
        When the card says that there are none.
    """
    if scores == "values":
        raise ModelError(
            f"The card of '{name}' calls its output values and wants classes of it; give it the "
            "task 'image', or say whether the scores are logits or probabilities."
        )
    return scores
