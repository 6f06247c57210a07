"""A part of an image, in any order of tiles: what a run on the whole gives there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nets
from napari_onnxseg import segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ChoiceError, TileError
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.plan import plan_segment
from napari_onnxseg.pipeline.semantic import segment
from napari_onnxseg.pipeline.story import exhausted
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.tiling.region import Region

STEADY = settings(max_examples=15, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def unet(tmp_path_factory):
    return nets.unet(tmp_path_factory.mktemp("nets") / "unet.onnx", channels=1, depth=2, seed=3)


@STEADY
@given(data=st.data())
def test_a_part_holds_what_the_whole_holds_there(unet, data):
    shape = tuple(data.draw(st.integers(20, 260), "side") for _ in range(2))
    image = np.random.default_rng(shape[0]).random((2, *shape), np.float32)
    start = [data.draw(st.integers(0, n - 1)) for n in shape]
    stop = [data.draw(st.integers(a + 1, n)) for a, n in zip(start, shape, strict=True)]
    part = Region(tuple(start), tuple(stop))
    choices = {"normalization": Normalization("percentile", low=2, high=98), "confidence": True}
    whole = segment_image(image, unet, **choices)
    found = segment_image(image, unet, region=part, **choices)
    for name in ("labels", "confidence"):
        expected = getattr(whole, name)[(slice(None), *part.slices)]
        np.testing.assert_array_equal(getattr(found, name), expected)
    assert found.record["region"] == [list(part.start), list(part.stop)]


def test_a_small_part_of_a_large_image_needs_a_small_tile(unet):
    stack = as_stack(np.broadcast_to(np.uint8(0), (50_000, 50_000)))
    job = SegmentJob(unet, region=Region((20_000, 30_000), (20_300, 30_500)))
    plan = plan_segment(stack, load_card(unet), job)
    assert len(plan.tiles) * np.prod(plan.tiles.tile) < 2 * 300 * 500
    assert plan.memory_bytes < 100_000_000
    assert "300 × 500 px of 50000 × 50000 px" in plan.words().replace(",", "")


@pytest.mark.parametrize("overlap", [None, 16])
def test_the_order_of_tiles_changes_nothing(unet, overlap):
    image = np.random.default_rng(1).random((300, 330), np.float32)
    job = SegmentJob(unet, tile=96, overlap=overlap, normalization=Normalization("none"))
    expected = exhausted(segment(image, job)).labels
    rng = np.random.default_rng(2)
    looked = exhausted(segment(image, job, look=lambda: rng.uniform(-50, 400, 2)))
    np.testing.assert_array_equal(looked.labels, expected)


def test_the_first_block_is_the_one_looked_at(unet):
    image = np.random.default_rng(1).random((600, 600), np.float32)
    job = SegmentJob(unet, tile=96, workers=1)
    steps = segment(image, job, look=lambda: (410, 170))
    first = next(step for step in steps if step.regions)
    assert first.regions[0].contains(Region((410, 170), (411, 171)))
    steps.close()


def test_a_part_outside_the_image_or_of_another_kind_is_refused(unet):
    image = np.zeros((40, 50), np.float32)
    with pytest.raises(TileError, match="does not lie in the image of 40 × 50 px"):
        segment_image(image, unet, region=Region((0, 0), (41, 50)))
    with pytest.raises(ChoiceError, match="'region' must be a Region of pixels"):
        segment_image(image, unet, region=(0, 0, 10, 10))
