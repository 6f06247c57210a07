"""The numbers of a whole image that a normalisation rests on, measured in one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.convention import Normalization
from napari_onnxseg.prepare.mixing import mixed
from napari_onnxseg.prepare.ordering import (
    RankSearch,
    between,
    key_bits,
    keys_of,
    percentile_ranks,
    value_of,
)
from napari_onnxseg.prepare.tally import Tally, joined
from napari_onnxseg.prepare.validity import invalid_pixels
from napari_onnxseg.types import AnyArray, Pixels

Blocks = Callable[[], Iterable[Pixels]]
"""Gives a fresh pass over the image in (C, ...) blocks."""

_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class ChannelStats:
    """Intensities of the valid pixels of one channel, or of several together.

    Parameters
    ----------
    count : int
        Valid values.
    minimum, maximum, mean, std : float
        In raw units; the standard deviation is that of a population.
    low, high : float
        The percentiles of the normalisation, interpolated as numpy does; minimum and
        maximum where no percentiles were asked for.
    """

    count: int
    minimum: float
    maximum: float
    mean: float
    std: float
    low: float
    high: float

    @classmethod
    def nothing(cls) -> ChannelStats:
        """Return the record of no values: zeros."""
        return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class IntensityStats:
    """Intensities of an image.

    Parameters
    ----------
    channels : tuple of ChannelStats
        One an image channel; zeros for those that the network does not see.
    joint : ChannelStats
        All channels that the network sees together, or their mixture.
    invalid : int
        Pixels that are no data.
    """

    channels: tuple[ChannelStats, ...]
    joint: ChannelStats
    invalid: int


def measure(
    blocks: Blocks,
    normalization: Normalization,
    *,
    nodata: float | None = None,
    alpha: int | None = None,
    channels: ChannelMap | None = None,
) -> IntensityStats:
    """Measure an image once, exactly, in bounded memory.

    Integers up to 16 bit take one pass; percentiles take two for 32 bit and four for 64.

    Parameters
    ----------
    blocks : callable
        Gives a fresh pass over (C, Y, X) or (C, Z, Y, X) blocks of the image, in the same
        order each time.
    normalization : Normalization
        Says which percentiles are wanted and whether channels count by themselves.
    nodata : float, optional
        Value that marks no data; NaN and infinities always do.
    alpha : int, optional
        Image channel that is opacity: not measured, and 0 there marks no data.
    channels : ChannelMap, optional
        Restricts the measurement to what the network sees, and brings its own ``alpha``.

    Returns
    -------
    IntensityStats
        The numbers; zeros where nothing is valid.
    """
    stream = _Stream(blocks, channels, alpha, nodata)
    tallies = _tallied(stream, ordered=normalization.method == "percentile")
    bounds = _bounds(stream, tallies, normalization)
    records = {n: _record(tally, bounds.get((n,))) for n, tally in tallies.items()}
    joint = _record(joined(tallies.values()), bounds.get(tuple(tallies)))
    return IntensityStats(stream.by_channel(records), joint, stream.invalid)


class _Stream:
    """Passes over the valid values of an image, one 1-D series a seen channel or mixture."""

    def __init__(
        self, blocks: Blocks, channels: ChannelMap | None, alpha: int | None, nodata: float | None
    ) -> None:
        self._blocks, self._channels, self._alpha, self._nodata = blocks, channels, alpha, nodata
        self._count = 0
        self.invalid = 0

    def __iter__(self) -> Iterator[tuple[int, AnyArray]]:
        self.invalid = 0
        for block in self._blocks():
            yield from self._series(block)

    def by_channel(self, records: Mapping[int, ChannelStats]) -> tuple[ChannelStats, ...]:
        """Sort the records of the series by image channel."""
        channels, nothing = self._map(self._count), ChannelStats.nothing()
        used = () if channels.weights else channels.used
        seen = {c: records.get(n, nothing) for n, c in enumerate(used)}
        return tuple(seen.get(c, nothing) for c in range(self._count))

    def _series(self, block: Pixels) -> Iterator[tuple[int, AnyArray]]:
        """Give the valid values of a block in small pieces, with the number of their series."""
        self._count = len(block)
        channels = self._map(self._count)
        invalid = invalid_pixels(block, channels, self._nodata)
        valid = None if invalid is None else ~invalid
        self.invalid += 0 if invalid is None else int(np.count_nonzero(invalid))
        planes = [mixed(block, channels)] if channels.weights else [block[c] for c in channels.used]
        for number, plane in enumerate(planes):
            values = plane.reshape(-1) if valid is None else plane[valid]
            for start in range(0, values.size, _PIECE):
                yield number, values[start : start + _PIECE]

    def _map(self, count: int) -> ChannelMap:
        """Return what is seen: the map given, or every channel but the opacity."""
        if self._channels is not None:
            return self._channels
        return ChannelMap(tuple(c for c in range(count) if c != self._alpha), None, self._alpha, "")


def _tallied(stream: _Stream, *, ordered: bool) -> dict[int, Tally]:
    """Make the first pass; series without a valid value are left out."""
    tallies: dict[int, Tally] = {}
    for number, values in stream:
        tallies.setdefault(number, Tally(values.dtype)).add(values, ordered=ordered)
    return {number: tallies[number].closed() for number in sorted(tallies)}


def _bounds(
    stream: _Stream, tallies: Mapping[int, Tally], normalization: Normalization
) -> dict[tuple[int, ...], tuple[float, float]]:
    """Find the two percentiles of each series, or of all together, by their numbers."""
    if normalization.method != "percentile" or not tallies:
        return {}
    together = tuple(tallies)
    groups = [(n,) for n in together] if normalization.per_channel else [together]
    percents = (normalization.low, normalization.high)
    searches = {group: _search(joined(tallies[n] for n in group), percents) for group in groups}
    while not all(search.done for search in searches.values()):
        _narrow(stream, searches)
    return {
        group: _at(search, joined(tallies[n] for n in group), percents)
        for group, search in searches.items()
    }


def _search(tally: Tally, percents: tuple[float, float]) -> RankSearch:
    """Start the search for the values around two percentiles."""
    assert tally.leading is not None
    ranks = {rank for p in percents for rank in percentile_ranks(p, tally.count)[:2]}
    return RankSearch(ranks, tally.leading, key_bits(tally.dtype))


def _narrow(stream: _Stream, searches: Mapping[tuple[int, ...], RankSearch]) -> None:
    """Make one more pass."""
    counts = {group: search.empty_counts() for group, search in searches.items()}
    for number, values in stream:
        keys = keys_of(values)
        for group, search in searches.items():
            if number in group:
                search.count(keys, counts[group])
    for group, search in searches.items():
        search.settle(counts[group])


def _at(search: RankSearch, tally: Tally, percents: tuple[float, float]) -> tuple[float, float]:
    """Interpolate between the values found."""
    found = {rank: value_of(key, tally.dtype) for rank, key in search.keys().items()}
    around = [percentile_ranks(p, tally.count) for p in percents]
    low, high = (between(found[lower], found[upper], way) for lower, upper, way in around)
    return low, high


def _record(tally: Tally, bounds: tuple[float, float] | None) -> ChannelStats:
    """Write down what was found."""
    if not tally.count:
        return ChannelStats.nothing()
    flat = tally.minimum == tally.maximum
    mean = tally.minimum if flat else tally.mean
    std = 0.0 if flat else sqrt(tally.squares / tally.count)
    low, high = bounds or (tally.minimum, tally.maximum)
    return ChannelStats(tally.count, tally.minimum, tally.maximum, mean, std, low, high)
