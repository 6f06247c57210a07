"""Rows that all widgets have: which image and which model."""

from __future__ import annotations

from typing import Any

from napari.layers import Image
from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import (
    QFormLayout,
)

from napari_onnxseg.arrays.source import ImageStack, as_stack
from napari_onnxseg.cards.card import ModelCard, Task
from napari_onnxseg.plugin.card_jobs import background, reading, saving
from napari_onnxseg.plugin.catalogue import CATALOGUE
from napari_onnxseg.plugin.choosers import Chooser, LayerChooser, ModelChooser
from napari_onnxseg.plugin.forms import show_row
from napari_onnxseg.plugin.layers import (
    Placement,
    axis_words,
    capture,
    channel_axes,
    index_shown,
    named_channel_axis,
)
from napari_onnxseg.plugin.ties import Ties
from napari_onnxseg.plugin.worker import Outcome, Watch
from napari_onnxseg.runtime.providers import devices


class ImageRows(QObject):
    """Which image, which part of it, and which axis holds channels.

    Parameters
    ----------
    viewer : napari.components.ViewerModel
        Whose layers.
    rows : QFormLayout
        Where the fields go.
    """

    changed = Signal()
    """Emitted when another image, part or axis is chosen."""

    def __init__(self, viewer: Any, rows: QFormLayout, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewer, self._rows = viewer, rows
        self._layer: Image | None = None
        self._spatial_ndim = 2
        self.layers = LayerChooser(viewer)
        self.channel = Chooser()
        self.channel.setToolTip("Axis that holds channels; the shape alone never tells.")
        self.region = Chooser()
        self.region.offer([False, True], ["whole layer", "current slice"], False)
        self.region.setToolTip("All slices of a stack, or only the one that is shown.")
        rows.addRow("Image", self.layers)
        rows.addRow("Channel axis", self.channel)
        rows.addRow("Region", self.region)
        self.layers.changed.connect(self._on_layer)
        self.channel.currentIndexChanged.connect(self._on_axis)
        self.region.currentIndexChanged.connect(self.changed)
        self._on_layer()

    @property
    def layer(self) -> Image | None:
        """The chosen layer."""
        return self.layers.layer

    @property
    def is_stack(self) -> bool:
        """Whether the model has several slices to work on."""
        layer = self.layer
        spatial = 0 if layer is None else layer.ndim - (self.channel.value is not None)
        return spatial > self._spatial_ndim

    def enter(self, ties: Ties) -> None:
        """Follow the viewer until the ties are undone.

        Parameters
        ----------
        ties : Ties
            Undone when the widget goes.
        """
        self.layers.enter(ties)

    def show_card(self, card: ModelCard | None) -> None:
        """Offer slices of as many axes as the model sees.

        Parameters
        ----------
        card : ModelCard or None
            The model.
        """
        self._spatial_ndim = 2 if card is None else card.input.spatial_ndim
        show_row(self._rows, self.region, self.is_stack)

    def stack(self) -> ImageStack:
        """Read the chosen image as the user describes it.

        Returns
        -------
        ImageStack
            Full resolution.

        Raises
        ------
        ImageError
            When its axes or values cannot be used.
        """
        assert self.layer is not None
        source = capture(self.layer)
        return as_stack(
            source.data,
            channel_axis=self.channel.value,
            rgb=source.rgb,
            spatial_ndim=self._spatial_ndim,
        )

    def placement(self, stack: ImageStack, only_slice: bool) -> Placement:
        """Take down where a result belongs.

        Parameters
        ----------
        stack : ImageStack
            From `stack`.
        only_slice : bool
            Only the slice that is shown, whatever the region says.

        Returns
        -------
        Placement
            Independent of what the user does next.
        """
        assert self.layer is not None
        axes = stack.result_axes
        leading = len(axes) - stack.spatial_ndim
        picked: tuple[int | None, ...] = (None,) * len(axes)
        if only_slice or (self.region.value and self.is_stack):
            shown = index_shown(self.layer, self._viewer)
            picked = (*(shown[axis] for axis in axes[:leading]), *picked[leading:])
        return Placement(capture(self.layer), axes, picked)

    def _on_layer(self) -> None:
        """Offer the axes of another layer."""
        layer = self.layer
        if layer is not self._layer:
            self._layer = layer
            axes = () if layer is None else channel_axes(layer)
            words = [axis_words(layer, axis) for axis in axes if layer is not None]
            named = None if layer is None else named_channel_axis(layer)
            self.channel.offer([None, *axes], ["none (loop over all)", *words], named)
            show_row(self._rows, self.channel, bool(axes))
        self._on_axis()

    def _on_axis(self, *_: object) -> None:
        """Offer single slices of stacks only."""
        show_row(self._rows, self.region, self.is_stack)
        self.changed.emit()


class ModelRows(QObject):
    """Which model, on which device; the card is read off the main thread.

    Parameters
    ----------
    task : {"semantic", "matting"}
        Which models to list.
    rows : QFormLayout
        Where the fields go.
    """

    changed = Signal()
    """Emitted when a card has been read, could not be read, or is being read."""

    saved = Signal(object)
    """Emitted with the `Outcome` of `save`."""

    def __init__(self, task: Task, rows: QFormLayout, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.card: ModelCard | None = None
        self.error: BaseException | None = None
        self._watch: Watch | None = None
        self._saving: Watch | None = None
        self.models = ModelChooser(task)
        self.device = Chooser()
        self.device.offer(list(devices()), list(devices()), "auto")
        self.device.setToolTip(
            "What the model runs on. 'auto' takes the fastest that works;\n"
            "any other choice runs there or says why it cannot."
        )
        rows.addRow("Model", self.models)
        rows.addRow("Device", self.device)
        self.models.changed.connect(self.load)
        self.device.currentIndexChanged.connect(self.changed)

    @property
    def waiting(self) -> str:
        """Why there is no card yet."""
        return "Choose a model." if self._watch is None else "Reading the model …"

    def show_used(self, device: str) -> None:
        """Show what 'auto' turned out to be.

        Parameters
        ----------
        device : str
            What really ran.
        """
        if self.device.value == "auto":
            self.device.setItemText(self.device.currentIndex(), f"auto (used {device})")

    def save(self, card: ModelCard) -> None:
        """Write an edited card of the chosen model, and read it anew everywhere.

        Parameters
        ----------
        card : ModelCard
            What is stated in it is known from the user.
        """
        model = self.models.model
        if model is not None and self._saving is None:
            self._saving = Watch(background(saving, card, model), self)
            self._saving.ended.connect(self._on_saved)
            self._saving.start()

    def load(self) -> None:
        """Read the card of the chosen model."""
        self.card, self.error = None, None
        model = self.models.model
        if model is not None:
            self._watch = Watch(background(reading, model), self)
            self._watch.ended.connect(self._on_read)
            self._watch.start()
        self.changed.emit()

    def _on_saved(self, outcome: Outcome) -> None:
        """Tell how it went, and use the card."""
        self._saving = None
        self.saved.emit(outcome)
        if outcome.error is None:
            model = self.models.model
            CATALOGUE.changed.emit(str(model))
            if not isinstance(model, str):
                self.load()

    def _on_read(self, outcome: Outcome) -> None:
        """Keep the card, unless another model was chosen meanwhile."""
        if self.sender() is not self._watch:
            return
        self.card, self.error, self._watch = outcome.value, outcome.error, None
        if self.card is not None:
            self.models.setToolTip(_about(self.card))
        self.changed.emit()


def _about(card: ModelCard) -> str:
    """Return what a model is for, and its terms."""
    about = (card.title, card.description, f"Licence: {card.licence or 'unknown'}")
    return "\n\n".join(text for text in about if text)
