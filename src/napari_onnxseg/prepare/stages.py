"""The operations of a chain with all their numbers, done in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.types import AnyArray

BLOCK_PX = 1 << 16
"""Pixels worked on at once: two float32 blocks of this size stay in a core's cache."""

_NEGLIGIBLE = 2.0**-23
"""The last digit of a float32 near 1."""


class Stage(Protocol):
    """An operation that needs to know no more than the values it is given."""

    @property
    def even(self) -> bool:
        """Whether it does the same to every channel, each by itself."""
        ...

    def apply(self, values: AnyArray) -> None:
        """Change (C, ...) floats in place."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """(x - offset) * gain + shift.

    Parameters
    ----------
    offset, gain, shift : tuple of float
        One for all channels or one a channel, all of the same length.
    """

    offset: tuple[float, ...] = (0.0,)
    gain: tuple[float, ...] = (1.0,)
    shift: tuple[float, ...] = (0.0,)

    @property
    def even(self) -> bool:
        """Whether it does the same to every channel."""
        return all(len(set(numbers)) == 1 for numbers in (self.offset, self.gain, self.shift))

    def of(self, channel: int) -> tuple[float, float, float]:
        """Return offset, gain and shift of one channel."""
        place = channel if len(self.gain) > 1 else 0
        return self.offset[place], self.gain[place], self.shift[place]

    def then(self, other: Line) -> Line:
        """Return both lines, one after the other, as one."""
        count = max(len(self.gain), len(other.gain))
        joined = [_joined(self.of(channel), other.of(channel)) for channel in range(count)]
        offset, gain, shift = zip(*joined, strict=True)
        return Line(offset, gain, shift)

    def apply(self, values: AnyArray) -> None:
        """Change (C, ...) floats in place."""
        for part, channel in _parts(values, len(self.gain)):
            straighten(part, *self.of(channel))


@dataclass(frozen=True, slots=True)
class Clip:
    """Cut to low..high; infinite where there is no bound.

    Parameters
    ----------
    low, high : tuple of float
        One for all channels or one a channel, both of the same length.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def even(self) -> bool:
        """Whether it does the same to every channel."""
        return len(set(self.low)) == len(set(self.high)) == 1

    def apply(self, values: AnyArray) -> None:
        """Change (C, ...) floats in place."""
        for part, channel in _parts(values, len(self.low)):
            cut(part, self.low[channel], self.high[channel])


@dataclass(frozen=True, slots=True)
class Binarize:
    """1 above a threshold, else 0.

    Parameters
    ----------
    threshold : tuple of float
        One for all channels or one a channel.
    """

    threshold: tuple[float, ...]

    @property
    def even(self) -> bool:
        """Whether it does the same to every channel."""
        return len(set(self.threshold)) == 1

    def apply(self, values: AnyArray) -> None:
        """Change (C, ...) floats in place."""
        for part, channel in _parts(values, len(self.threshold)):
            _flags(part, part > part.dtype.type(self.threshold[channel]))


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """1 / (1 + exp(-x))."""

    @property
    def even(self) -> bool:
        """Whether it does the same to every channel."""
        return True

    def apply(self, values: AnyArray) -> None:
        """Change (C, ...) floats in place."""
        np.negative(values, out=values)
        np.exp(values, out=values)
        values += 1
        np.reciprocal(values, out=values)


@dataclass(frozen=True, slots=True)
class Softmax:
    """The softmax over the channels."""

    @property
    def even(self) -> bool:
        """Whether it does the same to every channel, each by itself."""
        return False

    def apply(self, values: AnyArray) -> None:
        """Change (C, ...) floats in place."""
        values -= values.max(axis=0)
        np.exp(values, out=values)
        values /= values.sum(axis=0)


