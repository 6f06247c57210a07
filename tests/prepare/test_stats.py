import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.prepare.convention import Normalization
from napari_onnxseg.prepare.stats import ChannelStats, measure

fixed = settings(derandomize=True, deadline=None, max_examples=40)
DTYPES = [
    "u1",
    "i1",
    "<u2",
    ">u2",
    "<i2",
    ">i4",
    "<u4",
    "<i8",
    "<u8",
    "f2",
    "<f4",
    ">f4",
    "<f8",
    "?",
]


def bands(image, rows=3):
    return lambda: (image[:, y : y + rows] for y in range(0, image.shape[1], rows))


def percentiles(low, high, **more):
    return Normalization("percentile", low=low, high=high, **more)


def noise(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.3
    if kind.kind == "f":
        return (rng.normal(size=shape) * 10 ** rng.uniform(-2, 2)).astype(kind)
    info = np.iinfo(kind)
    spread = int(rng.choice([5, 200, 40_000, 2**31, 2**62]))
    low, high = max(info.min, -spread), min(info.max, spread)
    return rng.integers(low, high, shape, kind.newbyteorder("="), endpoint=True).astype(kind)


def assert_equals_numpy(found: ChannelStats, values: np.ndarray, low: float, high: float):
    exact = values.astype(np.float64)
    expected = np.percentile(exact, [low, high])
    scale = np.abs(exact).max()
    assert found.count == exact.size
    assert (found.minimum, found.maximum) == (exact.min(), exact.max())
    assert (found.low, found.high) == tuple(expected)
    np.testing.assert_allclose(found.mean, exact.mean(), rtol=1e-12, atol=1e-14 * scale)
    np.testing.assert_allclose(found.std, exact.std(), rtol=1e-9, atol=1e-14 * scale)


@pytest.mark.parametrize("dtype", DTYPES)
@fixed
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 12), st.integers(1, 9)),
    st.floats(0, 99),
    st.floats(0.5, 1),
    st.integers(0, 999),
)
def test_streamed_numbers_equal_those_of_numpy(dtype, shape, low, part, seed):
    image = noise(dtype, shape, seed)
    high = low + (100 - low) * part
    found = measure(bands(image), percentiles(low, high))
    assert_equals_numpy(found.joint, image, low, high)
    alone = measure(bands(image), percentiles(low, high, per_channel=True))
    for channel, record in zip(image, alone.channels, strict=True):
        assert_equals_numpy(record, channel, low, high)


@fixed
@given(st.integers(0, 999), st.floats(0, 0.9), st.sampled_from(["f2", "<f4", ">f8"]))
def test_pixels_that_are_no_data_do_not_count(seed, share, dtype):  # B017
    rng = np.random.default_rng(seed)
    image = rng.normal(size=(2, 9, 11)).astype(dtype)
    hole = rng.random((9, 11)) < share
    hole[0, 0] = False
    kinds = rng.integers(0, 3, hole.shape)
    image[0][hole & (kinds == 0)] = np.nan
    image[1][hole & (kinds == 1)] = -np.inf
    image[:, hole & (kinds == 2)] = -9999
    found = measure(bands(image), percentiles(2, 98), nodata=-9999)
    assert found.invalid == hole.sum()
    assert_equals_numpy(found.joint, image[:, ~hole], 2, 98)


def test_a_value_counts_as_no_data_only_where_all_channels_hold_it():
    image = np.array([[[0, 0, 5]], [[0, 7, 0]]], np.uint8)
    found = measure(bands(image), Normalization("min_max"), nodata=0)
    assert found.invalid == 1
    assert found.joint.count == 4


def test_a_no_data_value_that_the_dtype_cannot_hold_marks_nothing():
    image = np.full((1, 4, 4), 241, np.uint8)  # -9999 % 256
    assert measure(bands(image), Normalization("min_max"), nodata=-9999).invalid == 0


