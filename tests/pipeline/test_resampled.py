"""The image as a network sees it, and the sizes of pixels as people state them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headnets
import nets
from napari_onnxseg import Normalization, SegmentJob, segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.pixel_size import read_pixel_size, stated_pixel_size
from napari_onnxseg.pipeline.resampled import ResampledSource
from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.tiling.region import Region

STEADY = settings(max_examples=25, deadline=None, derandomize=True)


def trained_on(path):
    return replace(load_card(path), pixel_size=(0.5, "um"))


def noise(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


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
