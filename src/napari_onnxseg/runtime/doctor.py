"""What this computer offers, what works, and what is in the way."""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import onnxruntime as ort

from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.graph.sample import write_sample
from napari_onnxseg.runtime.build import build
from napari_onnxseg.runtime.gpus import driver_version, nvidia_gpus
from napari_onnxseg.runtime.providers import ACCELERATORS, CUDA, broken_library, devices

Status = Literal["ok", "warn", "fail"]

PACKAGES = ("napari-onnxseg", "onnx", "numpy", "scikit-image", "napari", "qtpy")
RUNTIMES = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino")
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
GIB = 1 << 30

GET_CUDA = 'a GPU needs the driver of NVIDIA and pip install "napari-onnxseg[cuda]"'
"""How to get what is missing."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at.

    Parameters
    ----------
    name : str
        What it is.
    status : {"ok", "warn", "fail"}
        ``warn`` limits what can be done, ``fail`` must be mended.
    text : str
        What was found, and what to do when something is wrong.
    """

    name: str
    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that was looked at.

    Parameters
    ----------
    lines : tuple of Check
        In the order of reading.
    """

    lines: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(line.status != "fail" for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        """Return plain dictionaries and lists."""
        return {"ok": self.ok, "lines": [asdict(line) for line in self.lines]}


def examine() -> Report:
    """Look at Python, packages, runtimes, devices, memory and cores.

    Returns
    -------
    Report
        One line each; every accelerator that is listed is tried on a small network.
    """
    system = f"Python {platform.python_version()} on {platform.platform()}"
    return Report(
        (
            Check("System", "ok", system),
            *(_package(name) for name in PACKAGES),
            _runtimes(),
            *_devices(),
            _driver(),
            Check("Memory", "ok", _memory()),
            Check("Cores", "ok", f"{physical_cores()} physical, {usable_cpus()} usable threads"),
        )
    )


def physical_cores() -> int:
    """Count the cores this process may use, two threads of one core as one.

    Returns
    -------
    int
        At least 1; logical processors where the system does not tell their cores.
    """
    cores = {_siblings(number) for number in _affinity()}
    return max(1, min(len(cores), usable_cpus()))


def usable_cpus() -> int:
    """Count the logical processors this process may use.

    Returns
    -------
    int
        At least 1, within the limits set for the process or its container.
    """
    return max(1, min(len(_affinity()), _quota()))


def _affinity() -> set[int]:
    """Return the numbers of the logical processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


@cache
def _siblings(number: int) -> str:
    """Name the core of a logical processor by the processors that share it."""
    try:
        return Path(SIBLINGS.format(number)).read_text(encoding="ascii").strip()
    except OSError:
        return str(number)


def _quota() -> int:
    """Return how many processors a container allows, rounded up."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return -(-int(limit) // int(period))
    except (OSError, ValueError):
        return os.cpu_count() or 1


def _package(name: str) -> Check:
    found = _version(name)
    needed = name in ("napari-onnxseg", "onnx", "numpy", "scikit-image")
    if found:
        return Check(name, "ok", found)
    return Check(name, "fail" if needed else "warn", "not installed")


def _runtimes() -> Check:
    """Find runtimes that overwrite each other: all use the folder ``onnxruntime``."""
    found = [f"{name} {_version(name)}" for name in RUNTIMES if _version(name)]
    text = ", ".join(found) or f"onnxruntime {ort.__version__}, not installed by pip"
    if len(found) < 2:
        return Check("ONNX Runtime", "ok", text)
    names = " ".join(entry.split()[0] for entry in found)
    remedy = (
        f"{text} are installed together and overwrite each other, so that the GPU may be lost; "
        f"run: pip uninstall -y {names}, then pip install the one you want."
    )
    return Check("ONNX Runtime", "fail", remedy)


def _devices() -> Iterator[Check]:
    """Try a small network on the CPU and on every accelerator that is built in."""
    built = ort.get_available_providers()
    names = ["cpu", *(name for name, (provider, _) in ACCELERATORS.items() if provider in built)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.onnx"
        write_sample(path)
        for name in names:
            yield _device(name, path)


def _device(name: str, path: Path) -> Check:
    label = "CPU" if name == "cpu" else ACCELERATORS[name][1]
    if name not in devices():
        return Check(label, "ok", f"not available, no NVIDIA GPU with a working driver; {GET_CUDA}")
    try:
        built = build(load_card(path), name, 1)
    except OnnxSegError as error:
        return Check(label, "fail" if name == "cpu" else "warn", _here(str(error)))
    return Check(label, "ok", f"{built.device.label} ran a small network")


def _here(text: str) -> str:
    """Leave out the advice to do what is being done."""
    return re.sub(r"(, (or|then))?,? see onnxseg doctor", "", text)


def _driver() -> Check:
    """Describe the NVIDIA driver and what keeps CUDA from loading."""
    gpus = ", ".join(f"{gpu.name}, {gpu.memory_bytes / GIB:.0f} GiB" for gpu in nvidia_gpus())
    if not gpus:
        return Check("NVIDIA", "ok", "no GPU with a working driver")
    broken = broken_library() if CUDA in ort.get_available_providers() else ""
    text = f"{gpus}; driver for CUDA {driver_version()}"
    if not broken:
        return Check("NVIDIA", "ok", text)
    remedy = 'install the libraries with pip install "napari-onnxseg[cuda]"'
    return Check("NVIDIA", "warn", f"{text}; {broken}; {remedy}")


def _memory() -> str:
    """Return the memory of the computer, where the system tells it."""
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= set(names):
        return "not told by this system"
    page = os.sysconf("SC_PAGE_SIZE")
    text = f"{os.sysconf('SC_PHYS_PAGES') * page / GIB:.1f} GiB"
    if "SC_AVPHYS_PAGES" in names:
        text += f", {os.sysconf('SC_AVPHYS_PAGES') * page / GIB:.1f} GiB free"
    return text


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
