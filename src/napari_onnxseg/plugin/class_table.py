"""Names and colours of classes, as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qtpy.QtCore import Qt, Signal
from qtpy.QtGui import QColor, QIcon, QPixmap
from qtpy.QtWidgets import (
    QAbstractItemView,
    QColorDialog,
    QHeaderView,
    QPushButton,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.plugin.choosers import quiet

NAME, COLOUR = 0, 1
ROWS_SHOWN = 6
ROW_PX = 30


class ClassTable(QWidget):
    """A row a class: its name, and its colour as a chip and as text.

    Parameters
    ----------
    classes : sequence of ClassInfo
        What to begin with.
    """

    changed = Signal()
    """Emitted when a name or a colour changes."""

    def __init__(self, classes: Sequence[ClassInfo], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ids = [entry.id for entry in classes]
        self.table = QTableWidget(len(classes), 2)
        self.table.setHorizontalHeaderLabels(["Name", "Colour"])
        self.table.setVerticalHeaderLabels([str(number) for number in self._ids])
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(COLOUR, QHeaderView.ResizeMode.Fixed)
        self.table.setToolTip("Double-click to change; a class without a colour is transparent.")
        for row, entry in enumerate(classes):
            self.table.setItem(row, NAME, QTableWidgetItem(entry.name))
            self.table.setItem(row, COLOUR, QTableWidgetItem(entry.colour or ""))
            self._show_chip(row)
        self.pick = QPushButton("Pick colour…")
        self.pick.setToolTip("Choose the colour of the class that is selected.")
        self._lay_out(len(classes))
        self.table.selectRow(min(1, len(classes) - 1))
        self.table.itemChanged.connect(self._on_item)
        self.pick.clicked.connect(self._on_pick)

    @property
    def classes(self) -> tuple[ClassInfo, ...]:
        """What the table says.

        Raises
        ------
        ChoiceError
            When a class has no name, or a text is no colour.
        """
        return tuple(self._class(row) for row in range(len(self._ids)))

    def set_colour(self, row: int, colour: str) -> None:
        """Give a class another colour.

        Parameters
        ----------
        row : int
            Which class, from the top.
        colour : str
            ``#rrggbb``; empty for a transparent class.
        """
        self.table.item(row, COLOUR).setText(colour)

    def _class(self, row: int) -> ClassInfo:
        number = self._ids[row]
        name = self.table.item(row, NAME).text().strip()
        colour = self.table.item(row, COLOUR).text().strip().lower()
        if not name:
            raise ChoiceError(f"Class {number} has no name; give it one.")
        if colour and not re.fullmatch("#[0-9a-f]{6}", colour):
            raise ChoiceError(
                f"'{colour}' of class {number} is no colour; write it as #rrggbb, or leave it "
                "empty for a transparent class."
            )
        return ClassInfo(number, name, colour or None)

    def _on_item(self, item: QTableWidgetItem) -> None:
        """Keep chip and text of a colour together."""
        if item.column() == COLOUR:
            self._show_chip(item.row())
        self.changed.emit()

    def _on_pick(self) -> None:
        """Let the user choose the colour of the selected class."""
        row = self.table.currentRow()
        if row < 0:
            return
        before = QColor(self.table.item(row, COLOUR).text() or "#808080")
        name = self.table.item(row, NAME).text()
        chosen = QColorDialog.getColor(before, self, f"Colour of {name}")
        if chosen.isValid():
            self.set_colour(row, chosen.name())

    def _show_chip(self, row: int) -> None:
        item = self.table.item(row, COLOUR)
        chip = QPixmap(12, 12)
        colour = QColor(item.text().strip())
        chip.fill(
            colour if item.text().strip() and colour.isValid() else Qt.GlobalColor.transparent
        )
        with quiet(self.table):
            item.setIcon(QIcon(chip))

    def _lay_out(self, count: int) -> None:
        self.table.verticalHeader().setDefaultSectionSize(ROW_PX)
        self.table.setFixedHeight((min(count, ROWS_SHOWN) + 1) * ROW_PX + 6)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.table)
        column.addWidget(self.pick, alignment=Qt.AlignmentFlag.AlignLeft)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
