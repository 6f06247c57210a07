import numpy as np
import onnx
import pytest

import nets
from napari_onnxseg.graph.fold import fold
from netbuild import Net

ANY = ["batch", 1, "y", "x"]


def folded(net, last, dims=(1, 1, 48, 80), folder=None):
    model = net.model({last: ("float32", [None] * 4)})
    return fold(model, {"input": dims}, [last], folder)


def resize_to(net, x, like):
    """Resize with sizes computed from the shape of another tensor, as exporters write it."""
    channels = net.add("Shape", x, start=0, end=2)
    sides = net.add("Slice", net.add("Shape", like), *(net.constant([n], "int64") for n in (2, 4)))
    sizes = net.add("Concat", channels, net.add("Cast", sides, to=7), axis=0)
    return net.add("Resize", x, "", "", sizes, mode="linear")


def test_every_shape_of_a_free_network_is_known_at_one_size(tmp_path):
    model = onnx.load(nets.unet(tmp_path / "a.onnx", depth=3))
    graph = fold(model, {"input": (2, 1, 64, 32)}, [model.graph.output[0].name], tmp_path)
    produced = [name for node in graph.nodes for name in node.output]
    assert all(name in graph.shapes for name in produced)
    assert graph.shapes[model.graph.output[0].name] == (2, 3, 64, 32)


def test_shape_arithmetic_is_folded_away():
    net = Net(ANY)
    low = net.add("MaxPool", "input", kernel_shape=[2, 2], strides=[2, 2])
    graph = folded(net, resize_to(net, low, "input"))
    assert [node.op_type for node in graph.nodes] == ["MaxPool", "Resize"]
    assert graph.shapes[graph.nodes[-1].output[0]] == (1, 1, 48, 80)
    assert graph.constants[graph.nodes[-1].input[3]].tolist() == [1, 1, 48, 80]
    assert graph.nodes[-1].input[3] in graph.from_size


def test_operators_off_the_way_to_the_output_are_left_out():
    net = Net(ANY)
    last = net.add("Relu", "input")
    net.add("Tanh", last)
    assert [node.op_type for node in folded(net, last).nodes] == ["Relu"]


@pytest.mark.parametrize("element", ["int64", "float32"])
def test_a_huge_constant_is_never_made(element):
    net = Net(ANY)
    value = onnx.numpy_helper.from_array(np.ones(1, element))
    big = net.add("ConstantOfShape", net.constant([1 << 20, 1 << 20], "int64"), value=value)
    small = net.add("ReduceSum", net.add("Cast", big, to=1), keepdims=0)
    graph = folded(net, net.add("Add", "input", small))
    assert graph.shapes[big] == (1 << 20, 1 << 20)
    assert big not in graph.constants
    assert big in graph.fixed


def test_an_unknown_operator_leaves_its_shape_open():
    net = Net(ANY)
    net.nodes.append(onnx.helper.make_node("Magic", ["input"], ["out"], domain="some.where"))
    graph = folded(net, "out")
    assert "out" not in graph.shapes
    assert [node.op_type for node in graph.nodes] == ["Magic"]


def test_functions_of_the_model_are_inlined():
    net = Net(ANY)
    net.nodes.append(onnx.helper.make_node("Twice", ["input"], ["out"], domain="own"))
    model = net.model({"out": ("float32", [None] * 4)})
    body = [onnx.helper.make_node("Add", ["x", "x"], ["y"])]
    imports = [onnx.helper.make_opsetid("", 17)]
    model.functions.append(onnx.helper.make_function("own", "Twice", ["x"], ["y"], body, imports))
    model.opset_import.append(onnx.helper.make_opsetid("own", 1))
    graph = fold(model, {"input": (1, 1, 8, 8)}, ["out"], None)
    assert [node.op_type for node in graph.nodes] == ["Add"]
    assert graph.shapes["out"] == (1, 1, 8, 8)
