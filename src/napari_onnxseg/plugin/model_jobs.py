"""What the models widget does off the main thread, one thing at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from napari.layers import Layer
from qtpy.QtCore import QObject, Signal

from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.add import add
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.download import download
from napari_onnxseg.cards.fetch import Transfer
from napari_onnxseg.cards.offers import Offer
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.save import save_card
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.graph.findings import Report
from napari_onnxseg.graph.subject import Wanted
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.pipeline.known import known_model
from napari_onnxseg.plugin.layers import Placement
from napari_onnxseg.plugin.matting_widget import CUT_OUT
from napari_onnxseg.plugin.semantic_widget import SEGMENT
from napari_onnxseg.plugin.task import Task
from napari_onnxseg.plugin.trying import job_for
from napari_onnxseg.plugin.visible import Part
from napari_onnxseg.plugin.worker import Outcome, Run, Steps, Watch
from napari_onnxseg.runtime.compare import mend_beside
from napari_onnxseg.runtime.verdict import judge

TASKS = {"semantic": SEGMENT, "matting": CUT_OUT, "image": SEGMENT}
"""How models of each task are tried."""


class Jobs(QObject):
    """Runs one thing at a time off the main thread, and says how it ended."""

    changed = Signal()
    """Emitted when something began or ended."""

    stepped = Signal(object)
    """Emitted with the latest `Progress`."""

    failed = Signal(object)
    """Emitted with the error of a thing that went wrong."""

    cancelled = Signal()
    """Emitted when a thing was ended by the user."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.title = ""
        self.can_cancel = False
        self.is_cancelling = False
        self._run: Watch | Run | None = None
        self._then: Callable[[Any], None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is in progress."""
        return self._run is not None

    def start(
        self,
        title: str,
        steps: Callable[[Cancel], Steps],
        then: Callable[[Any], None],
        *,
        can_cancel: bool = True,
    ) -> None:
        """Begin; nothing happens while something else is in progress.

        Parameters
        ----------
        title : str
            What it is, for people.
        steps : callable
            Makes the generator, in the thread.
        then : callable
            Gets its value on the main thread, when it went well.
        can_cancel : bool
            Whether it may be ended half-way without a trace.
        """
        self._begin(Watch(steps, self), title, then, can_cancel)

    def run(
        self, title: str, steps: Callable[[Cancel], Steps], then: Callable[[Any], None]
    ) -> None:
        """Begin a run of a model, of which there is only one at a time in all widgets.

        Parameters
        ----------
        title : str
            What it is, for people.
        steps : callable
            As for `start`.
        then : callable
            As for `start`.
        """
        self._begin(Run(steps, title), title, then, True)

    def cancel(self) -> None:
        """Ask what is in progress to stop."""
        if self._run is not None and self.can_cancel:
            self.is_cancelling = True
            self._run.cancel()
            self.changed.emit()

    def leave(self) -> None:
        """Stop what is in progress, and do not wait to hear of it."""
        if self._run is not None:
            self._then = None
            self._run.cancel()

    def _begin(
        self, run: Watch | Run, title: str, then: Callable[[Any], None], can_cancel: bool
    ) -> None:
        """Start, unless something is in progress here or, for a run, elsewhere."""
        if self.is_busy:
            return
        try:
            run.start()
        except OnnxSegError as error:
            self.failed.emit(error)
            return
        self.title, self.can_cancel, self.is_cancelling = title, can_cancel, False
        self._run, self._then = run, then
        run.stepped.connect(self.stepped)
        run.ended.connect(self._on_end)
        self.changed.emit()

    def _on_end(self, outcome: Outcome) -> None:
        """Hand over the value, or say what went wrong."""
        then, cancelling = self._then, self.is_cancelling
        self._run, self._then, self.is_cancelling = None, None, False
        self.changed.emit()
        if then is None:
            return
        if cancelling or outcome.cancelled:
            self.cancelled.emit()
        elif outcome.error is not None:
            self.failed.emit(outcome.error)
        else:
            then(outcome.value)


@dataclass(frozen=True, slots=True)
class Trial:
    """A model tried on a part of a layer.

    Parameters
    ----------
    task : Task
        What the model does.
    result : SegmentResult or MatteResult
        What came out.
    placement : Placement
        Where it belongs.
    """

    task: Task
    result: Any
    placement: Placement

    def layers(self) -> list[Layer]:
        """Make the layers of the result; on the main thread.

        Returns
        -------
        list of napari.layers.Layer
            The lowest first.
        """
        layers = self.task.layers(self.result, self.placement)
        for layer in layers:
            layer.name = f"{layer.name} (test of {self.result.card.name})"
        return layers

    def words(self) -> str:
        """Return what came out, in words."""
        return self.task.words(self.result)


def adding(path: Path, _cancel: Cancel) -> Steps:
    """Copy a model into the user's folder, and read it there."""
    place: Path = yield from _as_progress(add(path))
    return place, known_model(place)


def downloading(offered: Offer, accepted: bool, _cancel: Cancel) -> Steps:
    """Bring a published model into the user's folder, and read it there."""
    story = download(offered, accept_non_commercial=accepted)
    place: Path = yield from _as_progress(story)
    return place, known_model(place)


def checking(path: Path, card: ModelCard | None, _cancel: Cancel) -> Steps:
    """Examine a model and try it out; its card, where it can be read, says what is meant."""
    yield Progress(0, 1, stage="checking")
    report: Report = judge(path, _wanted(card))
    return report


def mending(path: Path, card: ModelCard | None, out: Path, _cancel: Cancel) -> Steps:
    """Write a mended copy, with what is known of the model, and compare the two."""
    yield Progress(0, 1, stage="mending")
    mended, beside = mend_beside(path, out, None, _wanted(card))
    if card is not None:
        copy = load_card(out)
        told = replace(card, path=copy.path, sha256=copy.sha256, name=out.stem)
        save_card(replace(told, title=f"{card.title} (mended)"), out.absolute())
    return mended, beside


def trying(
    part: Part, card: ModelCard, model: Path, channel_axis: int | None, cancel: Cancel
) -> Steps:
    """Run a model on a part of a layer."""
    read = part.read()
    stack = as_stack(read.source.data, channel_axis=channel_axis, rgb=read.source.rgb)
    task = TASKS[card.task]
    job = job_for(card, model, stack)
    result = yield from task.steps(stack, job, card=card, cancel=cancel)
    axes = stack.result_axes
    return Trial(task, result, Placement(read.source, axes, (None,) * len(axes)))


def _wanted(card: ModelCard | None) -> Wanted | None:
    """Return which tensors the card means."""
    return None if card is None else Wanted(card.input.layout, card.output.name)


def _as_progress(story: Generator[Transfer, None, Path]) -> Generator[Progress, None, Path]:
    """Pass the steps of a transfer on as those of any run; close it when this is closed."""
    try:
        while True:
            step = next(story)
            yield Progress(step.done_bytes, step.total_bytes or 0, stage=step.stage)
    except StopIteration as end:
        path: Path = end.value
        return path
    finally:
        story.close()
