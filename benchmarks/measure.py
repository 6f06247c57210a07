"""Fair timing: everything that is compared runs in turns, and medians are kept."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of each function, one a round.

    Parameters
    ----------
    wall : mapping of str to list of float
        By the clock on the wall.
    cpu : mapping of str to list of float
        Of all threads of this process together; says more on a busy machine.
    """

    wall: dict[str, list[float]]
    cpu: dict[str, list[float]]


def in_turns(functions: Mapping[str, Callable[[], Any]], rounds: int) -> Timed:
    """Return the seconds of each function over several rounds, after one that does not count."""
    for function in functions.values():
        function()
    timed = Timed({name: [] for name in functions}, {name: [] for name in functions})
    for turn in range(rounds):
        names = list(functions) if turn % 2 == 0 else list(functions)[::-1]
        for name in names:
            begin, spent = time.perf_counter(), time.process_time()
            functions[name]()
            timed.wall[name].append(round(time.perf_counter() - begin, 4))
            timed.cpu[name].append(round(time.process_time() - spent, 4))
    return timed


def medians(seconds: Mapping[str, list[float]]) -> dict[str, float]:
    """Return the median of each."""
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_mb() -> float:
    """Return the highest resident memory of this process so far, in MB."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024, 1)


def machine() -> dict[str, Any]:
    """Return what the figures belong to."""
    cpu = Path("/proc/cpuinfo").read_text()
    model = next((x.split(":")[1].strip() for x in cpu.splitlines() if "model name" in x), "")
    return {
        "cpu": model,
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
        "system": platform.system(),
    }


def report(name: str, figures: Mapping[str, Any]) -> None:
    """Print the figures and keep them."""
    text = json.dumps({"machine": machine(), **figures}, indent=2)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(text + "\n")
    print(text)
