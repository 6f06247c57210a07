import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.errors import ImageError
from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.normalize import Affine, Normalization, affine_for
from napari_onnxseg.prepare.stats import measure

fixed = settings(derandomize=True, deadline=None, max_examples=60)
SWAPPED = ">" if sys.byteorder == "little" else "<"
IMAGENET = Normalization("mean_std", mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def feed(image, normalization, channels=None, *, nodata=None, dtype="float32"):
    """Measure, fill, and return what the network is given, with the mask."""
    channels = channels or map_channels(len(image), len(image))
    stats = measure(lambda: [image], normalization, nodata=nodata, channels=channels)
    affine = affine_for(normalization, stats, channels, image.dtype)
    out = np.full((channels.model_channels, *image.shape[1:]), 99, dtype)
    return out, Feeder(channels, affine, nodata, dtype).fill(image, out)


def strided(image, layout):
    """Lay the same values out otherwise in memory."""
    if layout == "channels last":
        return np.ascontiguousarray(np.moveaxis(image, 0, -1)).transpose(2, 0, 1)
    if layout == "backwards":
        return np.ascontiguousarray(image[:, ::-1, ::-1])[:, ::-1, ::-1]
    if layout == "every other":
        return np.repeat(np.repeat(image, 2, 1), 3, 2)[:, ::2, ::3]
    return image


@pytest.mark.parametrize("layout", ["plain", "channels last", "backwards", "every other"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "f2", "f4", "f8", "i8", "u8"]
)
def test_any_dtype_byte_order_and_strides_give_the_same_input(dtype, order, layout):
    rng = np.random.default_rng(7)
    values = rng.integers(0, 120, (3, 17, 23))
    expected, _ = feed(values.astype(np.float64), Normalization("min_max"))
    image = strided(values.astype(order + dtype), layout)
    before = image.copy()
    image.setflags(write=False)
    found, mask = feed(image, Normalization("min_max"))
    assert mask is None
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(image, before)


def test_a_mask_is_fed_as_0_and_1():
    image = np.eye(5, dtype=bool)[None]
    for method in ("unit", "dtype_max", "min_max", "none"):
        np.testing.assert_array_equal(feed(image, Normalization(method))[0], image)


@fixed
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from(["u1", "i2", "u2", "f4", "f8"]),
    st.integers(0, 999),
)
def test_each_pixel_gets_its_line_whatever_stands_around_it(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    image = (rng.random((2, *shape)) * 100).astype(dtype)
    channels = map_channels(2, 2)
    offset, gain = rng.normal(size=2) * 100, rng.normal(size=2)
    feeder = Feeder(channels, Affine((*offset,), (*gain,), False), None, "float32")
    out = np.empty(image.shape, np.float32)
    feeder.fill(image, out)
    exact = (image.astype(float) - offset[:, None, None]) * gain[:, None, None]
    np.testing.assert_allclose(out, exact, rtol=1e-6, atol=1e-5)
    part = np.empty((2, 1, 1), np.float32)
    y, x = rng.integers(0, shape[0]), rng.integers(0, shape[1])
    feeder.fill(image[:, y : y + 1, x : x + 1], part)
    np.testing.assert_array_equal(part[:, 0, 0], out[:, y, x])


def test_large_planes_are_filled_to_the_last_row():
    image = np.random.default_rng(0).integers(0, 256, (3, 517, 403)).astype(np.uint8)
    out, _ = feed(image, IMAGENET)
    mean, std = (np.array(v)[:, None, None] for v in (IMAGENET.mean, IMAGENET.std))
    np.testing.assert_allclose(out, (image / 255 - mean) / std, atol=1e-6)


def test_sixteen_bit_values_keep_their_steps():  # B012
    for top in (65535, 4095):
        image = np.linspace(0, top, 256).astype(np.uint16)[None, None].repeat(2, 1)
        out, _ = feed(image, Normalization("unit"), map_channels(1, 3))
        assert len(np.unique(out[1])) >= 250
        assert (np.diff(out[1, 0]) >= 0).all()
        assert out.max() == pytest.approx(1, abs=1e-6)


def test_a_narrow_span_far_from_zero_is_resolved():
    image = np.random.default_rng(1).integers(65000, 65021, (1, 64, 64)).astype(np.uint16)
    low, high = np.percentile(image, [1.3, 98.7])
    out, _ = feed(image, Normalization("percentile", low=1.3, high=98.7))
    np.testing.assert_allclose(out, (image - low) / (high - low), atol=1e-6)


def test_percentiles_become_0_and_1_at_any_offset():  # B018
    noise = np.random.default_rng(2).integers(1000, 1201, (1, 200, 200)).astype(np.uint16)
    normalization = Normalization("percentile", low=1, high=99.8)
    out, _ = feed(noise, normalization)
    np.testing.assert_allclose(np.percentile(out, [1, 99.8]), [0, 1], atol=1e-4)
    np.testing.assert_allclose(feed(noise - np.uint16(1000), normalization)[0], out, atol=1e-6)


@pytest.mark.parametrize("dtype", ["i2", ">i2", "i4", "f4", "f8", "i8"])
def test_signed_values_are_not_wrapped(dtype):  # B014
    image = np.array([[[-1000, 0, 1000]]], dtype)
    out, _ = feed(image, Normalization("window", low=-1000, high=1000))
    np.testing.assert_allclose(out, [[[0, 0.5, 1]]], atol=1e-6)


def test_signed_bytes_are_not_wrapped():  # B014
    out, _ = feed(
        np.array([[[-100, 0, 100]]], np.int8), Normalization("window", low=-100, high=100)
    )
    np.testing.assert_allclose(out, [[[0, 0.5, 1]]], atol=1e-6)


def test_a_window_cuts_what_lies_outside():
    image = np.array([[[-3000, 0, 3000]]], np.int16)
    out, _ = feed(image, Normalization("window", low=-1000, high=1000))
    np.testing.assert_allclose(out, [[[0, 0.5, 1]]])


@pytest.mark.parametrize("value", [0, 128, 255])
@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "f4", "f8"])
@pytest.mark.parametrize(
    "normalization",
    [
        Normalization("zero_mean_unit_variance"),
        Normalization("min_max"),
        Normalization("percentile"),
    ],
    ids=lambda n: n.method,
)
def test_flat_images_are_fed_flat_and_finite(value, dtype, normalization):  # B016
    out, _ = feed(np.full((1, 20, 20), value, dtype), normalization)
    np.testing.assert_array_equal(out, 0)


