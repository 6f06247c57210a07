"""What a widget needs to know about its task, besides its form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from napari.layers import Layer
from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import QFormLayout
from superqt import QCollapsible

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.card import Task as TaskName
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.plugin.layers import Placement
from napari_onnxseg.plugin.worker import Steps


class Plan(Protocol):
    """What the plans of all tasks offer."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know before the run."""
        ...

    def words(self) -> str:
        """Return the plan in two lines."""
        ...


@dataclass(frozen=True, slots=True)
class Ready:
    """A run that could be started now, as the plan shown describes it.

    Parameters
    ----------
    stack : ImageStack
        The image.
    card : ModelCard
        The model.
    job : SegmentJob or MatteJob
        The choices.
    placement : Placement
        Where the result will belong.
    notes : tuple of str
        What the plan has told the user already.
    """

    stack: ImageStack
    card: ModelCard
    job: Any
    placement: Placement
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """The way from choices to layers.

    Parameters
    ----------
    name : {"semantic", "matting"}
        As in the cards.
    word : str
        What its result is called.
    plan : callable
        (stack, card, job) to a plan; raises errors of ours when they do not fit.
    steps : callable
        The pipeline: (stack, job, card=..., cancel=...) to a generator.
    layers : callable
        (result, placement) to layers, the lowest first.
    words : callable
        Result to one sentence.
    """

    name: TaskName
    word: str
    plan: Callable[[ImageStack, ModelCard, Any], Plan]
    steps: Callable[..., Steps]
    layers: Callable[[Any, Placement], list[Layer]]
    words: Callable[[Any], str]

    def start(self, ready: Ready, cancel: Cancel) -> Steps:
        """Start the pipeline; called in the worker's thread.

        Parameters
        ----------
        ready : Ready
            What to run.
        cancel : Cancel
            Ends it.

        Returns
        -------
        generator
            The steps of the run.
        """
        return self.steps(ready.stack, ready.job, card=ready.card, cancel=cancel)


class TaskForm(QObject):
    """The choices that only one task has."""

    changed = Signal()
    """Emitted when a choice changes."""

    def hides_source(self, result: Any) -> bool:
        """Tell whether the image is hidden once this result is there; no by default."""
        return False

    def build(self, rows: QFormLayout) -> QCollapsible:
        """Add the rows of the task, and return the section that is folded away."""
        raise NotImplementedError

    def job(self, **where: Any) -> Any:
        """Return all choices as a job, given model, device and axes."""
        raise NotImplementedError

    def show_card(self, card: ModelCard | None) -> None:
        """Offer only what the model can do."""
        raise NotImplementedError

    def show_plan(self, plan: Any) -> None:
        """Show what automatic choices stand for; nothing by default."""
