"""The straight line that brings an image's intensities to what a model wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor, isfinite
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.convention import TRAINED, Normalization, known_range
from napari_onnxseg.prepare.stats import ChannelStats, IntensityStats

__all__ = ["Affine", "Normalization", "affine_for", "full_range", "normalization_notes"]

NOTHING_VALID = "No pixel of the image is valid; the network was given 0 everywhere."

_ROUNDING = 1e-3
"""How far above 1 a float image may reach and still count as 0..1."""

_MOST_BITS = 64
"""Beyond these, floats were never whole numbers of a camera."""

_SMALLEST_SPAN = 1e-30
"""Spans below are flat: their inverse would leave float32."""


@dataclass(frozen=True, slots=True)
class Affine:
    """The line for each model channel: (x - offset) * gain.

    Parameters
    ----------
    offset : tuple of float
        Raw value that becomes 0, one a model channel.
    gain : tuple of float
        Slope, one a model channel; 0 for a flat image.
    clip : bool
        Whether the result is cut to [0, 1].
    """

    offset: tuple[float, ...]
    gain: tuple[float, ...]
    clip: bool


def full_range(dtype: DTypeLike, maximum: float | None = None) -> tuple[float, str]:
    """Return the largest value that an image could have held, which becomes 1.

    The dtype settles it for bool and 8 bit. Wider data count as the fewest bits, at least
    8, that hold the image's maximum: cameras of 12 bit store in 16. Floats up to 1 are
    taken for 0..1.

    Parameters
    ----------
    dtype : dtype-like
        Of the image.
    maximum : float, optional
        Largest valid value of the image; needed for wider data only.

    Returns
    -------
    value : float
        The full range.
    words : str
        The rule that was applied, for people.

    Raises
    ------
    ModelError
        When the maximum is needed and not given.
    """
    kind = np.dtype(dtype)
    settled = known_range(kind)
    if settled is not None:
        return settled, f"0..{settled:g} ({kind.name})"
    if maximum is None:
        raise ModelError(f"The full range of {kind.name} images is only known after measuring.")
    if kind.kind == "f" and maximum <= 1 + _ROUNDING:
        return 1.0, f"0..1 ({kind.name})"
    bits = max(8, floor(max(maximum, 0)).bit_length())
    if bits > _MOST_BITS and kind.kind == "f":
        return maximum, f"0..{maximum:g} ({kind.name})"
    if kind.kind in "iu":  # the largest 64-bit values are rounded up as floats
        bits = min(bits, 8 * kind.itemsize - (kind.kind == "i"))
    return float(2**bits - 1), f"0..{2**bits - 1} ({bits}-bit values in {kind.name})"


def affine_for(
    normalization: Normalization,
    stats: IntensityStats | None,
    channels: ChannelMap,
    dtype: DTypeLike,
) -> Affine:
    """Return the line that normalises an image.

    A flat image gets gain 0: it becomes finite and flat. Where two percentiles coincide
    although the image is not flat (few objects on an even ground), minimum and maximum
    take their place.

    Parameters
    ----------
    normalization : Normalization
        What the model wants, any method but ``steps`` (see `chain.settle_steps`).
    stats : IntensityStats or None
        Of the image; None where `Normalization.needs_measuring` is false.
    channels : ChannelMap
        Image channels to model channels.
    dtype : dtype-like
        Of the image.

    Returns
    -------
    Affine
        One line a model channel; every number is finite.

    Raises
    ------
    ModelError
        When statistics are missing, or means do not match the model's channels.
    """
    kind, count = np.dtype(dtype), channels.model_channels
    if stats is None and normalization.needs_measuring(kind):
        raise ModelError(f"Normalization '{normalization.method}' needs the image to be measured.")
    means = len(normalization.mean)
    if normalization.method in TRAINED and means not in (1, count):
        raise ModelError(
            f"The normalization has {means} means, but the model takes {count} channel(s); "
            f"give 1 or {count}."
        )
    rule = _LINES[normalization.method]
    seen = [_seen(normalization, stats, channels, i) for i in range(count)]
    lines = [rule(normalization, s, kind, i) for i, s in enumerate(seen)]
    offset, gain = zip(*lines, strict=True)
    return Affine(offset, gain, normalization.clip or normalization.method == "window")


def normalization_notes(
    normalization: Normalization, stats: IntensityStats, dtype: DTypeLike
) -> tuple[str, ...]:
    """Say what a user should know about how the image was normalised.

    Parameters
    ----------
    normalization : Normalization
        What the model wants.
    stats : IntensityStats
        Of the image.
    dtype : dtype-like
        Of the image.

    Returns
    -------
    tuple of str
        Sentences: no data, flat images, coinciding percentiles, the range taken for full.
    """
    joint, kind = stats.joint, np.dtype(dtype)
    notes = []
    if not joint.count:
        return (NOTHING_VALID,)
    if stats.invalid:
        notes.append(missing_words(stats.invalid))
    if joint.minimum == joint.maximum:
        notes.append(f"The image is flat: every valid pixel is {joint.minimum:g}.")
    elif normalization.method == "percentile" and any(
        _coincide(s) for s in _used(normalization, stats)
    ):
        notes.append(
            f"Percentiles {normalization.low:g} and {normalization.high:g} of the image coincide; "
            "its minimum and maximum were used instead."
        )
    if normalization.method in ("unit", "symmetric", "mean_std") and known_range(kind) is None:
        notes.append(
            f"The full range of the image was taken for {full_range(kind, joint.maximum)[1]}."
        )
    return tuple(notes)


def missing_words(count: int) -> str:
    """Say how many pixels are no data."""
    return (
        f"{count:,} pixels are no data (NaN, the no-data value or transparent); "
        "they were not measured and the network was given 0 there."
    )


def _used(normalization: Normalization, stats: IntensityStats) -> list[ChannelStats]:
    """Return the statistics that the lines rest on."""
    measured = [s for s in stats.channels if s.count]
    return measured if normalization.per_channel and measured else [stats.joint]


def _seen(
    normalization: Normalization, stats: IntensityStats | None, channels: ChannelMap, number: int
) -> ChannelStats:
    """Return the statistics that hold for one model channel."""
    if stats is None:
        return ChannelStats.nothing()
    alone = normalization.per_channel and normalization.needs_statistics and not channels.weights
    return stats.channels[channels.picks[number]] if alone else stats.joint


def _coincide(seen: ChannelStats) -> bool:
    """Whether the percentiles leave no span although the image has one."""
    return not seen.high - seen.low > _SMALLEST_SPAN and seen.maximum > seen.minimum


def _span(low: float, high: float, eps: float = 0.0) -> tuple[float, float]:
    """Return the line from ``low`` to 0 and ``high`` to 1."""
    return low, _inverse(high - low, eps)


def _inverse(span: float, eps: float = 0.0) -> float:
    """Return 1 / span, 0 for a flat one."""
    return 1 / (span + eps) if span > _SMALLEST_SPAN and isfinite(span) else 0.0


def _range(seen: ChannelStats, kind: np.dtype[Any]) -> float:
    """Return the full range of an image."""
    return full_range(kind, seen.maximum)[0]


def _dtype_max(kind: np.dtype[Any]) -> float:
    """Return the largest value of integers, 1 for the others."""
    return float(np.iinfo(kind).max) if kind.kind in "iu" else 1.0


def _mean_std(
    n: Normalization, seen: ChannelStats, kind: np.dtype[Any], number: int
) -> tuple[float, float]:
    """Return the line for mean and standard deviation of a training set."""
    full = n.scale if n.method == "standardize" else _range(seen, kind)
    place = number if len(n.mean) > 1 else 0
    return n.mean[place] * full, 1 / (n.std[place] * full)


def _percentiles(
    n: Normalization, seen: ChannelStats, kind: np.dtype[Any], number: int
) -> tuple[float, float]:
    """Return the line between two percentiles, or between the extremes if they coincide."""
    if _coincide(seen):
        return _span(seen.minimum, seen.maximum, n.eps)
    return _span(seen.low, seen.high, n.eps)


_Line = Callable[[Normalization, ChannelStats, "np.dtype[Any]", int], tuple[float, float]]

_LINES: Mapping[str, _Line] = {
    "none": lambda n, s, d, i: (0.0, 1.0),
    "unit": lambda n, s, d, i: (0.0, 1 / _range(s, d)),
    "divide": lambda n, s, d, i: (0.0, 1 / n.scale),
    "dtype_max": lambda n, s, d, i: (0.0, 1 / _dtype_max(d)),
    "symmetric": lambda n, s, d, i: (_range(s, d) / 2, 2 / _range(s, d)),
    "mean_std": _mean_std,
    "standardize": _mean_std,
    "zero_mean_unit_variance": lambda n, s, d, i: (s.mean, _inverse(s.std, n.eps)),
    "min_max": lambda n, s, d, i: _span(s.minimum, s.maximum, n.eps),
    "percentile": _percentiles,
    "window": lambda n, s, d, i: _span(n.low, n.high),
}
