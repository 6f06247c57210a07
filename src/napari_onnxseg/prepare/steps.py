"""A chain of pixelwise operations, as descriptions of models list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Op = Literal[
    "cast",
    "binarize",
    "clip",
    "scale_linear",
    "sigmoid",
    "softmax",
    "standardize",
    "zero_mean_unit_variance",
    "scale_range",
    "scale_mean_variance",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a chain; entries that its operation does not use keep their default.

    Parameters
    ----------
    op : str
        ``cast`` to ``dtype``; ``binarize`` x > threshold; ``clip`` to low..high, or to
        percentiles of the image; ``scale_linear`` gain x + offset; ``sigmoid``; ``softmax``
        over channels; ``standardize`` (x - mean) / std of a training set;
        ``zero_mean_unit_variance`` (x - m) / (s + eps) of the image; ``scale_range``
        (x - lo) / (hi - lo + eps) of percentiles of the image, not clipped;
        ``scale_mean_variance`` (x - m) / (s + eps) (s_ref + eps) + m_ref.
    gain, offset, mean, std, threshold : tuple of float
        One value, or one a channel.
    low, high : float or None
        Bounds of ``clip``, in the units of its input.
    low_percentile, high_percentile : float or None
        Percentiles of ``clip`` and ``scale_range``, in [0, 100], linearly interpolated.
    per_channel : bool
        Statistics of each channel by itself instead of all channels together.
    eps : float
        Added to a divisor.
    reference : {"", "input"}
        Whose statistics: those of what the step is given, or of the image before the first
        step.
    dtype : str
        Numpy name, for ``cast``.
    """

    op: Op
    gain: tuple[float, ...] = (1.0,)
    offset: tuple[float, ...] = (0.0,)
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    threshold: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    low_percentile: float | None = None
    high_percentile: float | None = None
    per_channel: bool = False
    eps: float = 1e-6
    reference: Literal["", "input"] = ""
    dtype: str = ""
