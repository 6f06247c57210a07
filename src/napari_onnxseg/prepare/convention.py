"""What intensities a model was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Literal, get_args

import numpy as np

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.step_words import chain_words
from napari_onnxseg.prepare.steps import Step, chain_of, needs_statistics

Method = Literal[
    "none",
    "unit",
    "divide",
    "dtype_max",
    "symmetric",
    "mean_std",
    "standardize",
    "zero_mean_unit_variance",
    "min_max",
    "percentile",
    "window",
    "steps",
]

TRAINED = ("mean_std", "standardize")
"""Methods that hold mean and standard deviation of a training set."""

_MEASURED = frozenset({"zero_mean_unit_variance", "min_max", "percentile"})
_BY_RANGE = frozenset({"unit", "symmetric", "mean_std"})
_CLIPPED = frozenset({"unit", "divide", "dtype_max", "min_max", "percentile", "window"})


@dataclass(frozen=True, slots=True)
class Normalization:
    """The intensities a network was trained on.

    Parameters
    ----------
    method : str
        ``none`` x; ``unit`` x / full range; ``divide`` x / scale; ``dtype_max`` x / the
        largest value of the dtype; ``symmetric`` 2 unit - 1; ``mean_std``
        (unit - mean) / std; ``standardize`` (x / scale - mean) / std;
        ``zero_mean_unit_variance`` (x - mean of the image) / its standard deviation;
        ``min_max`` minimum to 0, maximum to 1; ``percentile`` low percentile to 0, high
        percentile to 1; ``window`` low to 0, high to 1, clipped; ``steps`` a chain of
        operations.
    scale : float
        Divisor of ``divide`` and ``standardize``, raw units.
    mean, std : tuple of float
        For ``mean_std`` and ``standardize``: one value, or one a model channel, in units of
        the divided image.
    low, high : float
        Percentiles in [0, 100], or the bounds of ``window`` in raw units.
    clip : bool
        Cut the result to [0, 1].
    per_channel : bool
        Measure each channel by itself instead of all channels jointly.
    eps : float
        Added to the divisor where the model's convention does so; flat images are guarded
        without it.
    steps : tuple of Step
        The operations of ``steps``, in the order in which they are done.

    Raises
    ------
    ModelError
        When a value is not allowed.
    """

    method: Method
    scale: float = 255.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    low: float = 0.0
    high: float = 100.0
    clip: bool = False
    per_channel: bool = False
    eps: float = 0.0
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _parsed(field.name, getattr(self, field.name)))
        _check(self)

    @property
    def needs_statistics(self) -> bool:
        """Whether the image must be measured, whatever its dtype."""
        return self.method in _MEASURED or needs_statistics(self.steps)

    def needs_measuring(self, dtype: np.dtype[Any]) -> bool:
        """Tell whether an image of ``dtype`` must be measured; wide ones for their range too."""
        return self.needs_statistics or (self.method in _BY_RANGE and known_range(dtype) is None)

    def words(self) -> str:
        """Return the rule for people, such as ``"percentiles 1 to 99.8 of the image to 0..1"``."""
        if self.method == "steps":
            return chain_words(self.steps)
        if self == BYTES:
            return "0..255 by the full range"
        text = _WORDS[self.method].format(n=self)
        measured = f", {'each channel' if self.per_channel else 'channels together'}"
        clipped = ", clipped" if self.clip or self.method == "window" else ""
        return text + (measured if self.needs_statistics else "") + clipped

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Normalization:
        """Read the form of the model card.

        Parameters
        ----------
        given : mapping
            The fields by name, lists for tuples; ``method`` is required.

        Returns
        -------
        Normalization
            The checked record.

        Raises
        ------
        ModelError
            Naming the field that is unknown, missing or not allowed.
        """
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise ModelError(
                f"The normalization has an unknown field '{unknown[0]}'; "
                f"allowed are {', '.join(sorted(known))}."
            )
        if "method" not in given:
            raise ModelError(f"The normalization names no method; use {_methods()}.")
        return cls(**given)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON-able form: the method and what differs from the defaults."""
        told: dict[str, Any] = {"method": self.method}
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if value != field.default:
                told[field.name] = list(value) if isinstance(value, tuple) else value
        if self.steps:
            told["steps"] = [step.to_json() for step in self.steps]
        return told


