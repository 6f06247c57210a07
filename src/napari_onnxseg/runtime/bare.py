"""A model on the processor, without a card: to try it out while it is examined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from napari_onnxseg.graph.sample import OPSET, sample
from napari_onnxseg.graph.subject import Limits, Subject
from napari_onnxseg.runtime.faults import translate
from napari_onnxseg.runtime.providers import CPU
from napari_onnxseg.types import AnyArray

UNHEARD = 999
"""A version that no runtime knows; it then names the newest that it does."""

SEED = 20


class Bare:
    """A model on one thread of the processor; all its outputs are given.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.

    Raises
    ------
    ModelError
        When the model cannot be loaded.
    """

    def __init__(self, path: Path) -> None:
        self._session = _session(str(path))
        self.names = tuple(output.name for output in self._session.get_outputs())

    def run(self, name: str, batch: AnyArray, options: Any = None) -> dict[str, AnyArray]:
        """Run the model once.

        Parameters
        ----------
        name : str
            The input.
        batch : numpy.ndarray
            In the layout and dtype of the model.
        options : onnxruntime.RunOptions, optional
            By which another thread may end the run.

        Returns
        -------
        dict of str to numpy.ndarray
            All outputs.

        Raises
        ------
        RunError
            When the model fails.
        """
        try:
            answers = self._session.run(list(self.names), {name: batch}, options)
        except Exception as error:
            raise translate(error, "run") from None
        return dict(zip(self.names, answers, strict=True))


@cache
def limits() -> Limits:
    """Return what the installed runtime can read, as it says itself.

    Returns
    -------
    Limits
        Newest operator set and file format, and its own version.
    """
    major, minor = (int(part) for part in ort.__version__.split(".")[:2])
    return Limits(
        opset=_refused(sample(UNHEARD, 8), r"till opset (\d+)"),
        ir_version=_refused(sample(OPSET, UNHEARD), r"max supported IR version: (\d+)"),
        release=(major, minor),
    )


def noise(subject: Subject, sides: Sequence[int], batch: int = 1) -> AnyArray:
    """Return random pixels as the model takes them.

    Parameters
    ----------
    subject : Subject
        The model, whose layout is known.
    sides : sequence of int
        Spatial sides, pixels.
    batch : int
        Pictures.

    Returns
    -------
    numpy.ndarray
        In the layout and dtype of the model; 0 to 1, or 0 to 255 for integers.
    """
    probe, source = subject.probe, subject.source
    if probe is None or source is None:
        raise ValueError("noise needs a model whose layout is known")
    shape = list(probe.dims)
    for axis, side in zip(probe.axes, sides, strict=True):
        shape[axis] = side
    shape[probe.layout.index("N")] = batch
    pixels = np.random.default_rng(SEED).random([length or 1 for length in shape])
    whole = np.dtype(source.dtype).kind in "iu"
    return (np.rint(pixels * 255) if whole else pixels).astype(source.dtype)


def _session(model: str | bytes) -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    try:
        return ort.InferenceSession(
            model, options, providers=[CPU], enable_fallback=0, read_config_from_model=0
        )
    except Exception as error:
        raise translate(error, "load") from error


def _refused(model: bytes, pattern: str) -> int:
    """Return the version that the runtime names when it refuses a model."""
    try:
        ort.InferenceSession(model, providers=[CPU])
    except Exception as error:
        found = re.search(pattern, str(error))
        return int(found[1]) if found else UNHEARD
    return UNHEARD