@pytest.mark.parametrize("hole", [np.nan, np.inf, -np.inf, -9999])
@pytest.mark.parametrize("dtype", ["f4", ">f4", "f8"])
def test_no_data_is_fed_as_0_and_changes_nothing_else(hole, dtype):  # B017
    rng = np.random.default_rng(3)
    image = rng.normal(50, 9, (1, 70, 70)).astype(dtype)
    image[0, :20, :20] = hole
    out, mask = feed(image, Normalization("percentile", low=2, high=98), nodata=-9999)
    assert mask[:20, :20].all()
    assert mask.sum() == 400
    assert (out[0][mask] == 0).all()
    low, high = np.percentile(image[0][~mask].astype(float), [2, 98])
    np.testing.assert_allclose(out[0][~mask], (image[0][~mask] - low) / (high - low), atol=1e-5)


def test_nan_in_a_channel_that_the_network_does_not_see_is_no_matter():
    image = np.ones((2, 4, 4), np.float32)
    image[1] = np.nan
    out, mask = feed(image, Normalization("none"), map_channels(2, 1, chosen=(0,)))
    assert mask is None
    assert (out == 1).all()


def test_transparent_pixels_are_no_data():  # B010
    image = np.full((4, 6, 6), 200, np.uint8)
    image[3, :, :3] = 0
    out, mask = feed(image, Normalization("unit"), map_channels(4, 3, rgb=True))
    np.testing.assert_array_equal(mask, image[3] == 0)
    assert (out[:, mask] == 0).all()
    np.testing.assert_allclose(out[:, ~mask], 200 / 255, atol=1e-6)


def test_the_mask_alone_is_the_mask_of_the_fill():
    image = np.array([[[1.0, np.nan, 7.0]]])
    feeder = Feeder(map_channels(1, 1), Affine((0.0,), (1.0,), False), 7.0, "float32")
    np.testing.assert_array_equal(feeder.invalid(image), [[False, True, True]])
    assert feeder.invalid(image[:, :, :1]) is None


def test_grey_is_fed_like_a_grey_picture_in_colour():  # B013
    grey = np.random.default_rng(4).random((1, 30, 30)).astype(np.float32)
    colour = np.repeat(grey, 3, 0)
    for normalization in (IMAGENET, Normalization("percentile", low=1, high=99)):
        one, _ = feed(grey, normalization, map_channels(1, 3))
        three, _ = feed(colour, normalization, map_channels(3, 3, rgb=True))
        np.testing.assert_array_equal(one, three)


def test_bgr_models_get_blue_first_with_the_means_of_their_channels():
    image = np.random.default_rng(5).integers(0, 256, (3, 9, 9)).astype(np.uint8)
    out, _ = feed(image, IMAGENET, map_channels(3, 3, rgb=True, order="BGR"))
    turned, _ = feed(image[::-1], IMAGENET, map_channels(3, 3, rgb=True))
    np.testing.assert_array_equal(out, turned)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
