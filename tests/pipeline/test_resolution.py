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
from napari_onnxseg.pipeline.pixel_size import read_pixel_size, stated_pixel_size
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


def test_class_ids_are_never_mixed(tmp_path):
    path = nets.arg_max(tmp_path / "a.onnx")
    card = trained_on(path)
    image = noise(60, 60) if card.input.channels == 1 else noise(card.input.channels, 60, 60)
    axis = None if image.ndim == 2 else 0
    result = segment_image(
        image, path, card=card, pixel_size="0.2 um", channel_axis=axis, normalization=RAW
    )
    assert result.labels.shape == (60, 60)
    assert set(np.unique(result.labels)) <= {info.id for info in card.classes}


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


# -- the image as the network sees it


@STEADY
@given(data=st.data())
def test_any_region_of_a_resampled_plane_equals_that_of_the_whole(data):
    dtype = data.draw(st.sampled_from(["uint8", "uint16", ">i4", "float32", "float64", "bool"]))
    shape = [data.draw(st.integers(1, 60)) for _ in range(2)]
    out = [data.draw(st.integers(1, 60)) for _ in range(2)]
    values = (noise(2, *shape) * 9).astype(dtype)
    nodata = data.draw(st.sampled_from([None, 3.0]))
    seen = map_channels(2, 2, rgb=False, order="RGB", chosen=None)
    source = ResampledSource(as_stack(values, channel_axis=0).plane(()), tuple(out), seen, nodata)
    starts = [data.draw(st.integers(0, n - 1)) for n in out]
    stops = [data.draw(st.integers(a + 1, n)) for a, n in zip(starts, out, strict=True)]
    whole = source.read(Region.of_shape(out))
    part = source.read(Region(tuple(starts), tuple(stops)))
    np.testing.assert_array_equal(part, whole[:, starts[0] : stops[0], starts[1] : stops[1]])
    assert part.dtype == source.dtype
    assert source.dtype == (np.float32 if dtype == "bool" else np.dtype(dtype).newbyteorder("="))


def test_pixels_without_data_neither_spread_nor_darken_their_neighbours(tmp_path):
    path = headnets.line(tmp_path / "a.onnx", gain=1.0, offset=0.0)
    image = np.full((80, 80), 7.0, np.float32)
    image[20:40, :30] = np.nan
    for size in ("0.2 um", "1.5 um"):
        found = segment_image(image, path, card=trained_on(path), pixel_size=size).image
        np.testing.assert_array_equal(np.isnan(found), np.isnan(image))
        assert found[60:, :].min() > 6.99
        assert np.nanmax(found) < 7.01


def test_the_image_is_read_in_parts_however_much_it_shrinks(monkeypatch):
    monkeypatch.setattr("napari_onnxseg.pipeline.resampled.BAND_VALUES", 100_000)
    sizes = []

    class Watched:
        """A plane that notes how much of it is read."""

        shape, channels, dtype = (2000, 1000), 1, np.dtype(np.uint8)

        def read(self, region):
            sizes.append(region.size)
            return np.zeros((1, *region.shape), np.uint8)

    seen = map_channels(1, 1, rgb=False, order="RGB", chosen=None)
    ResampledSource(Watched(), (100, 50), seen, None).read(Region((0, 0), (100, 50)))
    assert max(sizes) <= 100_000 + 40 * 1000  # a band, and what its filter sees beyond it
    assert sum(sizes) >= 2000 * 1000


@pytest.mark.parametrize("nodata", [0, 255])
def test_a_value_that_means_no_data_is_not_averaged(nodata):
    values = np.full((1, 40, 40), 100, np.uint8)
    values[0, 10:30, 10:30] = nodata
    seen = map_channels(1, 1, rgb=False, order="RGB", chosen=None)
    plane = as_stack(values[0]).plane(())
    small = ResampledSource(plane, (17, 17), seen, nodata).read(Region((0, 0), (17, 17)))
    assert set(np.unique(small)) == {nodata, 100}
    assert np.mean(small == nodata) == pytest.approx(0.25, abs=0.06)


def test_transparent_pixels_stay_transparent():
    values = np.full((4, 40, 40), 200, np.uint8)
    values[:3, :, 20:] = 0
    values[3, :, 20:] = 0
    seen = map_channels(4, 3, rgb=True, order="RGB", chosen=None)
    plane = as_stack(np.moveaxis(values, 0, -1), rgb=True).plane(())
    small = ResampledSource(plane, (13, 13), seen, None).read(Region((0, 0), (13, 13)))
    assert set(np.unique(small[:3, small[3] > 0])) == {200}


def test_statistics_are_measured_on_what_the_network_sees(tmp_path):
    path = nets.echo(tmp_path / "a.onnx")
    fine = np.indices((64, 64)).sum(0) % 2 * 200  # vanishes at a quarter of the resolution
    fine[:, 32:] += 400
    card = trained_on(path)
    given = {"card": card, "normalization": Normalization("min_max"), "pixel_size": "0.125 um"}
    result = segment_image(fine.astype(np.uint16), path, **given)
    joint = result.record["statistics"]["joint"]
    assert (joint["minimum"], joint["maximum"]) == pytest.approx((100, 500), abs=1)
    assert joint["count"] == 16 * 16


@pytest.mark.parametrize("statistics", ["image", "plane"])
def test_planes_of_a_stack_come_out_as_each_alone(tmp_path, statistics):
    path = nets.box(tmp_path / "a.onnx", two_classes=True)
    stack = noise(3, 50, 40) * np.array([1, 5, 9], np.float32)[:, None, None]
    choices = {
        "card": trained_on(path),
        "pixel_size": "0.3 um",
        "statistics": statistics,
        "normalization": Normalization("min_max"),
        "rgb": False,
    }
    every = segment_image(stack, path, **choices).labels
    assert every.shape == stack.shape
    for number in range(3):
        alone = segment_image(stack, path, index=(number,), **choices).labels
        np.testing.assert_array_equal(alone[0], every[number])


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


# -- how a pixel size is stated


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0.25 um", ((0.25, 0.25), "micrometer")),
        (" 5.5x6cm ", ((5.5, 6.0), "centimeter")),
        ("1e-3 × 2e-3 mm", ((0.001, 0.002), "millimeter")),
        (".5 µm", ((0.5, 0.5), "micrometer")),
        ((10, "nm"), ((10.0, 10.0), "nanometer")),
        (((1, 2), "meter"), ((1.0, 2.0), "meter")),
    ],
)
def test_a_pixel_size_is_read(given, expected):
    assert read_pixel_size(given) == expected
    assert SegmentJob("m", pixel_size=read_pixel_size(given)).pixel_size == expected


@pytest.mark.parametrize(
    "given", ["0.25", "um", "0 um", "-1 um", "1 parsec", "nan um", 3, (1, 2, 3), ((1, 2, 3), "um")]
)
def test_what_is_no_length_is_refused(given):
    with pytest.raises(ChoiceError, match=r"'pixel_size' must be a length such as '0\.25 um'"):
        SegmentJob("m", pixel_size=given)


def test_scale_and_units_state_it_where_they_are_lengths():
    assert stated_pixel_size((3, 0.5, 0.25), ("second", "um", "um")) == ((0.5, 0.25), "micrometer")
    assert stated_pixel_size((500, 0.25), ("nm", "um")) == (
        (pytest.approx(0.5), 0.25),
        "micrometer",
    )
    for scale, units in [
        ((1, 1), ("pixel", "pixel")),
        ((1, 1), None),
        (None, None),
        ((0, 1), "mm"),
    ]:
        assert stated_pixel_size(scale, units) is None
