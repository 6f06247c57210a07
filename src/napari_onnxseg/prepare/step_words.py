"""Chains of steps in words for people."""

from __future__ import annotations

from collections.abc import Iterable

from napari_onnxseg.prepare.steps import Step

_MOST_LISTED = 4


def chain_words(steps: Iterable[Step]) -> str:
    """Return a chain for people.

    Parameters
    ----------
    steps : iterable of Step
        In the order in which they are done.

    Returns
    -------
    str
        Such as ``"percentiles 1 to 99.8 of each channel to 0..1, then clipped to 0..1"``;
        ``"raw values"`` for none.
    """
    return ", then ".join(map(_words, steps)) or "raw values"


def _words(step: Step) -> str:
    """Return one step for people."""
    of = "each channel" if step.per_channel else "the image"
    if step.op == "clip":
        return _clip(step, of)
    if step.op == "scale_range":
        return f"{_percentiles(step, of)} to 0..1"
    if step.op == "zero_mean_unit_variance":
        return f"mean of {of} to 0, standard deviation to 1"
    if step.op == "scale_mean_variance":
        each = ", each channel" if step.per_channel else ""
        return f"brought to mean and standard deviation of the unprocessed input{each}"
    return _fixed(step)


def _fixed(step: Step) -> str:
    """Return operations that measure nothing."""
    if step.op == "cast":
        whole = "" if step.dtype.startswith("float") else ", fractions dropped and range kept"
        return f"as {step.dtype}{whole if step.dtype != 'bool' else ' (0 or 1)'}"
    if step.op == "binarize":
        return f"1 above {_listed(step.threshold)}, 0 elsewhere"
    if step.op == "scale_linear":
        times = [f"times {_listed(step.gain)}"] if step.gain != (1.0,) else []
        plus = [f"plus {_listed(step.offset)}"] if step.offset != (0.0,) else []
        return " ".join(times + plus) or "as they are"
    if step.op == "standardize":
        return f"minus mean {_listed(step.mean)}, by standard deviation {_listed(step.std)}"
    return "softmax over the channels" if step.op == "softmax" else step.op


def _clip(step: Step, of: str) -> str:
    """Return bounds, some of which may be percentiles."""
    low, high = step.percentiles
    if low is not None and high is not None:
        return f"clipped to percentiles {low:g} to {high:g} of {of}"
    if step.low is not None and step.high is not None:
        return f"clipped to {step.low:g}..{step.high:g}"
    below = _bound(step.low, low, of)
    above = _bound(step.high, high, of)
    sides = [f"below at {below}"] * bool(below) + [f"above at {above}"] * bool(above)
    return "clipped " + " and ".join(sides)


def _bound(value: float | None, percentile: float | None, of: str) -> str:
    """Return one bound, or nothing."""
    if percentile is not None:
        return f"percentile {percentile:g} of {of}"
    return "" if value is None else f"{value:g}"


def _percentiles(step: Step, of: str) -> str:
    """Return the span that goes to 0..1."""
    if step.reference:
        of = f"{'each channel of ' if step.per_channel else ''}the unprocessed input"
    low, high = step.percentiles
    if (low, high) == (0, 100):
        return f"minimum to maximum of {of}"
    return f"percentiles {low:g} to {high:g} of {of}"


def _listed(values: tuple[float, ...]) -> str:
    """Return numbers for people, the first few of many."""
    more = "/…" if len(values) > _MOST_LISTED else ""
    return "/".join(f"{value:g}" for value in values[:_MOST_LISTED]) + more
