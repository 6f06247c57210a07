"""Names and colours of classes, a line each: for a dock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qtpy.QtCore import QRectF, Qt, Signal
from qtpy.QtGui import QColor, QPainter, QPaintEvent, QPen
from qtpy.QtWidgets import (
    QAbstractButton,
    QColorDialog,
    QGridLayout,
    QLineEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.plugin.forms import scrolled
from napari_onnxseg.plugin.model_details import faint

CHIP_PX = 22

CLEAR = "onnxsegClear"
"""Name of parts that let the ground of the questions through."""

ROW_PX = 30
ROWS_SHOWN = 5
"""Lines before the list scrolls."""


class Chip(QAbstractButton):
    """A colour that opens a dialog on a click; a ring stands for a transparent class.

    Parameters
    ----------
    entry : ClassInfo
        The class.
    """

    changed = Signal()
    """Emitted when another colour is chosen."""

    def __init__(self, entry: ClassInfo, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.colour = entry.colour
        self.setFixedSize(CHIP_PX, CHIP_PX)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(f"Colour of class {entry.id}")
        self.setToolTip("Colour of the class; a ring stands for transparent.")
        self.clicked.connect(self._ask)

    def set_colour(self, colour: str) -> None:
        """Show another colour.

        Parameters
        ----------
        colour : str
            ``#rrggbb``.
        """
        self.colour = colour
        self.update()
        self.changed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw a rounded chip."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(4, 4, -4, -4)
        painter.setPen(QPen(QColor(faint(self)), 1.2))
        if self.colour:
            painter.setBrush(QColor(self.colour))
            painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(area, 3, 3)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(faint(self)), 1, Qt.PenStyle.DotLine))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.end()

    def _ask(self) -> None:
        """Let the user choose."""
        chosen = QColorDialog.getColor(QColor(self.colour or "#808080"), self, "Colour of a class")
        if chosen.isValid():
            self.set_colour(chosen.name())


class ClassNames(QWidget):
    """A line a class: its colour as a chip, and its name."""

    changed = Signal()
    """Emitted when a name or a colour changes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._given: tuple[ClassInfo, ...] = ()
        self.chips: list[Chip] = []
        self.names: list[QLineEdit] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._area: QWidget | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def classes(self) -> tuple[ClassInfo, ...]:
        """What the lines say; a name that is left empty stays what it was."""
        lines = zip(self._given, self.chips, self.names, strict=True)
        return tuple(
            replace(entry, name=name.text().strip() or entry.name, colour=chip.colour)
            for entry, chip, name in lines
        )

    def offer(self, classes: Sequence[ClassInfo]) -> None:
        """Show other classes.

        Parameters
        ----------
        classes : sequence of ClassInfo
            By ascending id.
        """
        if self._area is not None:
            self._column.removeWidget(self._area)
            self._area.setParent(None)
            self._area.deleteLater()
        self._given = tuple(classes)
        self.chips = [Chip(entry) for entry in classes]
        self.names = [_field(entry) for entry in classes]
        body = QWidget()
        body.setObjectName(CLEAR)
        grid = QGridLayout(body)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(4)
        grid.setVerticalSpacing(4)
        for row, (chip, name) in enumerate(zip(self.chips, self.names, strict=True)):
            grid.addWidget(chip, row, 0)
            grid.addWidget(name, row, 1)
            grid.setRowMinimumHeight(row, ROW_PX - 4)
            chip.changed.connect(self.changed)
            name.textEdited.connect(self.changed)
        self._area = scrolled(body) if len(classes) > ROWS_SHOWN else body
        if self._area is not body:
            self._area.setObjectName(CLEAR)
            self._area.setFixedHeight(ROWS_SHOWN * ROW_PX + ROW_PX // 2)
        self._column.addWidget(self._area)


def _field(entry: ClassInfo) -> QLineEdit:
    field = QLineEdit(entry.name)
    field.setPlaceholderText(f"class {entry.id}")
    field.setAccessibleName(f"Name of class {entry.id}")
    field.setToolTip(f"Name of class {entry.id}.")
    return field
