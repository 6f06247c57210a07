"""What onnxruntime says when something fails, in words for the person at the microscope."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from napari_onnxseg.errors import (
    CancelledError,
    DeviceError,
    ModelError,
    OnnxSegError,
    OutOfMemoryError,
    RunError,
)

Stage = Literal["load", "run"]
Maker = Callable[[re.Match[str]], OnnxSegError]

LONGEST = 200
"""Characters of a foreign message that are shown."""


def _too_new(found: re.Match[str], what: str) -> ModelError:
    return ModelError(
        f"The model uses {what} {found[1]}, but the installed onnxruntime reads up to {found[2]}; "
        "upgrade onnxruntime (pip install -U onnxruntime-gpu or onnxruntime), or export the model "
        "for an older version."
    )


def _wrong_size(found: re.Match[str]) -> RunError:
    axes = re.findall(r"index: (\d+) Got: (\d+) Expected: (\d+)", found[0])
    wants = ", ".join(f"axis {axis} needs {want}, got {got}" for axis, got, want in axes)
    return RunError(f"The model does not take this size ({wants}); choose another tile or batch.")


_TABLE: tuple[tuple[str, Maker], ...] = (
    (r"terminate flag", lambda _: CancelledError("The run was cancelled.")),
    (
        r"Failed to allocate memory|[Oo]ut of memory|ALLOC_FAILED|cudaMalloc|bad_alloc",
        lambda _: OutOfMemoryError(
            "The device ran out of memory while running the model; choose a smaller tile or "
            "batch, or another device."
        ),
    ),
    (
        r"Unsupported model IR version: (\d+), max supported IR version: (\d+)",
        lambda found: _too_new(found, "file format version"),
    ),
    (
        r"Opset (\d+) is under development.*?till opset (\d+)",
        lambda found: _too_new(found, "operator set"),
    ),
    (
        r"Could not find an implementation for (\w+)",
        lambda found: ModelError(
            f"onnxruntime has no '{found[1]}' for the kind of numbers that the model computes "
            "with; export it in float32 ('onnxseg models mend' turns float64 into float32)."
        ),
    ),
    (
        r"No Op registered for (\S+)|No opset import for domain '(\S+?)'"
        r"|(\S+) is not a registered function/op",
        lambda found: ModelError(
            f"The model uses '{next(filter(None, found.groups()))}', which the installed "
            "onnxruntime does not know; upgrade onnxruntime, or export the model with standard "
            "operators only."
        ),
    ),
    (
        r"INVALID_PROTOBUF|No graph was found",
        lambda _: ModelError("The file is not an ONNX model; export or download it again."),
    ),
    (
        r"External data|external data",
        lambda _: ModelError(
            "The weights beside the model cannot be read; put the model and its weight files "
            "together in one folder."
        ),
    ),
    (r"Got invalid dimensions.*", _wrong_size),
    (
        r"Invalid rank for input: \S+ Got: (\d+) Expected: (\d+)",
        lambda found: RunError(
            f"The model takes an array of {found[2]} axes, got {found[1]}; its card describes "
            "another layout."
        ),
    ),
    (
        r"cuDNN|CUDNN|CUDA failure|CUDA error|driver version is insufficient|cublas",
        lambda _: DeviceError(
            "The GPU libraries (CUDA, cuDNN) are missing or do not fit the driver; install them "
            'with pip install "napari-onnxseg[cuda]", see onnxseg doctor, or choose the CPU.'
        ),
    ),
    (
        r"while running (\w+) node\.",
        lambda found: RunError(
            f"The model failed in one of its operators ({found[1]}); the size of the tile may not "
            "suit it: choose the suggested tile, or another model."
        ),
    ),
)


def translate(error: Exception, stage: Stage) -> OnnxSegError:
    """Return the fault of this package that an exception of onnxruntime stands for.

    Parameters
    ----------
    error : Exception
        What was raised.
    stage : {"load", "run"}
        Whether the model was being loaded or run.

    Returns
    -------
    OnnxSegError
        The one fitting the message; a `ModelError` or `RunError` with the shortened message
        when it is not known. An error of this package is returned as it is.
    """
    if isinstance(error, OnnxSegError):
        return error
    text = f"{type(error).__name__} {error}"
    for pattern, maker in _TABLE:
        if found := re.search(pattern, text, re.DOTALL):
            return maker(found)
    if isinstance(error, MemoryError):
        return OutOfMemoryError("The computer ran out of memory; choose a smaller tile or batch.")
    return _unknown(str(error), stage)


def _unknown(text: str, stage: Stage) -> OnnxSegError:
    """Keep the end of a long message, where onnxruntime gives the reason."""
    reason = " ".join(text.split())
    reason = reason if len(reason) <= LONGEST else "…" + reason[-LONGEST:]
    if stage == "load":
        return ModelError(f"onnxruntime cannot load the model: {reason}")
    return RunError(f"The model failed while running: {reason}")
