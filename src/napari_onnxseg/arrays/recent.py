"""Pieces of a file that were just decoded, kept for the region beside."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

from napari_onnxseg.types import AnyArray


class Recent:
    """The pieces used last, up to an amount of memory; for any number of threads.

    Parameters
    ----------
    limit_bytes : int
        Memory that may be kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._pieces: OrderedDict[Hashable, AnyArray] = OrderedDict()
        self._lock = Lock()
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._pieces)

    def get(self, key: Hashable, make: Callable[[], AnyArray]) -> AnyArray:
        """Return a piece, made anew when it is not at hand.

        Parameters
        ----------
        key : hashable
            Which piece.
        make : callable
            Makes it; two threads may do so at once.

        Returns
        -------
        numpy.ndarray
            Not to be changed.
        """
        with self._lock:
            if key in self._pieces:
                self._pieces.move_to_end(key)
                return self._pieces[key]
        piece = make()
        with self._lock:
            if key not in self._pieces:
                self._pieces[key] = piece
                self.held_bytes += piece.nbytes
            while self.held_bytes > self._limit:
                self.held_bytes -= self._pieces.popitem(last=False)[1].nbytes
        return piece
