"""What each likely answer leads to on a part of the view, worked out one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.layers import Image
from numpy.typing import NDArray
from qtpy.QtCore import QObject, Signal

from napari_onnxseg.arrays.source import ImageStack, as_stack
from napari_onnxseg.cards.card import ClassInfo, ModelCard
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.plugin.card_jobs import background
from napari_onnxseg.plugin.trying import job_for, refuse_volumes, steps_for
from napari_onnxseg.plugin.visible import Part, visible_part
from napari_onnxseg.plugin.worker import Outcome, Steps, Watch
from napari_onnxseg.tiling.region import Region

PART_PX = 256 * 256
"""Most pixels that are looked at for a small picture."""

WHOLE_PX = 1024 * 1024
"""The same, for a model that sees the picture as a whole."""

SIDE_PX = 160
"""Longer side of a small picture, at most."""

PATIENCE_S = 4.0
"""A model that takes longer for one small picture is not run for the others unasked."""

OVERLAY = 0.55
"""Opacity of classes over the picture."""


@dataclass(frozen=True, slots=True)
class View:
    """What is looked at.

    Parameters
    ----------
    part : Part
        Of a layer.
    channel_axis : int or None
        Axis of that layer that holds channels.
    """

    part: Part
    channel_axis: int | None


def view_of(layer: Image, viewer: Any, channel_axis: int | None, card: ModelCard) -> View | None:
    """Return what a model may be looked at with.

    Parameters
    ----------
    layer : napari.layers.Image
        The image.
    viewer : napari.components.ViewerModel
        Where it is seen.
    channel_axis : int or None
        Axis of the layer that holds channels.
    card : ModelCard
        The model; one that cuts out sees more of the picture.

    Returns
    -------
    View or None
        None when there is nothing to be seen, or the model takes volumes.
    """
    limit = WHOLE_PX if card.task == "matting" else PART_PX
    try:
        refuse_volumes(card)
        part = visible_part(layer, viewer, channel_axis=channel_axis, limit_px=limit)
    except OnnxSegError:
        return None
    return View(part, channel_axis)


class Glimpses(QObject):
    """Runs a model once for each answer, and hands over small pictures as they come."""

    seen = Signal(int, object)
    """Emitted with the number of an answer and its picture, (H, W, 3) uint8."""

    stopped = Signal()
    """Emitted when it was too slow, or something went wrong, before all were seen."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: list[tuple[int, ModelCard]] = []
        self._view: View | None = None
        self._watch: Watch | None = None
        self._patient = False
        self._since = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether pictures are still to come."""
        return self._watch is not None

    def show(self, view: View, cards: Sequence[ModelCard], *, patient: bool = False) -> None:
        """Begin; what was in progress is given up.

        Parameters
        ----------
        view : View
            What to look at.
        cards : sequence of ModelCard
            One for each answer.
        patient : bool
            Whether to go on with a slow model.
        """
        self.stop()
        self._view, self._patient = view, patient
        self._waiting = list(enumerate(cards))
        self._next()

    def stop(self) -> None:
        """Give up what is in progress."""
        self._waiting.clear()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _next(self) -> None:
        """Look at the next answer."""
        if not self._waiting or self._view is None:
            return
        _, card = self._waiting[0]
        self._since = time.monotonic()
        self._watch = Watch(background(glimpse, self._view, card), self)
        self._watch.ended.connect(self._on_end)
        self._watch.start()

    def _on_end(self, outcome: Outcome) -> None:
        """Hand over a picture and go on."""
        watch = self.sender()
        if watch is not None:
            watch.deleteLater()
        if watch is not self._watch:
            return
        self._watch = None
        number, _ = self._waiting.pop(0)
        slow = time.monotonic() - self._since > PATIENCE_S and not self._patient
        if outcome.error is None:
            self.seen.emit(number, outcome.value)
        if outcome.error is not None or (slow and self._waiting):
            self._waiting.clear()
            self.stopped.emit()
            return
        self._next()


def glimpse(view: View, card: ModelCard, cancel: Cancel) -> Steps:
    """Run a model on what is looked at, and draw a small picture of the answer."""
    read = view.part.read()
    stack = as_stack(read.source.data, channel_axis=view.channel_axis, rgb=read.source.rgb)
    job = job_for(card, card.path, stack)
    result = yield from steps_for(card)(stack, job, card=card, cancel=cancel)
    return drawn(result, stack, card)


def drawn(result: Any, stack: ImageStack, card: ModelCard) -> NDArray[np.uint8]:
    """Draw the first plane of a result small.

    Parameters
    ----------
    result : SegmentResult or MatteResult
        Of one slice.
    stack : ImageStack
        What it was made from.
    card : ModelCard
        Names the colours.

    Returns
    -------
    numpy.ndarray
        (H, W, 3) uint8: classes over the picture, or the subject on its ground.
    """
    if hasattr(result, "rgba"):
        pixels: NDArray[np.uint8] = result.rgba.reshape(-1, *result.rgba.shape[-3:])[0][..., :3]
        return _small(pixels)
    if result.labels is not None:
        labels = _small(result.labels.reshape(-1, *result.labels.shape[-2:])[0])
        return _painted(_small(_grey(stack)), labels, card.classes)
    return _small(_ranged(result.image.reshape(-1, *result.image.shape[-2:])[0]))


def _grey(stack: ImageStack) -> NDArray[np.float32]:
    """Return a picture, its colours where it has three, in 0..1."""
    plane = stack.plane(stack.indices()[0])
    pixels = np.asarray(plane.read(Region((0,) * len(plane.shape), plane.shape)), np.float32)
    colours = pixels[:3] if stack.rgb else np.repeat(pixels[:1], 3, axis=0)
    return np.moveaxis(colours, 0, -1)


def _ranged(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Bring values to 0..255 by their own range."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    scaled = np.nan_to_num((values - low) / max(high - low, 1e-6)).clip(0, 1) * 255
    shown = np.rint(scaled).astype(np.uint8)
    return shown if shown.ndim == 3 else np.repeat(shown[..., np.newaxis], 3, axis=-1)


def _painted(
    picture: NDArray[np.float32], labels: NDArray[Any], classes: Sequence[ClassInfo]
) -> NDArray[np.uint8]:
    """Lay the colours of classes over a picture."""
    shown = _ranged(picture).astype(np.float32)
    for entry in classes:
        if entry.colour:
            rgb = [int(entry.colour[i : i + 2], 16) for i in (1, 3, 5)]
            where = labels == entry.id
            shown[where] += OVERLAY * (np.array(rgb, np.float32) - shown[where])
    return np.rint(shown).astype(np.uint8)


def _small(pixels: NDArray[Any]) -> NDArray[Any]:
    """Take every so many pixels."""
    step = max(1, -(-max(pixels.shape[:2]) // SIDE_PX))
    return pixels[::step, ::step]
