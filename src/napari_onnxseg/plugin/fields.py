"""Numbers, lists and colours that may be left to the plan."""

from __future__ import annotations

from qtpy.QtCore import Signal
from qtpy.QtGui import QColor
from qtpy.QtWidgets import QColorDialog, QLineEdit, QPushButton, QSpinBox, QWidget

from napari_onnxseg.errors import ChoiceError

AUTO = -1
"""Value of an `AutoSpin` that leaves the number to the plan."""


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
    tip : str
        Shown under the pointer.
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
