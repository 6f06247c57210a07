"""From a chain of steps to stages: every number that a step needs is measured, in order.

Before a network the feeder does the stages. After a network, numbers of one block are
changed in place by ``apply_stages(values, settle_steps(steps, None, count=K).stages)``. Where
`steps.needs_statistics`, the raw numbers of the whole image must be there first (NaN where
there is no data), in any array that can be read again block by block::

    settled = settle_steps(steps, Seen(blocks), count=K, reference=Seen(image_blocks, channels))
    for block in blocks():
        apply_stages(block, settled.stages)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.gauge import Gauge, gauged
from napari_onnxseg.prepare.legs import Leg, legs_of
from napari_onnxseg.prepare.normalize import NOTHING_VALID, Affine, missing_words
from napari_onnxseg.prepare.series import Seen, Series
from napari_onnxseg.prepare.stages import Clip, Line, Stage, folded
from napari_onnxseg.prepare.stats import IntensityStats, StepStats, moments, stats_of
from napari_onnxseg.prepare.step_stages import check_counts, stage_of
from napari_onnxseg.prepare.steps import Step, needs_reference, needs_statistics

__all__ = ["Seen", "Settled", "chain_notes", "settle_steps"]


@dataclass(frozen=True, slots=True)
class Settled:
    """A chain with all its numbers.

    Parameters
    ----------
    stages : tuple of Stage
        For `stages.apply_stages`; neighbouring lines are one.
    stats : IntensityStats or None
        What was measured, ``stats.steps`` by step; None when nothing was needed.
    """

    stages: tuple[Stage, ...]
    stats: IntensityStats | None

    @property
    def measured(self) -> tuple[StepStats, ...]:
        """What the steps rest on."""
        return self.stats.steps if self.stats else ()

    def line(self, channels: int) -> tuple[Affine, tuple[Stage, ...]]:
        """Return the line that a chain begins with and is made of, and what is left to do.

        Parameters
        ----------
        channels : int
            Channels of the model.

        Returns
        -------
        affine : Affine
            The whole chain where that is one line, clipped to 0..1 or not; else x itself.
        stages : tuple of Stage
            Nothing, or the whole chain.
        """
        rest = self.stages
        line = rest[0] if rest and isinstance(rest[0], Line) else Line()
        rest = rest[1:] if rest and line is rest[0] else rest
        clip = rest == (Clip((0.0,), (1.0,)),)
        lines = [_through_zero(line.of(channel)) for channel in range(channels)]
        if (rest and not clip) or None in lines:
            return Affine((0.0,) * channels, (1.0,) * channels, False), self.stages
        offset, gain = zip(*(line for line in lines if line), strict=True)
        return Affine(offset, gain, clip), ()


def settle_steps(
    steps: Sequence[Step], seen: Seen | None, *, count: int, reference: Seen | None = None
) -> Settled:
    """Measure what the steps of a chain need, each after the steps before it.

    Steps that are lines change percentiles, means and deviations in a known way, so that
    all steps up to the next one that is no line share one measurement.

    Parameters
    ----------
    steps : sequence of Step
        In the order in which they are done.
    seen : Seen or None
        The whole image that the chain is done to, such as the image itself or what a
        network gave for it; None is enough where no step needs statistics.
    count : int
        Channels that the chain is done to.
    reference : Seen, optional
        The image that ``reference="input"`` means; ``seen`` when it is left out.

    Returns
    -------
    Settled
        The chain with its numbers.

    Raises
    ------
    ModelError
        When an image that is needed is missing, or numbers do not match the channels.
    """
    if seen is None and needs_statistics(steps):
        raise ModelError("The steps of the model need the image to be measured.")
    check_counts(steps, count)
    before = reference or seen
    referred = _Referred(steps, before) if before and needs_reference(steps) else None
    settled = _Settling(count, referred)
    for leg in legs_of(steps, count):
        settled.add(leg, seen)
    stats = replace(settled.stats, steps=tuple(settled.measured)) if settled.stats else None
    return Settled(tuple(settled.stages), stats)


def chain_notes(stats: IntensityStats) -> tuple[str, ...]:
    """Say what a user should know about the measurements of a chain.

    Parameters
    ----------
    stats : IntensityStats
        What was measured.

    Returns
    -------
    tuple of str
        Sentences: no data, and steps that were given a flat image.
    """
    if not stats.joint.count:
        return (NOTHING_VALID,)
    flat = [f"{found.step} ('{found.op}')" for found in stats.steps if found.flat]
    notes = [missing_words(stats.invalid)] if stats.invalid else []
    if flat:
        notes.append(f"An image without any contrast was given to step {flat[0]} of the model.")
    return tuple(notes)


class _Settling:
    """A chain that is being settled."""

    def __init__(self, count: int, referred: _Referred | None) -> None:
        self.count, self.referred = count, referred
        self.stages: list[Stage] = []
        self.measured: list[StepStats] = []
        self.stats: IntensityStats | None = None

    def add(self, leg: Leg, seen: Seen | None) -> None:
        """Measure what a leg is given, after the legs before it, and settle its steps."""
        source = None
        if leg.measures and seen is not None:
            series = Series(seen, tuple(self.stages))
            gauge = gauged(series, leg.percents(per_channel=True), leg.percents(per_channel=False))
            source = _Source(series, gauge, self.count)
            self.stats = self.stats or stats_of(series, gauge)
        line, stages = Line(), list[Stage]()
        for place, step in enumerate(leg.steps, leg.first):
            found = self._statistics(place, step, source, line)
            stage = stage_of(step, found)
            if isinstance(stage, Line):
                line = line.then(stage)
            stages += [stage] if stage else []
        self.stages += folded(stages)

    def _statistics(self, place: int, step: Step, source: _Source | None, line: Line) -> StepStats:
        """Return what a step rests on."""
        found = StepStats(place, step.op)
        if not step.needs_statistics:
            return found
        if step.needs_reference and self.referred:
            found = self.referred.statistics(step, found, self.count)
        if source is not None and not step.only_refers:
            found = source.statistics(step, found, line)
        numbers = (n for field in ("low", "high", "mean", "std") for n in getattr(found, field))
        if not all(map(isfinite, numbers)):
            raise ModelError(f"Step {place} ('{step.op}') was given numbers that are too large.")
        self.measured.append(found)
        return found


@dataclass(frozen=True, slots=True)
class _Source:
    """Statistics of what a leg is given."""

    series: Series
    gauge: Gauge
    count: int

    def statistics(self, step: Step, found: StepStats, line: Line) -> StepStats:
        """Return what a step rests on, after the line that stands before it in its leg."""
        channels = range(self.count if step.per_channel else 1)
        numbers = [self.series.number_of(c) if step.per_channel else None for c in channels]
        lines = [line.of(channel) for channel in channels]
        pairs = list(zip(numbers, lines, strict=True))
        low, high = (
            () if p is None else tuple(self._percentile(n, p, way) for n, way in pairs)
            for p in step.percentiles
        )
        if "variance" not in step.op:
            return replace(found, low=low, high=high)
        mean, std = zip(*(self._moments(*pair) for pair in pairs), strict=True)
        return replace(found, mean=mean, std=std)

    def _percentile(
        self, number: int | None, percent: float, line: tuple[float, float, float]
    ) -> float:
        """Return a percentile after a line, which may turn high and low round."""
        offset, gain, shift = line
        value = self.gauge.percentile(number, percent if gain >= 0 else 100 - percent)
        return (value - offset) * gain + shift

    def _moments(self, number: int | None, line: tuple[float, float, float]) -> tuple[float, float]:
        """Return mean and standard deviation after a line."""
        offset, gain, shift = line
        mean, std = moments(self.gauge.tally(number))
        return (mean - offset) * gain + shift, std * abs(gain)


class _Referred:
    """Statistics of the image before the chain."""

    def __init__(self, steps: Sequence[Step], seen: Seen) -> None:
        asked = [step for step in steps if step.needs_reference]
        percents = [
            {p for s in asked if s.per_channel == alone for p in s.percentiles if p is not None}
            for alone in (True, False)
        ]
        self.series = Series(seen)
        self.gauge = gauged(self.series, *percents)

    def statistics(self, step: Step, found: StepStats, count: int) -> StepStats:
        """Return what a step rests on."""
        own = self.series.channels
        if step.per_channel and own not in (1, count):
            raise ModelError(
                f"The step '{step.op}' follows each channel of the input, which has {own}, but "
                f"is given {count}; use statistics of all channels together."
            )
        told = _Source(self.series, self.gauge, own).statistics(step, found, Line())
        if step.op != "scale_mean_variance":
            return told
        return replace(found, reference_mean=told.mean, reference_std=told.std)


def _through_zero(line: tuple[float, float, float]) -> tuple[float, float] | None:
    """Return the offset and gain of the same line without a shift; None where it has no zero."""
    offset, gain, shift = line
    if shift and gain:
        offset -= shift / gain
    return (offset, gain) if isfinite(offset) and (gain or not shift) else None
