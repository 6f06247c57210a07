"""What the entries of a step may hold."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from napari_onnxseg.errors import ModelError

LISTS = ("gain", "offset", "mean", "std", "threshold")

_SIGNS, _BITS = ("u", ""), (8, 16, 32, 64)
_WHOLE = tuple(f"{sign}int{bits}" for sign in _SIGNS for bits in _BITS)

DTYPES = ("float16", "float32", "float64", "bool", *_WHOLE)
"""What numbers can be cast to."""


Told: TypeAlias = Any
"""A `steps.Step`, which this module cannot know: it is made here."""


def parsed(op: str, key: str, value: Any) -> Any:
    """Bring one entry, from JSON or numpy, to its type.

    Parameters
    ----------
    op : str
        The operation, for the message.
    key : str
        Name of the entry.
    value : object
        What was given.

    Returns
    -------
    object
        A float, a tuple of them, a bool, a text or None.

    Raises
    ------
    ModelError
        When it is none of these, or a number that is not finite.
    """
    if key in ("reference", "dtype"):
        return _wanted(op, key, value, isinstance(value, str), "a text")
    if key == "per_channel":
        fits = isinstance(value, (bool, np.bool_))
        return bool(_wanted(op, key, value, fits, "true or false"))
    if key in LISTS:
        several = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
        values = tuple(value) if several and np.ndim(value) == 1 else (value,)
        fits = all(map(_is_number, values)) or value == ()
        return tuple(map(float, _wanted(op, key, values if fits else value, fits, "numbers")))
    if value is None and key != "eps":
        return None
    return float(_wanted(op, key, value, _is_number(value), "a number"))


def problem(step: Told) -> str:
    """Name the first fault of a step whose entries are of the right type, or nothing.

    Parameters
    ----------
    step : Step
        With parsed entries.

    Returns
    -------
    str
        How a sentence about the step goes on.
    """
    if step.eps < 0:
        return f"has eps {step.eps:g}; use 0 or more"
    if step.reference not in ("", "input"):
        return f"refers to '{step.reference}'; use 'input' or leave 'reference' out"
    judge = _JUDGES.get(step.op)
    return judge(step) if judge else ""


def _wanted(op: str, key: str, value: Any, fits: bool, kind: str) -> Any:
    """Return a value that fits."""
    if not fits:
        raise ModelError(f"The entry '{key}' of the step '{op}' is {value!r}; use {kind}.")
    return value


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number, which true and false are not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and isfinite(value)


def _cast(step: Told) -> str:
    fits = step.dtype in DTYPES
    return "" if fits else f"casts to '{step.dtype}'; 'dtype' can be {', '.join(DTYPES)}"


def _binarize(step: Told) -> str:
    return "" if step.threshold else "has no 'threshold'; give one, or one a channel"


def _scale_linear(step: Told) -> str:
    counts = {len(step.gain), len(step.offset)} - {1}
    if 0 in counts or len(counts) > 1:
        return (
            f"has {len(step.gain)} gain(s) and {len(step.offset)} offset(s); "
            "give one, or one a channel"
        )
    return ""


def _standardize(step: Told) -> str:
    counts = {len(step.mean), len(step.std)}
    if 0 in counts or len(counts - {1}) > 1:
        return f"has {len(step.mean)} mean(s) and {len(step.std)} std(s); give one of each"
    return "" if all(s > 0 for s in step.std) else "has a std that is not above 0"


def _clip(step: Told) -> str:
    for bound in ("low", "high"):
        percentile = f"{bound}_percentile"
        if None not in (getattr(step, bound), getattr(step, percentile)):
            return f"has '{bound}' and '{percentile}'; give one of them"
    bounds = (step.low, step.high, step.low_percentile, step.high_percentile)
    if all(bound is None for bound in bounds):
        return "has no bound; give 'low', 'high', 'low_percentile' or 'high_percentile'"
    if step.low is not None and step.high is not None and step.low > step.high:
        return f"has bounds {step.low:g} and {step.high:g}; the low one must not be the larger"
    return _percentiles(step)


def _percentiles(step: Told) -> str:
    low = 0.0 if step.low_percentile is None else step.low_percentile
    high = 100.0 if step.high_percentile is None else step.high_percentile
    if 0 <= low < high <= 100:
        return ""
    return f"has percentiles {low:g} and {high:g}; use 0 <= low < high <= 100"


def _scale_mean_variance(step: Told) -> str:
    if step.reference == "input":
        return ""
    return "names nothing to follow; give 'reference': 'input'"


_JUDGES = {
    "cast": _cast,
    "binarize": _binarize,
    "scale_linear": _scale_linear,
    "standardize": _standardize,
    "clip": _clip,
    "scale_range": _percentiles,
    "scale_mean_variance": _scale_mean_variance,
}
