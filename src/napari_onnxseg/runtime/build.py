"""Make a session of onnxruntime on the device asked for, and check that it is really there."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import onnxruntime as ort

from napari_onnxseg.cards.card import ModelCard, TensorSpec
from napari_onnxseg.errors import DeviceError, ModelError, OnnxSegError
from napari_onnxseg.runtime.faults import translate
from napari_onnxseg.runtime.providers import (
    CPU,
    CUDA,
    Device,
    broken_library,
    candidates,
    load_cuda_libraries,
)

HEAVY = frozenset({"Conv", "ConvTranspose", "Resize", "MaxPool", "AveragePool", "MatMul", "Gemm"})
"""Operators that make a run slow when a GPU leaves them to the CPU."""

SMALLEST = 64
"""Pixels of the trial run, at least."""


@dataclass(frozen=True, slots=True)
class Built:
    """A session that works.

    Parameters
    ----------
    session : onnxruntime.InferenceSession
        The session.
    device : Device
        Where it really runs.
    nodes_on_cpu : tuple of str
        Heavy operators that an accelerator left to the CPU.
    notes : tuple of str
        Sentences for the user.
    """

    session: Any
    device: Device
    nodes_on_cpu: tuple[str, ...]
    notes: tuple[str, ...]


def build(card: ModelCard, request: str, threads: int) -> Built:
    """Create a session and verify its device.

    Parameters
    ----------
    card : ModelCard
        The model.
    request : str
        The device; only ``"auto"`` falls back, and says so.
    threads : int
        Threads within one run.

    Returns
    -------
    Built
        The session and where it runs.

    Raises
    ------
    ModelError
        When the model cannot be loaded.
    DeviceError
        When the device asked for cannot run it.
    """
    notes: list[str] = []
    *accelerators, last = candidates(request)
    for device in accelerators:
        try:
            return _on(card, device, threads, tuple(notes))
        except ModelError:
            raise
        except OnnxSegError as error:
            notes.append(f"{device.label} was left aside, running on another device: {error}")
    return _on(card, last, threads, tuple(notes))


def trial_shape(spec: TensorSpec, card: ModelCard) -> tuple[int, ...]:
    """Return the shape (N, C, ...) of the smallest sensible input.

    Parameters
    ----------
    spec : TensorSpec
        The input.
    card : ModelCard
        The model, for its multiple and border.

    Returns
    -------
    tuple of int
        Batch, channels and sides, fixed ones as the model has them.
    """
    sides = (
        fixed or ceil((SMALLEST + 2 * shrink) / multiple) * multiple
        for fixed, shrink, multiple in zip(
            spec.sides, card.geometry.shrink, card.geometry.multiple, strict=True
        )
    )
    return (spec.batch or 1, spec.channels or 1, *sides)


def _on(card: ModelCard, device: Device, threads: int, notes: tuple[str, ...]) -> Built:
    """Create the session on one device, or raise why not."""
    missing = load_cuda_libraries() if device.provider == CUDA else ""
    try:
        session = _create(card, device, threads)
    except Exception as error:
        raise _creation_fault(error, device) from error
    if session.get_providers()[0] != device.provider:
        raise DeviceError(_silent_fallback(device, missing))
    if device.provider == CPU:
        return Built(session, device, (), notes)
    _try_out(session, card)
    left = _left_to_cpu(session)
    if left:
        notes = (*notes, f"{device.label} leaves {', '.join(left)} to the CPU, which is slow.")
    return Built(session, device, left, notes)


def _create(card: ModelCard, device: Device, threads: int) -> Any:
    chosen = [(device.provider, dict(device.options))]
    if device.provider != CPU:
        chosen.append((CPU, {}))
        ort.set_default_logger_severity(4)
    return ort.InferenceSession(
        str(card.path),
        _options(threads),
        providers=chosen,
        enable_fallback=0,
        read_config_from_model=0,
    )


def _options(threads: int) -> Any:
    """Return the options measured best: no memory pattern, no spinning threads."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.enable_mem_pattern = False
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return options


def _creation_fault(error: Exception, device: Device) -> OnnxSegError:
    """Blame the file when its format is the reason, else the accelerator."""
    fault = translate(error, "load")
    known = isinstance(fault, ModelError) and "cannot load the model" not in str(fault)
    if device.provider == CPU or known:
        return fault
    return DeviceError(f"{device.label} cannot be used: {fault}")


def _silent_fallback(device: Device, missing: str) -> str:
    reason = broken_library() if device.provider == CUDA else ""
    detail = f" ({reason or missing})" if reason or missing else ""
    return (
        f"{device.label} is listed by onnxruntime but cannot be started{detail}; for CUDA, install "
        'its libraries with pip install "napari-onnxseg[cuda]" and a driver that fits, then see '
        "onnxseg doctor."
    )


def _try_out(session: Any, card: ModelCard) -> None:
    """Run once: only that shows whether an accelerator's libraries are complete."""
    spec = card.input
    shape = trial_shape(spec, card)
    order = [("NC" + "DHW"[-len(spec.sides) :]).index(axis) for axis in spec.layout]
    batch = np.zeros([shape[axis] for axis in order], spec.dtype)
    try:
        session.run([card.output.name], {spec.name: batch})
    except Exception as error:
        raise translate(error, "run") from error


def _left_to_cpu(session: Any) -> tuple[str, ...]:
    """Return the heavy operators that run on the CPU, each once."""
    if not hasattr(session, "get_provider_graph_assignment_info"):
        return ()
    parts = session.get_provider_graph_assignment_info()
    left = {node.op_type for part in parts if part.ep_name == CPU for node in part.get_nodes()}
    return tuple(sorted(left & HEAVY))
