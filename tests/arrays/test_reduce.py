from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from napari_onnxseg.arrays.reduce import halve


@pytest.mark.parametrize(
    ("cell", "winner"),
    [
        ([1, 1, 1, 2], 1),
        ([0, 0, 0, 2], 0),
        ([0, 0, 2, 2], 2),
        ([0, 2, 2, 0], 2),
        ([3, 2, 2, 3], 3),
        ([0, 1, 2, 3], 1),
        ([0, 0, 1, 2], 0),
        ([7, 7, 7, 7], 7),
    ],
)
def test_labels_take_the_most_frequent_and_of_equals_the_first_that_is_no_background(cell, winner):
    assert halve(np.array(cell, np.uint8).reshape(2, 2), (0, 1), "majority").tolist() == [[winner]]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    labels=arrays(
        np.uint16,
        st.tuples(st.integers(1, 7), st.integers(1, 9), st.integers(1, 6)),
        elements=st.sampled_from([0, 1, 2, 60_000]),
    ),
    axes=st.sampled_from([(1, 2), (0, 1, 2), (2,)]),
)
def test_the_winner_has_the_most_votes_in_its_cell(labels, axes):
    found = halve(labels, axes, "majority")
    odd = [(0, axis in axes and n % 2) for axis, n in enumerate(labels.shape)]
    even = np.pad(labels, odd, mode="edge")
    assert found.dtype == labels.dtype
    for place in np.ndindex(found.shape):
        spans = [range(2 * p, 2 * p + 2) if a in axes else [p] for a, p in enumerate(place)]
        votes = Counter(int(even[q]) for q in product(*spans))
        best = max(votes.values())
        tied = {value for value, count in votes.items() if count == best}
        assert int(found[place]) in (tied - {0} or tied)


@pytest.mark.parametrize(
    ("values", "mean"),
    [([0, 1, 2, 3], 2), ([0, 0, 0, 1], 0), ([255, 255, 255, 254], 255), ([0, 0, 1, 1], 1)],
)
def test_images_take_the_rounded_mean(values, mean):
    block = np.array(values, np.uint8).reshape(2, 2)
    assert halve(block, (0, 1), "mean").tolist() == [[mean]]


@pytest.mark.parametrize("dtype", [np.int16, np.uint32, np.int64, np.float32, np.float64])
def test_the_mean_does_not_overflow(dtype):
    top = np.finfo(dtype).max / 8 if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max // 8 * 7
    block = np.full((3, 4), top, dtype)
    np.testing.assert_allclose(halve(block, (0, 1), "mean").astype(float), float(top), rtol=1e-6)


def test_an_odd_border_stands_for_itself():
    block = np.array([[10, 20, 30]], np.uint8)
    assert halve(block, (0, 1), "mean").tolist() == [[15, 30]]


def test_what_is_invisible_does_not_show_in_a_smaller_cutout():
    red, hidden = (200, 0, 0, 255), (0, 255, 0, 0)
    block = np.array([[red, hidden], [red, hidden]], np.uint8)
    small = halve(np.moveaxis(block, -1, 0), (1, 2), "cutout", 0)
    assert small[:, 0, 0].tolist() == [200, 0, 0, 128]
    nothing = halve(np.full((4, 2, 2), 0, np.uint8), (1, 2), "cutout", 0)
    assert nothing.tolist() == [[[0]]] * 4
