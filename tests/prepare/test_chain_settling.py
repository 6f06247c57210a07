import json
import tracemalloc

import numpy as np
import pytest
from formulas import CHAINS, bands, fed, noise

from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.record import plain
from napari_onnxseg.prepare.chain import Seen, chain_notes, settle_steps
from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.normalize import Normalization, affine_for
from napari_onnxseg.prepare.stages import Clip, Line
from napari_onnxseg.prepare.stats import measure
from napari_onnxseg.prepare.steps import Step


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
