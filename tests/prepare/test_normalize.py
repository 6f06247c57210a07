import numpy as np
import pytest

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.prepare.normalize import (
    Normalization,
    affine_for,
    full_range,
    normalization_notes,
)
from napari_onnxseg.prepare.stats import IntensityStats, measure


def statistics(image: np.ndarray, normalization: Normalization) -> IntensityStats:
    return measure(lambda: [image], normalization)


def lines(normalization, image, channels=None):
    channels = channels or map_channels(len(image), len(image))
    stats = statistics(image, normalization)
    return affine_for(normalization, stats, channels, image.dtype)


def ramp(low, high, dtype=np.uint8):
    return np.linspace(low, high, 64).reshape(1, 8, 8).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "maximum", "value"),
    [
        ("bool", None, 1),
        ("uint8", None, 255),
        ("uint8", 3, 255),
        ("int8", None, 127),
        ("uint16", 0, 255),
        ("uint16", 255, 255),
        ("uint16", 256, 511),
        ("uint16", 4095, 4095),
        ("uint16", 65535, 65535),
        ("int16", -5, 255),
        ("int16", 3000, 4095),
        ("uint32", 70_000, 131_071),
        ("float32", 0.2, 1),
        ("float32", 1.0005, 1),
        ("float64", 255.0, 255),
        ("float64", 255.4, 255),
        (">u2", 1000, 1023),
    ],
)
def test_the_full_range_is_that_of_the_bits_in_use(dtype, maximum, value):  # B012
    found, words = full_range(dtype, maximum)
    assert found == value
    assert f"0..{value}" in words


def test_the_range_of_wide_data_is_not_guessed_unmeasured():
    with pytest.raises(ModelError, match="after measuring"):
        full_range("uint16")
    with pytest.raises(ModelError, match="to be measured"):
        affine_for(Normalization("percentile"), None, map_channels(1, 1), "uint8")


@pytest.mark.parametrize(
    ("normalization", "at", "becomes"),
    [
        (Normalization("none"), 7, 7),
        (Normalization("unit"), 51, 0.2),
        (Normalization("divide", scale=50), 100, 2),
        (Normalization("dtype_max"), 255, 1),
        (Normalization("symmetric"), 0, -1),
        (Normalization("symmetric"), 255, 1),
        (Normalization("mean_std", mean=(0.2,), std=(0.1,)), 51, 0),
        (Normalization("mean_std", mean=(0.2,), std=(0.1,)), 76.5, 1),
        (Normalization("standardize", scale=100, mean=(0.5,), std=(0.1,)), 50, 0),
        (Normalization("standardize", scale=100, mean=(0.5,), std=(0.1,)), 60, 1),
        (Normalization("min_max"), 10, 0),
        (Normalization("min_max"), 200, 1),
        (Normalization("window", low=20, high=30), 20, 0),
        (Normalization("window", low=20, high=30), 30, 1),
    ],
)
def test_each_method_is_the_line_it_says(normalization, at, becomes):
    line = lines(normalization, ramp(10, 200))
    assert (at - line.offset[0]) * line.gain[0] == pytest.approx(becomes, abs=1e-12)


def test_low_and_high_percentile_become_0_and_1():  # B018
    image = np.random.default_rng(1).integers(1000, 1201, (1, 300, 300)).astype(np.uint16)
    line = lines(Normalization("percentile", low=1, high=99.8), image)
    at = np.percentile(image, [1, 99.8])
    np.testing.assert_allclose((at - line.offset[0]) * line.gain[0], [0, 1], atol=1e-12)
    moved = lines(Normalization("percentile", low=1, high=99.8), image - np.uint16(1000))
    assert moved.gain == line.gain
    assert moved.offset[0] == pytest.approx(line.offset[0] - 1000)


def test_the_models_epsilon_is_added_to_the_span():
    line = lines(Normalization("min_max", eps=1.0), ramp(0, 3, np.float32))
    assert line.gain == (0.25,)
    line = lines(Normalization("zero_mean_unit_variance", eps=1.0), ramp(0, 3, np.float32))
    assert line.gain == pytest.approx((1 / (ramp(0, 3, np.float32).std() + 1),))


