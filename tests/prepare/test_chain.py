import numpy as np
import pytest
from formulas import CHAINS, ONE_STEP, STEPS, bands, expected, fed, noise
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.prepare.chain import Seen, settle_steps
from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.steps import Step

fixed = settings(derandomize=True, deadline=None, max_examples=50)


@pytest.mark.parametrize("dtype", ["u1", ">u2", "f4", "f8", "?"])
@pytest.mark.parametrize("step", ONE_STEP, ids=lambda step: step.op)
def test_each_operation_is_what_the_specification_says(step, dtype):
    image = noise(dtype, (2, 23, 19), 5)
    if step.op == "cast":
        image = np.minimum(image, 200).astype(dtype)  # numpy wraps what uint8 cannot hold
    found = fed(image, (step,))
    np.testing.assert_allclose(found, expected(image, (step,)), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "+".join(s.op for s in chain))
def test_each_step_is_measured_after_the_steps_before_it(chain, dtype):
    image = noise(dtype, (2, 23, 19), 6)
    np.testing.assert_allclose(fed(image, chain), expected(image, chain), rtol=5e-5, atol=1e-5)


@fixed
@given(st.lists(STEPS, min_size=1, max_size=4), st.sampled_from(["u1", "f4"]), st.integers(0, 99))
def test_any_chain_is_its_formulas_one_after_the_other(steps, dtype, seed):
    image = noise(dtype, (2, 13, 11), seed) / np.array(4, "f4" if dtype == "f4" else "f8")
    found = fed(image, steps)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected(image, steps), rtol=1e-3, atol=1e-3)


@fixed
@given(
    st.lists(STEPS, min_size=1, max_size=3),
    st.sampled_from(["u1", "u2", "f4"]),
    st.integers(1, 13),
    st.integers(0, 99),
)
def test_bands_of_any_height_give_the_same_input(steps, dtype, rows, seed):
    image = noise(dtype, (2, 13, 11), seed)
    whole = fed(image, steps, rows=13)
    np.testing.assert_allclose(fed(image, steps, rows=rows), whole, rtol=1e-5, atol=1e-5)


@fixed
@given(st.lists(STEPS, min_size=1, max_size=3), st.integers(0, 99))
def test_a_pixel_gets_the_same_value_whatever_stands_around_it(steps, seed):
    rng = np.random.default_rng(seed)
    image = noise("u2", (2, 40, 30), seed)
    channels = map_channels(2, 2)
    settled = settle_steps(steps, Seen(bands(image), channels), count=2)
    affine, stages = settled.line(2)
    feeder = Feeder(channels, affine, None, "float32", stages)
    out, part = np.empty((2, 40, 30), np.float32), np.empty((2, 1, 1), np.float32)
    feeder.fill(image, out)
    y, x = rng.integers(0, 40), rng.integers(0, 30)
    feeder.fill(image[:, y : y + 1, x : x + 1], part)
    np.testing.assert_allclose(part[:, 0, 0], out[:, y, x], rtol=1e-6, atol=1e-7)


def test_pixels_that_are_no_data_change_nothing():
    steps = CHAINS[3]
    image = noise("f4", (2, 23, 19), 7)
    holes = np.full((2, 23 + 9, 19), -9999, np.float32)
    holes[:, :4, :5] = np.nan
    holes[:, 9:] = image
    found = fed(holes, steps, nodata=-9999)
    np.testing.assert_allclose(found[:, 9:], expected(image, steps), rtol=5e-5, atol=1e-5)
    assert (found[:, :9] == 0).all()


def test_transparent_pixels_change_nothing():  # B010
    colours = noise("u1", (3, 20, 20), 1)
    image = np.concatenate([colours, np.full((1, 20, 20), 255, np.uint8)])
    image[:3, :4], image[3, :4] = 255, 0
    steps = (Step("scale_range", per_channel=True), Step("zero_mean_unit_variance"))
    found = fed(image, steps, map_channels(4, 3, rgb=True))
    np.testing.assert_allclose(found[:, 4:], expected(colours[:, 4:], steps), atol=1e-5)
    assert (found[:, :4] == 0).all()


@pytest.mark.parametrize("chain", CHAINS[:2])
def test_a_mixture_is_one_channel(chain):
    image = noise("f8", (3, 20, 20), 3)
    grey = np.tensordot([0.299, 0.587, 0.114], image, 1)[None]
    found = fed(image, chain, map_channels(3, 1, rgb=True))
    np.testing.assert_allclose(found, expected(grey, chain), rtol=1e-5, atol=1e-6)


def test_grey_copied_to_three_may_be_treated_differently_in_each():
    image = noise("u1", (1, 20, 20), 3)
    steps = (
        Step("standardize", mean=(10, 20, 30), std=(1, 2, 3)),
        Step("scale_range", high_percentile=90),
        Step("clip", low=0.1),
        Step("zero_mean_unit_variance", per_channel=True),
    )
    found = fed(image, steps, map_channels(1, 3))
    np.testing.assert_allclose(found, expected(image.repeat(3, 0), steps), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("value", [0, 77, 255])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
@pytest.mark.parametrize("chain", [*CHAINS, *((step,) for step in ONE_STEP)])
def test_flat_images_stay_finite_and_flat(chain, dtype, value):  # B016
    image = np.full((2, 9, 9), value, dtype)
    found = fed(image, chain)
    assert np.isfinite(found).all()
    assert (found == found[:, :1, :1]).all()
    if "softmax" not in [step.op for step in chain]:
        np.testing.assert_allclose(found, expected(image, chain), rtol=1e-4, atol=1e-4)


def test_a_flat_image_without_eps_becomes_0():
    image = np.full((1, 9, 9), 7, np.uint8)
    for op in ("scale_range", "zero_mean_unit_variance"):
        assert (fed(image, (Step(op, eps=0),)) == 0).all()


def test_an_image_without_a_valid_pixel_is_fed_0():
    image = np.full((2, 5, 5), np.nan, np.float32)
    for chain in CHAINS:
        assert (fed(image, chain) == 0).all()


def test_the_order_of_steps_matters():
    image = noise("u1", (1, 30, 30), 0)
    clip = Step("clip", low_percentile=5, high_percentile=60)
    chains = [(clip, Step("zero_mean_unit_variance")), (Step("zero_mean_unit_variance"), clip)]
    first, second = (fed(image, chain) for chain in chains)
    assert abs(first.mean()) < 1e-5
    assert abs(second.mean()) > 0.1


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64"])
def test_a_chain_may_feed_other_element_types(dtype):
    image = noise("u2", (2, 30, 20), 8)
    steps = (
        Step("scale_range", low_percentile=5, high_percentile=90),
        Step("clip", low=0, high=1),
        Step("scale_linear", gain=255),
        Step("cast", dtype=dtype),
    )
    found = fed(image, steps, dtype=dtype)
    np.testing.assert_allclose(found, expected(image, steps), atol=1.001, rtol=1e-3)
    assert found.dtype == dtype


def test_whole_numbers_of_32_bit_are_fed_without_wrapping_round():
    image = np.full((1, 3, 3), 3e9, np.float32)
    assert (fed(image, (Step("cast", dtype="float32"),), dtype="int32") > 2e9).all()
