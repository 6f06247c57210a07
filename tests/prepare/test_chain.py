import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.record import plain
from napari_onnxseg.prepare.chain import Seen, chain_notes, settle_steps
from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.normalize import Normalization, affine_for
from napari_onnxseg.prepare.stages import Clip, Line, apply_stages
from napari_onnxseg.prepare.stats import measure
from napari_onnxseg.prepare.steps import Step

fixed = settings(derandomize=True, deadline=None, max_examples=50)
PER_CHANNEL, TOGETHER = (1, 2), None
"""The axes that are reduced."""


def bands(image, rows=3):
    return lambda: (image[:, y : y + rows] for y in range(0, image.shape[1], rows))


def fed(image, steps, channels=None, *, nodata=None, dtype="float32", rows=3):
    """Settle a chain for an image and return what the network is given."""
    channels = channels or map_channels(len(image), len(image))
    count = channels.model_channels
    settled = settle_steps(steps, Seen(bands(image, rows), channels, nodata), count=count)
    affine, stages = settled.line(count)
    out = np.full((count, *image.shape[1:]), 99, dtype)
    Feeder(channels, affine, nodata, dtype, stages).fill(image, out)
    return out


def after(values, steps, *, reference=None, rows=3):
    """Settle a chain for the output of a network and return it changed."""
    raw = values.astype(np.float32)
    blocks = None if reference is None else Seen(bands(reference))
    settled = settle_steps(steps, Seen(bands(raw, rows)), count=len(raw), reference=blocks)
    for y in range(0, raw.shape[1], rows):
        apply_stages(raw[:, y : y + rows], settled.stages)
    return raw, settled


def axes_of(step):
    return PER_CHANNEL if step.per_channel else TOGETHER


def each(values):
    """One number for all, or one a channel, against (C, Y, X)."""
    return np.reshape(values, (-1, 1, 1))


def fixed_by_the_text(x, step):
    """Return what the specification says of operations that measure nothing, in float64."""
    powers = np.exp(x - x.max(0))
    return {
        "scale_linear": lambda: x * each(step.gain) + each(step.offset),
        "standardize": lambda: (x - each(step.mean)) / each(step.std),
        "binarize": lambda: (x > each(step.threshold)).astype(float),
        "sigmoid": lambda: 1 / (1 + np.exp(-x)),
        "softmax": lambda: powers / powers.sum(0),
        "cast": lambda: x.astype(step.dtype).astype(float),
    }[step.op]()


def clipped_by_the_text(x, step):
    """Return what the specification says of clipping."""
    low, high = step.low, step.high
    if step.low_percentile is not None:
        low = np.percentile(x, step.low_percentile, axes_of(step), keepdims=True)
    if step.high_percentile is not None:
        high = np.percentile(x, step.high_percentile, axes_of(step), keepdims=True)
    return np.clip(x, low, high)


def by_the_text(x, step, before):
    """Return what the specification says a step does; ``before`` is the raw input."""
    if not step.needs_statistics and step.op != "clip":
        return fixed_by_the_text(x, step)
    if step.op == "clip":
        return clipped_by_the_text(x, step)
    axes, of = axes_of(step), before if step.reference else x
    if step.op == "scale_range":
        percents = step.low_percentile or 0, step.high_percentile or 100
        low, high = (np.percentile(of, p, axes, keepdims=True) for p in percents)
        return (x - low) / (high - low + step.eps)
    unit = (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + step.eps)
    if step.op == "zero_mean_unit_variance":
        return unit
    return unit * (of.std(axes, keepdims=True) + step.eps) + of.mean(axes, keepdims=True)


def expected(image, steps):
    x = before = image.astype(np.float64)
    for step in steps:
        x = by_the_text(x, step, before)
    return x


