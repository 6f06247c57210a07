"""Dock widget for many images: *Folder*."""

from __future__ import annotations

from collections import deque
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from qtpy.QtCore import QEvent, QModelIndex, Qt
from qtpy.QtGui import QDragEnterEvent, QDropEvent
from qtpy.QtWidgets import QSplitter, QVBoxLayout, QWidget

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.pipeline.folder import Folder
from napari_onnxseg.pipeline.folder_outcome import DONE_BEFORE, ImageOutcome
from napari_onnxseg.pipeline.folder_task import FolderStep
from napari_onnxseg.pipeline.words import count_words
from napari_onnxseg.plugin.card_jobs import background
from napari_onnxseg.plugin.choosers import Chooser
from napari_onnxseg.plugin.folder_files import FolderFiles
from napari_onnxseg.plugin.folder_jobs import Survey, looking, opening, running, task_of
from napari_onnxseg.plugin.folder_rows import GAP_PX, ROW_PX, FolderRows, row_list
from napari_onnxseg.plugin.folder_task_page import TaskPage
from napari_onnxseg.plugin.foot import Foot
from napari_onnxseg.plugin.forms import align, folded, form, later, scrolled
from napari_onnxseg.plugin.thumbnails import Thumbnails
from napari_onnxseg.plugin.ties import Ties
from napari_onnxseg.plugin.words import duration_words, error_words, seconds_left
from napari_onnxseg.plugin.worker import Outcome, Run, Watch, stop_all

LOOK_DELAY_MS = 300
"""Quiet time after a change before the folder is looked into."""

SHOWN_EVERY_S = 0.25
"""How often the list is drawn anew during a run."""

MINIMUM_WIDTH_PX = 320


