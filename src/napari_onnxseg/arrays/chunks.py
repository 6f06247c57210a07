"""How a result is cut into chunks on disk, and who may write which of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise, product
from math import ceil, prod
from threading import Lock

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region

SMALLEST, LARGEST = 256, 2048
"""Sides of a chunk in pixels."""

MANY_CHUNKS = 20_000
"""Files beyond which folders get slow; larger chunks are chosen first."""

_STRIPES = 256


def chunk_sides(shape: Sequence[int], step: Sequence[int]) -> tuple[int, ...]:
    """Choose the chunks of a plane so that few of them are shared by two tiles.

    Parameters
    ----------
    shape : sequence of int
        Plane or volume in pixels.
    step : sequence of int
        Pixels from one kept part of a tile to the next, per axis, as the plan has them.

    Returns
    -------
    tuple of int
        Per axis a multiple or a divisor of the step within 256 to 2048 px where there is
        one, never more than the axis; in volumes the sides are at most 128 px.
    """
    if len(shape) > 2:
        return tuple(min(n, _multiple(s, 32, 128)) for n, s in zip(shape, step, strict=True))
    smallest = SMALLEST
    while True:
        sides = tuple(_multiple(s, smallest, LARGEST) for s in step)
        chunks = prod(ceil(n / side) for n, side in zip(shape, sides, strict=True))
        if chunks <= MANY_CHUNKS or smallest >= LARGEST:
            return tuple(min(n, side) for n, side in zip(shape, sides, strict=True))
        smallest *= 2


def slabs(shape: Sequence[int], chunks: Sequence[int], parts: int) -> tuple[Region, ...]:
    """Cut a plane into parts that share no chunk, for processes that write at the same time.

    Parameters
    ----------
    shape : sequence of int
        Plane or volume in pixels.
    chunks : sequence of int
        Sides of a chunk in pixels.
    parts : int
        How many slabs are wanted.

    Returns
    -------
    tuple of Region
        Bands along the first axis, in order, that cover the plane; fewer than asked for when
        there are not as many rows of chunks.

    Raises
    ------
    ChoiceError
        When fewer than one part is asked for.
    """
    if parts < 1:
        raise ChoiceError(f"A result is cut into 1 part or more, got {parts}.")
    rows = ceil(shape[0] / chunks[0])
    parts = min(parts, rows)
    edges = [min(rows * n // parts * chunks[0], shape[0]) for n in range(parts + 1)]
    rest = tuple(int(n) for n in shape[1:])
    return tuple(
        Region((top, *(0,) * len(rest)), (bottom, *rest)) for top, bottom in pairwise(edges)
    )


def is_aligned(region: Region, shape: Sequence[int], chunks: Sequence[int]) -> bool:
    """Tell whether a region is made of whole chunks.

    Parameters
    ----------
    region : Region
        Inside the plane.
    shape, chunks : sequence of int
        The plane and its chunks in pixels.

    Returns
    -------
    bool
        True when no chunk lies partly inside; then no lock is needed to write it.
    """
    spans = zip(region.start, region.stop, shape, chunks, strict=True)
    return all(a % side == 0 and (b % side == 0 or b == n) for a, b, n, side in spans)


def blocks_of(region: Region, sides: Sequence[int]) -> Iterator[Region]:
    """Cut a region along a grid that starts at the image's first pixel.

    Parameters
    ----------
    region : Region
        What is to be cut.
    sides : sequence of int
        Sides of the grid in pixels.

    Yields
    ------
    Region
        The parts, row-major.
    """
    spans = zip(region.start, region.stop, sides, strict=True)
    for place in product(*(_cuts(*span) for span in spans)):
        yield Region(*zip(*place, strict=True))


class ChunkLocks:
    """Lets one thread at a time change a chunk, and others work beside it."""

    def __init__(self) -> None:
        self._locks = tuple(Lock() for _ in range(_STRIPES))

    @contextmanager
    def over(self, spans: Sequence[tuple[int, int]], chunks: Sequence[int]) -> Iterator[None]:
        """Hold every chunk that a box touches.

        Parameters
        ----------
        spans : sequence of (int, int)
            First index and one past the last, per axis of the array.
        chunks : sequence of int
            Sides of a chunk, per axis of the array.

        Yields
        ------
        None
            While the chunks are held.
        """
        sided = zip(spans, chunks, strict=True)
        touched = [range(a // side, ceil(b / side)) for (a, b), side in sided]
        if prod(map(len, touched)) >= _STRIPES:
            needed = set(range(_STRIPES))
        else:
            needed = {hash(place) % _STRIPES for place in product(*touched)}
        with ExitStack() as held:
            for number in sorted(needed):  # one order for all, so that nobody waits in a circle
                held.enter_context(self._locks[number])
            yield


def _multiple(step: int, smallest: int, largest: int) -> int:
    """Return the multiple or divisor of a step nearest the smallest side, or that side."""
    if step <= smallest:
        step = max(step, 1)
        return min(ceil(smallest / step), largest // step) * step
    if step <= largest:
        return step
    return next((s for s in range(largest, smallest - 1, -1) if step % s == 0), largest)


def _cuts(start: int, stop: int, side: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of one axis."""
    while start < stop:
        end = min((start // side + 1) * side, stop)
        yield start, end
        start = end
