"""Values on another grid: those of PIL, and the same whatever part is asked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from napari_onnxseg.prepare.regrid import Regrid, row_bands
from napari_onnxseg.tiling.region import Region

STEADY = settings(max_examples=80, deadline=None, derandomize=True)
LENGTH = st.integers(1, 70)


def part_of(shape, data):
    spans = [sorted(data.draw(st.tuples(*[st.integers(0, n)] * 2))) for n in shape]
    full = [(a, b) if a < b else (0, n) for (a, b), n in zip(spans, shape, strict=True)]
    return Region(*zip(*full, strict=True))


@STEADY
@given(shape=st.tuples(LENGTH, LENGTH), out=st.tuples(LENGTH, LENGTH), seed=st.integers(0, 99))
def test_values_are_those_of_pil(shape, out, seed):
    values = np.random.default_rng(seed).random(shape, np.float32)
    resize = Image.fromarray(values).resize(out[::-1], Image.Resampling.BILINEAR)
    found = Regrid(shape, out).filtered(values[None], (0, 0), Region.of_shape(out))[0]
    np.testing.assert_allclose(found, np.asarray(resize), atol=1e-5)


@STEADY
@given(shape=st.tuples(LENGTH, LENGTH), out=st.tuples(LENGTH, LENGTH), data=st.data())
def test_any_part_equals_that_part_of_the_whole_bit_for_bit(shape, out, data):
    values = np.random.default_rng(1).normal(size=(2, *shape)).astype(np.float32)
    grid, region = Regrid(shape, out), part_of(out, data)
    whole = grid.filtered(values, (0, 0), Region.of_shape(out))
    needed = grid.needs(region)
    assert Region.of_shape(shape).contains(needed)
    part = grid.filtered(values[:, *needed.slices], needed.start, region)
    np.testing.assert_array_equal(part, whole[:, *region.slices])


@STEADY
@given(shape=st.tuples(LENGTH, LENGTH), out=st.tuples(LENGTH, LENGTH), data=st.data())
def test_each_wanted_pixel_lies_in_one_pixel_and_looks_no_further_than_it_may(shape, out, data):
    grid = Regrid(shape, out)
    cuts = [sorted({0, n, data.draw(st.integers(0, n))}) for n in shape]
    seen = np.zeros(out, int)
    for rows in pairwise(cuts[0]):
        for columns in pairwise(cuts[1]):
            block = Region((rows[0], columns[0]), (rows[1], columns[1]))
            region = grid.within(block)
            seen[region.slices] += 1
            if region.size:
                beyond = block.grow((grid.reach(0), grid.reach(1)))
                assert beyond.contains(grid.needs(region))
    assert (seen == 1).all()


@STEADY
@given(length=LENGTH, out=LENGTH)
def test_a_constant_stays_and_nothing_overshoots(length, out):
    grid = Regrid((length, 1), (out, 1))
    flat = grid.filtered(np.full((1, length, 1), 7.0), (0, 0), Region.of_shape((out, 1)), float)
    np.testing.assert_allclose(flat, 7.0, rtol=1e-12)
    steps = (np.arange(length) % 2).astype(float)[None, :, None]
    found = grid.filtered(steps, (0, 0), Region.of_shape((out, 1)), float)
    assert found.min() >= 0
    assert found.max() <= 1 + 1e-12


def test_the_nearest_value_is_that_under_the_centre():
    ids = np.arange(4, dtype=np.uint8)[None, None]
    found = Regrid((1, 4), (1, 7)).nearest(ids, (0, 0), Region((0, 0), (1, 7)))
    assert found.tolist() == [[[0, 0, 1, 2, 2, 3, 3]]]
    assert found.dtype == np.uint8


def test_a_pixel_without_weight_does_not_spoil_its_neighbour():
    values = np.array([[[1.0, np.nan, np.nan, 5.0]]], np.float32)
    found = Regrid((1, 4), (1, 12)).filtered(values, (0, 0), Region((0, 0), (1, 12)))
    assert np.flatnonzero(np.isfinite(found[0, 0])).tolist() == [0, 1, 10, 11]


@pytest.mark.parametrize("most", [1, 40, 10_000])
def test_bands_are_bounded_and_cover_everything_once(most):
    region = Region((3, 2), (20, 9))
    bands = list(row_bands(region, 7, most))
    assert [b.start[0] for b in bands[1:]] == [b.stop[0] for b in bands[:-1]]
    assert (bands[0].start, bands[-1].stop) == (region.start, region.stop)
    assert all(band.size <= max(most, 7) for band in bands)
