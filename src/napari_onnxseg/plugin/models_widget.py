"""Dock widget that shows every model, what is known of it, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

from napari.layers import Image
from qtpy.QtCore import QEvent, Qt
from qtpy.QtWidgets import QSplitter, QVBoxLayout, QWidget

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.catalog import ModelSummary, list_models, user_folder
from napari_onnxseg.cards.offers import offer
from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.plugin.card_jobs import background, reading
from napari_onnxseg.plugin.catalogue import CATALOGUE
from napari_onnxseg.plugin.forms import later, on_top, scrolled
from napari_onnxseg.plugin.glimpses import View, view_of
from napari_onnxseg.plugin.model_actions import ModelActions
from napari_onnxseg.plugin.model_details import ModelDetails
from napari_onnxseg.plugin.model_jobs import Jobs
from napari_onnxseg.plugin.model_words import card_rows, offer_rows
from napari_onnxseg.plugin.models_foot import ModelsFoot
from napari_onnxseg.plugin.models_list import ModelsList
from napari_onnxseg.plugin.questions import Questions
from napari_onnxseg.plugin.ties import Ties
from napari_onnxseg.plugin.trying import active_image
from napari_onnxseg.plugin.words import error_words
from napari_onnxseg.plugin.worker import Outcome, Watch

MINIMUM_WIDTH_PX = 340

SCROLL_BAR_PX = 20

QWIDGETSIZE_MAX = (1 << 24) - 1
"""Qt's word for a height without limit."""


