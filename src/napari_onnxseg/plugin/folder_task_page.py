"""What is done to the images of a folder: the model, and all choices of its task."""

from __future__ import annotations

from typing import Any, Literal

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.plugin.forms import form, show_row
from napari_onnxseg.plugin.matting_widget import MattingForm
from napari_onnxseg.plugin.sections import ModelRows
from napari_onnxseg.plugin.semantic_widget import SegmentForm


class TaskPage(QWidget):
    """Model, device and the choices of one task, the same as on a layer.

    Parameters
    ----------
    task : {"semantic", "matting"}
        Which.
    parent : QWidget
        Qt owner.
    """

    changed = Signal()
    """Emitted when a choice changes, or a card was read."""

    folded = Signal()
    """Emitted when the rarer choices are shown or hidden."""

    def __init__(self, task: Literal["semantic", "matting"], parent: QWidget) -> None:
        super().__init__(parent)
        self._loaded = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        rows = form()
        column.addLayout(rows)
        self.model = ModelRows(task, rows, self)
        self.choices = SegmentForm() if task == "semantic" else MattingForm()
        fold = self.choices.build(rows)
        self.choices.setParent(self)
        column.addWidget(fold)
        if isinstance(self.choices, MattingForm):
            show_row(rows, self.choices.hide, False)
        fold.toggled.connect(self.folded)
        self.choices.changed.connect(self.changed)
        self.model.changed.connect(self._on_model)

    @property
    def card(self) -> ModelCard | None:
        """The model, once its card has been read."""
        return self.model.card

    @property
    def error(self) -> BaseException | None:
        """Why the model cannot be used."""
        return self.model.error

    @property
    def waiting(self) -> str:
        """Why there is no card yet."""
        return self.model.waiting

    def load(self) -> None:
        """Read the card of the chosen model, when the page is first shown."""
        if not self._loaded:
            self._loaded = True
            self.model.load()

    def job(self) -> Any:
        """Return all choices; what the axes mean is said by each file.

        Returns
        -------
        SegmentJob or MatteJob
            As the pipeline takes it.

        Raises
        ------
        ChoiceError
            When a text is no number.
        """
        return self.choices.job(model=self.model.models.model, device=self.model.device.value)

    def _on_model(self) -> None:
        """Offer what the model can do."""
        self.choices.show_card(self.model.card)
        self.changed.emit()
