"""Which chunks of a pyramid lag behind its finest level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil
from threading import Lock

Spans = tuple[tuple[int, int], ...]
"""First index and one past the last, per axis."""


class Stale:
    """Chunks of level 1 that lag behind the full resolution; for any number of threads."""

    def __init__(self) -> None:
        self._places: set[tuple[int, ...]] = set()
        self._lock = Lock()

    def add(self, spans: Spans, chunks: Sequence[int]) -> None:
        """Enter the chunks that a box touches, after it was written."""
        with self._lock:
            self._places.update(chunks_of(spans, chunks))

    def take(self) -> set[tuple[int, ...]]:
        """Return all chunks entered and forget them."""
        with self._lock:
            places, self._places = self._places, set()
            return places


def chunks_of(spans: Spans, chunks: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the place of every chunk that a box touches.

    Parameters
    ----------
    spans : tuple of (int, int)
        First index and one past the last, per axis.
    chunks : sequence of int
        Sides of a chunk.

    Yields
    ------
    tuple of int
        Number of the chunk on each axis.
    """
    sided = zip(spans, chunks, strict=True)
    yield from product(*(range(a // side, ceil(b / side)) for (a, b), side in sided))


def parts_of(spans: Spans, sides: Sequence[int]) -> Iterator[Spans]:
    """Cut spans at the borders of chunks.

    Parameters
    ----------
    spans : tuple of (int, int)
        First index and one past the last, per axis.
    sides : sequence of int
        Sides of a chunk.

    Yields
    ------
    tuple of (int, int)
        The spans of each part, row-major.
    """
    cut = [
        [(max(a, n * side), min(b, (n + 1) * side)) for n in range(a // side, ceil(b / side))]
        for (a, b), side in zip(spans, sides, strict=True)
    ]
    yield from product(*cut)
