"""Drop-downs and fields that the widgets are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from napari.layers import Image
from qtpy.QtCore import QSignalBlocker, Qt, Signal
from qtpy.QtGui import QPaintEvent
from qtpy.QtWidgets import (
    QComboBox,
    QFileDialog,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from napari_onnxseg.cards.card import Task
from napari_onnxseg.cards.catalog import SUFFIXES, list_models
from napari_onnxseg.plugin.catalogue import CATALOGUE
from napari_onnxseg.plugin.layers import distinct_names, is_result
from napari_onnxseg.plugin.ties import Ties

OPEN_FILE = "Open file…"

FIRST: Mapping[Task, str] = {"semantic": "unet-nuclei", "matting": "u2netp"}
"""The model that is chosen before the user has chosen one."""

MODEL_FILES = f"Models ({' '.join(f'*{end}' for end in SUFFIXES)});;Model cards (*.json)"
"""What the file dialogs offer."""


@contextmanager
def quiet(widget: QWidget) -> Iterator[None]:
    """Change a widget without its signals.

    Parameters
    ----------
    widget : QWidget
        Any.

    Yields
    ------
    None
        Nothing.
    """
    blocker = QSignalBlocker(widget)
    try:
        yield
    finally:
        blocker.unblock()


class Chooser(QComboBox):
    """A drop-down of any objects that does not make its dock wide."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._values: list[Any] = []

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Shorten a long name visibly instead of cutting its end off."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox,
            option,
            QStyle.SubControl.SC_ComboBoxEditField,
            self,
        )
        option.currentText = self.fontMetrics().elidedText(
            option.currentText, Qt.TextElideMode.ElideRight, room.width()
        )
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    @property
    def value(self) -> Any:
        """The object chosen, None when there is none."""
        row = self.currentIndex()
        return self._values[row] if 0 <= row < len(self._values) else None

    def offer(self, values: Sequence[Any], texts: Sequence[str], chosen: Any) -> None:
        """Replace the choices without a signal.

        Parameters
        ----------
        values : sequence
            The objects.
        texts : sequence of str
            How each reads.
        chosen : object
            The one to show; the first when it is not among them.
        """
        with quiet(self):
            self._values = list(values)
            self.clear()
            self.addItems(list(texts))
            self.setCurrentIndex(values.index(chosen) if chosen in values else 0)

    def choose(self, value: Any) -> None:
        """Show one of the choices.

        Parameters
        ----------
        value : object
            One of those offered.
        """
        self.setCurrentIndex(self._values.index(value))


class LayerChooser(Chooser):
    """Image layers of a viewer; follows the active layer until the user picks one.

    Parameters
    ----------
    viewer : napari.components.ViewerModel
        Whose layers.
    """

    changed = Signal()
    """Emitted when another layer is chosen, or when the chosen one was renamed."""

    def __init__(self, viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setToolTip(
            "Image to work on: the active layer, until you pick one here. "
            "Results of runs are only taken when picked here."
        )
        self._viewer = viewer
        self._picked = False
        self._shown: tuple[Image | None, str] = (None, "")
        self.activated.connect(self._on_pick)
        self.refresh()

    @property
    def layer(self) -> Image | None:
        """The chosen layer; None when the viewer has no image."""
        return self.value

    def pick(self, layer: Image) -> None:
        """Choose a layer as the user would.

        Parameters
        ----------
        layer : napari.layers.Image
            A layer of the viewer.
        """
        self.choose(layer)
        self._on_pick()

    def refresh(self, *_: object) -> None:
        """Bring the choices in line with the layer list."""
        layers = [layer for layer in reversed(self._viewer.layers) if isinstance(layer, Image)]
        self._picked = self._picked and self.value in layers
        names = distinct_names([layer.name for layer in layers])
        self.offer(layers, names, self._wanted(layers))
        self._tell()

    def enter(self, ties: Ties) -> None:
        """Follow the layer list until the ties are undone, then let go of the layers.

        Parameters
        ----------
        ties : Ties
            Undone when the widget goes.
        """
        events = self._viewer.layers.events
        active = self._viewer.layers.selection.events.active
        for event in (events.inserted, events.removed, events.reordered, events.renamed, active):
            ties.connect(event, self.refresh)
        self.refresh()

    def _wanted(self, layers: list[Image]) -> Image | None:
        """Return the user's layer, else the active one, else the one shown before.

        Results of runs are not followed: a run must not choose the image of the next one.
        """
        active = self._viewer.layers.selection.active
        if not self._picked and active in layers and not is_result(active):
            return active
        if self.value in layers:
            return self.value
        return next((layer for layer in layers if not is_result(layer)), None)

    def _on_pick(self, *_: object) -> None:
        """Keep to what the user picked."""
        self._picked = True
        self._tell()

    def _tell(self) -> None:
        """Emit `changed` when what is shown has changed."""
        shown = (self.layer, self.currentText())
        if shown != self._shown:
            self._shown = shown
            self.changed.emit()


class ModelChooser(Chooser):
    """Models of the catalogue for one task, and any file.

    Parameters
    ----------
    task : {"semantic", "matting"}
        Which models to list.
    """

    changed = Signal()
    """Emitted when another model is chosen."""

    def __init__(self, task: Task, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._task = task
        self._names: list[str | Path] = []
        self._titles: list[str] = []
        self._opened: list[str | Path] = []
        self._list()
        self._last: str | Path | None = self._first()
        self._show()
        self.activated.connect(self._on_pick)
        CATALOGUE.changed.connect(self._on_catalogue)

    @property
    def model(self) -> str | Path | None:
        """Name or file of the chosen model."""
        return self._last

    def open(self, model: str | Path) -> None:
        """Choose a model, adding a file that is not listed yet.

        Parameters
        ----------
        model : str or Path
            Name in the catalogue, or an ``.onnx`` file.
        """
        if model not in self._names:
            self._opened.append(model)
            self._names.append(model)
            self._titles.append(Path(model).name)
        self._last = model
        self._show()
        self.changed.emit()

    def _list(self) -> None:
        """List the models of the catalogue, then what else was opened."""
        cuts = self._task == "matting"
        summaries = [found for found in list_models() if (found.task == "matting") == cuts]
        self._names = [*(summary.name for summary in summaries), *self._opened]
        titles = (summary.title or summary.name for summary in summaries)
        self._titles = [*titles, *(Path(model).name for model in self._opened)]

    def _first(self) -> str | Path | None:
        """Return the model to begin with: the one most people come for, where it is there."""
        wanted = FIRST.get(self._task)
        return wanted if wanted in self._names else next(iter(self._names), None)

    def _on_catalogue(self, name: str) -> None:
        """List the models anew; read the chosen one again when it is the one that changed."""
        self._list()
        gone = self._last not in self._names
        if gone:
            self._last = self._first()
        self._show()
        if gone or self._last == name:
            self.changed.emit()

    def _show(self) -> None:
        """Offer the models and, at the end, a file."""
        values = [*self._names, OPEN_FILE]
        self.offer(values, [*self._titles, OPEN_FILE], self._last)
        if not self._names:
            self.setCurrentIndex(-1)

    def _on_pick(self, *_: object) -> None:
        """Open a listed model, or ask for a file."""
        if self.value != OPEN_FILE:
            self.open(self.value)
            return
        path, _filter = QFileDialog.getOpenFileName(self, "Open a model", "", MODEL_FILES)
        if path:
            self.open(Path(path))
        else:
            self._show()
