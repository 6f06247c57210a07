import numpy as np
import onnx
import onnxruntime as ort
import pytest

import nets
from napari_onnxseg.graph.inspect import inspect
from napari_onnxseg.graph.mend import Choices, mend
from netbuild import save
from random_nets import random_net

SIDE = 192


def answer(path, picture):
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: picture})[0]


@pytest.mark.parametrize(
    ("layout", "sides", "dims"),
    [
        ("NCHW", (32, 48), ("batch", 1, "rows", "columns")),
        ("NHWC", (32, 48), ("batch", "rows", "columns", 1)),
        ("NCDHW", (16, 32, 32), ("batch", 1, "slices", "rows", "columns")),
        ("NDHWC", (16, 32, 32), ("batch", "slices", "rows", "columns", 1)),
    ],
)
def test_every_layout_is_freed_with_names_for_its_axes(tmp_path, layout, sides, dims):
    path = nets.echo(tmp_path / "a.onnx", layout=layout, sides=sides, batch=1)
    facts = inspect(mend(path, tmp_path / "b.onnx").path)
    assert facts.inputs[0].dims == facts.outputs[0].dims == dims


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_an_activation_runs_over_classes_wherever_they_lie(tmp_path, layout, activation):
    path = nets.two_class(tmp_path / "a.onnx", layout=layout)
    mended = mend(path, tmp_path / "b.onnx", Choices(activation=activation))
    picture = np.random.default_rng(1).random((2, 8, 8, 1), np.float32)
    picture = picture if layout == "NHWC" else np.moveaxis(picture, -1, 1)
    logits = answer(path, picture)
    axis = layout.index("C")
    odds = np.exp(logits)
    softmax, sigmoid = odds / odds.sum(axis, keepdims=True), odds / (1 + odds)
    expected = softmax if activation == "softmax" else sigmoid
    np.testing.assert_allclose(answer(mended.path, picture), expected, atol=1e-6)
    again = mend(mended.path, tmp_path / "c.onnx", Choices(activation=activation))
    assert again.done == ()
    back = mend(mended.path, tmp_path / "d.onnx", Choices(activation="none"))
    np.testing.assert_array_equal(answer(back.path, picture), logits)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_of_one_size_are_freed_to_what_they_were(tmp_path, seed):
    free = random_net(tmp_path / "free.onnx", seed)
    model = onnx.load(free)
    for info, channels in ((model.graph.input[0], 1), (model.graph.output[0], 3)):
        for axis, length in enumerate((1, channels, SIDE, SIDE)):
            info.type.tensor_type.shape.dim[axis].dim_value = length
    fixed = save(model, tmp_path / "fixed.onnx")
    mended = mend(fixed, tmp_path / "mended.onnx", Choices(batch=True, sides=True))
    picture = np.random.default_rng(seed).random((2, 1, 64, 128), np.float32)
    np.testing.assert_array_equal(answer(mended.path, picture), answer(free, picture))