class ModelsWidget(QWidget):
    """Every model, with its card, and all that can be done with it.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        The viewer it is docked in.
    """

    _ties: Ties | None = None

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__()
        self.viewer = getattr(napari_viewer, "__wrapped__", napari_viewer)
        self.card: ModelCard | None = None
        self._watch: Watch | None = None
        self._looked_at: Callable[[], Image | None] = lambda: None
        self._listing = later(self, 0, self.refresh)
        self._build()
        self._connect()
        self._enter()
        self.refresh()

    @property
    def summary(self) -> ModelSummary | None:
        """The selected model."""
        return self.models.summary

    @property
    def is_reading(self) -> bool:
        """Whether the card of the selected model is being read."""
        return self._watch is not None

    def refresh(self, chosen: str | None = None) -> None:
        """List the models anew.

        Parameters
        ----------
        chosen : str, optional
            Name of the model to select; the one selected before when left out.
        """
        self.models.offer(list_models(downloadable=True), chosen)

    def show_states(self) -> None:
        """Say anew which models are loaded, and offer what can be done."""
        self.models.show_states()
        self.actions.enable()

    def event(self, event: QEvent) -> bool:
        """Leave when the dock is closed, come back when the widget is docked again."""
        if event.type() == QEvent.Type.ParentChange:
            if self.parent() is None:
                self._leave()
            else:
                self._enter()
        elif event.type() in (QEvent.Type.Enter, QEvent.Type.Show):
            self.show_states()
        elif event.type() == QEvent.Type.StyleChange and self.summary is not None:
            self._show()
        return bool(super().event(event))

    def _build(self) -> None:
        """Make the parts and put them under each other."""
        self.setMinimumWidth(MINIMUM_WIDTH_PX)
        self.models, self.details = ModelsList(), ModelDetails()
        self.questions = Questions(self._view)
        self.foot = ModelsFoot()
        self.jobs = Jobs(self)
        self.actions = ModelActions(self)
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(self.models)
        parts.addWidget(self._pane())
        parts.setStretchFactor(0, 2)
        parts.setStretchFactor(1, 3)
        column = QVBoxLayout(self)
        column.addWidget(parts, 1)
        column.addWidget(self.foot)

    def _pane(self) -> QWidget:
        """Put the questions above what is known; while they are open they take its place."""
        pane = QWidget()
        column = QVBoxLayout(pane)
        column.setContentsMargins(0, 0, 0, 0)
        self._asking = scrolled(on_top(self.questions))
        column.addWidget(self._asking, 1)
        column.addWidget(self.details, 1)
        return pane

    def _connect(self) -> None:
        """Connect the parts to each other."""
        self.models.chosen.connect(self._on_chosen)
        self.jobs.changed.connect(self._on_jobs)
        self.jobs.stepped.connect(self._on_step)
        self.jobs.failed.connect(self._on_failed)
        self.jobs.cancelled.connect(self._on_cancelled)
        self.foot.cancel.clicked.connect(self.jobs.cancel)
        self.questions.kept.connect(self.actions.save)
        self.questions.changed.connect(self._on_answer)
        CATALOGUE.changed.connect(self._on_catalogue)
        CATALOGUE.arrived.connect(self.refresh)

    def _enter(self) -> None:
        """Follow the viewer, once."""
        if self._ties is None:
            self._ties = Ties()
            active = self.viewer.layers.selection.events.active
            self._ties.connect(active, self._on_active)
            self._ties.on_undo(partial(Jobs.leave, self.jobs))
            self._ties.on_undo(self.questions.glimpses.stop)

    def _leave(self) -> None:
        """Let go of the viewer and stop."""
        if self._ties is not None:
            self._ties.undo()
            self._ties = None

    def _on_active(self, *_: object) -> None:
        """Offer a test only where there is an image."""
        self.actions.enable()
        layer = active_image(self.viewer)
        if layer is not None and layer is not self._looked_at():
            self._looked_at = ref(layer)
            self.questions.look_later()

    def _view(self) -> View | None:
        """Return what the questions about a model may look at."""
        layer = active_image(self.viewer)
        if layer is None or self.card is None or self._ties is None:
            return None
        return view_of(layer, self.viewer, self.actions.channel_axis(layer), self.card)

    def _on_answer(self) -> None:
        """Show what is known, once the questions are put off."""
        self._show()

    def _on_catalogue(self, _name: str) -> None:
        """List the models anew, once this event is over."""
        self._listing.start()

    def _on_chosen(self, summary: ModelSummary | None) -> None:
        """Show another model, and read its card when it is on this computer."""
        self.card, self._watch = None, None
        if summary is not None and summary.source != "downloadable":
            self._watch = Watch(background(reading, summary.path), self)
            self._watch.ended.connect(self._on_read)
            self._watch.start()
        self._show()
        self.actions.enable()

    def _on_read(self, outcome: Outcome) -> None:
        """Show the card, unless another model was chosen meanwhile."""
        if self.sender() is not self._watch:
            return
        self.card, self._watch = outcome.value, None
        if self.card is not None:
            self.models.show_card(self.card)
        self._show(outcome.error)
        self.actions.enable()

    def _show(self, error: BaseException | None = None) -> None:
        """Show what is known of the selected model, or ask what is not."""
        summary, card = self.summary, self.card
        if self.questions.given is not card:
            self.questions.show_card(card)
        self._show_questions()
        if summary is None:
            self.details.show_model("No models", "Add a file to begin.")
        elif card is not None:
            card = self.questions.card or card
            self.details.show_model(card.title, card.description, card_rows(card), card.notes)
        elif summary.source == "downloadable":
            rows = offer_rows(offer(summary.name), str(user_folder()))
            self.details.show_model(summary.title, summary.description, rows)
        else:
            told = () if error is None else (error_words(error),)
            words = "Reading the model …" if self.is_reading else summary.description
            self.details.show_model(summary.title, words, (), told)

    def _show_questions(self) -> None:
        """Give the questions the room of the details while they are open, else a line."""
        asked = self.questions
        self.details.setVisible(not asked.is_open)
        self._asking.setVisible(asked.has_questions)
        folded = asked.folded_height(self.width() - SCROLL_BAR_PX)
        self._asking.setMaximumHeight(QWIDGETSIZE_MAX if asked.is_open else folded)
        bar = Qt.ScrollBarPolicy
        self._asking.setVerticalScrollBarPolicy(
            bar.ScrollBarAsNeeded if asked.is_open else bar.ScrollBarAlwaysOff
        )

    def _on_jobs(self) -> None:
        """Show whether something is in progress."""
        self.foot.show_jobs(self.jobs)
        self.show_states()

    def _on_step(self, progress: Progress) -> None:
        self.foot.show_progress(progress)

    def _on_failed(self, error: BaseException) -> None:
        self.foot.show_status(error_words(error), wrong=True)

    def _on_cancelled(self) -> None:
        self.foot.show_status("Cancelled; nothing was changed.")
