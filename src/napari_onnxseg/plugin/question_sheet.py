"""The questions about a model, with room for the answers."""

from __future__ import annotations

from itertools import pairwise

from qtpy.QtCore import Qt
from qtpy.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from napari_onnxseg.cards.questions import Topic
from napari_onnxseg.plugin.class_names import CLEAR, ClassNames
from napari_onnxseg.plugin.foot import sentences
from napari_onnxseg.plugin.look_tiles import LookTiles
from napari_onnxseg.plugin.model_details import faint

HINT = "What is selected is a guess. Your answers count at once."


class QuestionSheet(QWidget):
    """At most three questions, one under the other, and what to do with the answers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.about, self.meaning = sentences(), sentences(), sentences()
        self.looks, self.orders = LookTiles(), LookTiles(columns=2)
        self.looks.offer([""], 0)
        self.orders.offer(["red, green, blue", "blue, green, red"], 0)
        self.looks.setAccessibleName("Intensities")
        self.orders.setAccessibleName("Order of colours")
        self.orders.tiles[0].setToolTip("RGB, as nearly all networks from PyTorch take it.")
        self.orders.tiles[1].setToolTip("BGR, as networks trained with OpenCV or by ZEISS take it.")
        self.compare = _button("Compare all", "The model is slow; run it once for each of these.")
        self.compare.setVisible(False)
        self.names = ClassNames()
        self.keep = _button(
            "Keep these answers", "Write them on the model's card; they are not asked again."
        )
        self.skip = _button("Skip", "Go on with the guesses; asked again next time.")
        self.blocks: dict[Topic, QWidget] = {
            "normalization": _block(
                "Which intensities does it want?", self.looks, self.meaning, self.compare
            ),
            "classes": _block("What are its classes?", self.names),
            "colour_order": _block("In which order does it take colours?", self.orders),
        }
        self._lay_out()

    def show_topics(self, topics: tuple[Topic, ...]) -> None:
        """Show some of the questions, and let the tabulator go from the top to the bottom.

        Parameters
        ----------
        topics : tuple of str
            Those that are asked.
        """
        known = "Not everything is known of this model"
        nobody = "Nobody has described this model"
        self.title.setText(f"<b>{nobody if 'classes' in topics else known}</b>")
        self.about.setText(f"<span style='color: {faint(self)}'>{HINT}</span>")
        for topic, block in self.blocks.items():
            block.setVisible(topic in topics)
        lines = zip(self.names.chips, self.names.names, strict=True)
        named = [part for line in lines for part in line]
        parts = (*self.looks.tiles, self.compare, *named, *self.orders.tiles, self.keep, self.skip)
        for before, after in pairwise(parts):
            QWidget.setTabOrder(before, after)

    def _lay_out(self) -> None:
        """Put the parts under each other."""
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        buttons.addWidget(self.keep, 3)
        buttons.addWidget(self.skip, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(8)
        column.addWidget(self.title)
        column.addWidget(self.about)
        for block in self.blocks.values():
            column.addWidget(block)
        column.addLayout(buttons)


def _button(text: str, tip: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tip)
    return button


def _block(title: str, *parts: QWidget) -> QWidget:
    """Put a question above its answers."""
    block = QWidget()
    block.setObjectName(CLEAR)
    column = QVBoxLayout(block)
    column.setContentsMargins(0, 2, 0, 2)
    column.setSpacing(5)
    label = sentences()
    label.setText(title)
    column.addWidget(label)
    for part in parts:
        left = isinstance(part, QPushButton)
        column.addWidget(part, 0, Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag(0))
    return block
