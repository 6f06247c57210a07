"""Sizes, overlaps and outputs that broke neighbouring tools, from the image to the labels."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import nets
from napari_onnxseg import Normalization, segment_image
from napari_onnxseg.errors import OnnxSegError
from netbuild import Net, save

RAW = Normalization("none")


def grey(*shape):
    """Random values in [0, 1)."""
    return np.random.default_rng(11).random(shape, np.float32)


def whole_answer(path, padded):
    """Return the classes that one bare session.run gives."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"input": padded[None, None]})
    return scores[0].argmax(0)


def padded_to(image, shape):
    """Reflect at the far edges; one pixel is repeated."""
    for axis, side in enumerate(shape):
        pads = [(0, side - image.shape[axis] if n == axis else 0) for n in range(2)]
        image = np.pad(image, pads, mode="reflect" if image.shape[axis] > 1 else "edge")
    return image


@pytest.mark.parametrize("shape", [(100, 70), (1, 1), (1, 500), (511, 512)])
def test_one_fixed_tile_is_one_run_on_the_reflected_image(tmp_path, shape):  # B019
    path = nets.unet(tmp_path / "fixed.onnx", channels=1, sides=(512, 512))
    image = grey(*shape)
    result = segment_image(image, path, normalization=RAW)
    want = whole_answer(path, padded_to(image, (512, 512)))
    np.testing.assert_array_equal(result.labels, want[tuple(map(slice, shape))])


