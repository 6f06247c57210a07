import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from napari_onnxseg.prepare import resample
from napari_onnxseg.prepare.resample import enlarge_rows, repeat_ids, rescale_scores, shrink_to

fixed = settings(derandomize=True, deadline=None, max_examples=60)
sides = st.tuples(st.integers(1, 60), st.integers(1, 60))


def noise(shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


def pil(plane, shape):
    return np.asarray(Image.fromarray(plane).resize(shape[::-1], Image.Resampling.BILINEAR))


def shrunk(image, shape):
    return shrink_to(lambda a, b: image[:, a:b], image.shape[1:], shape)


@fixed
@given(sides, sides, st.integers(0, 99))
def test_resizing_is_that_of_pil(shape, out_shape, seed):
    image = noise((2, *shape), seed)
    found = shrunk(image, out_shape)
    assert found.dtype == np.float32
    for plane, result in zip(image, found, strict=True):
        np.testing.assert_allclose(result, pil(plane, out_shape), atol=1e-6)


def test_an_image_of_the_right_size_is_left_alone():
    image = np.arange(3 * 20 * 30, dtype=np.uint16).reshape(3, 20, 30)
    np.testing.assert_array_equal(shrunk(image, (20, 30)), image)


@pytest.mark.parametrize("value", [0, 200])
def test_a_flat_image_stays_flat(value):
    image = np.full((1, 123, 457), value, np.uint8)
    np.testing.assert_allclose(shrunk(image, (32, 32)), value, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["u1", ">u2", "f8", "?"])
def test_bands_give_the_same_as_the_whole(dtype, monkeypatch):
    image = (noise((3, 300, 90), 1) * 200).astype(dtype)
    whole = shrunk(image, (40, 33))
    monkeypatch.setattr(resample, "_BAND_VALUES", 90 * 40)
    asked = []

    def read(a, b):
        asked.append(b - a)
        return image[:, a:b]

    np.testing.assert_array_equal(shrink_to(read, (300, 90), (40, 33)), whole)
    assert len(asked) > 5
    assert max(asked) <= 60


@fixed
@given(sides, sides, st.integers(0, 99), st.integers(1, 20))
def test_enlarging_is_that_of_pil_in_whatever_bands(shape, out_shape, seed, rows):
    small = noise(shape, seed)
    bands = [
        enlarge_rows(small, out_shape, slice(y, min(y + rows, out_shape[0])))
        for y in range(0, out_shape[0], rows)
    ]
    np.testing.assert_array_equal(
        np.concatenate(bands), enlarge_rows(small, out_shape, slice(0, out_shape[0]))
    )
    np.testing.assert_allclose(np.concatenate(bands), pil(small, out_shape), atol=1e-6)


def test_enlarging_never_leaves_the_range_of_the_values():
    small = (noise((16, 16)) > 0.5).astype(np.float32) * np.float32(0.7)
    large = enlarge_rows(small, (333, 517), slice(0, 333))
    assert large.min() == 0
    assert large.max() == np.float32(0.7)


def test_no_rows_are_no_rows():
    assert enlarge_rows(noise((4, 4)), (9, 7), slice(3, 3)).shape == (0, 7)


def test_half_resolution_scores_are_interpolated_between_pixel_centres():
    scores = np.array([[[0.0, 4.0, 8.0]]], np.float32)
    np.testing.assert_array_equal(rescale_scores(scores, (1, 6)), [[[0, 1, 3, 5, 7, 8]]])


def test_double_resolution_scores_are_averaged():
    scores = noise((3, 8, 12))
    expected = scores.reshape(3, 4, 2, 6, 2).mean((2, 4))
    np.testing.assert_allclose(rescale_scores(scores, (4, 6)), expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(7, 11), (20, 3), (16, 16), (33, 40)])
def test_scores_of_any_size_come_to_the_size_asked_for(shape):
    scores = noise((2, 16, 16), 3)
    found = rescale_scores(scores, shape)
    assert found.dtype == np.float32
    for plane, result in zip(scores, found, strict=True):
        np.testing.assert_allclose(result, pil(plane, shape), atol=1e-6)


def test_scores_of_the_right_size_are_not_copied():
    scores = noise((2, 5, 6))
    assert rescale_scores(scores, (5, 6)) is scores


def test_volumes_are_rescaled_on_every_axis():
    volume = np.broadcast_to(np.arange(6.0, dtype=np.float32)[:, None, None], (1, 6, 4, 4))
    found = rescale_scores(volume, (3, 8, 8))
    np.testing.assert_allclose(found, np.broadcast_to([[[[0.5]], [[2.5]], [[4.5]]]], (1, 3, 8, 8)))


def test_a_tile_with_two_pixels_around_it_is_rescaled_like_the_whole():
    scores = noise((2, 24, 24), 5)
    whole = rescale_scores(scores, (48, 48))
    part = rescale_scores(scores[:, 4:20, 6:22], (32, 32))
    np.testing.assert_array_equal(part[:, 2:-2, 2:-2], whole[:, 10:38, 14:42])


@fixed
@given(sides, sides)
def test_class_ids_are_only_ever_repeated(shape, out_shape):  # B029
    ids = np.random.default_rng(0).integers(0, 9, (1, *shape))
    out = repeat_ids(ids, out_shape)
    assert (out.dtype, out.shape) == (ids.dtype, (1, *out_shape))
    rows, columns = (
        np.floor((np.arange(m) + 0.5) * n / m).astype(int)
        for n, m in zip(shape, out_shape, strict=True)
    )
    np.testing.assert_array_equal(out[0], ids[0][np.ix_(rows, columns)])


def test_class_ids_of_volumes_are_repeated_on_every_axis():
    ids = np.arange(8).reshape(1, 2, 2, 2)
    doubled = repeat_ids(ids, (4, 4, 4))
    np.testing.assert_array_equal(doubled, ids.repeat(2, 1).repeat(2, 2).repeat(2, 3))
