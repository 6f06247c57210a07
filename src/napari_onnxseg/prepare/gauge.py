"""Moments and percentiles of series of values, exact, in as few passes as they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from napari_onnxseg.prepare.ordering import (
    RankSearch,
    between,
    key_bits,
    keys_of,
    percentile_ranks,
    value_of,
)
from napari_onnxseg.prepare.series import Series
from napari_onnxseg.prepare.tally import Tally, joined

Group = tuple[int, ...]
"""Numbers of the series that are taken together."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """What was found.

    Parameters
    ----------
    tallies : mapping of int to Tally
        Moments of each series that has a valid value.
    together : Tally
        Moments of all of them.
    values : mapping
        Value of each percentile asked for, by the numbers of the series it was asked of.
    """

    tallies: Mapping[int, Tally]
    together: Tally
    values: Mapping[Group, Mapping[float, float]]

    def tally(self, number: int | None) -> Tally:
        """Return the moments of one series, or of all; empty when none is valid."""
        if number is None:
            return self.together
        return self.tallies.get(number, Tally(self.together.dtype))

    def percentile(self, number: int | None, percent: float) -> float:
        """Return a percentile of one series or of all; the extremes need not be asked for."""
        tally = self.tally(number)
        if not tally.count:
            return 0.0
        if percent in (0, 100):
            return tally.maximum if percent else tally.minimum
        return self.values[tuple(self.tallies) if number is None else (number,)][percent]


def gauged(series: Series, alone: Iterable[float] = (), joint: Iterable[float] = ()) -> Gauge:
    """Measure series.

    Parameters
    ----------
    series : Series
        Passes over the values.
    alone : iterable of float
        Percentiles in [0, 100] of each series by itself.
    joint : iterable of float
        Percentiles of all series together.

    Returns
    -------
    Gauge
        Integers up to 16 bit take one pass; percentiles take two for 32 bit and four for 64.
    """
    extremes = {0.0, 100.0}  # known anyway
    alone, joint = set(alone) - extremes, set(joint) - extremes
    tallies = _tallied(series, ordered=bool(alone or joint))
    asked: dict[Group, set[float]] = {}
    if tallies:
        wanted = [*(((n,), alone) for n in tallies), (tuple(tallies), joint)]
        for group, percents in wanted:
            if percents:
                asked.setdefault(group, set()).update(percents)
    return Gauge(tallies, joined(tallies.values()), _values(series, tallies, asked))


def _tallied(series: Series, *, ordered: bool) -> dict[int, Tally]:
    """Make the first pass; series without a valid value are left out."""
    tallies: dict[int, Tally] = {}
    for number, values in series:
        tallies.setdefault(number, Tally(values.dtype)).add(values, ordered=ordered)
    return {number: tallies[number].closed() for number in sorted(tallies)}


def _values(
    series: Series, tallies: Mapping[int, Tally], asked: Mapping[Group, set[float]]
) -> dict[Group, dict[float, float]]:
    """Find the percentiles of each group."""
    over = {group: joined(tallies[n] for n in group) for group in asked}
    searches = {group: _search(over[group], asked[group]) for group in asked}
    while not all(search.done for search in searches.values()):
        _narrow(series, searches)
    return {
        group: {percent: _at(searches[group], over[group], percent) for percent in percents}
        for group, percents in asked.items()
    }


def _search(tally: Tally, percents: Iterable[float]) -> RankSearch:
    """Start the search for the values around percentiles."""
    assert tally.leading is not None
    ranks = {rank for p in percents for rank in percentile_ranks(p, tally.count)[:2]}
    return RankSearch(ranks, tally.leading, key_bits(tally.dtype))


def _narrow(series: Series, searches: Mapping[Group, RankSearch]) -> None:
    """Make one more pass."""
    counts = {group: search.empty_counts() for group, search in searches.items()}
    for number, values in series:
        keys = keys_of(values)
        for group, search in searches.items():
            if number in group:
                search.count(keys, counts[group])
    for group, search in searches.items():
        search.settle(counts[group])


def _at(search: RankSearch, tally: Tally, percent: float) -> float:
    """Interpolate between the values found."""
    found = {rank: value_of(key, tally.dtype) for rank, key in search.keys().items()}
    lower, upper, way = percentile_ranks(percent, tally.count)
    return between(found[lower], found[upper], way)
