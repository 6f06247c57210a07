"""A model ready to run, and the place where ready models are kept."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.cards.card import ModelCard, TensorSpec
from napari_onnxseg.errors import CancelledError, OutOfMemoryError, RunError
from napari_onnxseg.runtime.batch import to_input, to_scores
from napari_onnxseg.runtime.build import build
from napari_onnxseg.runtime.faults import translate
from napari_onnxseg.runtime.series import Run
from napari_onnxseg.types import AnyArray, Batch, Scores

Stamp = tuple[tuple[str, int, int], ...]
Key = tuple[Path, str, Stamp, TensorSpec, TensorSpec, str, int]


class OrtSession:
    """A model loaded on a device; safe to run from several threads at once.

    Parameters
    ----------
    card : ModelCard
        The model.
    device : str
        As for `open_session`.
    threads : int
        Threads within one run.

    Attributes
    ----------
    device : str
        What it really runs on, for people.
    provider : str
        Execution provider that it really runs on.
    nodes_on_cpu : tuple of str
        Heavy operators that an accelerator left to the CPU.
    notes : tuple of str
        Sentences for the user, such as a fallback and its reason.
    card : ModelCard
        The model.

    Raises
    ------
    ModelError
        When the model cannot be loaded.
    DeviceError
        When the device asked for cannot run it.
    """

    def __init__(self, card: ModelCard, device: str = "auto", threads: int = 1) -> None:
        built = build(card, device, threads)
        self.card = card
        self.device = built.device.label
        self.provider = built.device.provider
        self.nodes_on_cpu = built.nodes_on_cpu
        self.notes = built.notes
        self._session: Any = built.session
        self._warm: dict[tuple[int, ...], tuple[int, ...]] = {}

    @property
    def closed(self) -> bool:
        """Whether the model was released."""
        return self._session is None

    def __call__(self, batch: Batch, /) -> Scores:
        """Run the model once; see `run`."""
        return self.run(batch)

    def start(self, outputs: tuple[TensorSpec, ...] = ()) -> Run:
        """Begin a series of runs that can be stopped.

        Parameters
        ----------
        outputs : tuple of TensorSpec, optional
            What each run gives; the output of the card when left out.

        Returns
        -------
        Run
            To be used as a context manager.
        """
        return Run(self, outputs)

    def run(self, batch: Batch, run: Run | None = None) -> Scores:
        """Run the model for the output of its card; see `run_all`.

        Parameters
        ----------
        batch : numpy.ndarray
            (N, C, ...), any dtype; brought to the dtype, layout and batch size of the model.
        run : Run, optional
            The series it belongs to.

        Returns
        -------
        numpy.ndarray
            (N, K, ...) float32; class ids have K = 1.
        """
        return self.run_all(batch, (self.card.output,), run)[0]

    def run_all(
        self, batch: Batch, outputs: tuple[TensorSpec, ...], run: Run | None = None
    ) -> tuple[Scores, ...]:
        """Run the model once for several outputs.

        Parameters
        ----------
        batch : numpy.ndarray
            (N, C, ...), any dtype; brought to the dtype, layout and batch size of the model.
        outputs : tuple of TensorSpec
            What is wanted.
        run : Run, optional
            The series it belongs to.

        Returns
        -------
        tuple of numpy.ndarray
            (N, K, ...) float32 each; class ids have K = 1.

        Raises
        ------
        CancelledError
            When the series was stopped.
        OutOfMemoryError
            When memory ran out; this session is then no longer handed out.
        RunError
            When the model fails.
        """
        names = [spec.name for spec in outputs]
        pieces = [self._run_once(piece, names, run) for piece in self._pieces(batch)]
        wholes = (
            parts[0] if len(parts) == 1 else np.concatenate(parts)
            for parts in zip(*pieces, strict=True)
        )
        return tuple(
            to_scores(whole[: len(batch)], spec)
            for whole, spec in zip(wholes, outputs, strict=True)
        )

    def close(self) -> None:
        """Release the model; a later run raises `RunError`."""
        self._session = None

    def _pieces(self, batch: Batch) -> list[AnyArray]:
        """Bring a batch to the model's dtype and layout, cut and filled to its batch size."""
        spec = self.card.input
        data = to_input(batch, spec)
        size = spec.batch or len(data)
        missing = -len(data) % size if len(data) else 0
        if missing:
            data = np.concatenate([data, np.repeat(data[-1:], missing, axis=0)])
        return [data[i : i + size] for i in range(0, len(data), size)]

    def _run_once(self, data: AnyArray, names: list[str], run: Run | None) -> list[AnyArray]:
        session = self._session
        if run is not None and run.stopped:
            raise CancelledError("The run was cancelled.")
        if session is None:
            raise RunError(f"The model '{self.card.name}' was released; load it again.")
        feed = {self.card.input.name: data}
        options = run.options if run else None
        try:
            answers: list[AnyArray] = session.run(names, feed, options)
        except Exception as error:
            fault = translate(error, "run")
            if isinstance(fault, OutOfMemoryError):
                _forget(self)
            raise fault from None
        return answers


_opened: dict[Key, OrtSession] = {}
_lock = threading.RLock()


def open_session(card: ModelCard, device: str = "auto", *, threads: int = 1) -> OrtSession:
    """Return the model loaded on a device, loading it when it is not yet.

    Parameters
    ----------
    card : ModelCard
        The model.
    device : str
        ``"auto"`` takes an accelerator or, saying so in its notes, the CPU; any other name
        of `candidates` runs there or raises.
    threads : int
        Threads within one run; 1 where several workers share the session.

    Returns
    -------
    OrtSession
        The same one for the same file, tensors, device and threads, until it is released.

    Raises
    ------
    ModelError
        When the model cannot be loaded.
    DeviceError
        When the device asked for cannot run it.
    """
    stamp = _stamp(card)
    key = (card.path, card.sha256, stamp, card.input, card.output, device.lower(), threads)
    with _lock:
        found = _opened.get(key)
        if found is None:
            _outdated(card, stamp)
            found = _opened[key] = OrtSession(card, device, threads)
    return found


def devices_of(path: Path) -> tuple[str, ...]:
    """Return where a model is loaded now.

    Parameters
    ----------
    path : Path
        Its file, as on its card.

    Returns
    -------
    tuple of str
        Devices for people, each once; empty when it is not loaded.
    """
    with _lock:
        found = [session.device for key, session in _opened.items() if key[0] == path]
    return tuple(dict.fromkeys(found))


def release(sha256: str | None = None) -> None:
    """Release models, and with them the memory of the device.

    Parameters
    ----------
    sha256 : str, optional
        Hash of the model's file; all models when left out.
    """
    with _lock:
        for key in [key for key in _opened if sha256 in (None, key[1])]:
            _opened.pop(key).close()
    gc.collect()


def _stamp(card: ModelCard) -> Stamp:
    """Return what changes when weights beside the model are replaced."""
    paths = [card.path.parent / name for name in card.side_files]
    files = [(path.name, path.stat()) for path in paths if path.exists()]
    return tuple((name, state.st_mtime_ns, state.st_size) for name, state in files)


def _outdated(card: ModelCard, stamp: Stamp) -> None:
    """Stop handing out what was loaded from this path before its files were replaced."""
    for key in [key for key in _opened if key[0] == card.path]:
        if key[1:3] != (card.sha256, stamp):
            del _opened[key]


def _forget(session: OrtSession) -> None:
    """Stop handing out a session whose memory is exhausted."""
    with _lock:
        for key in [key for key, value in _opened.items() if value is session]:
            del _opened[key]
