"""Ctrl-C as a request that a run can answer cleanly."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from types import FrameType

from napari_onnxseg.pipeline.cancel import Cancel


@contextmanager
def ctrl_c_sets(cancel: Cancel) -> Iterator[None]:
    """Let the first Ctrl-C set ``cancel``; a second one interrupts at once.

    Parameters
    ----------
    cancel : Cancel
        Ends the run, also inside native code.

    Yields
    ------
    None
        Nothing; the former handler is back afterwards.
    """
    if current_thread() is not main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # The handler may interrupt the very thread that holds the switch's lock.
        Thread(target=cancel.set, daemon=True).start()

    former = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
