"""Steps with their numbers filled in."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.stages import Binarize, Cast, Clip, Line, Sigmoid, Softmax, Stage
from napari_onnxseg.prepare.stats import Numbers, StepStats
from napari_onnxseg.prepare.step_values import LISTS
from napari_onnxseg.prepare.steps import ENTRIES, Step

_SMALLEST_SPAN = 1e-30
"""Divisors below count as 0: their inverse would leave float32."""


def check_counts(steps: Iterable[Step], channels: int) -> None:
    """Refuse numbers that do not match the channels.

    Parameters
    ----------
    steps : iterable of Step
        The chain.
    channels : int
        What it is done to.

    Raises
    ------
    ModelError
        Naming the step and the entry.
    """
    for step in steps:
        for key in LISTS:
            count = len(getattr(step, key))
            if key in ENTRIES[step.op] and count not in (1, channels):
                raise ModelError(
                    f"The step '{step.op}' has {count} values for '{key}', but is given "
                    f"{channels} channel(s); give 1, or one a channel."
                )


def stage_of(step: Step, found: StepStats) -> Stage | None:
    """Return what a step does.

    Parameters
    ----------
    step : Step
        The step.
    found : StepStats
        What was measured for it.

    Returns
    -------
    Stage or None
        None where floats stay what they are.
    """
    if step.op == "cast":
        return None if step.keeps_floats else Cast(step.dtype)
    if step.op == "binarize":
        return Binarize(step.threshold)
    if step.op == "clip":
        low = found.low or (-inf if step.low is None else step.low,)
        high = found.high or (inf if step.high is None else step.high,)
        return Clip(*_as_long(low, high))
    if step.op in ("sigmoid", "softmax"):
        return Sigmoid() if step.op == "sigmoid" else Softmax()
    return _line(step, found)


def _line(step: Step, found: StepStats) -> Line:
    """Return the line of the operations that are one."""
    if step.op == "scale_linear":
        gain, shift = _as_long(step.gain, step.offset)
        return Line((0.0,) * len(gain), gain, shift)
    if step.op == "standardize":
        mean, std = _as_long(step.mean, step.std)
        return _through(mean, tuple(1 / s for s in std))
    if step.op == "scale_range":
        spans = zip(found.low, found.high, strict=True)
        return _through(found.low, tuple(_inverse(high - low + step.eps) for low, high in spans))
    gain = tuple(_inverse(std + step.eps) for std in found.std)
    if step.op == "zero_mean_unit_variance":
        return _through(found.mean, gain)
    mean, gain, spread, shift = _as_long(
        found.mean, gain, found.reference_std, found.reference_mean
    )
    return Line(mean, tuple(g * (s + step.eps) for g, s in zip(gain, spread, strict=True)), shift)


def _through(zero: Numbers, gain: Numbers) -> Line:
    """Return the line that brings ``zero`` to 0."""
    return Line(zero, gain, (0.0,) * len(zero))


def _inverse(divisor: float) -> float:
    """Return 1 / divisor, 0 where that would not be finite."""
    return 1 / divisor if divisor > _SMALLEST_SPAN else 0.0


def _as_long(*numbers: Numbers) -> tuple[Numbers, ...]:
    """Bring one for all channels and one a channel to the same length."""
    longest = max(map(len, numbers))
    return tuple(values * longest if len(values) == 1 else values for values in numbers)
