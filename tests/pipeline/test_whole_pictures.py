"""Networks that were trained on whole pictures see them whole, and answer on every pixel."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import headnets
import nets
from napari_onnxseg import Normalization, SegmentJob, segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.card import Sizing
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.pipeline.plan import plan_segment
from netbuild import Net, save

RAW = Normalization("none")


def clothes(path, side=None):
    """Write a stand-in for the network of that name: scores from red, green and blue."""
    net = Net([1, 3, side or "y", side or "x"])
    weights = np.array([[-1, -1, -1], [2, -1, -1], [-1, 2, -1], [-1, -1, 2]], float)
    last = net.conv("input", weights[:, :, None, None], [0.5, 0, 0, 0])
    return save(net.model({last: ("float32", [1, 4, side or "y", side or "x"])}), path)


def person(height, width):
    """Return a picture of three bands of colour on black, and which class is where."""
    picture = np.zeros((height, width, 3), np.uint8)
    truth = np.zeros((height, width), np.uint8)
    for band in range(3):
        rows = slice(height * (2 * band + 1) // 8, height * (2 * band + 2) // 8)
        columns = slice(width // 4, width * 3 // 4)
        picture[rows, columns, band] = 255
        truth[rows, columns] = band + 1
    return picture, truth


@pytest.mark.parametrize("side", [None, 768])
@pytest.mark.parametrize("shape", [(400, 300), (1600, 1100), (768, 768)])
def test_the_network_for_clothes_finds_them_on_every_pixel(tmp_path, side, shape):
    path = clothes(tmp_path / "u2net_cloth_seg.onnx", side)
    picture, truth = person(*shape)
    result = segment_image(picture, path, rgb=True)
    assert result.labels.shape == truth.shape
    assert (result.record["tile"], result.record["tiles"]) == ([768, 768], 1)
    assert (result.labels != truth).mean() < 0.004
    assert [c.name for c in result.card.classes][1:] == ["upper body", "lower body", "full body"]
    assert not any("tiles" in note for note in result.notes)


def test_the_picture_is_squeezed_as_pillow_does_and_scores_are_enlarged_before_deciding(tmp_path):
    path = nets.two_class(tmp_path / "a.onnx")
    card = replace(load_card(path), sizing=Sizing(64))
    picture = np.random.default_rng(3).integers(0, 256, (150, 231), dtype=np.uint8)
    fed = []

    def predict(batch):
        fed.append(batch.copy())
        return np.concatenate([0.5 - batch, batch - 0.5], axis=1)

    given = {"card": card, "normalization": Normalization("divide", scale=255.0)}
    result = segment_image(picture, path, predictor=predict, **given)
    small = Image.fromarray(picture).resize((64, 64), Image.Resampling.BILINEAR)
    assert np.abs(fed[0][0, 0] * 255 - np.asarray(small)).max() <= 1.01
    scores = Image.fromarray(fed[0][0, 0]).resize((231, 150), Image.Resampling.BILINEAR)
    sure = np.abs(np.asarray(scores) - 0.5) > 1e-4
    np.testing.assert_array_equal(result.labels[sure], (np.asarray(scores) > 0.5)[sure])


@pytest.mark.parametrize(
    ("sizing", "shape", "seen"),
    [
        (Sizing(64), (100, 300), (64, 64)),
        (Sizing(64, keep_aspect=True), (128, 384), (64, 192)),
        (Sizing(64, keep_aspect=True, multiple=32), (130, 384), (64, 160)),
    ],
)
def test_the_card_says_what_the_picture_is_brought_to(tmp_path, sizing, shape, seen):
    card = replace(load_card(nets.two_class(tmp_path / "a.onnx")), sizing=sizing)
    plan = plan_segment(as_stack(np.zeros(shape, np.uint8)), card, SegmentJob(card.path))
    assert plan.tiles.tile == seen
    assert f"worked on as a whole at {seen[0]} × {seen[1]} px" in plan.words()


def test_the_picture_is_seen_at_once_even_where_tiles_would_be_cheaper(tmp_path):
    card = load_card(nets.unet(tmp_path / "a.onnx", channels=1, depth=2))
    geometry = replace(card.geometry, bytes_per_px=1e6)
    card = replace(card, geometry=geometry, sizing=Sizing(768))
    stack = as_stack(np.zeros((3000, 2000), np.uint8))
    assert len(plan_segment(stack, card, SegmentJob(card.path)).tiles) == 1
    tiled = plan_segment(stack, card, SegmentJob(card.path, resample=False))
    assert len(tiled.tiles) > 1
    assert any("trained on whole pictures of about 768 px" in note for note in tiled.notes)


def test_a_picture_that_is_much_too_large_is_pointed_out(tmp_path):
    card = replace(load_card(nets.two_class(tmp_path / "a.onnx")), sizing=Sizing(64))
    plan = plan_segment(as_stack(np.zeros((640, 320), np.uint8)), card, SegmentJob(card.path))
    assert any("covers 10 × 5 px of the image" in note for note in plan.notes)


def test_values_confidence_and_planes_of_a_stack_come_along(tmp_path):
    card = replace(load_card(headnets.line(tmp_path / "a.onnx")), sizing=Sizing(32))
    stack = np.arange(3, dtype=np.float32)[:, None, None] * np.ones((3, 90, 70), np.float32)
    result = segment_image(stack, card.path, card=card, rgb=False)
    np.testing.assert_allclose(result.image, 2 * stack - 1, atol=1e-5)
    sure = replace(load_card(nets.two_class(tmp_path / "b.onnx")), sizing=Sizing(32))
    given = {"card": sure, "rgb": False, "confidence": True, "normalization": RAW}
    result = segment_image(stack, sure.path, **given)
    assert [int(plane.max()) for plane in result.labels] == [0, 1, 1]
    assert (result.confidence > 127).all()


def test_planes_of_scores_are_never_as_large_as_the_picture(tmp_path):
    classes, side = 26, 3000
    card = load_card(nets.many_classes(tmp_path / "a.onnx", classes=classes))
    card = replace(card, sizing=Sizing(64))
    picture = np.random.default_rng(0).integers(0, 256, (side, side), dtype=np.uint8)
    tracemalloc.start()
    segment_image(picture, card.path, card=card, normalization=RAW)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * classes * side * side / 4
