"""A request to stop that reaches from one thread into native code of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock

from napari_onnxseg.errors import CancelledError


class Cancel:
    """A switch that a user may throw once, from any thread.

    A run polls it between tiles and registers what ends a call that is under way.
    """

    def __init__(self) -> None:
        self._event = Event()
        self._lock = Lock()
        self._hooks: list[Callable[[], None]] = []

    @property
    def requested(self) -> bool:
        """Whether the run should stop."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask the run to stop; returns at once."""
        with self._lock:
            self._event.set()
            hooks = tuple(self._hooks)
        for hook in hooks:
            hook()

    def check(self) -> None:
        """Raise when a stop was asked for.

        Raises
        ------
        CancelledError
            When `set` was called.
        """
        if self._event.is_set():
            raise CancelledError("The run was cancelled.")

    @contextmanager
    def calling(self, hook: Callable[[], None]) -> Iterator[None]:
        """Call ``hook`` on a stop while the block runs, at once when it was asked before.

        Parameters
        ----------
        hook : callable
            Ends what is under way; called from the thread that asks.

        Yields
        ------
        None
            Nothing.
        """
        with self._lock:
            self._hooks.append(hook)
            late = self._event.is_set()
        if late:
            hook()
        try:
            yield
        finally:
            with self._lock:
                self._hooks.remove(hook)
