"""One run on a made-up picture, to see in the values what the graph of a model leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from threading import Timer

import numpy as np
import onnxruntime as ort

from napari_onnxseg.cards.card import Geometry, ModelCard, ScoreKind
from napari_onnxseg.errors import CancelledError, OnnxSegError
from napari_onnxseg.runtime.bare import SEED, Bare
from napari_onnxseg.runtime.batch import to_input, to_scores
from napari_onnxseg.types import AnyArray, Scores

SIDES_PX = {2: 128, 3: 32}
"""Sides of the picture, at least, by number of spatial axes."""

LARGEST_BYTES = 2 << 30
"""Working memory beyond which nothing is tried."""

PATIENCE_S = 5.0
"""Time after which a run is given up."""

TOLERANCE = 1e-4
"""How far from 1 a sum of probabilities may be."""

RANGES = ((0.0, 1.0), (-2.0, 2.0), (0.0, 255.0), (-1.0, 1.0))
"""Lowest and highest value of each part of the picture: what networks are usually fed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the values of a trial run show.

    Parameters
    ----------
    kind : {"logits", "probabilities", "labels"} or None
        What the output holds; None when its values do not tell.
    channels : int
        Planes of the output.
    note : str
        What contradicts the graph or needs care, in a sentence; otherwise nothing.
    """

    kind: ScoreKind | None
    channels: int
    note: str = ""


class Probing:
    """A model about to be run once; another thread may stop it.

    Parameters
    ----------
    card : ModelCard
        The model, as its graph describes it.
    """

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        self._options = ort.RunOptions()
        self._stopped = False
        self._late = False

    def stop(self) -> None:
        """End the run in native code; it then raises `CancelledError`."""
        self._stopped = True
        self._options.terminate = True

    def _give_up(self) -> None:
        """End a run that takes too long."""
        self._late = True
        self._options.terminate = True

    def run(self) -> Seen | None:
        """Run the model on one thread of the processor.

        Returns
        -------
        Seen or None
            What it gave; None for a model that takes too much memory or time to be tried.

        Raises
        ------
        CancelledError
            When it was stopped.
        OnnxSegError
            When the model cannot be loaded or run.
        """
        card = self._card
        sides = _sides(card)
        if prod(sides) * card.geometry.bytes_per_px * (card.input.batch or 1) > LARGEST_BYTES:
            return None
        answer = self._answer(to_input(_batch(card, sides), card.input))
        if answer is None:
            return None
        if answer.ndim != len(card.output.layout):
            return Seen(None, 0, f"A trial run gave {answer.ndim} axes, not {card.output.layout}.")
        return _seen(to_scores(answer, card.output)[0], sides, card.geometry)

    def _answer(self, batch: AnyArray) -> AnyArray | None:
        """Run the network; None when it takes too long."""
        bare, watchdog = Bare(self._card.path), Timer(PATIENCE_S, self._give_up)
        watchdog.start()
        try:
            return bare.run(self._card.input.name, batch, self._options)[self._card.output.name]
        except OnnxSegError:
            if self._stopped:
                raise CancelledError("The trial run was cancelled.") from None
            if self._late:
                return None
            raise
        finally:
            watchdog.cancel()
            watchdog.join()


def picture(channels: int, sides: Sequence[int]) -> AnyArray:
    """Draw blobs on a shaded, grainy ground, each part of the picture in another range.

    Parameters
    ----------
    channels : int
        Planes.
    sides : sequence of int
        Spatial sides, pixels.

    Returns
    -------
    numpy.ndarray
        (C, ...) float64, the same at each call.
    """
    random = np.random.default_rng(SEED)
    grid = np.meshgrid(*(np.linspace(0, 1, side) for side in sides), indexing="ij")
    waves = sum(np.sin(2 * np.pi * (5 + 2 * axis) * part) for axis, part in enumerate(grid))
    blobs = 1 / (1 + np.exp(-4 * waves))
    shade = 0.25 * sum(grid) / len(grid)
    grain = 0.15 * random.random((channels, *sides))
    tint = random.uniform(0.5, 1, (channels, *(1,) * len(sides)))
    unit = np.clip(0.6 * tint * blobs + shade + grain, 0, 1)
    for number, (low, high) in enumerate(RANGES):
        part = (..., _half(number // 2, sides[-2]), _half(number % 2, sides[-1]))
        unit[part] = low + (high - low) * unit[part]
    return unit


def _half(second: int, side: int) -> slice:
    return slice(side // 2, None) if second else slice(0, side // 2)


def _sides(card: ModelCard) -> tuple[int, ...]:
    """Return sides that the model takes."""
    least, geometry = SIDES_PX[card.input.spatial_ndim], card.geometry
    numbers = zip(card.input.sides, geometry.shrink, geometry.multiple, strict=True)
    return tuple(
        fixed or ceil((least + 2 * shrink) / multiple) * multiple
        for fixed, shrink, multiple in numbers
    )


def _batch(card: ModelCard, sides: tuple[int, ...]) -> AnyArray:
    """Return as many pictures as the model takes at once, in the range of its dtype."""
    drawn = picture(card.input.channels or 1, sides)
    if not np.issubdtype(np.dtype(card.input.dtype), np.floating):
        drawn = np.abs(drawn)
    return np.repeat(drawn[np.newaxis], card.input.batch or 1, axis=0)


def _seen(scores: Scores, sides: tuple[int, ...], geometry: Geometry) -> Seen:
    """Judge scores of shape (K, ...)."""
    numbers = zip(sides, geometry.ratio, geometry.shrink, strict=True)
    wanted = tuple(int((side - 2 * shrink) * ratio) for side, ratio, shrink in numbers)
    note = "" if scores.shape[1:] == wanted else _shape_note(sides, scores.shape[1:], wanted)
    finite = np.isfinite(scores).all(axis=0)
    if not finite.any():
        return Seen(None, len(scores), "A trial run gave no numbers (NaN) at all." + note)
    kind, words = _kind(scores[:, finite])
    return Seen(kind, len(scores), " ".join(part for part in (note, words) if part))


def _kind(values: AnyArray) -> tuple[ScoreKind | None, str]:
    """Tell what values of shape (K, P) are, and what needs care."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return None, ""
    whole = len(values) == 1 and bool((values == np.rint(values)).all())
    if whole and low >= 0 and high > 1:
        return "labels", ""
    if low < -TOLERANCE or high > 1 + TOLERANCE:
        return "logits", ""
    together = len(values) == 1 or np.abs(values.sum(axis=0) - 1).max() <= len(values) * TOLERANCE
    apart = (
        ""
        if together
        else (
            "The values of a pixel do not add up to 1 over the classes: the model rates each class "
            "by itself, and the highest wins."
        )
    )
    return "probabilities", apart


def _shape_note(sides: Sequence[int], given: Sequence[int], wanted: Sequence[int]) -> str:
    took, gave, said = (" × ".join(map(str, numbers)) for numbers in (sides, given, wanted))
    return (
        f"A trial run gave {gave} px for {took} px, where the graph says {said} px; results may "
        "be misplaced."
    )