def test_channels_are_measured_together_or_each_by_itself():
    image = np.concatenate([ramp(0, 100), ramp(0, 200)])
    assert lines(Normalization("min_max"), image).gain == (1 / 200, 1 / 200)
    assert lines(Normalization("min_max", per_channel=True), image).gain == (1 / 100, 1 / 200)
    swapped = map_channels(2, 2, chosen=(1, 0))
    alone = Normalization("min_max", per_channel=True)
    assert lines(alone, image, swapped).gain == (1 / 200, 1 / 100)


def test_the_full_range_is_one_for_all_channels():
    image = np.concatenate([ramp(0, 300, np.uint16), ramp(0, 4000, np.uint16)])
    assert lines(Normalization("unit", per_channel=True), image).gain == (1 / 4095, 1 / 4095)


def test_standardizing_divides_by_the_number_given_whatever_the_range_of_the_image():
    wide = Normalization("standardize", mean=(0.5,), std=(0.25,))
    line = lines(wide, ramp(0, 4000, np.uint16))
    assert (line.offset, line.gain) == ((127.5,), (pytest.approx(4 / 255),))
    assert not wide.needs_measuring(np.dtype("uint16"))


def test_means_are_one_a_model_channel_or_one_for_all():
    image = np.concatenate([ramp(0, 255)] * 3)
    three = Normalization("mean_std", mean=(0, 0.2, 0.4), std=(1, 1, 1))
    assert lines(three, image).offset == pytest.approx((0, 51, 102))
    assert lines(three, ramp(0, 255), map_channels(1, 3)).offset == pytest.approx((0, 51, 102))
    one = Normalization("mean_std", mean=(0.2,), std=(1,))
    assert lines(one, image).offset == pytest.approx((51, 51, 51))
    with pytest.raises(ModelError, match="3 means, but the model takes 1"):
        lines(three, ramp(0, 255))


@pytest.mark.parametrize("value", [0, 128, 255])
@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "f4", "f8"])
@pytest.mark.parametrize("method", ["zero_mean_unit_variance", "min_max", "percentile"])
def test_a_flat_image_gets_a_flat_line(value, dtype, method):  # B016
    image = np.full((1, 30, 30), value, dtype)
    line = lines(Normalization(method), image)
    assert line.gain == (0,)
    assert line.offset == (value,)


def test_few_objects_on_an_even_ground_are_not_lost():
    image = np.zeros((1, 100, 100), np.uint8)
    image[0, 5, 5:8] = (50, 100, 200)
    normalization = Normalization("percentile", low=1, high=99.8)
    line = lines(normalization, image)
    assert (line.offset, line.gain) == ((0,), (1 / 200,))
    notes = normalization_notes(normalization, statistics(image, normalization), image.dtype)
    assert "coincide" in " ".join(notes)


def test_clipping_is_the_models_choice_and_always_that_of_a_window():
    assert not lines(Normalization("percentile"), ramp(0, 9)).clip
    assert lines(Normalization("percentile", clip=True), ramp(0, 9)).clip
    assert lines(Normalization("window", low=0, high=9), ramp(0, 9)).clip


@pytest.mark.parametrize(
    ("image", "method", "words"),
    [
        (np.full((1, 4, 4), np.nan, np.float32), "min_max", "No pixel of the image is valid"),
        (np.full((1, 4, 4), 128, np.uint8), "min_max", "every valid pixel is 128"),
        (ramp(0, 4000, np.uint16), "unit", r"0..4095 \(12-bit values in uint16\)"),
        (ramp(0, 0.5, np.float32), "symmetric", "0..1"),
        (np.array([[[np.nan, 1, 2]]]), "min_max", "1 pixel.* no data"),
    ],
)
def test_a_user_is_told_what_is_peculiar(image, method, words):
    import re

    normalization = Normalization(method)
    notes = normalization_notes(normalization, statistics(image, normalization), image.dtype)
    assert re.search(words, " ".join(notes))


def test_there_is_nothing_to_tell_about_an_ordinary_image():
    normalization = Normalization("percentile", low=1, high=99)
    stats = statistics(ramp(0, 255), normalization)
    assert normalization_notes(normalization, stats, np.uint8) == ()


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_the_largest_whole_number_of_a_dtype_becomes_one(dtype):
    most = np.iinfo(dtype).max
    assert full_range(dtype, float(most))[0] == float(most)


def test_floats_beyond_any_camera_keep_a_finite_range():
    assert full_range(np.float64, 1.7e308)[0] == 1.7e308
