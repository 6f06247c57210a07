"""The record of a run: what was chosen, what was measured, what really ran."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import Any

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import ModelCard

RUNTIME_PACKAGES = ("napari-onnxseg", "onnxruntime-gpu", "onnxruntime", "numpy")


class Stopwatch:
    """Seconds by stage; stages may run in several threads, their seconds then add up."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self._begin = time.perf_counter()
        self._seconds: dict[str, float] = {}
        self._lock = Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            with self._lock:
                self._seconds[name] = self._seconds.get(name, 0.0) + spent

    def seconds(self) -> dict[str, float]:
        """Return the seconds so far, ``"total"`` being the wall clock."""
        with self._lock:
            return {**self._seconds, "total": time.perf_counter() - self._begin}


@cache
def versions() -> dict[str, str]:
    """Return the versions of the packages that decide a result."""
    found = {}
    for name in RUNTIME_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def model_record(card: ModelCard) -> dict[str, Any]:
    """Return which model ran, by name and hash."""
    return {
        "name": card.name,
        "sha256": card.sha256,
        "file": card.path.name,
        "licence": card.licence,
        "classes": {str(c.id): c.name for c in card.classes},
        "facts": dict(card.facts),
    }


def plain(value: Any) -> Any:
    """Return a value of our records in JSON-able form."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, Path):
        return value.name
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no word for it
    return value


def run_record(card: ModelCard, job: Any, stack: ImageStack, watch: Stopwatch) -> dict[str, Any]:
    """Return what both kinds of run record: the model, the choices, the image, the versions.

    Parameters
    ----------
    card : ModelCard
        The model.
    job : SegmentJob or MatteJob
        The choices; what was left to automatic is left out.
    stack : ImageStack
        The image.
    watch : Stopwatch
        When the run began.

    Returns
    -------
    dict
        JSON-able.
    """
    chosen = {f.name: getattr(job, f.name) for f in fields(job)}
    return {
        "task": card.task,
        "started": watch.started.isoformat(timespec="seconds"),
        "model": model_record(card),
        "job": {k: plain(v) for k, v in chosen.items() if v is not None},
        "image": {"shape": list(stack.data.shape), "dtype": str(stack.dtype)},
        "versions": dict(versions()),
    }
