"""The numbers of a whole image that a normalisation rests on, measured in one stream."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.convention import Normalization
from napari_onnxseg.prepare.gauge import Gauge, gauged
from napari_onnxseg.prepare.series import Blocks, Seen, Series
from napari_onnxseg.prepare.tally import Tally

Numbers = tuple[float, ...]


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
class StepStats:
    """What was measured for one step of a chain; empty where it needs nothing of the kind.

    Parameters
    ----------
    step : int
        Its place in the chain, from 1.
    op : str
        What it does.
    low, high : tuple of float
        Values at its percentiles, one for all channels or one a channel.
    mean, std : tuple of float
        Of what it was given.
    reference_mean, reference_std : tuple of float
        Of the image before the chain.
    """

    step: int
    op: str
    low: Numbers = ()
    high: Numbers = ()
    mean: Numbers = ()
    std: Numbers = ()
    reference_mean: Numbers = ()
    reference_std: Numbers = ()

    @property
    def flat(self) -> bool:
        """Whether some channel has no spread at all."""
        spans = [h - w for w, h in zip(self.low, self.high, strict=False)]
        return any(span == 0 for span in (*self.std, *spans))


@dataclass(frozen=True, slots=True)
class IntensityStats:
    """Intensities of an image.

    Parameters
    ----------
    channels : tuple of ChannelStats
        One an image channel; zeros for those that the network does not see.
    joint : ChannelStats
        All channels that the network sees together, or their mixture. For a chain whose
        first measured step comes after a step that is no line: of what that step was given.
    invalid : int
        Pixels that are no data.
    steps : tuple of StepStats
        For a chain of steps: what each one rests on.
    """

    channels: tuple[ChannelStats, ...]
    joint: ChannelStats
    invalid: int
    steps: tuple[StepStats, ...] = ()


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
    series = Series(Seen(blocks, channels, nodata, alpha))
    wanted = normalization.method == "percentile"
    percents = (normalization.low, normalization.high) if wanted else ()
    if normalization.per_channel:
        return stats_of(series, gauged(series, alone=percents), percents, alone=True)
    return stats_of(series, gauged(series, joint=percents), percents, alone=False)


def stats_of(
    series: Series, gauge: Gauge, percents: tuple[float, ...] = (), *, alone: bool = False
) -> IntensityStats:
    """Write down what was found.

    Parameters
    ----------
    series : Series
        What was measured.
    gauge : Gauge
        The numbers.
    percents : tuple of float
        The low and the high percentile, where any were asked for.
    alone : bool
        Whether they were asked of each channel by itself.

    Returns
    -------
    IntensityStats
        By image channel; a mixture has no channels of its own.
    """
    single = len(gauge.tallies) == 1
    records = {
        n: _record(tally, gauge, n, percents if alone or single else ())
        for n, tally in gauge.tallies.items()
    }
    joint = _record(gauge.together, gauge, None, () if alone and not single else percents)
    sources = () if series.mixes else series.sources
    by_channel = {c: records.get(n) for n, c in enumerate(sources)}
    channels = tuple(
        by_channel.get(c) or ChannelStats.nothing() for c in range(series.image_channels)
    )
    return IntensityStats(channels, joint, series.invalid)


def moments(tally: Tally) -> tuple[float, float]:
    """Return mean and standard deviation; a flat series has no spread at all, no values 0."""
    if not tally.count:
        return 0.0, 0.0
    if tally.minimum == tally.maximum:
        return tally.minimum, 0.0
    return tally.mean, sqrt(tally.squares / tally.count)


def _record(
    tally: Tally, gauge: Gauge, number: int | None, percents: tuple[float, ...]
) -> ChannelStats:
    """Write down one series, or all together."""
    if not tally.count:
        return ChannelStats.nothing()
    mean, std = moments(tally)
    low, high = tally.minimum, tally.maximum
    if percents:
        low, high = (gauge.percentile(number, percent) for percent in percents)
    return ChannelStats(tally.count, tally.minimum, tally.maximum, mean, std, low, high)
