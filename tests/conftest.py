"""Settings of every test; knows neither Qt nor napari, so that the core is tested without."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

os.environ.setdefault("NAPARI_CONFIG", "")  # no settings from or to the user's home
os.environ.setdefault("QT_API", "pyqt6")

GRACE_S = 2.0
FOREIGN = (
    "Dummy",
    "pydevd",
    "execnet",
    "ThreadPoolExecutor",
    "asyncio",
    "QueueFeederThread",
    "zarr",
)
"""Threads of the test runner and of libraries that keep theirs for the process."""


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + GRACE_S
    while (left := _new_threads(before)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, f"threads left running: {left}"


def _new_threads(before: set[threading.Thread]) -> list[str]:
    """Name the threads that a test has left behind."""
    new = (thread for thread in threading.enumerate() if thread not in before)
    return [thread.name for thread in new if not thread.name.startswith(FOREIGN)]
