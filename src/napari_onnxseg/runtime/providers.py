"""Which devices there are, and which execution providers of onnxruntime they stand for."""

from __future__ import annotations

import contextlib
import ctypes
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import onnxruntime as ort

from napari_onnxseg.errors import ChoiceError, DeviceError
from napari_onnxseg.runtime.gpus import nvidia_gpus

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

ACCELERATORS: Mapping[str, tuple[str, str]] = {
    "cuda": (CUDA, "CUDA"),
    "tensorrt": ("TensorrtExecutionProvider", "TensorRT"),
    "migraphx": ("MIGraphXExecutionProvider", "MIGraphX"),
    "directml": ("DmlExecutionProvider", "DirectML"),
    "coreml": ("CoreMLExecutionProvider", "Core ML"),
    "openvino": ("OpenVINOExecutionProvider", "OpenVINO"),
    "webgpu": ("WebGpuExecutionProvider", "WebGPU"),
}
"""Name people use: onnxruntime's name, name shown."""

AUTOMATIC = ("cuda", "migraphx", "directml", "coreml")
"""Tried by ``auto`` and ``gpu``, in this order; the others need minutes or settings."""

_NVIDIA = ("cuda", "tensorrt")

_OPTIONS: Mapping[str, Mapping[str, str]] = {
    CUDA: {"cudnn_conv_algo_search": "HEURISTIC"},
}
"""HEURISTIC: the default search costs most of a second for every new tile shape."""


@dataclass(frozen=True, slots=True)
class Device:
    """One way to run a model.

    Parameters
    ----------
    request : str
        What the user asked for.
    provider : str
        Execution provider of onnxruntime.
    options : mapping of str to str
        Its options.
    label : str
        For people, such as ``"CUDA 0 (NVIDIA H200)"``.
    """

    request: str
    provider: str
    options: Mapping[str, str] = field(default_factory=dict)
    label: str = "CPU"


def devices() -> tuple[str, ...]:
    """List what a user can choose on this computer.

    Returns
    -------
    tuple of str
        ``"auto"`` and ``"cpu"``, then the accelerators that onnxruntime was built for and
        whose hardware the system reports; that one of them works is only known once it ran.
    """
    names = _present()
    numbered = tuple(f"cuda:{gpu.number}" for gpu in nvidia_gpus()[1:] if "cuda" in names)
    return ("auto", "cpu", *(("gpu",) if names else ()), *names, *numbered)


def candidates(request: str) -> tuple[Device, ...]:
    """Return the devices to try for a request, best first.

    Parameters
    ----------
    request : str
        ``"auto"`` (any accelerator, else the CPU), ``"cpu"``, ``"gpu"`` (any accelerator),
        or one of `ACCELERATORS`, with a number for one of several GPUs: ``"cuda:1"``.

    Returns
    -------
    tuple of Device
        At least one.

    Raises
    ------
    ChoiceError
        When the name is unknown.
    DeviceError
        When nothing here can answer to it.
    """
    cpu = Device(request, CPU)
    name, number = named_device(request)
    if name == "cpu":
        return (cpu,)
    if name in ("auto", "gpu"):
        found = tuple(_accelerator(request, one, "") for one in AUTOMATIC if one in _present())
        if name == "gpu" and not found:
            raise DeviceError(f"No GPU can be used here: {_why_none()} {_remedy()}")
        return (*found, cpu) if name == "auto" else found
    return (_accelerator(request, *_checked(request, name, number)),)


def named_device(request: str) -> tuple[str, str]:
    """Split a request into name and number, without asking whether the device is here.

    Parameters
    ----------
    request : str
        As `candidates` takes it.

    Returns
    -------
    tuple of str and str
        Such as ``("cuda", "1")``; the number is empty where none was given.

    Raises
    ------
    ChoiceError
        When there is no device of that name.
    """
    name, colon, number = request.lower().partition(":")
    numbered = name in ACCELERATORS and number.isdecimal()
    if name not in ("auto", "cpu", "gpu", *ACCELERATORS) or (colon and not numbered):
        known = ", ".join(("auto", "cpu", "gpu", *ACCELERATORS))
        raise ChoiceError(f"'{request}' is not a device; use {known}, or 'cuda:1' for a number.")
    return name, number


def broken_library() -> str:
    """Say why the CUDA part of onnxruntime cannot be loaded; nothing when it can, or is absent."""
    folder = Path(ort.__file__).parent / "capi"
    for library in sorted(folder.glob("*onnxruntime_providers_cuda.*")):
        try:
            ctypes.CDLL(str(library))
        except OSError as error:
            text = str(error)
            return "" if "undefined symbol" in text else text
    return ""


@lru_cache(maxsize=1)
def load_cuda_libraries() -> str:
    """Load CUDA and cuDNN from their Python packages, once; return what could not be."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        if hasattr(ort, "preload_dlls"):
            ort.preload_dlls()
    return " ".join(said.getvalue().split())


def _present() -> tuple[str, ...]:
    """Return the accelerators that are built in and, for NVIDIA, have a GPU."""
    built = ort.get_available_providers()
    return tuple(
        name
        for name, (provider, _) in ACCELERATORS.items()
        if provider in built and (name not in _NVIDIA or nvidia_gpus())
    )


def _checked(request: str, name: str, number: str) -> tuple[str, str]:
    """Refuse an accelerator that cannot be here, with the reason."""
    provider, label = ACCELERATORS[name]
    if provider not in ort.get_available_providers():
        raise DeviceError(
            f"The installed onnxruntime ({ort.__version__}) has no {label}; choose from "
            f"{', '.join(devices())}, or install a build of onnxruntime that has it."
        )
    if name in _NVIDIA and not nvidia_gpus():
        raise DeviceError(f"'{request}' cannot be used: {_why_none()} {_remedy()}")
    if name in _NVIDIA and int(number or 0) >= len(nvidia_gpus()):
        raise DeviceError(
            f"'{request}' does not exist; the GPUs here are "
            + ", ".join(f"{name}:{gpu.number} ({gpu.name})" for gpu in nvidia_gpus())
            + "."
        )
    return name, number


def _accelerator(request: str, name: str, number: str) -> Device:
    provider, label = ACCELERATORS[name]
    options = dict(_OPTIONS.get(provider, {}))
    if name in _NVIDIA:
        options["device_id"] = number or "0"
        label += f" {int(number or 0)} ({nvidia_gpus()[int(number or 0)].name})"
    elif number:
        options["device_id"] = number
        label += f" {number}"
    return Device(request, provider, options, label)


def _why_none() -> str:
    return "no GPU with a working driver was found."


def _remedy() -> str:
    return "Use 'auto' or 'cpu', or see onnxseg doctor."
