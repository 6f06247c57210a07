"""A network made ready for one run, with what it reported about itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.errors import OutOfMemoryError, RunError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import Predictor
from napari_onnxseg.runtime.session import OrtSession, open_session, release
from napari_onnxseg.types import Batch, Scores


@dataclass(frozen=True, slots=True)
class Engine:
    """A predictor and the facts of the run.

    Parameters
    ----------
    card : ModelCard
        The model.
    predict : Predictor
        (N, C, ...) to (N, K, ...); safe to call from several threads.
    device : str
        What really runs it.
    output_shape : tuple of int or None
        Shape that one batch gave, when it was tried.
    notes : tuple of str
        Fallbacks and operators that left the device.
    """

    card: ModelCard
    predict: Predictor
    device: str
    output_shape: tuple[int, ...] | None
    notes: tuple[str, ...]

    def run(self, batch: Batch) -> Scores:
        """Run the network once and check what it gives.

        Parameters
        ----------
        batch : numpy.ndarray
            (N, C, ...) network input.

        Returns
        -------
        numpy.ndarray
            (N, K, ...) scores.

        Raises
        ------
        RunError
            When that is not one set of scores a picture, with a plane for each class.
        """
        scores, output = self.predict(batch), self.card.output
        given, classes = np.shape(scores), output.channels if "C" in output.layout else 1
        wanted = (len(batch), classes or "K", *("?",) * (batch.ndim - 2))
        if len(given) != batch.ndim or given[0] != len(batch) or classes not in (None, given[1]):
            raise RunError(
                f"'{self.card.name}' gave scores of shape {given} for input of {batch.shape}, "
                f"({', '.join(map(str, wanted))}) is needed; correct its card or the predictor."
            )
        return scores

    def stop(self) -> None:
        """End calls under way, when the predictor can."""
        getattr(self.predict, "stop", lambda: None)()


@contextmanager
def started(
    card: ModelCard,
    device: str,
    *,
    threads: int,
    batch_shape: tuple[int, ...],
    cancel: Cancel,
    predictor: Predictor | None = None,
) -> Iterator[Engine]:
    """Open (or reuse) the session of a model, warm it up, and let ``cancel`` reach into it.

    Parameters
    ----------
    card : ModelCard
        The model.
    device : str
        The device asked for.
    threads : int
        Threads inside one call.
    batch_shape : tuple of int
        (N, C, ...), the one shape this run will feed.
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
        yield Engine(card, predictor, "the predictor given", None, ())
        return
    try:
        session = open_session(card, device, threads=threads)
        with session.start() as run, cancel.calling(run.stop):
            shape = session.warm_up(batch_shape, run) if _worth_a_trial(session, card) else None
            cancel.check()
            yield Engine(card, run, session.device, shape, session.notes)
    except OutOfMemoryError:
        release(card.sha256)
        raise
    except MemoryError as fault:
        raise OutOfMemoryError(
            "The computer ran out of memory during the run; choose a smaller tile, a smaller "
            "batch or fewer workers."
        ) from fault


def _worth_a_trial(session: OrtSession, card: ModelCard) -> bool:
    """Tell whether a run on zeros gains anything: on a CPU the first real one is as fast."""
    return session.provider != "CPUExecutionProvider" or card.output.channels is None
