"""Pixel formats and values that broke neighbouring tools, from the array to the session."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
from PIL import Image

import nets
from napari_onnxseg import Normalization, matte_image, segment_image
from napari_onnxseg.arrays.read_files import read_image
from spying import Spy

RAW = Normalization("none")
UNIT = Normalization("unit")
STRETCH = Normalization("percentile", low=1, high=99, clip=True)


def grey(*shape, seed=5):
    """Random values in [0, 1)."""
    return np.random.default_rng(seed).random(shape, np.float32)


def stored(ramp, kind, folder):
    """Return the ramp as it is, or read from a file."""
    path = folder / f"ramp.{kind}"
    if kind == "array":
        return ramp
    if kind == "png":
        Image.fromarray(ramp).save(path)
    else:
        tifffile.imwrite(path, ramp)
    return read_image(path).data


@pytest.mark.parametrize("top", [65_535, 4095])
@pytest.mark.parametrize("kind", ["array", "png", "tif"])
def test_a_sixteen_bit_ramp_reaches_the_network_with_its_steps(tmp_path, kind, top):  # B012
    spy = Spy(nets.echo(tmp_path / "echo.onnx", channels=3))
    ramp = np.linspace(0, top, 256).round().astype(np.uint16)[None].repeat(64, 0)
    image = stored(ramp, kind, tmp_path)
    segment_image(image, spy.session.card.path, predictor=spy, normalization=UNIT)
    fed = spy.batches[0][0, :, :64, :256]
    np.testing.assert_allclose(fed, np.broadcast_to(ramp / top, fed.shape), atol=1e-6)
    assert all(len(np.unique(channel)) >= 250 for channel in fed)
    assert (np.diff(fed[:, 0]) > 0).all()


@pytest.mark.parametrize("shape", [(60, 50), (60, 50, 1)])
def test_one_band_feeds_a_network_of_one_channel(tmp_path, shape):  # B013
    image = grey(*shape)
    axis = 2 if len(shape) == 3 else None
    path = nets.two_class(tmp_path / "two.onnx")
    result = segment_image(image, path, channel_axis=axis, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image.reshape(60, 50) > 0.5)


@pytest.mark.parametrize("shape", [(60, 50), (60, 50, 1)])
def test_one_band_feeds_three_channels_like_a_grey_picture_in_colour(tmp_path, shape):  # B013
    image = grey(*shape)
    path = nets.unet(tmp_path / "unet.onnx", channels=3)
    colour = np.repeat(image.reshape(60, 50, 1), 3, axis=2)
    axis = 2 if len(shape) == 3 else None
    given = {"normalization": Normalization("min_max")}
    one = segment_image(image, path, channel_axis=axis, **given)
    three = segment_image(colour, path, rgb=True, **given)
    assert len(np.unique(three.labels)) > 1
    np.testing.assert_array_equal(one.labels, three.labels)


@pytest.mark.parametrize("dtype", ["int16", "int8", "uint32", "float64"])
def test_blocks_of_signed_values_become_0_a_half_and_1(tmp_path, dtype):  # B014
    low, high = {"int8": (-100, 100), "uint32": (0, 4 * 10**9)}.get(dtype, (-1000, 1000))
    image = np.array([low, (low + high) // 2, high], dtype).repeat(32)[None].repeat(32, 0)
    before = image.copy()
    spy = Spy(nets.echo(tmp_path / "echo.onnx", channels=1))
    window = Normalization("window", low=low, high=high)
    segment_image(image, spy.session.card.path, predictor=spy, normalization=window)
    fed = spy.batches[0][0, 0, :32, [0, 40, 80]]
    np.testing.assert_allclose(fed, np.array([[0], [0.5], [1]]).repeat(32, 1), atol=1e-6)
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("method", ["percentile", "min_max", "zero_mean_unit_variance"])
def test_halves_of_different_brightness_get_one_scale_in_all_tiles(tmp_path, method):  # B015
    path = nets.two_class(tmp_path / "two.onnx")
    image = np.concatenate([grey(2048, 1024) * 100, grey(2048, 1024) * 1000], axis=1)
    whole, tiled = (
        segment_image(image, path, normalization=Normalization(method), tile=tile)
        for tile in (2048, 256)
    )
    assert (whole.record["tiles"], tiled.record["tiles"]) == (1, 64)
    assert tiled.record["job"]["statistics"] == "image"
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    assert 0 < whole.labels[:, 1024:].mean() < 1
    dark = segment_image(image[:, :1024], path, normalization=Normalization(method), tile=256)
    assert (dark.labels != tiled.labels[:, :1024]).any()


@pytest.mark.parametrize("value", [0, 128, 255])
@pytest.mark.parametrize("method", ["mean_std", "min_max", "percentile", "zero_mean_unit_variance"])
def test_a_flat_picture_is_cut_out_with_one_finite_alpha(tmp_path, value, method):  # B016
    card = {"task": "matting", "output": {"scores": "probabilities"}}
    spy = Spy(nets.saliency(tmp_path / "saliency.onnx", card=card))
    extra = {"mean": (0.5,) * 3, "std": (0.25,) * 3} if method == "mean_std" else {}
    picture = np.full((40, 50, 3), value, np.uint8)
    result = matte_image(
        picture,
        spy.session.card.path,
        rgb=True,
        predictor=spy,
        normalization=Normalization(method, **extra),
    )
    assert all(np.isfinite(batch).all() for batch in spy.batches)
    assert len(np.unique(result.rgba[..., 3])) == 1


@pytest.mark.parametrize("hole", [np.nan, -9999.0])
def test_a_hole_does_not_shift_the_stretch_of_the_rest(tmp_path, hole):  # B017
    clean = grey(700, 700) * 50 + 300
    holed = clean.copy()
    holed[:200, :200] = hole
    valid = np.ones(clean.shape, bool)
    valid[:200, :200] = False
    low, high = np.percentile(clean[valid].astype(np.float64), [1, 99])
    spy = Spy(nets.box(tmp_path / "box.onnx", radius=4, two_classes=True))
    given = {"normalization": STRETCH, "nodata": -9999.0, "tile": 256}
    got = segment_image(holed, spy.session.card.path, predictor=spy, **given)
    assert not got.labels[~valid].any()
    assert all(np.isfinite(b).all() and b.min() >= 0 and b.max() <= 1 for b in spy.batches)
    window = Normalization("window", low=low, high=high)
    want = segment_image(clean, spy.session.card.path, normalization=window)
    far = np.ones(clean.shape, bool)
    far[: 200 + 4, : 200 + 4] = False
    differing = np.count_nonzero(got.labels[far] != want.labels[far])
    assert differing <= 5  # the mean of a window may lie within rounding of the limit
    assert 0.2 < want.labels.mean() < 0.8


@pytest.mark.parametrize("hole", [np.nan, -9999.0])
def test_a_hole_in_a_picture_is_transparent(tmp_path, hole):  # B017
    card = {"task": "matting", "output": {"scores": "probabilities"}}
    path = nets.saliency(tmp_path / "saliency.onnx", card=card)
    picture = np.full((90, 80), 0.9, np.float32)
    picture[:30, :30] = hole
    result = matte_image(picture, path, nodata=-9999.0, normalization=RAW)
    assert not result.rgba[:30, :30, 3].any()
    assert result.rgba[60:, 60:, 3].min() > 200


@pytest.mark.parametrize(
    ("dtype", "top"), [(np.float32, 1.0), (np.float64, 1.0), (np.uint16, 4095), (np.bool_, 1)]
)
def test_networks_of_bytes_are_fed_bytes_of_pictures_of_any_range(tmp_path, dtype, top):
    network = nets.echo(tmp_path / "a.onnx", dtype="uint8", channels=1)
    unit = np.linspace(0, 1, 256).reshape(16, 16)
    picture = np.rint(unit * top).astype(dtype) if top != 1.0 or dtype == np.bool_ else unit
    network.with_suffix(".json").write_text('{"format": 1, "task": "image"}')
    fed = segment_image(picture.astype(dtype), network, device="cpu").image
    wanted = np.rint(picture.astype(np.float64) / top * 255)
    np.testing.assert_allclose(fed, wanted, atol=1)
