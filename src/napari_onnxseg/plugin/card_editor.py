"""Form in which a user corrects what is known of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from napari_onnxseg.cards.card import Fact, ModelCard
from napari_onnxseg.cards.save import GUESSES
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.plugin.choosers import Chooser
from napari_onnxseg.plugin.class_table import ClassTable
from napari_onnxseg.plugin.foot import sentences, show_sentences
from napari_onnxseg.plugin.forms import form, on_change, scrolled
from napari_onnxseg.plugin.model_details import GUESS_COLOUR
from napari_onnxseg.plugin.normalization_form import NormalizationForm
from napari_onnxseg.plugin.objects_form import ObjectsForm

SCORES = {
    "logits": "logits",
    "probabilities": "probabilities",
    "labels": "class numbers",
    "values": "an image",
}


class CardEditor(QDialog):
    """Title, intensities, colour order, scores, classes and objects of a model.

    Parameters
    ----------
    card : ModelCard
        What is known now.
    """

    saved = Signal(object)
    """Emitted with the edited `ModelCard`."""

    def __init__(self, card: ModelCard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"Card of {card.name}")
        self.resize(540, 640)
        self.card = card
        self._build()
        self._lay_out()
        on_change(self._fields(), self._changed)
        self._changed.connect(self._look)
        self.buttons.accepted.connect(self.save)
        self.buttons.rejected.connect(self.reject)
        self._look()

    _changed = Signal()

    @property
    def edited(self) -> ModelCard:
        """The card as the form says it; what was changed or confirmed counts as stated.

        Raises
        ------
        ChoiceError, ModelError
            When something cannot be meant.
        """
        values = self._values()
        changed = {name for name, value in values.items() if value != getattr(self.card, name)}
        if self.confirm.isChecked():
            changed |= {name for name, fact in self.card.facts.items() if fact in GUESSES}
        facts: dict[str, Fact] = dict.fromkeys(changed, "user")
        return replace(self.card, **values, facts={**self.card.facts, **facts})

    def save(self) -> None:
        """Hand over the edited card, unless something in it cannot be meant."""
        try:
            edited = self.edited
        except OnnxSegError:
            return
        self.saved.emit(edited)
        self.accept()

    def _values(self) -> dict[str, Any]:
        """Return the fields of the card that the form shows."""
        values: dict[str, Any] = {
            "title": self.title.text().strip() or self.card.name,
            "normalization": self.intensities.normalization,
            "colour_order": self.colours.value,
            "scores": self.scores.value,
        }
        if self.scores.value == "values":
            return {**values, "task": "image", "classes": (), "objects": None}
        if self.card.task == "image":
            values["task"] = "semantic"
        if self.classes is not None:
            values["classes"] = self.classes.classes
            values["objects"] = self.objects.rule
        return values

    def _build(self) -> None:
        """Make the fields that this model has."""
        card = self.card
        self.title = QLineEdit(card.title)
        self.intensities = NormalizationForm(card.normalization)
        self.colours, self.scores = Chooser(), Chooser()
        self.colours.offer(["RGB", "BGR"], ["RGB", "BGR"], card.colour_order)
        self.scores.offer(list(SCORES), list(SCORES.values()), card.scores)
        self.scores.setToolTip("What the model gives for each pixel and class.")
        self.classes: ClassTable | None = None
        if card.classes:
            self.classes = ClassTable(card.classes)
            self.objects = ObjectsForm(card.objects, card.classes)
        self.confirm = QCheckBox("What is guessed is right")
        self.confirm.setStyleSheet(f"color: {GUESS_COLOUR};")
        self.confirm.setToolTip("Guesses that you neither change nor confirm stay guesses.")
        self.confirm.setVisible(any(fact in GUESSES for fact in card.facts.values()))

    def _lay_out(self) -> None:
        """Put the fields under each other, and buttons below."""
        body = QWidget()
        rows = form()
        body.setLayout(rows)
        rows.addRow("Title", self.title)
        rows.addRow(self._label("normalization", "Intensities"), self.intensities)
        if self.card.input.channels in (3, 4):
            rows.addRow(self._label("colour_order", "Colours"), self.colours)
        rows.addRow(self._label("scores", "Gives"), self.scores)
        if self.classes is not None:
            rows.addRow(self._label("classes", "Classes"), self.classes)
            rows.addRow("Objects", self.objects)
        self.status = sentences()
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel
        )
        column = QVBoxLayout(self)
        column.addWidget(scrolled(body), 1)
        for part in (self.confirm, self.status, self.buttons):
            column.addWidget(part)

    def _label(self, name: str, words: str) -> str:
        """Return the label of a field, which says when it is a guess."""
        guess = self.card.facts.get(name) in GUESSES
        return f"{words} <span style='color: {GUESS_COLOUR}'>(guess)</span>" if guess else words

    def _fields(self) -> list[QWidget]:
        fields = [self.title, self.intensities, self.colours, self.scores]
        return fields if self.classes is None else [*fields, self.classes, self.objects]

    def _look(self) -> None:
        """Say what cannot be meant, and let only sense be saved."""
        for part in () if self.classes is None else (self.classes, self.objects):
            part.setEnabled(self.scores.value != "values")
        trouble = ""
        try:
            _ = self.edited
        except OnnxSegError as error:
            trouble = str(error)
        show_sentences(self.status, trouble, bool(trouble))
        self.buttons.button(QDialogButtonBox.StandardButton.Save).setEnabled(not trouble)
