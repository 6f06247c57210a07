"""Half-open boxes of pixels in any number of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.errors import TileError


@dataclass(frozen=True, slots=True)
class Region:
    """A half-open box of pixels; it may lie partly or wholly outside the image.

    Parameters
    ----------
    start : tuple of int
        First pixel on each axis.
    stop : tuple of int
        One past the last pixel on each axis; never below ``start``.

    Raises
    ------
    TileError
        When the two differ in length or a stop lies before its start.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.start) != len(self.stop):
            raise TileError(
                f"A region needs as many starts as stops, got {self.start}, {self.stop}."
            )
        if any(b < a for a, b in zip(self.start, self.stop, strict=True)):
            raise TileError(
                f"A region cannot stop before it starts, got {self.start} to {self.stop}."
            )

    @classmethod
    def of_shape(cls, shape: Sequence[int]) -> Region:
        """Return the box of an array of this shape."""
        return cls((0,) * len(shape), tuple(int(n) for n in shape))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.start)

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels on each axis."""
        return tuple(b - a for a, b in zip(self.start, self.stop, strict=True))

    @property
    def size(self) -> int:
        """Pixels in all."""
        return prod(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The box as an index; only meaningful where ``start`` is not negative."""
        return tuple(slice(a, b) for a, b in zip(self.start, self.stop, strict=True))

    def grow(self, before: Sequence[int], after: Sequence[int] | None = None) -> Region:
        """Return the box widened by ``before`` and ``after`` (same as before) pixels a side."""
        after = before if after is None else after
        return Region(
            tuple(a - g for a, g in zip(self.start, before, strict=True)),
            tuple(b + g for b, g in zip(self.stop, after, strict=True)),
        )

    def shift(self, offset: Sequence[int]) -> Region:
        """Return the box moved by ``offset`` pixels."""
        return Region(
            tuple(a + o for a, o in zip(self.start, offset, strict=True)),
            tuple(b + o for b, o in zip(self.stop, offset, strict=True)),
        )

    def intersect(self, other: Region) -> Region:
        """Return the common box, of size zero when the two do not meet."""
        start = tuple(max(a, c) for a, c in zip(self.start, other.start, strict=True))
        stop = tuple(min(b, d) for b, d in zip(self.stop, other.stop, strict=True))
        return Region(start, tuple(max(a, b) for a, b in zip(start, stop, strict=True)))

    def contains(self, other: Region) -> bool:
        """Tell whether every pixel of ``other`` lies in this box."""
        return self.intersect(other) == other

    def relative_to(self, origin: Region) -> Region:
        """Return the box in the pixel coordinates of ``origin``."""
        return self.shift(tuple(-a for a in origin.start))


def reflected(start: int, stop: int, length: int) -> NDArray[np.intp]:
    """Return which pixel of an axis stands at each place of a span that may leave it.

    Parameters
    ----------
    start, stop : int
        Half-open span in pixels; it may lie outside ``[0, length)`` by any distance.
    length : int
        Pixels on the axis, at least 1.

    Returns
    -------
    numpy.ndarray
        (stop - start,) intp, in ``[0, length)``: what `numpy.pad` does with
        ``mode="reflect"``, the border pixel not repeated; one pixel alone fills everything.
    """
    places = np.arange(start, stop, dtype=np.intp)
    if length == 1:
        return np.zeros_like(places)
    period = 2 * (length - 1)
    folded = places % period
    return np.minimum(folded, period - folded)