def noise(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.3
    spread = {"u1": 200, "u2": 4000}.get(kind.str[1:], 90)
    values = rng.gamma(2, spread / 6, shape) * each(np.arange(1, len(np.zeros(shape)) + 1))
    return np.clip(values, 0, 250 if kind.itemsize == 1 else 60_000).astype(kind)


ONE_STEP = [
    Step("scale_linear", gain=1 / 255, offset=-0.5),
    Step("scale_linear", gain=(2, -3), offset=(1, 0)),
    Step("standardize", mean=(10, 20), std=(3, 5)),
    Step("binarize", threshold=(20, 30.5)),
    Step("clip", low=10, high=30.5),
    Step("clip", high=25),
    Step("clip", low_percentile=5, high_percentile=80, per_channel=True),
    Step("clip", low=7, high_percentile=80),
    Step("sigmoid"),
    Step("softmax"),
    Step("cast", dtype="float32"),
    Step("cast", dtype="uint8"),
    Step("cast", dtype="bool"),
    Step("zero_mean_unit_variance"),
    Step("zero_mean_unit_variance", per_channel=True, eps=0.5),
    Step("scale_range"),
    Step("scale_range", per_channel=True, low_percentile=1, high_percentile=99.8, eps=0.25),
    Step("scale_mean_variance", reference="input", per_channel=True, eps=0.1),
]


@pytest.mark.parametrize("dtype", ["u1", ">u2", "f4", "f8", "?"])
@pytest.mark.parametrize("step", ONE_STEP, ids=lambda step: step.op)
def test_each_operation_is_what_the_specification_says(step, dtype):
    image = noise(dtype, (2, 23, 19), 5)
    if step.op == "cast":
        image = np.minimum(image, 200).astype(dtype)  # numpy wraps what uint8 cannot hold
    found = fed(image, (step,))
    np.testing.assert_allclose(found, expected(image, (step,)), rtol=2e-5, atol=2e-6)


CHAINS = [
    (Step("scale_range", per_channel=True, high_percentile=99), Step("zero_mean_unit_variance")),
    (Step("zero_mean_unit_variance"), Step("scale_range", low_percentile=2, per_channel=True)),
    (
        Step("scale_linear", gain=-0.5, offset=3),
        Step("scale_range", low_percentile=3, high_percentile=70),
        Step("clip", low=0, high=1),
    ),
    (
        Step("scale_linear", gain=(-1, 2)),
        Step("clip", low_percentile=10, high_percentile=70, per_channel=True),
        Step("zero_mean_unit_variance", eps=1e-3),
    ),
    (
        Step("clip", low_percentile=0.5, high_percentile=99.5),
        Step("standardize", mean=20, std=4),
        Step("scale_range", high_percentile=90),
    ),
    (
        Step("standardize", mean=(1, 30), std=(2, 5)),
        Step("scale_range", low_percentile=5, high_percentile=95),
        Step("sigmoid"),
        Step("zero_mean_unit_variance", per_channel=True),
    ),
    (
        Step("cast", dtype="float32"),
        Step("softmax"),
        Step("scale_range", high_percentile=99.5),
        Step("cast", dtype="float32"),
    ),
    (
        Step("clip", low=5, high=60),
        Step("scale_range", reference="input", low_percentile=10, high_percentile=60),
        Step("scale_mean_variance", reference="input"),
    ),
    (Step("binarize", threshold=15), Step("zero_mean_unit_variance")),
]


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "+".join(s.op for s in chain))
def test_each_step_is_measured_after_the_steps_before_it(chain, dtype):
    image = noise(dtype, (2, 23, 19), 6)
    np.testing.assert_allclose(fed(image, chain), expected(image, chain), rtol=5e-5, atol=1e-5)


STEPS = st.one_of(
    st.builds(
        Step,
        st.just("scale_linear"),
        gain=st.sampled_from([(0.5,), (-2.0,), (1.0, -1.5)]),
        offset=st.sampled_from([(0.0,), (3.0, -1.0)]),
    ),
    st.builds(
        Step,
        st.sampled_from(["zero_mean_unit_variance", "scale_range"]),
        per_channel=st.booleans(),
        eps=st.sampled_from([1e-6, 0.1]),
    ),
    st.builds(
        Step,
        st.just("clip"),
        low_percentile=st.sampled_from([1.0, 10.0]),
        high_percentile=st.sampled_from([None, 80.0]),
        per_channel=st.booleans(),
    ),
    st.sampled_from([Step("sigmoid"), Step("softmax"), Step("cast", dtype="float32")]),
)


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


