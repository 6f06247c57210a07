"""A network made ready for one run, with what it reported about itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from napari_onnxseg.cards.card import Head, ModelCard
from napari_onnxseg.errors import OutOfMemoryError, RunError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import Predictor
from napari_onnxseg.runtime.session import OrtSession, open_session, release
from napari_onnxseg.types import Batch, Scores


@dataclass(frozen=True, slots=True)
class Want:
    """What a run needs of a network.

    Parameters
    ----------
    device : str
        The device asked for.
    threads : int
        Threads inside one call.
    batch_shape : tuple of int
        (N, C, ...), the one shape this run will feed.
    heads : tuple of Head
        The outputs that are used.
    """

    device: str
    threads: int
    batch_shape: tuple[int, ...]
    heads: tuple[Head, ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """A predictor and the facts of the run.

    Parameters
    ----------
    card : ModelCard
        The model.
    predict : Predictor
        (N, C, ...) to (N, K, ...), one array an output; safe to call from several threads.
    heads : tuple of Head
        The outputs that are used.
    device : str
        What really runs it.
    shapes : tuple of (tuple of int) or None
        Shapes that one batch gave, when it was tried.
    notes : tuple of str
        Fallbacks and operators that left the device.
    """

    card: ModelCard
    predict: Predictor
    heads: tuple[Head, ...]
    device: str
    shapes: tuple[tuple[int, ...], ...] | None
    notes: tuple[str, ...]

    def run(self, batch: Batch) -> tuple[Scores, ...]:
        """Run the network once and check what it gives.

        Parameters
        ----------
        batch : numpy.ndarray
            (N, C, ...) network input.

        Returns
        -------
        tuple of numpy.ndarray
            (N, K, ...) numbers of each output.

        Raises
        ------
        RunError
            When an output is missing, or is not one set of numbers a picture, with a plane
            for each class or channel.
        """
        answers = as_tuple(self.predict(batch))
        if len(answers) != len(self.heads):
            raise RunError(
                f"'{self.card.name}' gave {len(answers)} outputs where {len(self.heads)} are "
                f"wanted ({', '.join(head.name for head in self.heads)}); correct the predictor."
            )
        for answer, head in zip(answers, self.heads, strict=True):
            self._check(answer, head, batch)
        return answers

    def _check(self, answer: Scores, head: Head, batch: Batch) -> None:
        """Raise for an output of another shape than the card says."""
        given, planes = np.shape(answer), head.output.planes
        wanted = (len(batch), planes or "K", *("?",) * (batch.ndim - 2))
        if len(given) != batch.ndim or given[0] != len(batch) or planes not in (None, given[1]):
            raise RunError(
                f"'{self.card.name}' gave scores of shape {given} for input of {batch.shape}, "
                f"({', '.join(map(str, wanted))}) is needed; correct its card or the predictor."
            )

    def stop(self) -> None:
        """End calls under way, when the predictor can."""
        getattr(self.predict, "stop", lambda: None)()


def as_tuple(answer: Scores | Sequence[Scores]) -> tuple[Scores, ...]:
    """Return what a predictor gives as one array an output."""
    return tuple(answer) if isinstance(answer, Sequence) else (answer,)


@contextmanager
def started(
    card: ModelCard, want: Want, *, cancel: Cancel, predictor: Predictor | None = None
) -> Iterator[Engine]:
    """Open (or reuse) the session of a model, warm it up, and let ``cancel`` reach into it.

    Parameters
    ----------
    card : ModelCard
        The model.
    want : Want
        Device, threads, shape and outputs.
    cancel : Cancel
        Ends calls under way.
    predictor : Predictor, optional
        Used instead of a session.

    Yields
    ------
    Engine
        Ready to run.

    Raises
    ------
    DeviceError
        When the device asked for cannot run the model.
    OutOfMemoryError
        When it has too little memory; the session is dropped, so that the next run starts
        clean.
    """
    if predictor is not None:
        yield Engine(card, predictor, want.heads, "the predictor given", None, ())
        return
    try:
        session = open_session(card, want.device, threads=want.threads)
        outputs = tuple(head.output for head in want.heads)
        with session.start(outputs) as run, cancel.calling(run.stop):
            trial = run.shapes(want.batch_shape) if _worth_a_trial(session, want.heads) else None
            cancel.check()
            yield Engine(card, run, want.heads, session.device, trial, session.notes)
    except OutOfMemoryError:
        release(card.sha256)
        raise
    except MemoryError as fault:
        raise OutOfMemoryError(
            "The computer ran out of memory during the run; choose a smaller tile, a smaller "
            "batch or fewer workers."
        ) from fault


def _worth_a_trial(session: OrtSession, heads: Sequence[Head]) -> bool:
    """Tell whether a run on zeros gains anything: on a CPU the first real one is as fast."""
    is_open = any(head.output.planes is None for head in heads)
    return session.provider != "CPUExecutionProvider" or is_open
