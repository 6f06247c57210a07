"""How many images run at once, in which order, and which has the computer for itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Gate:
    """Lets images begin in their order: some run together, a large one alone.

    Parameters
    ----------
    most : int
        Images that may run together, at least 1.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._running, self._alone, self._late = 0, False, 0
        self._expected: dict[int, None] = {}
        self._changed = Condition()

    def narrow(self) -> None:
        """Let one through at a time from now on, as an accelerator takes them."""
        with self._changed:
            self._most = 1

    def expect(self, number: int) -> None:
        """Take down that an image will come; called in the order of the images.

        Parameters
        ----------
        number : int
            Of the image.
        """
        with self._changed:
            self._expected[number] = None

    def forget(self, number: int) -> None:
        """Take down that an image is finished, whether it came or not.

        Parameters
        ----------
        number : int
            Of the image.
        """
        with self._changed:
            self._expected.pop(number, None)
            self._changed.notify_all()

    @contextmanager
    def passing(self, number: int, *, alone: bool = False) -> Iterator[None]:
        """Wait until all earlier images have begun and there is room, and hold a place.

        Parameters
        ----------
        number : int
            Of the image; one that comes again waits for nobody.
        alone : bool, optional
            Wait until nothing else runs, and let nothing else begin.

        Yields
        ------
        None
            While the place is held.
        """
        self._enter(number, alone)
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._alone = False
                self._changed.notify_all()

    def _enter(self, number: int, alone: bool) -> None:
        """Wait for a place and take it."""
        with self._changed:
            again = number not in self._expected
            self._late += again
            try:
                self._changed.wait_for(lambda: self._is_free(number, again, alone))
            finally:
                self._late -= again
            self._expected.pop(number, None)
            self._running += 1
            self._alone = alone
            self._changed.notify_all()

    def _is_free(self, number: int, again: bool, alone: bool) -> bool:
        """Tell whether an image may begin."""
        if not again and (self._late or number != next(iter(self._expected))):
            return False
        return self._running == 0 if alone else not self._alone and self._running < self._most
