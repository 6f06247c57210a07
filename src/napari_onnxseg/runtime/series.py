"""Runs of a model that belong together and can be stopped together."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort

from napari_onnxseg.cards.card import TensorSpec
from napari_onnxseg.types import Batch, Scores

if TYPE_CHECKING:
    from napari_onnxseg.runtime.session import OrtSession


class Run:
    """A series of runs that can be stopped from any thread; a `Predictor`.

    Use it as a context manager: leaving it stops whatever still runs.

    Parameters
    ----------
    session : OrtSession
        The model.
    outputs : tuple of TensorSpec
        What each run gives; the output of the card when left out.
    """

    def __init__(self, session: OrtSession, outputs: tuple[TensorSpec, ...] = ()) -> None:
        self.session = session
        self.outputs = outputs or (session.card.output,)
        self.options = ort.RunOptions()
        self.options.log_severity_level = 4  # faults are told in our own words
        self._stopped = threading.Event()

    def __call__(self, batch: Batch, /) -> Scores | tuple[Scores, ...]:
        """Run the model once: one array, or one for each of several outputs."""
        answers = self.session.run_all(batch, self.outputs, self)
        return answers[0] if len(answers) == 1 else answers

    def shapes(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Run once on zeros, so that later runs are fast and faults show early.

        Parameters
        ----------
        shape : tuple of int
            (N, C, ...) of the batches to come.

        Returns
        -------
        tuple of (tuple of int)
            (N, K, ...) of each output.
        """
        zeros = np.zeros(shape, self.session.card.input.dtype)
        return tuple(scores.shape for scores in self.session.run_all(zeros, self.outputs, self))

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End runs in native code within milliseconds; they raise `CancelledError`."""
        self._stopped.set()
        self.options.terminate = True

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
