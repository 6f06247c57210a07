"""How far one operator looks along an axis, as integer arithmetic on intervals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reach:
    """Which elements of its input an output interval looks at, along one axis.

    Output elements ``low`` to ``high`` need the input elements
    ``(step * low + before) // over`` to ``(step * high + after) // over``, both included.

    Parameters
    ----------
    step : int
        Input elements per output element, before the division by ``over``.
    before, after : int
        Offsets of the first and the last element needed.
    over : int
        Divisor of ``step``.
    """

    step: int = 1
    before: int = 0
    after: int = 0
    over: int = 1

    def of(self, low: Indices, high: Indices) -> tuple[Indices, Indices]:
        """Return the input interval of each output interval."""
        return (
            (low * self.step + self.before) // self.over,
            (high * self.step + self.after) // self.over,
        )

    @property
    def scale(self) -> Fraction:
        """Input elements per output element."""
        return Fraction(self.step, self.over)


HERE = Reach()
"""The same element."""


def kernel_reach(size: int, stride: int, dilation: int, pad: int) -> Reach:
    """Return the reach of a convolution or pooling."""
    return Reach(stride, -pad, (size - 1) * dilation - pad)


def transposed_reach(size: int, stride: int, dilation: int, pad: int) -> Reach:
    """Return the reach of a transposed convolution."""
    return Reach(1, pad - (size - 1) * dilation + stride - 1, pad, stride)


def resize_reach(factor: Fraction, mode: str, corner: bool, rounding: str, widen: bool) -> Reach:
    """Return the reach of a change of size.

    Parameters
    ----------
    factor : Fraction
        Output elements per input element.
    mode : str
        ``nearest``, ``linear`` or ``cubic``.
    corner : bool
        Whether corners of pixels, not their centres, lie on integers (``asymmetric``).
    rounding : str
        The ``nearest_mode`` of the operator.
    widen : bool
        Whether the filter widens when shrinking (antialiasing).

    Returns
    -------
    Reach
        Exact for ``nearest``, ``linear`` and ``cubic``; a little wide with ``widen``.
    """
    big, small = factor.numerator, factor.denominator
    step, over = 2 * small, 2 * big
    start = 0 if corner else small - big
    if mode == "nearest":
        offset = {"floor": 0, "ceil": over - 1, "round_prefer_ceil": big}.get(rounding, big - 1)
        return Reach(step, start + offset, start + offset, over)
    extra = 0 if mode == "linear" else 1
    if widen and factor < 1:
        support = -(-step * (1 + extra) // 2)
        return Reach(step, start - support, start + support + over - 1, over)
    last = over - 1 if mode == "linear" else 2 * over
    return Reach(step, start - extra * over, start + last, over)
