"""Tiled equals whole, bit for bit: the promise of the plan."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nets
from napari_onnxseg import segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.catalog import bundled_folder
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.plan import plan_segment
from napari_onnxseg.prepare.normalize import Normalization
from netbuild import Net, save

STEADY = settings(max_examples=25, deadline=None, derandomize=True)


def whole_answer(image, card):
    """Return what one bare session.run gives for the image padded once by reflection."""
    multiple = card.geometry.multiple
    pads = [(0, -n % m) for n, m in zip(image.shape, multiple, strict=True)]
    padded = np.pad(image, pads, mode="reflect" if min(image.shape) > 1 else "edge")
    session = onnxruntime.InferenceSession(str(card.path), providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {card.input.name: padded[None, None]})
    return scores[0].argmax(0)[tuple(slice(n) for n in image.shape)]


@STEADY
@given(data=st.data())
def test_random_networks_over_random_images_tiles_and_halos(tmp_path_factory, data):
    depth = data.draw(st.integers(1, 3), "depth")
    seed = data.draw(st.integers(0, 10_000), "seed")
    path = nets.unet(
        tmp_path_factory.mktemp("nets") / f"unet-{depth}-{seed}.onnx",
        channels=1,
        depth=depth,
        seed=seed,
    )
    card = load_card(path)
    (multiple, _), (halo, _) = card.geometry.multiple, card.geometry.halo
    shape = tuple(data.draw(st.integers(multiple, 300), "side") for _ in range(2))
    more = data.draw(st.integers(0, 2), "halo") * multiple
    tile = 2 * (halo + more) + data.draw(st.integers(1, 6), "tile") * multiple
    image = np.random.default_rng(seed).random(shape, np.float32)
    result = segment_image(
        image, path, tile=tile, halo=halo + more, normalization=Normalization("none"), workers=2
    )
    np.testing.assert_array_equal(result.labels, whole_answer(image, card))


@pytest.mark.parametrize("tile", [256, 320, (256, 384)])
def test_the_bundled_nuclei_network_on_a_real_image(tile):
    from PIL import Image

    card = load_card("unet-nuclei")
    with Image.open(bundled_folder() / "samples" / "nuclei.png") as sample:
        picture = np.asarray(sample.convert("L"))
    picture = np.pad(picture, ((0, 300), (0, 300)), mode="symmetric")
    whole = segment_image(picture, "unet-nuclei", tile=4096, confidence=True)
    tiled = segment_image(picture, "unet-nuclei", tile=tile, confidence=True)
    assert whole.record["tiles"] == 1
    assert tiled.record["tiles"] > 1
    assert card.geometry.exact
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    np.testing.assert_array_equal(tiled.confidence, whole.confidence)


def test_the_plan_of_an_exact_network_crops_and_says_nothing_of_seams():
    card = load_card("unet-nuclei")
    stack = as_stack(np.zeros((3000, 4000), np.uint8))
    plan = plan_segment(stack, card, SegmentJob("unet-nuclei"))
    assert not plan.tiles.blends
    assert plan.tiles.halo == card.geometry.halo
    assert not any("seam" in note for note in plan.notes)


def test_a_huge_image_is_planned_at_once():
    import time

    card = load_card("unet-nuclei")
    stack = as_stack(np.broadcast_to(np.uint8(0), (200_000, 200_000)))
    begin = time.perf_counter()
    plan = plan_segment(stack, card, SegmentJob("unet-nuclei"))
    assert len(plan.tiles) > 1000
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("tile", [None, 20, 64])
@pytest.mark.parametrize("shape", [(97, 131), (40, 300)])
def test_a_network_that_shrinks_and_halves_is_tiled_exactly(tmp_path, tile, shape):
    net = Net(["batch", 1, "y", "x"], seed=7)
    last = net.random_conv("input", 1, 4, 4, pads=[0] * 4, strides=[2, 2])
    last = net.random_conv(last, 4, 3, 1)
    path = save(net.model({last: ("float32", ["batch", 3, "q", "p"])}), tmp_path / "half.onnx")
    image = np.random.default_rng(7).random(shape, np.float32)
    given = {"normalization": Normalization("none"), "confidence": True}
    whole = segment_image(image, path, tile=tuple(n + n % 2 + 2 for n in shape), **given)
    tiled = segment_image(image, path, tile=tile, **given)
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    np.testing.assert_array_equal(tiled.confidence, whole.confidence)