@pytest.mark.parametrize(
    ("steps", "method"),
    [
        ((Step("scale_range", eps=0),), Normalization("min_max")),
        (
            (Step("scale_range", low_percentile=1, high_percentile=99.8),),
            Normalization("percentile", low=1, high=99.8, eps=1e-6),
        ),
        (
            (
                Step("cast", dtype="float32"),
                Step("scale_range", low_percentile=1, high_percentile=98, per_channel=True),
                Step("clip", low=0, high=1),
                Step("cast", dtype="float32"),
            ),
            Normalization("percentile", low=1, high=98, eps=1e-6, per_channel=True, clip=True),
        ),
        ((Step("zero_mean_unit_variance", eps=0),), Normalization("zero_mean_unit_variance")),
        (
            (Step("zero_mean_unit_variance", per_channel=True),),
            Normalization("zero_mean_unit_variance", per_channel=True, eps=1e-6),
        ),
        ((Step("scale_linear", gain=1 / 255),), Normalization("divide", scale=255)),
        ((Step("cast", dtype="float32"),), Normalization("none")),
        (
            (Step("standardize", mean=(2, 3), std=(4, 5)),),
            Normalization("standardize", scale=1, mean=(2, 3), std=(4, 5)),
        ),
    ],
    ids=lambda value: getattr(value, "method", ""),
)
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
def test_a_chain_that_is_one_line_is_bit_for_bit_the_method_of_that_name(steps, method, dtype):
    image = noise(dtype, (2, 40, 30), 2)
    channels = map_channels(2, 2)
    stats = measure(bands(image), method, channels=channels)
    affine = affine_for(method, stats, channels, image.dtype)
    settled = settle_steps(steps, Seen(bands(image), channels), count=2)
    assert settled.line(2) == (affine, ())
    out = np.empty(image.shape, np.float32)
    Feeder(channels, affine, None, "float32").fill(image, out)
    np.testing.assert_array_equal(fed(image, steps), out)


def test_lines_in_a_row_become_one():
    steps = (
        Step("scale_linear", gain=1 / 255),
        Step("standardize", mean=(0.485, 0.456), std=(0.229, 0.224)),
        Step("clip", low=-2, high=2),
        Step("scale_linear", gain=3),
        Step("scale_linear", gain=2, offset=1),
    )
    stages = settle_steps(steps, None, count=2).stages
    assert [type(stage) for stage in stages] == [Line, Clip, Line]


class Passes:
    """Counts how often an image is read."""

    def __init__(self, image):
        self.image, self.count = image, 0

    def __call__(self):
        self.count += 1
        return bands(self.image)()


@pytest.mark.parametrize(
    ("chain", "passes"),
    [
        ((Step("standardize", mean=1, std=2), Step("clip", low=0)), 0),
        ((Step("scale_range", low_percentile=1), Step("zero_mean_unit_variance")), 1),
        (CHAINS[2], 1),
        ((Step("scale_range", per_channel=True), Step("zero_mean_unit_variance")), 2),
        ((Step("clip", high_percentile=99), Step("zero_mean_unit_variance")), 2),
        ((Step("clip", low=3), Step("scale_range"), Step("zero_mean_unit_variance")), 1),
    ],
)
def test_an_image_is_read_no_more_often_than_needed(chain, passes):
    blocks = Passes(noise("u1", (2, 20, 20), 0))
    settle_steps(chain, Seen(blocks), count=2)
    assert blocks.count == passes


def test_the_order_of_steps_matters():
    image = noise("u1", (1, 30, 30), 0)
    clip = Step("clip", low_percentile=5, high_percentile=60)
    chains = [(clip, Step("zero_mean_unit_variance")), (Step("zero_mean_unit_variance"), clip)]
    first, second = (fed(image, chain) for chain in chains)
    assert abs(first.mean()) < 1e-5
    assert abs(second.mean()) > 0.1


AFTER = [
    *CHAINS,
    (Step("sigmoid"), Step("clip", low_percentile=10, high_percentile=60, per_channel=True)),
    (Step("softmax"), Step("binarize", threshold=0.5)),
]


@pytest.mark.parametrize("chain", AFTER, ids=lambda chain: "+".join(s.op for s in chain))
def test_the_output_of_a_network_is_changed_as_a_whole(chain):
    scores = np.random.default_rng(3).normal(0, 3, (2, 25, 17)).astype(np.float32)
    found, _ = after(scores, chain, reference=scores)
    np.testing.assert_allclose(found, expected(scores, chain), rtol=5e-5, atol=5e-5)


def test_the_reference_is_the_input_before_anything_was_done_to_it():
    image = noise("u2", (1, 30, 20), 4).astype(float)
    output = np.random.default_rng(0).normal(size=(3, 30, 20)).astype(np.float32)
    chain = (
        Step("scale_linear", gain=2),
        Step("scale_mean_variance", reference="input", eps=1e-3),
    )
    found, settled = after(output, chain, reference=image)
    out = output * 2.0
    unit = (out - out.mean()) / (out.std() + 1e-3)
    np.testing.assert_allclose(found, unit * (image.std() + 1e-3) + image.mean(), 1e-4, 1e-3)
    (told,) = settled.measured
    assert (told.step, told.op) == (2, "scale_mean_variance")
    np.testing.assert_allclose(told.reference_std, image.std())
    np.testing.assert_allclose(told.mean, out.mean(), rtol=1e-6)


