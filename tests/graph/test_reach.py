from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.graph.reach import kernel_reach, resize_reach, transposed_reach

small = st.integers(1, 5)


@settings(derandomize=True)
@given(small, small, small, st.integers(0, 4))
def test_a_kernel_looks_at_its_taps_and_no_further(size, stride, dilation, pad):
    pixel = np.arange(3, 9)
    low, high = kernel_reach(size, stride, dilation, pad).of(pixel, pixel)
    for o, a, b in zip(pixel, low, high, strict=True):
        taps = [o * stride - pad + k * dilation for k in range(size)]
        assert (a, b) == (min(taps), max(taps))


@settings(derandomize=True)
@given(small, small, st.integers(1, 3), st.integers(0, 3))
def test_a_transposed_kernel_covers_every_contributor(size, stride, dilation, pad):
    pixel = np.arange(20, 40)
    low, high = transposed_reach(size, stride, dilation, pad).of(pixel, pixel)
    for o, a, b in zip(pixel, low, high, strict=True):
        given_by = [
            j for j in range(60) for k in range(size) if j * stride - pad + k * dilation == o
        ]
        assert not given_by or a <= min(given_by) <= max(given_by) <= b
        if dilation == 1 and given_by:
            assert (a, b) == (min(given_by), max(given_by))


@pytest.mark.parametrize("factor", [Fraction(2), Fraction(1, 2), Fraction(3), Fraction(4)])
@pytest.mark.parametrize("corner", [True, False])
def test_linear_enlarging_looks_at_the_two_neighbours(factor, corner):
    pixel = np.arange(8, 24)
    low, high = resize_reach(factor, "linear", corner, "", widen=False).of(pixel, pixel)
    where = pixel / float(factor) if corner else (pixel + 0.5) / float(factor) - 0.5
    assert low.tolist() == np.floor(where).tolist()
    assert high.tolist() == np.ceil(where).tolist()


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [("floor", [1, 2, 2, 3]), ("ceil", [2, 3, 3, 4]), ("round_prefer_floor", [2, 2, 3, 3])],
)
def test_nearest_looks_at_one_pixel(rounding, expected):
    pixel = np.arange(4, 8)
    low, high = resize_reach(Fraction(2), "nearest", False, rounding, widen=False).of(pixel, pixel)
    assert low.tolist() == high.tolist() == expected