class FolderWidget(QWidget):
    """Run a model over a folder of images, and see what becomes of each.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        The viewer it is docked in.
    """

    _ties: Ties | None = None

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__()
        self.viewer = getattr(napari_viewer, "__wrapped__", napari_viewer)
        self._runs: list[Run] = []
        self._told: deque[Folder | ImageOutcome] = deque()
        self._counts = {"done": 0, "failed": 0, "skipped": 0}
        self._looking: Watch | None = None
        self._openings: set[Watch] = set()
        self._since = self._shown_at = 0.0
        self._delay = later(self, LOOK_DELAY_MS, self.look)
        self._tidy = later(self, 0, self._align)
        self._build()
        self._connect()
        self._enter()
        self.page.load()

    @property
    def page(self) -> TaskPage:
        """The choices of what is done."""
        return self.pages[self.what.value]

    @property
    def is_running(self) -> bool:
        """Whether a run of this widget is in progress."""
        return bool(self._runs)

    @property
    def is_looking(self) -> bool:
        """Whether the folder is being looked into, or soon will be."""
        return self._looking is not None or self._delay.isActive()

    def run(self) -> None:
        """Start a run with the choices shown; nothing happens when there can be none."""
        if self.is_running or self.page.card is None or not self.files.are_chosen:
            return
        try:
            job = self.files.job()
            task = task_of(self.page.card, self.page.job(), job.compression)
            self._told.clear()
            run = Run(partial(running, job, task, self._told), f"Folder {job.inputs[0].name}")
            run.start()
        except OnnxSegError as error:
            self.foot.show_status(error_words(error), wrong=True)
            return
        self._follow(run)

    def cancel(self) -> None:
        """Ask the run of this widget to stop; what is finished stays."""
        if self.is_running:
            self.foot.show_cancelling()
            self._runs[0].cancel()

    def look(self) -> None:
        """Look into the folder, and say how many images it has and what would be done."""
        self._delay.stop()
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if self.is_running:
            return
        if not self.files.are_chosen:
            self._say_plan("Choose a folder of images, or drop one here.")
        elif (card := self.page.card) is None:
            error = self.page.error
            self._say_plan(error_words(error) if error else self.page.waiting, wrong=bool(error))
        else:
            self._look_into(card)
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
        return bool(super().event(event))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Take files and folders of this computer."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Use what was dropped."""
        urls = event.mimeData().urls()
        self.files.take([Path(url.toLocalFile()) for url in urls if url.isLocalFile()])
        event.acceptProposedAction()

    def _build(self) -> None:
        """Make the parts and put them under each other."""
        self.setMinimumWidth(MINIMUM_WIDTH_PX)
        self.setAcceptDrops(True)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 6, 0)
        rows = form()
        column.addLayout(rows)
        self.files = FolderFiles(rows, self)
        self.what = Chooser()
        self.what.offer(["semantic", "matting"], ["segment", "cut out the subject"], "semantic")
        rows.addRow("Do", self.what)
        self.pages = {name: TaskPage(name, self) for name in ("semantic", "matting")}
        for page in self.pages.values():
            column.addWidget(page)
        more = QWidget()
        self.files.more(form_in(more))
        self.more = folded("More on files", more)
        column.addWidget(self.more)
        column.addStretch()
        self.pictures = Thumbnails(self)
        self.rows = FolderRows(self)
        self.list = row_list(self.rows, self.pictures)
        self.foot = Foot()
        self.foot.preview.hide()
        self.foot.run.setToolTip("Run on all images.")
        self.foot.cancel.setToolTip("Stop within a second; what is finished stays.")
        self._body = body
        self._lay_out(scrolled(body))

    def _lay_out(self, upper: QWidget) -> None:
        """Put the choices above the list, and the buttons below."""
        self.parts = parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(upper)
        parts.addWidget(self.list)
        parts.setStretchFactor(1, 1)
        outer = QVBoxLayout(self)
        outer.addWidget(parts, 1)
        outer.addWidget(self.foot)
        self._on_what()

    def _align(self) -> None:
        """Let all fields stand in one column, and the list have what the choices do not need."""
        align(self)
        self._body.layout().activate()
        room, needed = self.parts.height(), self.more.geometry().bottom() + 3 * GAP_PX
        upper = min(needed, room - max(3 * ROW_PX, room // 3))
        self.parts.setSizes([upper, room - upper])

    def _connect(self) -> None:
        """Connect the parts to each other."""
        self.files.changed.connect(self._delay.start)
        self.what.currentIndexChanged.connect(self._on_what)
        for page in self.pages.values():
            page.changed.connect(self._delay.start)
            page.folded.connect(self._tidy.start)
        self.more.toggled.connect(self._tidy.start)
        self.foot.run.clicked.connect(self.run)
        self.foot.cancel.clicked.connect(self.cancel)
        self.list.doubleClicked.connect(self._open)

    def _enter(self) -> None:
        """Belong to the viewer, once."""
        if self._ties is None:
            self._ties = Ties()
            self._ties.on_undo(partial(stop_all, self._runs))
            self._ties.on_undo(self.pictures.stop)
            self.destroyed.connect(self._ties.undo)

    def _leave(self) -> None:
        """Let go of the viewer and stop."""
        if self._ties is not None:
            self._ties.undo()
            self._ties = None

    def _on_what(self, *_: object) -> None:
        """Show the choices of one task only."""
        for name, page in self.pages.items():
            page.setVisible(name == self.what.value)
        self.page.load()
        self._tidy.start()
        self._delay.start()

    def _look_into(self, card: ModelCard) -> None:
        """Look into the folder off the main thread."""
        try:
            job = self.files.job()
            task = task_of(card, self.page.job(), job.compression)
        except OnnxSegError as error:
            self._say_plan(error_words(error), wrong=True)
            return
        self._looking = Watch(background(looking, job, task), self)
        self._looking.ended.connect(self._on_looked)
        self._looking.start()

    def _on_looked(self, outcome: Outcome) -> None:
        """Show what was found, unless something else is asked meanwhile."""
        if self.sender() is not self._looking:
            return
        self._looking = None
        if outcome.error is not None:
            self._say_plan(error_words(outcome.error), wrong=True)
        elif not self.is_running:
            self._show_survey(outcome.value)
        self._enable()

    def _show_survey(self, found: Survey) -> None:
        """List the images, with an example of a name and the plan of the first."""
        others = f", {found.others:,} other files" if found.others else ""
        self.files.example.setText(found.example)
        self._say_plan(f"{count_words(len(found.rows), 'image')}{others}\n{found.plan}")
        self.rows.offer(found.rows)
        self._tidy.start()

    def _say_plan(self, text: str, *, wrong: bool = False) -> None:
        """Say what would be done, or why there can be nothing."""
        self.foot.show_plan(text, wrong=wrong)

    def _follow(self, run: Run) -> None:
        """Watch a run from here on."""
        self._runs.append(run)
        self._since = monotonic()
        self._counts = dict.fromkeys(self._counts, 0)
        heads = self.page.card.heads if self.page.card else ()
        self.pictures.colours = {c.id: c.colour for head in heads[:1] for c in head.classes}
        self.pictures.forget()
        self.rows.wait()
        run.stepped.connect(self._on_step)
        run.ended.connect(self._on_end)
        self.foot.show_running()
        self._enable()

    def _on_step(self, step: FolderStep) -> None:
        """Show what has been told since the last time, and how far the rest is."""
        if monotonic() - self._shown_at < SHOWN_EVERY_S:
            return  # drawing takes the computer's time from the run
        self._shown_at = monotonic()
        self._take_told()
        self.rows.show_step(step)
        self.foot.bar.setRange(0, step.total)
        self.foot.bar.setValue(step.done)
        left = seconds_left(step, monotonic() - self._since)
        tail = "" if left is None else f" · {duration_words(left)} left"
        self.foot.show_status(f"{step.done:,} of {count_words(step.total, 'image')}{tail}")

    def _take_told(self) -> None:
        """Show every outcome that has come."""
        while self._told:
            told = self._told.popleft()
            if isinstance(told, ImageOutcome):
                status = "done" if told.error == DONE_BEFORE else told.status
                self._counts[status] = self._counts.get(status, 0) + 1
                self.rows.show_outcome(told)

    def _on_end(self, outcome: Outcome) -> None:
        """Say how the run ended."""
        cancelled = self._runs[0].cancelling
        self._runs.clear()
        self._take_told()
        self.rows.show_step(FolderStep(0, 0))
        self.foot.show_idle()
        if outcome.error is not None and not outcome.cancelled:
            self.foot.show_status(error_words(outcome.error), wrong=True)
        else:
            self.foot.show_status(self._end_words(cancelled), wrong=bool(self._counts["failed"]))
        self._enable()

    def _end_words(self, cancelled: bool) -> str:
        """Sum up a run."""
        parts = [f"{number:,} {word}" for word, number in self._counts.items() if number]
        took = duration_words(monotonic() - self._since)
        tail = " Choose 'keep, do the rest' to go on." if cancelled else ""
        return (
            f"{'Cancelled: ' if cancelled else ''}{', '.join(parts) or 'nothing'} in {took}.{tail}"
        )

    def _open(self, index: QModelIndex) -> None:
        """Open an image with its result as layers."""
        row = self.rows.rows[index.row()]
        watch = Watch(background(opening, row, self.page.card), self)
        self._openings.add(watch)
        watch.ended.connect(self._on_opened)
        watch.start()

    def _on_opened(self, outcome: Outcome) -> None:
        """Add the layers, or say why there are none."""
        self._openings.discard(self.sender())
        if outcome.error is not None:
            self.foot.show_status(error_words(outcome.error), wrong=True)
            return
        for layer in outcome.value:
            self.viewer.add_layer(layer)

    def _enable(self) -> None:
        """Let only those buttons be pressed that can do something."""
        ready = self.files.are_chosen and self.page.card is not None
        self.foot.run.setEnabled(ready and not self.is_running)


def form_in(holder: QWidget) -> Any:
    """Give a widget a form, and return it."""
    rows = form()
    holder.setLayout(rows)
    return rows