@pytest.mark.parametrize("shape", [(600, 70), (1, 900), (511, 513)])
def test_several_tiles_equal_one_run_on_the_reflected_image(tmp_path, shape):  # B019
    path = nets.unet(tmp_path / "unet.onnx", channels=1)
    image = grey(*shape)
    result = segment_image(image, path, tile=512, normalization=RAW)
    assert result.record["tiles"] > 1
    want = whole_answer(path, padded_to(image, [-(-n // 4) * 4 for n in shape]))
    np.testing.assert_array_equal(result.labels, want[tuple(map(slice, shape))])


def test_every_size_around_the_stride_runs_untiled_and_keeps_its_shape(tmp_path):  # B020
    path = nets.pad_sensitive(tmp_path / "pads.onnx", stride=16)
    image = grey(49, 49)
    for height in range(17, 50):
        for width in range(17, 50):
            part = image[:height, :width]
            result = segment_image(part, path, normalization=RAW, tile=64, workers=1)
            assert result.labels.shape == part.shape
            peaks = part[:16, :16] >= part[:16, :16].max()
            np.testing.assert_array_equal(result.labels[:16, :16], peaks)


def two_of_five(path, *, ids, factor=1.0):
    """Class 4 where x > 0.5, class 1 elsewhere; classes 0, 2, 3 never win."""
    net = Net(["batch", 1, "y", "x"])
    last = "input"
    if factor == 0.5:
        last = net.add("AveragePool", last, kernel_shape=[2, 2], strides=[2, 2])
    if factor == 2.0:
        last = net.resize(last, 2.0, "nearest")
    weight = np.array([0, -1, 0, 0, 1.0])[:, None, None, None]
    last = net.conv(last, weight, [-9, 0.5, -9, -9, -0.5])
    out = ["batch", 5, "y_out", "x_out"]
    if ids:
        last = net.add("ArgMax", last, axis=1, keepdims=0)
        return save(net.model({last: ("int64", [out[0], *out[2:]])}), path)
    return save(net.model({last: ("float32", out)}), path)


def test_blended_scores_never_give_a_class_between_two_others(tmp_path):  # B024
    path = two_of_five(tmp_path / "scores.onnx", ids=False)
    image = np.repeat(np.repeat(grey(50, 50), 6, 0), 6, 1)
    result = segment_image(image, path, tile=128, halo=0, overlap=64, normalization=RAW)
    assert result.record["tiles"] > 4
    np.testing.assert_array_equal(result.labels, np.where(image > 0.5, 4, 1))


def test_class_ids_are_cropped_even_where_the_network_sees_the_whole_tile(tmp_path):  # B024
    net = Net(["batch", 1, "y", "x"])
    far = net.add("Mul", net.add("GlobalAveragePool", "input"), net.constant(1e-6))
    scores = net.conv(net.add("Add", "input", far), np.array([-1.0, 1.0])[:, None, None, None])
    scores = net.add("Add", scores, net.constant(np.array([0.5, -0.5])[:, None, None]))
    last = net.add("ArgMax", scores, axis=1, keepdims=1)
    path = save(net.model({last: ("int64", ["batch", 1, "y", "x"])}), tmp_path / "far.onnx")
    image = np.where(grey(300, 300) > 0.5, np.float32(0.9), np.float32(0.1))
    result = segment_image(image, path, tile=128, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("tile", [None, 64])
def test_another_resolution_invents_no_class(tmp_path, ids, factor, tile):  # B024, B029
    path = two_of_five(tmp_path / "five.onnx", ids=ids, factor=factor)
    image = np.zeros((333, 501), np.float32)
    image[101:221, 41:161] = 1
    result = segment_image(image, path, tile=tile, normalization=RAW)
    assert result.labels.shape == image.shape
    assert set(np.unique(result.labels)) == {1, 4}
    rows, columns = np.nonzero(result.labels != np.where(image > 0.5, 4, 1))
    off = np.minimum(
        np.abs(np.subtract.outer(rows, (100.5, 220.5))).min(axis=1, initial=99),
        np.abs(np.subtract.outer(columns, (40.5, 160.5))).min(axis=1, initial=99),
    )
    assert (off <= 1).all()


def three_of_ten(path, *, ids):
    """Class 0, 3 or 9, whichever is nearest to x, at half the resolution."""
    net = Net(["batch", 1, "y", "x"])
    last = net.add("AveragePool", "input", kernel_shape=[2, 2], strides=[2, 2])
    slope, offset = np.zeros(10), np.full(10, -1000.0)
    for number in (0, 3, 9):
        slope[number], offset[number] = 2 * number, -(number**2)
    last = net.conv(last, slope[:, None, None, None], offset)
    if ids:
        last = net.add("ArgMax", last, axis=1, keepdims=1)
        dims = ["batch", 1, "half_y", "half_x"]
        return save(net.model({last: ("int64", dims)}), path)
    return save(net.model({last: ("float32", ["batch", 10, "half_y", "half_x"])}), path)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("tile", [None, 128])
def test_three_classes_at_half_resolution_stay_three(tmp_path, ids, tile):  # B029
    path = three_of_ten(tmp_path / "ten.onnx", ids=ids)
    image = np.zeros((333, 501), np.float32)
    image[:, 167:334], image[:, 334:] = 3, 9
    image[150:] = image[150:, ::-1]
    result = segment_image(image, path, tile=tile, normalization=RAW)
    assert result.labels.shape == image.shape
    assert set(np.unique(result.labels)) == {0, 3, 9}
    rows, columns = np.nonzero(result.labels != image)
    near = np.abs(np.subtract.outer(columns, (166.5, 333.5))).min(axis=1, initial=99) <= 1.5
    assert (near | (np.abs(rows - 149.5) <= 1.5)).all()


def test_class_ids_that_overlap_are_refused_whatever_the_resolution(tmp_path):  # B024
    path = two_of_five(tmp_path / "ids.onnx", ids=True, factor=0.5)
    with pytest.raises(OnnxSegError, match="blend"):
        segment_image(grey(300, 300), path, tile=128, overlap=64, normalization=RAW)


def test_a_mask_of_true_and_false_becomes_small_labels(tmp_path):  # B032
    net = Net(["batch", 1, "y", "x"])
    last = net.add("Greater", "input", net.constant(0.5))
    path = save(net.model({last: ("bool", ["batch", 1, "y", "x"])}), tmp_path / "mask.onnx")
    image = grey(70, 90)
    result = segment_image(image, path, tile=32, normalization=RAW)
    assert result.labels.dtype == np.uint8
    np.testing.assert_array_equal(result.labels, image > 0.5)
