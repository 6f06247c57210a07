"""A run in its own thread, watched from the main thread; no Qt object crosses threads.

The thread writes plain records; a timer on the main thread reads them. Nothing is emitted
from the thread, so neither a closed viewer nor the end of the interpreter can meet a signal
of an object that is gone, and the shared Qt thread pool stays free for other plugins.
"""

from __future__ import annotations

import atexit
import io
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from threading import Thread
from typing import Any, ClassVar

from napari.utils import cancelable_progress
from qtpy.QtCore import QCoreApplication, QObject, QTimer, Signal

from napari_onnxseg.errors import CancelledError, ChoiceError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import Progress

POLL_MS = 60
"""How often the main thread looks at what the worker has done."""

LEAVE_S = 5.0
"""How long the interpreter waits for a worker when it ends."""

Steps = Generator[Progress, None, Any]
Start = Callable[[Cancel], Steps]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: with a value, with an error, or cancelled (neither).

    Parameters
    ----------
    value : object
        What the generator returned.
    error : BaseException or None
        What it raised.
    """

    value: Any = None
    error: BaseException | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the user ended it."""
        return isinstance(self.error, CancelledError)


class Worker(Thread):
    """Exhausts one generator off the main thread; touches neither napari nor Qt.

    Parameters
    ----------
    start : callable
        Makes the generator, given the switch that ends it; called in the thread.
    """

    def __init__(self, start: Start) -> None:
        super().__init__(name="onnxseg-run", daemon=True)
        self.cancel = Cancel()
        self.latest: Progress | None = None
        self.outcome: Outcome | None = None
        self._start_steps: Start | None = start

    def run(self) -> None:
        """Exhaust the generator and keep how it ended."""
        try:
            self.outcome = Outcome(self._exhaust())
        except BaseException as error:
            self.outcome = Outcome(error=error)
        finally:
            self._start_steps = None

    def _exhaust(self) -> Any:
        """Step through the generator, and close it whatever happens."""
        assert self._start_steps is not None
        with closing(self._start_steps(self.cancel)) as steps:
            while True:
                self.cancel.check()
                try:
                    self.latest = next(steps)
                except StopIteration as end:
                    return end.value


class Watch(QObject):
    """Looks at a worker from the main thread.

    Parameters
    ----------
    start : callable
        As for `Worker`.
    parent : QObject, optional
        Qt owner.
    """

    stepped = Signal(object)
    """Emitted with the latest `Progress`, at most once per poll."""

    ended = Signal(object)
    """Emitted once, with the `Outcome`."""

    _alive: ClassVar[set[Worker]] = set()

    def __init__(self, start: Start, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.worker = Worker(start)
        self._seen: Progress | None = None
        self._looking = False
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._look)

    def start(self) -> None:
        """Start the thread and the timer."""
        _end_with_application()
        Watch._alive = {w for w in Watch._alive if w.is_alive()} | {self.worker}
        self.worker.start()
        self._timer.start()

    def cancel(self) -> None:
        """Ask the worker to stop, inside native code as well; returns at once."""
        self.worker.cancel.set()

    def _look(self) -> None:
        """Report what is new; a listener may process events, so this may be called inside."""
        if self._looking:
            return
        self._looking = True
        try:
            self._report()
        finally:
            self._looking = False

    def _report(self) -> None:
        """Emit the latest step, then the end."""
        outcome = self.worker.outcome
        if self.worker.latest is not self._seen:
            self._seen = self.worker.latest
            self.stepped.emit(self._seen)
        if outcome is not None and self._timer.isActive():
            self._timer.stop()
            self.ended.emit(outcome)


class Run(QObject):
    """The one run that may be in progress, with its bar in napari's activity dock.

    Parameters
    ----------
    start : callable
        As for `Worker`.
    title : str
        What the bar says.
    """

    stepped = Signal(object)
    """Emitted with the latest `Progress`."""

    ended = Signal(object)
    """Emitted once, with the `Outcome`, when another run may start."""

    _current: ClassVar[Run | None] = None

    def __init__(self, start: Start, title: str) -> None:
        super().__init__()
        self.title = title
        self.cancelling = False
        self._bar: _Bar | None = None
        self._watch = Watch(start, self)
        self._watch.stepped.connect(self._on_step)
        self._watch.ended.connect(self._on_end)

    @classmethod
    def current(cls) -> Run | None:
        """Return the run in progress.

        Returns
        -------
        Run or None
            The one started last, until it has ended.
        """
        return cls._current

    def start(self) -> None:
        """Start, unless another run is in progress.

        Raises
        ------
        ChoiceError
            When one is.
        """
        if Run._current is not None:
            raise ChoiceError(
                f"One run at a time: '{Run._current.title}' is in progress; "
                "wait for it or cancel it."
            )
        Run._current = self
        self._bar = _Bar(self)
        self._watch.start()

    def cancel(self) -> None:
        """Ask the run to stop; `ended` follows."""
        self.cancelling = True
        self._watch.cancel()

    def _on_step(self, progress: Progress) -> None:
        """Move the bar, then tell the widget."""
        if self._bar is not None:
            self._bar.move(progress)
        self.stepped.emit(progress)

    def _on_end(self, outcome: Outcome) -> None:
        """Free the place for the next run, then hand over the outcome."""
        Run._current = None
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        self._watch.worker.outcome = None
        self.ended.emit(outcome)
        self.deleteLater()


class _Bar(cancelable_progress):
    """A bar in the activity dock whose button cancels a run.

    It is moved from a timer only: every move lets Qt process events.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(total=0, desc=run.title, cancel_callback=run.cancel, file=io.StringIO())

    def move(self, progress: Progress) -> None:
        """Show tiles done; the estimate of the time left is napari's own."""
        if progress.total != self.total:
            self.reset_to(progress.total)
        if progress.done > self.n:
            self.update(progress.done - self.n)

    def reset_to(self, total: int) -> None:
        """Start counting the steps of a new stage."""
        self.n, self.start_t, self.total = 0, time.time(), total

    def cancel(self) -> None:
        """Do what the button says; in manual mode napari only takes a note."""
        super().cancel()
        if self.cancel_callback is not None:
            self.cancel_callback()


def stop_all(runs: Iterable[Run]) -> None:
    """Ask the runs of a widget that is gone to stop.

    Parameters
    ----------
    runs : iterable of Run
        Those in progress when it is called.
    """
    for run in runs:
        run.cancel()


def cancel_all() -> None:
    """Ask every worker to stop; returns at once."""
    for worker in tuple(Watch._alive):
        worker.cancel.set()


def _end_with_application() -> None:
    """Stop the workers when the application quits, once per application."""
    application = QCoreApplication.instance()
    if application is not None and not application.property("onnxseg"):
        application.setProperty("onnxseg", True)
        application.aboutToQuit.connect(cancel_all)


@atexit.register
def _leave() -> None:
    """Wait a little for the workers when the interpreter ends."""
    cancel_all()
    deadline = time.monotonic() + LEAVE_S
    for worker in tuple(Watch._alive):
        worker.join(max(0.0, deadline - time.monotonic()))