def test_transparent_pixels_and_opacity_itself_do_not_count():  # B010
    image = np.zeros((4, 2, 2), np.uint8)
    image[:3, 0], image[3, 0] = 50, 200
    image[:3, 1] = 255
    found = measure(bands(image), Normalization("min_max"), alpha=3)
    assert (found.joint.minimum, found.joint.maximum, found.joint.count) == (50, 50, 6)
    assert found.channels[3] == ChannelStats.nothing()
    assert found.invalid == 2


def test_only_the_channels_that_the_network_sees_count():
    image = np.stack([np.full((3, 3), v, np.uint16) for v in (10, 1000, 30)])
    image[1, 0, 0] = 0
    found = measure(bands(image), percentiles(0, 100), channels=map_channels(3, 2, chosen=(2, 0)))
    assert (found.joint.minimum, found.joint.maximum) == (10, 30)
    assert found.channels[1] == ChannelStats.nothing()
    assert found.channels[2].mean == 30


def test_grey_copied_to_three_counts_once():
    image = noise("u1", (1, 8, 8), 4)
    found = measure(bands(image), percentiles(1, 99), channels=map_channels(1, 3))
    assert_equals_numpy(found.joint, image, 1, 99)


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_a_mixture_is_measured_as_the_network_sees_it(dtype):
    image = np.random.default_rng(5).integers(0, 255, (3, 20, 20)).astype(dtype)
    grey = np.tensordot([0.299, 0.587, 0.114], image.astype(float), 1)
    found = measure(bands(image), percentiles(1, 99), channels=map_channels(3, 1, rgb=True))
    np.testing.assert_allclose(
        [found.joint.low, found.joint.high], np.percentile(grey, [1, 99]), 1e-6
    )
    np.testing.assert_allclose(found.joint.mean, grey.mean(), 1e-6)


@pytest.mark.parametrize("value", [np.nan, -9999.0])
@pytest.mark.parametrize("method", ["percentile", "min_max", "zero_mean_unit_variance"])
def test_an_image_without_a_valid_pixel_gives_zeros(value, method):
    image = np.full((1, 5, 5), value, np.float32)
    found = measure(bands(image), Normalization(method), nodata=-9999)
    assert found.joint == ChannelStats.nothing()
    assert found.channels == (ChannelStats.nothing(),)
    assert found.invalid == 25


@pytest.mark.parametrize("dtype", ["f4", "f8", "u4", "u1"])
@pytest.mark.parametrize("value", [0, 0.1, 128, 255])
def test_a_flat_image_has_no_spread_at_all(dtype, value):  # B016
    image = np.full((1, 50, 50), value, dtype)
    record = measure(bands(image, 7), percentiles(1, 99)).joint
    assert record.std == 0
    assert record.low == record.high == record.mean == image[0, 0, 0]


def test_volumes_are_measured_like_planes():
    image = noise("<f4", (2, 4, 5, 6), 8)
    assert_equals_numpy(measure(bands(image, 2), percentiles(5, 95)).joint, image, 5, 95)


def test_bands_of_any_height_give_the_same_bits_for_integers():
    image = noise("<u2", (1, 64, 64), 1)
    found = {measure(bands(image, rows), percentiles(1, 99)) for rows in (1, 5, 64)}
    assert len(found) == 1


def test_measuring_needs_no_more_memory_for_a_larger_image():
    block = np.random.default_rng(0).normal(size=(1, 64, 1024)).astype(np.float32)
    tracemalloc.start()
    measure(lambda: (block for _ in range(200)), percentiles(1, 99))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * block.nbytes


def test_the_image_is_left_as_it_is():
    image = noise("<f4", (3, 20, 20), 2)
    image[0, 0, 0] = np.nan
    before = image.copy()
    image.setflags(write=False)
    measure(bands(image), percentiles(1, 99), nodata=5)
    np.testing.assert_array_equal(image, before)


def test_values_at_the_ends_of_float64_have_a_finite_mean():
    image = np.array([[[1.7e308, -1.7e308, 1.7e308, 1.7e308]]])
    stats = measure(lambda: [image], Normalization("min_max"))
    assert stats.joint.mean == pytest.approx(0.85e308)
