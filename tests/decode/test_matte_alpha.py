import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.decode.colour import parse_colour
from napari_onnxseg.decode.matte import compose, finish_alpha
from napari_onnxseg.errors import ChoiceError, ImageError


def picture(height, width, seed=0):
    random = np.random.default_rng(seed)
    colour = random.integers(0, 256, (3, height, width)).astype(np.uint8)
    return colour, random.random((height, width)).astype(np.float32)


@pytest.mark.parametrize("feather", [0, 3, 5])
@pytest.mark.parametrize("level", [0.0, 0.02, 0.5, 1.0])
def test_a_flat_matte_stays_flat(feather, level):
    alpha = np.full((32, 32), level, np.float32)
    np.testing.assert_allclose(finish_alpha(alpha, feather_px=feather), level, atol=1e-6)


def test_faint_noise_is_never_stretched_into_a_subject():
    noise = np.random.default_rng(1).normal(0.02, 0.005, (64, 64)).astype(np.float32)
    assert finish_alpha(noise).max() < 0.05
    assert not finish_alpha(noise, threshold=0.5).any()


def test_the_matte_is_the_probability_unless_something_is_chosen():
    _, alpha = picture(20, 30)
    np.testing.assert_array_equal(finish_alpha(alpha), alpha)


def test_a_threshold_cuts_to_zero_and_one_and_a_feather_softens_the_cut():
    alpha = np.tile(np.linspace(0, 1, 65, dtype=np.float32), (65, 1))
    cut = finish_alpha(alpha, threshold=0.5)
    np.testing.assert_array_equal(cut, alpha > 0.5)
    soft = finish_alpha(alpha, threshold=0.5, feather_px=3)
    assert (np.diff(soft[32]) >= -1e-6).all()
    assert soft[32, 30] > 0.1
    assert soft[32, 10] == pytest.approx(0, abs=1e-3)


def test_what_is_not_a_number_is_transparent_and_does_not_spread():
    alpha = np.ones((21, 21), np.float32)
    alpha[10, 10] = np.nan
    finished = finish_alpha(alpha, feather_px=3)
    assert np.isfinite(finished).all()
    assert finished[10, 10] < 1
    assert finish_alpha(alpha)[10, 10] == 0


def test_finishing_leaves_the_matte_that_was_given():
    _, alpha = picture(9, 9)
    before = alpha.copy()
    finish_alpha(alpha, feather_px=3, threshold=0.3)
    np.testing.assert_array_equal(alpha, before)


@pytest.mark.parametrize("choices", [{"feather_px": -1}, {"feather_px": np.nan}, {"threshold": 2}])
def test_a_feather_or_threshold_out_of_range_is_refused(choices):
    with pytest.raises(ChoiceError):
        finish_alpha(np.zeros((4, 4), np.float32), **choices)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(height=st.integers(1, 90), width=st.integers(1, 900), seed=st.integers(0, 9))
def test_straight_alpha_keeps_every_colour_and_rounds_the_alpha(height, width, seed):
    colour, alpha = picture(height, width, seed)
    rgba = compose(colour, alpha)
    np.testing.assert_array_equal(rgba[..., :3], np.moveaxis(colour, 0, -1))
    np.testing.assert_array_equal(rgba[..., 3], np.rint(alpha * 255))


def test_a_background_makes_the_picture_opaque_and_blends():
    colour, alpha = picture(70, 900)
    rgba = compose(colour, alpha, (255, 128, 0))
    back = np.array([255, 128, 0]).reshape(3, 1, 1)
    exact = np.rint(alpha * colour.astype(float) + (1.0 - alpha) * back)
    assert (rgba[..., 3] == 255).all()
    assert np.abs(np.moveaxis(rgba[..., :3], -1, 0) - exact).max() <= 1


def test_a_full_matte_keeps_the_picture_and_an_empty_one_shows_the_background():
    colour, _ = picture(5, 7)
    full = compose(colour, np.ones((5, 7), np.float32), (1, 2, 3))
    np.testing.assert_array_equal(full[..., :3], np.moveaxis(colour, 0, -1))
    empty = compose(colour, np.zeros((5, 7), np.float32), (1, 2, 3))
    assert (empty[..., :3] == [1, 2, 3]).all()


@pytest.mark.parametrize("background", [None, (255, 255, 255)])
def test_the_result_is_written_into_the_array_given(background):
    colour, alpha = picture(6, 9)
    whole = np.zeros((10, 9, 4), np.uint8)
    assert np.shares_memory(compose(colour, alpha, background, whole[2:8]), whole)
    np.testing.assert_array_equal(whole[2:8], compose(colour, alpha, background))
    assert not whole[:2].any()


def test_the_picture_is_not_changed_even_when_read_only():
    colour, alpha = picture(6, 9)
    colour.flags.writeable = alpha.flags.writeable = False
    before = colour.copy()
    compose(colour, alpha)
    compose(colour, alpha, (0, 0, 0))
    np.testing.assert_array_equal(colour, before)


@pytest.mark.parametrize("background", [None, (9, 9, 9)])
def test_composing_takes_no_memory_that_grows_with_the_picture(background):
    colour, alpha = picture(1000, 1000)
    out = np.empty((1000, 1000, 4), np.uint8)
    tracemalloc.start()
    compose(colour, alpha, background, out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("shape", [(4, 6, 9), (3, 6, 8), (6, 9, 3)])
def test_colours_of_another_shape_are_refused(shape):
    with pytest.raises(ImageError, match="uint8"):
        compose(np.zeros(shape, np.uint8), np.zeros((6, 9), np.float32))


def test_colours_of_another_dtype_are_refused():
    with pytest.raises(ImageError, match="uint16"):
        compose(np.zeros((3, 6, 9), np.uint16), np.zeros((6, 9), np.float32))


@pytest.mark.parametrize(
    ("text", "colour"),
    [
        ("white", (255, 255, 255)),
        (" Red ", (255, 0, 0)),
        ("#fff", (255, 255, 255)),
        ("#1a2", (17, 170, 34)),
        ("#0A80ff", (10, 128, 255)),
    ],
)
def test_colours_are_read_as_people_write_them(text, colour):
    assert parse_colour(text) == colour


@pytest.mark.parametrize(
    "text", ["", "#12", "#12345", "#gggggg", "reddish", "#12345678", "#+1+2+3"]
)
def test_what_is_no_colour_is_refused_with_the_names(text):
    with pytest.raises(ChoiceError, match=r"#rrggbb.*white"):
        parse_colour(text)
