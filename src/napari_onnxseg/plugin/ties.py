"""Connections that are undone together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


class Ties:
    """Connections to objects that outlive a widget, undone when the widget goes."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def connect(self, event: Any, slot: Callable[..., object]) -> None:
        """Connect a slot to an event until `undo`.

        Parameters
        ----------
        event : psygnal or napari event
            Anything with ``connect`` and ``disconnect``.
        slot : callable
            What to call.
        """
        event.connect(slot)
        self.on_undo(partial(event.disconnect, slot))

    def on_undo(self, action: Callable[[], object]) -> None:
        """Remember what else to do when the widget goes.

        Parameters
        ----------
        action : callable
            Called once.
        """
        self._undo.append(action)

    def undo(self) -> None:
        """Undo everything, the latest first; a second call does nothing."""
        while self._undo:
            self._undo.pop()()
