"""The dock widget that both tasks share: choices, a plan in words, a run, its result."""

from __future__ import annotations

from functools import partial
from typing import Any

from napari.utils.notifications import show_warning
from qtpy.QtCore import QEvent
from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.plugin.announce import announce
from napari_onnxseg.plugin.foot import Foot
from napari_onnxseg.plugin.forms import align, form, later, scrolled
from napari_onnxseg.plugin.glimpses import View, view_of
from napari_onnxseg.plugin.keys import bind_keys, drop, use
from napari_onnxseg.plugin.questions import Questions
from napari_onnxseg.plugin.results import insert_above
from napari_onnxseg.plugin.sections import ImageRows, ModelRows
from napari_onnxseg.plugin.task import Ready, Task, TaskForm
from napari_onnxseg.plugin.ties import Ties
from napari_onnxseg.plugin.words import error_words
from napari_onnxseg.plugin.worker import Outcome, Run, stop_all

PLAN_DELAY_MS = 120
"""Quiet time after a change before the plan is made anew."""

MINIMUM_WIDTH_PX = 320


class Panel(QWidget):
    """A dock widget that runs one task on a layer.

    Parameters
    ----------
    viewer : napari.Viewer
        The viewer it is docked in.
    task : Task
        What it does.
    choices : TaskForm
        The choices that only this task has.
    """

    _ties: Ties | None = None

    def __init__(self, viewer: Any, task: Task, choices: TaskForm) -> None:
        super().__init__()
        self.viewer = getattr(viewer, "__wrapped__", viewer)
        self.task = task
        self.choices = choices
        self._runs: list[Run] = []
        self._started: Ready | None = None
        self._ready: Ready | None = None
        self._delay = later(self, PLAN_DELAY_MS, self.replan)
        self._tidy = later(self, 0, self._align)
        self._build()
        self._connect()
        self._enter()
        self.model.load()

    @property
    def is_running(self) -> bool:
        """Whether a run of this widget is in progress."""
        return bool(self._runs)

    def run(self, *, only_slice: bool = False) -> None:
        """Start a run with the choices shown; nothing happens when there can be none.

        Parameters
        ----------
        only_slice : bool
            Work on the slice that is shown, whatever the region says.
        """
        if self.is_running:
            return
        self.replan(only_slice=only_slice)
        if self._ready is not None:
            self._start(self._ready)

    def preview(self) -> None:
        """Run on the slice that is shown."""
        self.run(only_slice=True)

    def cancel(self) -> None:
        """Ask the run of this widget to stop."""
        if self.is_running:
            self.foot.show_cancelling()
            self._runs[0].cancel()

    def replan(self, *, only_slice: bool = False) -> None:
        """Make the plan anew and say it in words, or say what is wrong.

        Parameters
        ----------
        only_slice : bool
            Plan for the slice that is shown, whatever the region says.
        """
        self._delay.stop()
        self._ready = None
        try:
            self._plan(only_slice)
        except Exception as error:
            self.choices.show_plan(None)
            self.foot.show_plan(error_words(error), wrong=True)
        self._enable()

    def event(self, event: QEvent) -> bool:
        """Leave when the dock is closed, come back when the widget is docked again."""
        if event.type() == QEvent.Type.ParentChange:
            if self.parent() is None:
                self._leave()
            else:
                self._enter()
        elif event.type() == QEvent.Type.Show:
            self._tidy.start()
        elif event.type() == QEvent.Type.Enter and self._ties is not None:
            use(self)
        return bool(super().event(event))

    def _build(self) -> None:
        """Make the parts and put them under each other."""
        self.setMinimumWidth(MINIMUM_WIDTH_PX)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 6, 0)
        rows = form()
        column.addLayout(rows)
        self.image = ImageRows(self.viewer, rows, self)
        self.model = ModelRows(self.task.name, rows, self)
        self.questions = Questions(self._view)
        rows.addRow(self.questions)
        fold = self.choices.build(rows)
        fold.toggled.connect(self._tidy.start)
        column.addWidget(fold)
        column.addStretch()
        self.choices.setParent(self)
        self.foot = Foot()
        outer = QVBoxLayout(self)
        outer.addWidget(scrolled(body), 1)
        outer.addWidget(self.foot)

    def _connect(self) -> None:
        """Connect the parts to each other."""
        self.image.changed.connect(self._delay.start)
        self.choices.changed.connect(self._delay.start)
        self.model.changed.connect(self._on_model)
        self.image.changed.connect(self.questions.look_later)
        self.questions.changed.connect(self._delay.start)
        self.questions.kept.connect(self.model.save)
        self.model.saved.connect(self._on_saved)
        self.foot.run.clicked.connect(self._on_run)
        self.foot.preview.clicked.connect(self.preview)
        self.foot.cancel.clicked.connect(self.cancel)

    def _on_run(self) -> None:
        """Run on what the region says."""
        self.run()

    def _align(self) -> None:
        """Make all fields stand in one column."""
        align(self)

    def _enter(self) -> None:
        """Follow the viewer, once."""
        if self._ties is None:
            self._ties = Ties()
            self._ties.on_undo(partial(stop_all, self._runs))
            self._ties.on_undo(self.questions.glimpses.stop)
            self.image.enter(self._ties)
            bind_keys(self.viewer, self._ties)
            self._ties.on_undo(partial(drop, self))
            self.destroyed.connect(self._ties.undo)
            use(self)

    def _leave(self) -> None:
        """Let go of the viewer and stop."""
        if self._ties is not None:
            self._ties.undo()
            self._ties = None

    def _on_model(self) -> None:
        """Offer what the model can do, then plan."""
        self.image.show_card(self.model.card)
        self.choices.show_card(self.model.card)
        self.questions.show_card(self.model.card)
        self.replan()

    def _view(self) -> View | None:
        """Return what the questions about a model may look at."""
        layer = self.image.layer
        if layer is None or self.model.card is None or self._ties is None:
            return None
        return view_of(layer, self.viewer, self.image.channel.value, self.model.card)

    def _on_saved(self, outcome: Outcome) -> None:
        """Say where the answers are, or why they are nowhere."""
        if outcome.error is not None:
            self.foot.show_status(error_words(outcome.error), wrong=True)
        else:
            self.foot.show_status(f"The answers were kept in {outcome.value}.")

    def _plan(self, only_slice: bool) -> None:
        """Plan a run and show it; raise when choices, image and model do not fit."""
        card = self.questions.card or self.model.card
        if self.image.layer is None:
            self.foot.show_plan("Open an image to begin.")
        elif self.model.error is not None:
            self.foot.show_plan(error_words(self.model.error), wrong=True)
        elif card is None:
            self.foot.show_plan(self.model.waiting)
        else:
            self._plan_with(card, only_slice)

    def _plan_with(self, card: ModelCard, only_slice: bool) -> None:
        """Plan a run with a model that has been read."""
        stack = self.image.stack()
        placement = self.image.placement(stack, only_slice)
        leading = len(stack.leading)
        job = self.choices.job(
            model=self.model.models.model,
            device=self.model.device.value,
            index=placement.picked[:leading] or None,
            channel_axis=stack.channel_axis,
            rgb=stack.rgb,
        )
        plan = self.task.plan(stack, card, job)
        self.choices.show_plan(plan)
        notes = (note for note in plan.notes if note not in self.questions.spoken)
        self.foot.show_plan("\n".join((plan.words(), *notes)))
        self._ready = Ready(stack, card, job, placement, plan.notes)

    def _start(self, ready: Ready) -> None:
        """Start a run, unless another widget's is in progress."""
        run = Run(partial(self.task.start, ready), ready.placement.name(self.task.word))
        try:
            run.start()
        except OnnxSegError as error:
            self.foot.show_status(error_words(error), wrong=True)
            return
        self.questions.stop()
        self._started = ready
        self._runs.append(run)
        run.stepped.connect(self.foot.show_progress)
        run.ended.connect(self._on_end)
        self.foot.show_running()
        self._enable()

    def _on_end(self, outcome: Outcome) -> None:
        """Show how the run ended, with its layers when it ended well."""
        cancelled = outcome.cancelled or self._runs[0].cancelling
        self._runs.clear()
        self.foot.show_idle()
        if self._ties is not None:
            self._show_end(outcome, cancelled)
        self._started = None
        self.replan()

    def _show_end(self, outcome: Outcome, cancelled: bool) -> None:
        """Show a result, an error, or that there is neither."""
        if cancelled:
            self.foot.show_status("Cancelled; nothing was added.")
        elif outcome.error is not None:
            self._show_error(outcome.error)
        else:
            try:
                self._show_result(outcome.value)
            except Exception as error:
                self._show_error(error)

    def _show_error(self, error: BaseException) -> None:
        """Say once what went wrong."""
        self.foot.show_status(error_words(error), wrong=True)
        announce(error)

    def _show_result(self, result: Any) -> None:
        """Add the layers above the source that the run was started on."""
        assert self._started is not None
        source = self._started.placement.source
        layers = self.task.layers(result, self._started.placement)
        layer = source.layer()
        there = insert_above(self.viewer, layer, layers)
        if layer is not None and there and self.choices.hides_source(result):
            layer.visible = False
        gone = () if there else (f"'{source.name}' was removed; its result was added alone.",)
        told = self._started.notes
        notes = (*gone, *(note for note in result.notes if note not in told))
        self.foot.show_status("\n".join((self.task.words(result), *notes)))
        self.model.show_used(result.device)
        if notes:
            show_warning("\n".join(notes))

    def _enable(self) -> None:
        """Let only those buttons be pressed that can do something."""
        can_run = self._ready is not None and not self.is_running
        self.foot.run.setEnabled(can_run)
        self.foot.preview.setEnabled(can_run)
        self.foot.preview.setVisible(self.image.is_stack)
