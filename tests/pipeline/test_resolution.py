"""Images brought to the resolution that a model was trained at, results on their own pixels."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headnets
import nets
from napari_onnxseg import Normalization, SegmentJob, segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.card import ObjectRule
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.plan import plan_segment
from napari_onnxseg.pipeline.resampled import ResampledSource
from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.prepare.regrid import Regrid
from napari_onnxseg.tiling.region import Region

STEADY = settings(max_examples=25, deadline=None, derandomize=True)
RAW = Normalization("none")
TRAINED = (0.5, "um")


def trained_on(path, size=TRAINED):
    return replace(load_card(path), pixel_size=size)


def noise(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


def square(side, rows, columns, dtype=np.float32):
    image = np.zeros((side, side), dtype)
    image[slice(*rows), slice(*columns)] = 1
    return image


# -- where things lie


@pytest.mark.parametrize("ratio", [2, 0.5, 1.7, 0.31, 5])
@pytest.mark.parametrize("tile", [None, 16])
def test_a_square_stays_where_it_is(tmp_path, ratio, tile):
    path = nets.two_class(tmp_path / "a.onnx")
    image = square(160, (40, 100), (60, 130))
    result = segment_image(
        image, path, card=trained_on(path), pixel_size=(0.5 * ratio, "um"), tile=tile
    )
    assert result.labels.shape == image.shape
    assert result.record["resolution"]["model"] == [round(160 * ratio)] * 2
    for axis, (start, stop) in enumerate([(40, 100), (60, 130)]):
        found = np.flatnonzero(result.labels.any(axis=1 - axis))
        assert abs(found[0] - start) <= max(0.5, 0.5 / ratio)
        assert abs(found[-1] + 1 - stop) <= max(0.5, 0.5 / ratio)


@pytest.mark.parametrize("ratio", [(2, 0.5), (1, 3), (0.25, 1)])
def test_each_axis_has_its_own_ratio(tmp_path, ratio):
    path = nets.two_class(tmp_path / "a.onnx")
    image = square(96, (16, 48), (32, 80))
    size = (tuple(0.5 * r for r in ratio), "um")
    result = segment_image(image, path, card=trained_on(path), pixel_size=size)
    assert result.record["resolution"]["model"] == [round(96 * r) for r in ratio]
    np.testing.assert_array_equal(result.labels, image)


def test_values_are_interpolated_between_the_pixels_of_the_model(tmp_path):
    path = headnets.line(tmp_path / "a.onnx", gain=1.0, offset=0.0)
    ramp = np.tile(np.arange(90, dtype=np.float32), (90, 1))
    for size in ("0.25 um", "0.2 um", "1.1 um"):
        found = segment_image(ramp, path, card=trained_on(path), pixel_size=size).image
        np.testing.assert_allclose(found[:, 4:-4], ramp[:, 4:-4], atol=0.05)


@pytest.mark.parametrize("ratio", [0.4, 1.7])
@pytest.mark.parametrize("tile", [None, 16])
def test_class_ids_are_those_of_the_pixel_under_the_centre(tmp_path, ratio, tile):
    path = nets.arg_max(tmp_path / "a.onnx")
    image, shape = noise(61, 50), (round(61 * ratio), round(50 * ratio))
    size = (tuple(0.5 * n / m for n, m in zip(shape, image.shape, strict=True)), "um")
    given = {"card": trained_on(path), "normalization": RAW, "tile": tile}
    result = segment_image(image, path, pixel_size=size, **given)
    seen = map_channels(1, 1, rgb=False, order="RGB", chosen=None)
    small = ResampledSource(as_stack(image).plane(()), shape, seen, None)
    ids = segment_image(small.read(Region.of_shape(shape))[0], path, **given).labels
    rows, columns = ((np.arange(n) + 0.5) * m / n for n, m in zip(image.shape, shape, strict=True))
    expected = ids[np.ix_(rows.astype(int), columns.astype(int))]
    np.testing.assert_array_equal(result.labels, expected)
    assert len(np.unique(expected)) == 3


# -- tiles equal the whole


@STEADY
@given(data=st.data())
def test_tiles_equal_the_whole_whatever_the_ratio(tmp_path_factory, data):
    seed = data.draw(st.integers(0, 50), "seed")
    folder = tmp_path_factory.mktemp("nets")
    path = nets.unet(folder / "a.onnx", channels=1, depth=data.draw(st.integers(1, 2)), seed=seed)
    card = trained_on(path)
    (multiple, _), (halo, _) = card.geometry.multiple, card.geometry.halo
    grid = [data.draw(st.integers(2, 150), "model side") for _ in range(2)]
    ratios = [data.draw(st.floats(0.2, 4), "ratio") for _ in range(2)]
    shape = [max(1, round(n / r)) for n, r in zip(grid, ratios, strict=True)]
    widest = max(max(n / m, 1) for n, m in zip(grid, shape, strict=True))
    step = data.draw(st.integers(1, 4), "step") + int(np.ceil(widest / multiple)) + 1
    tile = 2 * (halo + multiple * (2 + int(widest))) + step * multiple
    image = noise(*shape, seed=seed)
    size = (tuple(0.5 * n / m for n, m in zip(grid, shape, strict=True)), "um")
    whole, tiled = (
        segment_image(
            image, path, card=card, pixel_size=size, tile=side, normalization=RAW, confidence=True
        )
        for side in (2048, tile)
    )
    assert whole.labels.shape == image.shape
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    np.testing.assert_array_equal(tiled.confidence, whole.confidence)


@STEADY
@given(data=st.data())
def test_a_run_is_resampling_then_running_then_interpolating(tmp_path_factory, data):
    path = headnets.blur(tmp_path_factory.mktemp("nets") / "a.onnx", outputs=2)
    shape = tuple(data.draw(st.integers(1, 90), "image side") for _ in range(2))
    grid = tuple(data.draw(st.integers(max(1, n // 3), 3 * n), "model side") for n in shape)
    choices = data.draw(st.sampled_from([{}, {"tile": 40, "halo": 4, "overlap": 8}, {"tile": 64}]))
    image = noise(*shape, seed=len(choices))
    size = (tuple(0.5 * n / m for n, m in zip(grid, shape, strict=True)), "um")
    given = {"normalization": RAW, **choices}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("napari_onnxseg.pipeline.resolution.NEAR", 1.0)
        patch.setattr("napari_onnxseg.pipeline.returning.BAND_VALUES", 700)
        found = segment_image(image, path, card=trained_on(path), pixel_size=size, **given).image
    seen = map_channels(1, 1, rgb=False, order="RGB", chosen=None)
    small = ResampledSource(as_stack(image).plane(()), grid, seen, None)
    answer = segment_image(small.read(Region.of_shape(grid))[0], path, **given).image
    back = Regrid(grid, shape).filtered(answer, (0, 0), Region.of_shape(shape))
    np.testing.assert_array_equal(found, back)


@pytest.mark.parametrize("ratio", [0.4, 1.7, 3])
def test_networks_that_halve_or_shrink_come_back_too(tmp_path, ratio):
    half = nets.half_resolution(tmp_path / "half.onnx")
    image = noise(310, 261)
    given = {"pixel_size": (0.5 * ratio, "um"), "normalization": RAW, "confidence": True}
    whole, tiled = (
        segment_image(image, half, card=trained_on(half), tile=side, **given) for side in (512, 64)
    )
    assert tiled.record["tiles"] > 1
    np.testing.assert_array_equal(tiled.confidence, whole.confidence)
    cut = nets.shrink(tmp_path / "cut.onnx")
    bright = square(150, (50, 100), (40, 90))
    result = segment_image(bright, cut, card=trained_on(cut), **given)
    assert np.abs(result.labels.astype(int) - bright).mean() < 0.01


@pytest.mark.parametrize("ratio", [0.4, 1.7])
def test_images_and_classes_of_one_run_equal_those_of_the_whole(tmp_path, ratio):
    card = trained_on(headnets.two_heads(tmp_path / "a.onnx"))
    image = replace(card.others[0], task="image", scores="values", classes=(), name="flow")
    card = replace(card, others=(image,))
    given = {"card": card, "pixel_size": (0.5 * ratio, "um"), "normalization": RAW}
    whole, tiled = (segment_image(noise(130, 101), card.path, tile=t, **given) for t in (512, 48))
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    np.testing.assert_array_equal(tiled.image, whole.image)


@pytest.mark.parametrize("ratio", [0.3, 0.5, 1.7, 4])
def test_blended_tiles_come_back_to_every_pixel(tmp_path, ratio, monkeypatch):
    monkeypatch.setattr("napari_onnxseg.pipeline.returning.BAND_VALUES", 1000)
    path = headnets.line(tmp_path / "a.onnx", gain=1.0, offset=0.0)
    image = noise(97, 61)
    given = {"card": trained_on(path), "pixel_size": (0.5 * ratio, "um"), "rgb": False}
    whole = segment_image(np.stack([image, 1 - image]), path, **given)
    blended = segment_image(np.stack([image, 1 - image]), path, tile=24, overlap=8, **given)
    assert not np.isnan(blended.image).any()
    np.testing.assert_allclose(blended.image, whole.image, atol=1e-5)


@pytest.mark.parametrize("ratio", [0.3, 1.7])
def test_large_parts_are_decoded_some_rows_at_a_time(tmp_path, ratio, monkeypatch):
    path = headnets.blur(tmp_path / "a.onnx", outputs=3)
    given = {"card": trained_on(path), "pixel_size": (0.5 * ratio, "um"), "normalization": RAW}
    once = segment_image(noise(80, 70), path, **given).image
    monkeypatch.setattr("napari_onnxseg.pipeline.tiles.BAND_VALUES", 500)
    monkeypatch.setattr("napari_onnxseg.pipeline.resampled.BAND_VALUES", 100)
    np.testing.assert_array_equal(segment_image(noise(80, 70), path, **given).image, once)


# -- objects


def test_objects_are_separated_and_measured_in_pixels_of_the_image(tmp_path):
    path = nets.two_class(tmp_path / "a.onnx")
    card = replace(trained_on(path), objects=ObjectRule("components", min_area_px=16))
    image = square(128, (16, 48), (16, 48)) + square(128, (80, 86), (80, 86))
    found = segment_image(image, path, card=card, pixel_size="0.25 um", objects=True).objects
    assert np.unique(found).tolist() == [0, 1]  # 36 px are 9 px of the model
    assert np.count_nonzero(found) == 32 * 32 - 4  # the corners
    plain = segment_image(image, path, card=card, objects=True).objects
    assert plain.max() == 2


# -- when


@pytest.mark.parametrize("size", [None, "0.5 um", "500 nm", "0.52 um", "0.477 um"])
def test_nothing_is_resampled_where_the_sizes_are_alike_or_unknown(tmp_path, size):
    path = nets.box(tmp_path / "a.onnx", two_classes=True)
    image = noise(70, 60)
    result = segment_image(image, path, card=trained_on(path), pixel_size=size)
    assert result.record["resolution"] is None
    np.testing.assert_array_equal(result.labels, segment_image(image, path).labels)
    assert any("pixel size of the image is not known" in note for note in result.notes) == (
        size is None
    )


def test_resampling_can_be_switched_off_and_says_so(tmp_path):
    path = nets.box(tmp_path / "a.onnx", two_classes=True)
    card, image = trained_on(path), noise(70, 60)
    result = segment_image(image, path, card=card, pixel_size="0.25 um", resample=False)
    np.testing.assert_array_equal(result.labels, segment_image(image, path).labels)
    assert any("0.5 µm" in note and "0.25 µm" in note for note in result.notes)


def test_resampling_on_demand_needs_both_sizes(tmp_path):
    path = nets.two_class(tmp_path / "a.onnx")
    with pytest.raises(ChoiceError, match="pixel size of the image is not known"):
        segment_image(noise(9, 9), path, card=trained_on(path), resample=True)
    with pytest.raises(ChoiceError, match="does not say what pixel size"):
        segment_image(noise(9, 9), path, pixel_size="1 um", resample=True)


@pytest.mark.parametrize(("size", "words"), [("17 um", "large"), ("1 nm", "small")])
def test_sizes_that_lie_too_far_apart_are_refused_by_name(tmp_path, size, words):
    path = nets.two_class(tmp_path / "a.onnx")
    with pytest.raises(ChoiceError, match=rf"0\.5 µm.*32 times as {words}"):
        segment_image(noise(9, 9), path, card=trained_on(path), pixel_size=size)


def test_the_plan_and_the_record_say_it(tmp_path):
    card = trained_on(nets.two_class(tmp_path / "a.onnx"))
    stack = as_stack(np.zeros((400, 600), np.uint8))
    plan = plan_segment(stack, card, SegmentJob(card.path, pixel_size="0.25 um"))
    assert "1 plane of 400 × 600 px" in plan.words()
    assert "worked on at 0.5 µm per px (image 0.25 µm)" in plan.words()
    assert plan.tiles.shape == (200, 300)
    json.dumps(plan.record(), allow_nan=False)
    uneven = plan_segment(stack, card, SegmentJob(card.path, pixel_size="0.25x1.5 um"))
    assert "(image 0.25 × 1.5 µm)" in uneven.words()


def test_a_huge_image_is_planned_at_once(tmp_path):
    card = trained_on(nets.two_class(tmp_path / "a.onnx"))
    stack = as_stack(np.broadcast_to(np.uint8(0), (200_000, 200_000)))
    plan = plan_segment(stack, card, SegmentJob(card.path, pixel_size="0.25 um"))
    assert plan.tiles.shape == (100_000, 100_000)


def test_three_lines_that_stand_in_for_a_network_are_enough(tmp_path):
    path = nets.two_class(tmp_path / "a.onnx")
    shapes = []

    def predict(batch):
        shapes.append(batch.shape)
        return np.concatenate([0.5 - batch, batch - 0.5], axis=1)

    image = square(64, (16, 32), (16, 40))
    result = segment_image(
        image, path, card=trained_on(path), pixel_size="0.25 um", predictor=predict
    )
    assert np.count_nonzero(result.labels != image) == 4  # the corners
    assert shapes == [(1, 1, 32, 32)]
