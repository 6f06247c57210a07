"""Drop-downs and fields that the widgets are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from napari.layers import Image
from qtpy.QtCore import QSignalBlocker, Qt, Signal
from qtpy.QtGui import QColor
from qtpy.QtWidgets import (
    QColorDialog,
    QComboBox,
    QFileDialog,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QWidget,
)

from napari_onnxseg.cards.card import Task
from napari_onnxseg.cards.catalog import list_models
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.plugin.layers import distinct_names
from napari_onnxseg.plugin.ties import Ties

OPEN_FILE = "Open file…"
AUTO = -1
"""Value of an `AutoSpin` that leaves the number to the plan."""


class Chooser(QComboBox):
    """A drop-down of any objects that does not make its dock wide."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._values: list[Any] = []

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
        self.setToolTip("Image to work on: the active layer, until you pick one here.")
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
        """Return the user's layer, else the active one, else the one shown before."""
        active = self._viewer.layers.selection.active
        if not self._picked and active in layers:
            return active
        return self.value if self.value in layers else None

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
        summaries = [summary for summary in list_models() if summary.task == task]
        self._names: list[str | Path] = [summary.name for summary in summaries]
        self._titles = [summary.title or summary.name for summary in summaries]
        self._last: str | Path | None = self._names[0] if self._names else None
        self._show()
        self.activated.connect(self._on_pick)

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
            self._names.append(model)
            self._titles.append(Path(model).name)
        self._last = model
        self._show()
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
        path, _filter = QFileDialog.getOpenFileName(
            self, "Open a model", "", "ONNX models (*.onnx);;Model cards (*.json)"
        )
        if path:
            self.open(Path(path))
        else:
            self._show()


class AutoSpin(QSpinBox):
    """A number of pixels that may be left to the plan, whose number it then shows."""

    def __init__(self, step: int, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(AUTO, 65536)
        self.setSingleStep(step)
        self.setSuffix(" px")
        self.setToolTip(tip)
        self.setKeyboardTracking(False)
        self.setValue(AUTO)
        self.show_automatic("")

    @property
    def number(self) -> int | None:
        """The user's number, None when automatic."""
        return None if self.value() == AUTO else self.value()

    def show_automatic(self, text: str) -> None:
        """Show what the plan chose.

        Parameters
        ----------
        text : str
            Such as ``"512"``; empty when there is no plan.
        """
        self.setSpecialValueText(f"auto ({text} px)" if text else "auto")

    def stepBy(self, steps: int) -> None:  # noqa: N802 - Qt's name
        """Step from automatic to zero, and back below it."""
        if self.value() == AUTO:
            self.setValue(AUTO if steps < 0 else 0)
        elif self.value() == 0 and steps < 0:
            self.setValue(AUTO)
        else:
            self.setValue(max(self.value() + steps * self.singleStep(), 0))


class NumberField(QLineEdit):
    """A number that may be absent.

    Parameters
    ----------
    absent : str
        What an empty field means.
    """

    def __init__(self, absent: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(absent)
        self.setToolTip(tip)

    @property
    def number(self) -> float | None:
        """The number, None for an empty field.

        Raises
        ------
        ChoiceError
            When the text is no number.
        """
        text = self.text().strip()
        if not text:
            return None
        try:
            return float(text)
        except ValueError:
            raise ChoiceError(f"'{text}' is not a number; give one or leave it empty.") from None


class ChannelsField(QLineEdit):
    """Image channels in the order that the model wants them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText("all, in order")
        self.setToolTip(
            "Image channel fed to each channel of the model, counted from 0,\n"
            "such as 2, 0 for a model with two channels."
        )

    @property
    def channels(self) -> tuple[int, ...] | None:
        """The channels, None for an empty field.

        Raises
        ------
        ChoiceError
            When the text is no list of whole numbers.
        """
        text = self.text().replace(",", " ").split()
        try:
            return tuple(int(number) for number in text) or None
        except ValueError:
            raise ChoiceError(
                f"'{self.text()}' is no list of channels; write whole numbers such as 0, 2."
            ) from None


class ColourButton(QPushButton):
    """A colour that opens a dialog on a click."""

    changed = Signal()
    """Emitted when another colour is chosen."""

    def __init__(self, colour: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setToolTip("Colour behind the subject.")
        self.setFixedWidth(48)
        self.clicked.connect(self._ask)
        self.set_colour(colour)

    @property
    def colour(self) -> str:
        """The colour, ``#rrggbb``."""
        return self._colour

    def set_colour(self, colour: str) -> None:
        """Show a colour.

        Parameters
        ----------
        colour : str
            ``#rrggbb``.
        """
        self._colour = colour
        self.setStyleSheet(f"background-color: {colour}; border: 1px solid #808080;")
        self.changed.emit()

    def _ask(self) -> None:
        """Let the user choose."""
        chosen = QColorDialog.getColor(QColor(self._colour), self, "Background")
        if chosen.isValid():
            self.set_colour(chosen.name())


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


def form() -> QFormLayout:
    """Make a form as all our sections use it.

    Returns
    -------
    QFormLayout
        Labels on the left, fields as wide as the dock.
    """
    layout = QFormLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setHorizontalSpacing(10)
    layout.setVerticalSpacing(6)
    layout.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return layout


def show_row(layout: QFormLayout, field: QWidget, visible: bool) -> None:
    """Show or hide a field and its label.

    Parameters
    ----------
    layout : QFormLayout
        Where the field is.
    field : QWidget
        The field.
    visible : bool
        Whether to show it.
    """
    field.setVisible(visible)
    label = layout.labelForField(field)
    if label is not None:
        label.setVisible(visible)


def on_change(widgets: Sequence[QWidget], slot: Callable[[], None]) -> None:
    """Call a slot when any of the widgets changes.

    Parameters
    ----------
    widgets : sequence of QWidget
        Drop-downs, numbers, texts and boxes.
    slot : callable
        Called without arguments.
    """
    signals = ("currentIndexChanged", "valueChanged", "textChanged", "toggled", "changed")
    for widget in widgets:
        name = next(name for name in signals if hasattr(widget, name))
        getattr(widget, name).connect(lambda *_: slot())
