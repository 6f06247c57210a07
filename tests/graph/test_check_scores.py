from dataclasses import replace

import numpy as np
import onnxruntime as ort
import pytest

import nets
from bad_exports import WELL, Plan, export
from bad_layers import no_region
from napari_onnxseg.graph.check import check
from netbuild import Net, save

ANY = ["batch", 1, "y", "x"]


def severities(path):
    return {f.code: f.severity for f in check(path).findings}


def written(path, net, last, dims=ANY):
    return save(net.model({last: ("float32", dims)}), path)


def test_class_ids_and_logits_are_told(tmp_path):
    assert severities(nets.arg_max(tmp_path / "a.onnx"))["argmax-inside"] == "info"
    assert severities(nets.unet(tmp_path / "b.onnx"))["logits"] == "info"
    sound = severities(nets.two_class(tmp_path / "c.onnx", softmax=True, layout="NHWC"))
    assert not {"logits", "softmax-axis", "activation-doubled"} & set(sound)


@pytest.mark.parametrize("first", ["Softmax", "Sigmoid"])
@pytest.mark.parametrize("second", ["Softmax", "Sigmoid"])
def test_an_activation_behind_another_is_an_error_even_with_a_transpose_between(
    tmp_path, first, second
):
    net = Net(ANY)
    x = net.add(
        first, net.random_conv("input", 1, 3, 1), **({"axis": 1} if first == "Softmax" else {})
    )
    x = net.add("Transpose", x, perm=[0, 2, 3, 1])
    x = net.add(second, x, **({"axis": 3} if second == "Softmax" else {}))
    path = written(tmp_path / "a.onnx", net, x, dims=["batch", "y", "x", 3])
    assert severities(path)["activation-doubled"] == "error"


@pytest.mark.parametrize(("axis", "wrong"), [(1, False), (-3, False), (3, True), (-1, True)])
def test_a_softmax_must_run_over_classes(tmp_path, axis, wrong):
    net = Net(ANY)
    last = net.add("Softmax", net.random_conv("input", 1, 3, 1), axis=axis)
    path = written(tmp_path / "a.onnx", net, last, dims=["batch", 3, "y", "x"])
    assert ("softmax-axis" in severities(path)) == wrong


@pytest.mark.parametrize(
    ("where", "rounding", "shifts"),
    [
        ("asymmetric", "floor", False),
        ("half_pixel", "round_prefer_floor", False),
        ("half_pixel", "round_prefer_ceil", False),
        ("asymmetric", "round_prefer_floor", False),
        ("asymmetric", "round_prefer_ceil", True),
        ("asymmetric", "ceil", True),
        ("half_pixel", "floor", True),
    ],
)
def test_a_nearest_resize_that_moves_the_picture_is_told(tmp_path, where, rounding, shifts):
    net = Net(ANY)
    modes = {"coordinate_transformation_mode": where, "nearest_mode": rounding}
    path = written(tmp_path / "a.onnx", net, net.resize("input", 2.0, "nearest", **modes))
    assert ("resize-shifted" in severities(path)) == shifts
    picture = np.arange(4.0, dtype=np.float32)[None, None, None].repeat(4, axis=2)
    doubled = _run(path, picture)[0, 0, 0]
    assert np.array_equal(doubled, [0, 0, 1, 1, 2, 2, 3, 3]) != shifts


def test_a_linear_resize_on_corners_of_pixels_is_told(tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, up=_asymmetric))
    assert severities(path)["resize-shifted"] == "warning"
    assert severities(export(tmp_path / "b.onnx", Plan(opset=10)))["resize-shifted"] == "warning"


def test_a_resize_that_crops_is_an_error(tmp_path):
    net = Net(ANY)
    region = net.constant([0, 0, 0.2, 0.2, 1, 1, 0.8, 0.8])
    where = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    last = net.add("Resize", "input", region, net.constant([1.0, 1.0, 2.0, 2.0]), **where)
    assert severities(written(tmp_path / "a.onnx", net, last))["resize-crop"] == "error"


def _asymmetric(net, x):
    where = {"coordinate_transformation_mode": "asymmetric", "mode": "linear"}
    return net.add("Resize", x, no_region(net), net.constant([1.0, 1.0, 2.0, 2.0]), **where)


def _run(path, picture):
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(
        None, {"input": picture}
    )[0]
