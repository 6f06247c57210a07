"""Which outputs of a model are wanted; there only when it has several."""

from __future__ import annotations

from typing import Any

from qtpy.QtWidgets import QCheckBox, QFormLayout, QVBoxLayout, QWidget

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.plugin.forms import show_row


class HeadsRow(QWidget):
    """One box for each output of the model.

    Parameters
    ----------
    rows : QFormLayout
        Where it goes.
    changed : SignalInstance
        Emitted when a box is ticked or cleared.
    """

    def __init__(self, rows: QFormLayout, changed: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: list[QCheckBox] = []
        self._changed, self._rows = changed, rows
        self._shown: tuple[str, tuple[str, ...]] = ("", ())
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self.setToolTip("Outputs of the model that become layers.")
        rows.addRow("Outputs", self)
        show_row(rows, self, False)

    def show_card(self, card: ModelCard | None) -> None:
        """Offer the outputs of a model, all of them wanted.

        Parameters
        ----------
        card : ModelCard or None
            The model; the boxes of the same one keep what was chosen.
        """
        names = tuple(head.name for head in card.heads) if card is not None else ()
        shown = (card.sha256 if card else "", names)
        if shown == self._shown:
            return
        self._shown = shown
        for box in self.boxes:
            self._column.removeWidget(box)
            box.deleteLater()
        self.boxes = [self._box(name) for name in names] if len(names) > 1 else []
        show_row(self._rows, self, bool(self.boxes))

    @property
    def heads(self) -> tuple[str, ...] | None:
        """Names of the outputs that are wanted; None for all."""
        chosen = tuple(box.text() for box in self.boxes if box.isChecked())
        if self.boxes and not chosen:
            raise ChoiceError("No output is ticked; tick one at least.")
        return None if len(chosen) == len(self.boxes) else chosen

    def _box(self, name: str) -> QCheckBox:
        """Make the box of one output."""
        box = QCheckBox(name)
        box.setChecked(True)
        box.toggled.connect(self._changed)
        self._column.addWidget(box)
        return box