def test_one_channel_of_input_is_followed_by_every_channel_of_output():
    image = noise("u1", (1, 12, 20), 4)
    output = np.random.default_rng(0).normal(size=(3, 12, 20)).astype(np.float32)
    step = Step("scale_mean_variance", reference="input", per_channel=True)
    found, _ = after(output, (step,), reference=image)
    for plane in found:
        np.testing.assert_allclose((plane.mean(), plane.std()), (image.mean(), image.std()), 1e-4)
    with pytest.raises(ModelError, match="which has 2, but is given 3"):
        after(output, (step,), reference=noise("u1", (2, 12, 20), 4))


def test_no_data_in_an_output_is_not_measured_and_stays_no_data():
    values = np.random.default_rng(0).normal(size=(2, 12, 20)).astype(np.float32)
    values[:, :3] = np.nan
    steps = (Step("scale_range"), Step("binarize", threshold=0.5), Step("cast", dtype="uint8"))
    found, _ = after(values, steps)
    assert np.isnan(found[:, :3]).all()
    np.testing.assert_array_equal(found[:, 3:], expected(values[:, 3:], steps))


def test_casts_cut_what_the_dtype_cannot_hold_and_drop_fractions():
    values = np.array([[[-3.7, -0.2, 0.9, 254.99, 300, 1e12]]], np.float32)
    found, _ = after(values, (Step("cast", dtype="uint8"),))
    np.testing.assert_array_equal(found, [[[0, 0, 0, 254, 255, 255]]])
    signed, _ = after(values, (Step("cast", dtype="int32"),))
    assert signed.astype(np.int64).max() < 2**31
    half, _ = after(values / 7, (Step("cast", dtype="float16"),))
    np.testing.assert_array_equal(half[..., :5], (values[..., :5] / 7).astype("f2"))
    assert np.isfinite(half).all()


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


def test_numbers_must_match_the_channels():
    with pytest.raises(ModelError, match=r"'standardize' has 3 values for 'mean'.* 2 channel"):
        settle_steps((Step("standardize", mean=(1, 2, 3), std=1),), None, count=2)
    with pytest.raises(ModelError, match="need the image to be measured"):
        settle_steps((Step("scale_range"),), None, count=2)


def test_numbers_beyond_all_bounds_are_refused_by_step():
    image = np.array([[[1e30, -1e30]]])
    steps = (Step("scale_linear", gain=1e300), Step("zero_mean_unit_variance"))
    with pytest.raises(ModelError, match=r"Step 2 .* too large"):
        fed(image, steps)


def test_what_was_measured_can_be_written_down():
    image = noise("f4", (2, 20, 20), 0)
    steps = (
        Step("scale_range", low_percentile=1, per_channel=True),
        Step("clip", low=0, high=1),
        Step("zero_mean_unit_variance"),
    )
    settled = settle_steps(steps, Seen(bands(image)), count=2)
    record = json.loads(json.dumps(plain(settled.stats)))
    assert [step["step"] for step in record["steps"]] == [1, 3]
    np.testing.assert_allclose(record["steps"][0]["low"], np.percentile(image, 1, (1, 2)))
    assert record["joint"]["maximum"] == image.max()


def test_flat_steps_and_missing_pixels_are_said():
    image = np.full((1, 9, 9), 7, np.float32)
    image[0, 0] = np.nan
    notes = chain_notes(settle_steps((Step("scale_range"),), Seen(bands(image)), count=1).stats)
    assert "9 pixels are no data" in notes[0]
    assert "step 1 ('scale_range')" in notes[1]
    none = settle_steps((Step("scale_range"),), Seen(bands(image[:, :1])), count=1)
    assert "No pixel" in chain_notes(none.stats)[0]


def test_a_chain_needs_no_more_memory_for_a_larger_image():
    block = np.random.default_rng(0).normal(size=(1, 64, 1024)).astype(np.float32)
    chain = (Step("clip", low_percentile=1), Step("scale_range", high_percentile=99))
    tracemalloc.start()
    settle_steps(chain, Seen(lambda: (block for _ in range(100))), count=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * block.nbytes


def test_filling_by_a_chain_needs_no_large_temporaries():
    image = np.random.default_rng(0).integers(0, 255, (3, 1024, 1024), np.uint8)
    channels = map_channels(3, 3)
    settled = settle_steps(CHAINS[4], Seen(bands(image, 256), channels), count=3)
    affine, stages = settled.line(3)
    out = np.empty(image.shape, np.float32)
    feeder = Feeder(channels, affine, None, "float32", stages)
    tracemalloc.start()
    feeder.fill(image, out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < out.nbytes / 4
