"""Order statistics of values that do not fit memory, exact, in a few passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.types import AnyArray

Counts = NDArray[np.int64]

STEP_BITS = 16
"""Bits of a key that one pass settles."""


def key_bits(dtype: np.dtype[Any]) -> int:
    """Return how many bits the keys of a dtype have: 8, 16, 32 or 64."""
    return int(min(np.dtype(dtype).itemsize, 8)) * 8


def keys_of(values: AnyArray) -> NDArray[Any]:
    """Return unsigned integers in the same order as the values, which must not be NaN."""
    native = values.astype(_stored(values.dtype), copy=False)
    unsigned = np.dtype(f"u{native.dtype.itemsize}")
    keys: NDArray[Any] = native.view(unsigned)
    sign = unsigned.type(1 << (key_bits(native.dtype) - 1))
    if native.dtype.kind == "i":
        keys = keys ^ sign
    elif native.dtype.kind == "f":
        keys = np.where(keys & sign, ~keys, keys | sign)
    return keys


def value_of(key: int, dtype: np.dtype[Any]) -> float:
    """Return the value that has this key."""
    stored = _stored(dtype)
    bits, sign = key_bits(stored), 1 << (key_bits(stored) - 1)
    if stored.kind == "i":
        key ^= sign
    elif stored.kind == "f":
        key = key ^ sign if key & sign else ~key & (2**bits - 1)
    return float(np.array(key, np.dtype(f"u{stored.itemsize}")).view(stored))


def count_leading(keys: NDArray[Any], bits: int) -> Counts:
    """Count keys by their first 16 bits (8 for keys of 8 bits)."""
    step = min(bits, STEP_BITS)
    leading = keys if bits == step else keys >> keys.dtype.type(bits - step)
    return np.bincount(leading.astype(np.intp, copy=False), minlength=2**step)


def _stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the native form that keys are taken from; long doubles lose their tail."""
    native = np.dtype(dtype).newbyteorder("=")
    return native if native.itemsize <= 8 else np.dtype(np.float64)


class RankSearch:
    """Finds the keys at given ranks, 16 bits a pass.

    Parameters
    ----------
    ranks : iterable of int
        Places in ascending order, from 0.
    leading : numpy.ndarray
        (65536,) or (256,) int64, counts by `count_leading` over all values.
    bits : int
        Bits of the keys.
    """

    def __init__(self, ranks: Iterable[int], leading: Counts, bits: int) -> None:
        self._bits = bits
        self._known = min(bits, STEP_BITS)
        self._places = {rank: (0, rank) for rank in ranks}
        self._narrow({0: leading}, self._known)

    @property
    def done(self) -> bool:
        """Whether all bits are settled."""
        return self._known == self._bits

    def empty_counts(self) -> dict[int, Counts]:
        """Return counters to fill in the next pass, by the bits known so far."""
        prefixes = {prefix for prefix, _ in self._places.values()}
        return {prefix: np.zeros(2**STEP_BITS, np.int64) for prefix in prefixes}

    def count(self, keys: NDArray[Any], counts: Mapping[int, Counts]) -> None:
        """Count the keys that begin with a known prefix by their next 16 bits."""
        kind, rest = keys.dtype.type, self._bits - self._known
        leading = keys >> kind(rest)
        for prefix, total in counts.items():
            within = keys[leading == kind(prefix)] >> kind(rest - STEP_BITS)
            digits = (within & kind(2**STEP_BITS - 1)).astype(np.intp, copy=False)
            total += np.bincount(digits, minlength=2**STEP_BITS)

    def settle(self, counts: Mapping[int, Counts]) -> None:
        """End a pass."""
        self._narrow(counts, STEP_BITS)
        self._known += STEP_BITS

    def keys(self) -> dict[int, int]:
        """Return the key at each rank, once `done`."""
        return {rank: prefix for rank, (prefix, _) in self._places.items()}

    def _narrow(self, counts: Mapping[int, Counts], step: int) -> None:
        """Find the bin of each rank."""
        below = {prefix: np.cumsum(total) for prefix, total in counts.items()}
        for rank, (prefix, rest) in self._places.items():
            place = int(np.searchsorted(below[prefix], rest, side="right"))
            before = int(below[prefix][place - 1]) if place else 0
            self._places[rank] = (prefix << step | place, rest - before)


def percentile_ranks(percent: float, count: int) -> tuple[int, int, float]:
    """Return the two ranks around a percentile and the way between them, as numpy does."""
    place = (count - 1) * (percent / 100)
    lower = floor(place)
    return lower, min(lower + 1, count - 1), place - lower


def between(low: float, high: float, way: float) -> float:
    """Interpolate so that both ends are met exactly, as numpy does."""
    return low + (high - low) * way if way < 0.5 else high - (high - low) * (1 - way)
