import onnx
import pytest

import nets
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import inspect
from netbuild import Net, save


def test_declared_tensors_are_listed_with_numbers_names_and_nothing(tmp_path):
    facts = inspect(nets.echo(tmp_path / "a.onnx", dtype="uint8", layout="NHWC", sides=(64, None)))
    (source,) = facts.inputs
    assert (source.name, source.dtype) == ("input", "uint8")
    assert source.dims == ("batch", 64, "x", 1)
    assert facts.outputs[0].dtype == "float32"


def test_versions_and_metadata_are_read(tmp_path):
    path = nets.echo(tmp_path / "a.onnx")
    model = onnx.load(path)
    model.producer_name, model.producer_version = "pytorch", "2.13"
    model.metadata_props.add(key="resolution", value="5.5")
    facts = inspect(model)
    assert (facts.opset, facts.ir_version, facts.producer) == (17, 8, "pytorch 2.13")
    assert facts.metadata == {"resolution": "5.5"}


def test_weights_listed_as_inputs_are_no_inputs(tmp_path):
    model = onnx.load(nets.box(tmp_path / "a.onnx"))
    weight = model.graph.initializer[0]
    info = onnx.helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims)
    model.graph.input.append(info)
    assert [tensor.name for tensor in inspect(model).inputs] == ["input"]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda path: nets.one_channel(path, sigmoid=True), "sigmoid"),
        (lambda path: nets.one_channel(path, sigmoid=False), None),
        (lambda path: nets.two_class(path, softmax=True), "softmax"),
        (lambda path: nets.two_class(path, layout="NHWC", softmax=True), "softmax"),
        (nets.arg_max, "argmax"),
        (nets.unet, None),
    ],
)
def test_the_last_activation_is_seen_through_casts_and_transposes(tmp_path, build, expected):
    facts = inspect(build(tmp_path / "a.onnx"))
    assert facts.activations.get(facts.outputs[0].name) == expected


def test_a_sequence_as_input_is_refused(tmp_path):
    net = Net(["batch", 1, "y", "x"])
    model = onnx.load(save(net.model({net.add("Relu", "input"): ("float32", [1])}), tmp_path / "a"))
    model.graph.input[0].type.Clear()
    element = onnx.helper.make_tensor_type_proto(1, [1])
    model.graph.input[0].type.CopyFrom(onnx.helper.make_sequence_type_proto(element))
    with pytest.raises(ModelError, match="'input' of the model is not an array"):
        inspect(model)