def test_colour_is_mixed_to_grey_before_it_is_normalised(dtype):
    image = np.random.default_rng(6).integers(0, 255, (3, 25, 25)).astype(dtype)
    grey = np.tensordot([0.299, 0.587, 0.114], image.astype(float), 1)
    out, _ = feed(image, Normalization("min_max"), map_channels(3, 1, rgb=True))
    np.testing.assert_allclose(out[0], (grey - grey.min()) / np.ptp(grey), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_input_has_the_float_the_model_takes(dtype):
    image = np.random.default_rng(8).integers(0, 256, (1, 9, 9)).astype(np.uint8)
    out, _ = feed(image, Normalization("unit"), dtype=dtype)
    assert out.dtype == dtype
    np.testing.assert_allclose(out, image / 255, atol=float(np.finfo(dtype).eps))


def test_float64_models_get_float64_accuracy_from_float64_images():
    image = np.array([[[1e9, 1e9 + 1e-3, 1e9 + 2e-3]]])
    out, _ = feed(image, Normalization("min_max"), dtype="float64")
    np.testing.assert_allclose(out, [[[0, 0.5, 1]]], atol=1e-4)
    assert feed(image, Normalization("min_max"))[0][0, 0, 1] == pytest.approx(0.5, abs=1e-4)


def test_byte_models_get_rounded_and_cut_values():
    image = np.array([[[-5, 0.4, 0.6, 254.6, 300]]], np.float32)
    out, _ = feed(image, Normalization("none"), dtype="uint8")
    np.testing.assert_array_equal(out, [[[0, 0, 1, 255, 255]]])
    same, _ = feed(np.arange(256, dtype=np.uint8)[None, None], Normalization("none"), dtype="uint8")
    np.testing.assert_array_equal(same[0, 0], np.arange(256))


def test_values_beyond_the_models_float_stay_finite():
    image = np.array([[[-1e300, 0, 1e300]]])
    for dtype in ("float16", "float32"):
        out, mask = feed(image, Normalization("none"), dtype=dtype)
        assert mask is None
        assert np.isfinite(out).all()


@pytest.mark.parametrize("span", [1e-36, 1e36])
def test_images_at_the_ends_of_float32_are_normalised(span):
    image = (np.linspace(0, 1, 11) * span).astype(np.float32)[None, None]
    out, _ = feed(image, Normalization("min_max"))
    assert np.isfinite(out).all()
    if span > 1:
        np.testing.assert_allclose(out[0, 0], np.linspace(0, 1, 11), atol=1e-6)


def test_volumes_are_filled_like_planes():
    image = np.random.default_rng(9).integers(0, 999, (2, 5, 6, 7)).astype(np.uint16)
    out, _ = feed(image, Normalization("min_max"))
    flat, _ = feed(image.reshape(2, 5, 42), Normalization("min_max"))
    np.testing.assert_array_equal(out.reshape(flat.shape), flat)


def test_a_buffer_of_another_shape_is_refused():
    feeder = Feeder(map_channels(1, 1), Affine((0.0,), (1.0,), False), None, "float32")
    with pytest.raises(ImageError, match=r"\(1, 4, 4\)"):
        feeder.fill(np.zeros((1, 4, 4)), np.zeros((1, 5, 4), np.float32))


def test_filling_takes_next_to_no_memory():
    image = np.random.default_rng(0).integers(0, 256, (512, 512, 3)).astype(np.uint8)
    channels = map_channels(3, 3, rgb=True)
    feeder = Feeder(channels, affine_for(IMAGENET, None, channels, np.uint8), None, "float32")
    out = np.empty((3, 512, 512), np.float32)
    tracemalloc.start()
    feeder.fill(image.transpose(2, 0, 1), out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_a_fractional_offset_far_from_zero_is_kept_to_the_last_digit():
    image = np.arange(65000, 65011, dtype=np.uint16)[None, None]
    feeder = Feeder(map_channels(1, 1), Affine((65000.3,), (0.1,), False), None, "float32")
    out = np.empty(image.shape, np.float32)
    feeder.fill(image, out)
    np.testing.assert_allclose(out, (image - 65000.3) * 0.1, atol=2e-7)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f8"])
def test_wide_values_are_worked_on_in_float64(dtype):
    image = (2**31 - 100 + np.arange(0, 101, 20, dtype=np.int64)).clip(max=2**31 - 1)
    out, _ = feed(image.astype(dtype)[None, None], Normalization("min_max"))
    np.testing.assert_allclose(out[0, 0], (image - image[0]) / 99, atol=1e-6)


def test_a_span_beyond_float32_does_not_become_infinite():
    image = np.array([[[-3e38, 0, 3e38]]], np.float32)
    out, _ = feed(image, Normalization("min_max"))
    np.testing.assert_allclose(out, [[[0, 0.5, 1]]], atol=1e-6)


@pytest.mark.parametrize("marker", [2**64 - 1, 2**53 + 1])
def test_64_bit_markers_of_missing_data_are_compared_exactly(marker):
    pixels = np.array([[[marker, marker - 1]]], np.uint64)
    feeder = Feeder(map_channels(1, 1), Affine((0.0,), (1.0,), False), marker, "float32")
    np.testing.assert_array_equal(feeder.invalid(pixels), [[True, False]])