_WORDS: Mapping[str, str] = {
    "none": "raw values",
    "unit": "0..1 by the full range",
    "divide": "divided by {n.scale:g}",
    "dtype_max": "divided by the largest value of the dtype",
    "symmetric": "-1..1 by the full range",
    "mean_std": "0..1 by the full range, minus mean, by standard deviation of the training set",
    "standardize": "divided by {n.scale:g}, minus mean, by standard deviation of the training set",
    "zero_mean_unit_variance": "mean of the image to 0, standard deviation to 1",
    "min_max": "minimum to maximum of the image to 0..1",
    "percentile": "percentiles {n.low:g} to {n.high:g} of the image to 0..1",
    "window": "{n.low:g} to {n.high:g} to 0..1",
}


def known_range(dtype: np.dtype[Any]) -> float | None:
    """Return the full range that the dtype alone settles (bool, 8 bit), else None."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return 1.0
    return float(np.iinfo(kind).max) if kind.kind in "iu" and kind.itemsize == 1 else None


def _methods() -> str:
    """All methods for people."""
    return ", ".join(get_args(Method))


def _parsed(key: str, value: Any) -> Any:
    """Bring one value, from JSON or numpy, to the type of its field."""
    if key == "method":
        return str(value)
    if key == "steps":
        return chain_of(value)
    if key in ("clip", "per_channel"):
        if not isinstance(value, (bool, np.bool_)):
            raise ModelError(f"The normalization field '{key}' is {value!r}; use true or false.")
        return bool(value)
    try:
        if key in ("mean", "std"):
            many = [value] if np.ndim(value) == 0 else value
            return tuple(float(v) for v in many)
        return float(value)
    except (TypeError, ValueError):
        raise ModelError(f"The normalization field '{key}' is {value!r}; use numbers.") from None


def _check(n: Normalization) -> None:
    """Refuse values that no network can mean."""
    if n.method not in get_args(Method):
        raise ModelError(f"The normalization '{n.method}' is unknown; use {_methods()}.")
    numbers = (n.scale, n.low, n.high, n.eps, *n.mean, *n.std)
    if not all(isfinite(v) for v in numbers):
        raise ModelError(f"The normalization '{n.method}' holds a number that is not finite.")
    problem = _problem(n)
    if problem:
        raise ModelError(f"The normalization '{n.method}' {problem}.")


def _problem(n: Normalization) -> str:
    """Name the first fault, or nothing."""
    if (n.method == "steps") != bool(n.steps):
        return (
            "has no steps; list at least one" if not n.steps else "takes no steps; leave them out"
        )
    if n.method in ("divide", "standardize") and n.scale == 0:
        return "divides by 0; give a scale other than 0"
    if n.eps < 0:
        return f"has eps {n.eps:g}; use 0 or more"
    if n.method in TRAINED:
        return _mean_std_problem(n)
    if n.method == "percentile" and not 0 <= n.low < n.high <= 100:
        return f"has percentiles {n.low:g} and {n.high:g}; use 0 <= low < high <= 100"
    if n.method == "window" and not n.low < n.high:
        return f"has bounds {n.low:g} and {n.high:g}; the low one must be the smaller"
    if n.clip and n.method not in _CLIPPED:
        return "cannot be clipped to 0..1; leave 'clip' out"
    return ""


def _mean_std_problem(n: Normalization) -> str:
    """Name the fault of a mean and standard deviation, or nothing."""
    if not n.mean or len(n.mean) != len(n.std):
        return f"has {len(n.mean)} mean(s) and {len(n.std)} std(s); give one of each a channel"
    return "" if all(s > 0 for s in n.std) else "has a std that is not above 0"


BYTES = Normalization("mean_std", mean=(0.0,), std=(1 / 255,))
"""What brings the full range of any image to 0..255, for networks that take bytes."""