@dataclass(frozen=True, slots=True)
class Cast:
    """What a dtype can hold: fractions are dropped, values outside cut to its range.

    Parameters
    ----------
    dtype : str
        Numpy name.
    """

    dtype: str

    @property
    def even(self) -> bool:
        """Whether it does the same to every channel."""
        return True

    def apply(self, values: AnyArray) -> None:
        """Change (C, ...) floats in place."""
        kind = np.dtype(self.dtype)
        if kind.kind == "b":
            _flags(values, values != 0)
            return
        if kind.kind in "iu":
            np.trunc(values, out=values)
        cut(values, *bounds_of(kind, values.dtype))
        if kind.kind == "f":
            values[...] = values.astype(kind)


def apply_stages(values: AnyArray, stages: Sequence[Stage]) -> None:
    """Do a chain in place, a few rows of all channels at a time.

    Parameters
    ----------
    values : numpy.ndarray
        (C, Y, X) or (C, Z, Y, X) or (C, N) float32 or float64, writable, any strides. What
        is NaN stays NaN.
    stages : sequence of Stage
        In their order.
    """
    if not stages:
        return
    with np.errstate(invalid="ignore", over="ignore"):
        for rows in row_blocks(values.shape[1:], len(values)):
            for stage in stages:
                stage.apply(values[:, rows])


def folded(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """Return the same chain with neighbouring lines made one, and no line that does nothing.

    Parameters
    ----------
    stages : iterable of Stage
        In their order.

    Returns
    -------
    tuple of Stage
        At most as many.
    """
    kept: list[Stage] = []
    for stage in stages:
        if isinstance(stage, Line) and kept and isinstance(kept[-1], Line):
            kept[-1] = kept[-1].then(stage)
        else:
            kept.append(stage)
    return tuple(stage for stage in kept if stage != Line())


def row_blocks(shape: tuple[int, ...], channels: int = 1) -> Iterator[slice]:
    """Divide the first axis so that a block of all channels stays in the cache."""
    rows = max(1, BLOCK_PX // max(1, channels * prod(shape[1:])))
    for start in range(0, shape[0], rows):
        yield slice(start, start + rows)


def straighten(work: NDArray[Any], offset: float, gain: float, shift: float = 0.0) -> None:
    """Compute (x - offset) * gain + shift in place; the offset's own rounding is put right."""
    kind = work.dtype.type
    near = kind(offset)
    rest = (float(near) - offset) * gain + shift
    if near:
        np.subtract(work, near, out=work)
    np.multiply(work, kind(gain), out=work)
    if abs(rest) > _NEGLIGIBLE or (shift and rest):
        np.add(work, kind(rest), out=work)


def cut(work: NDArray[Any], low: float, high: float) -> None:
    """Cut to a range in place."""
    kind = work.dtype.type
    np.clip(work, kind(low), kind(high), out=work)


def bounds_of(dtype: np.dtype[Any], kind: np.dtype[Any]) -> tuple[float, float]:
    """Return the smallest and largest value of ``dtype`` that the float ``kind`` can hold.

    Parameters
    ----------
    dtype : numpy.dtype
        An integer or float.
    kind : numpy.dtype
        The float that values are worked on in.

    Returns
    -------
    low : float
        The smallest value; it can be cast to ``dtype``.
    high : float
        The largest value; it can be cast to ``dtype``.
    """
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    limits = np.iinfo(dtype)
    high = kind.type(limits.max)
    if int(high) > limits.max:
        high = np.nextafter(high, kind.type(0))
    return float(limits.min), float(high)


def _joined(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Make two lines one; values that the second one brings to its shift stay exact."""
    (offset, gain, shift), (next_offset, next_gain, next_shift) = first, second
    turning = offset + (next_offset - shift) / gain if gain else inf
    if isfinite(turning):
        return turning, gain * next_gain, next_shift
    return offset, gain * next_gain, (shift - next_offset) * next_gain + next_shift


def _parts(values: AnyArray, numbers: int) -> Iterator[tuple[AnyArray, int]]:
    """Give all values at once where one number holds for them, or channel by channel."""
    if numbers == 1:
        yield values, 0
    else:
        for channel, plane in enumerate(values):
            yield plane, channel


def _flags(values: AnyArray, flags: NDArray[np.bool_]) -> None:
    """Write flags as 0 and 1; what is NaN stays NaN."""
    np.copyto(values, flags, where=~np.isnan(values))
