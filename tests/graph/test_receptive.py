from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import pytest

import nets
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.probe import Probe
from napari_onnxseg.graph.receptive import analyse
from netbuild import Net

ANY = ["batch", 4, "y", "x"]
FREE = (None, 1, None, None)


def view_of(path, dims=FREE, layout="NCHW"):
    model = onnx.load(path)
    return analyse(model, Probe("input", model.graph.output[0].name, layout, dims), path.parent)


def breakers(net, last, dims=(None, 4, None, None)):
    model = net.model({last: ("float32", [None] * 4)})
    return analyse(model, Probe("input", last, "NCHW", dims), Path()).breakers


def test_a_pixelwise_network_needs_no_halo(tmp_path):
    view = view_of(nets.two_class(tmp_path / "a.onnx"))
    assert (view.multiple, view.halo, view.radius) == ((1, 1), (0, 0), (0, 0))
    assert view.breakers == ()


@pytest.mark.parametrize("radius", [1, 4, 20])
def test_a_box_filter_needs_its_radius(tmp_path, radius):
    view = view_of(nets.box(tmp_path / "a.onnx", radius=radius))
    assert view.halo == view.radius == (radius, radius)


@pytest.mark.parametrize(("build", "ratio"), [("half", (1, 2)), ("double", (2, 1))])
def test_the_resolution_of_the_output_is_a_ratio(tmp_path, build, ratio):
    view = view_of(getattr(nets, f"{build}_resolution")(tmp_path / "a.onnx"))
    assert view.ratio == (Fraction(*ratio),) * 2
    assert view.multiple == (ratio[1],) * 2
    assert view.shrink == (0, 0)


@pytest.mark.parametrize("sides", [(64, 64), (None, None)])
def test_missing_borders_are_counted_a_side(tmp_path, sides):
    view = view_of(nets.shrink(tmp_path / "a.onnx", sides=sides), (None, 1, *sides))
    assert view.shrink == (8, 8)
    assert view.halo == (8, 8)
    assert view.ratio == (1, 1)


def test_a_block_wise_network_needs_its_grid_but_no_halo(tmp_path):
    view = view_of(nets.pad_sensitive(tmp_path / "a.onnx", stride=16))
    assert (view.multiple, view.halo, view.radius) == ((16, 16), (0, 0), (15, 15))


@pytest.mark.parametrize(("depth", "halo", "radius"), [(1, 6, 5), (4, 48, 61)])
def test_a_pooling_network_has_the_known_radius_and_the_smaller_exact_halo(
    tmp_path, depth, halo, radius
):
    view = view_of(nets.unet(tmp_path / "a.onnx", depth=depth))
    assert view.multiple == (2**depth, 2**depth)
    assert view.halo == (halo, halo)
    assert view.radius == (radius, radius)


@pytest.mark.parametrize("layout", ["NHWC", "NCDHW"])
def test_axes_are_followed_in_every_layout(tmp_path, layout):
    sides = (None,) * (len(layout) - 2)
    view = view_of(
        nets.echo(tmp_path / "a.onnx", layout=layout, sides=sides),
        tuple(1 if axis == "C" else None for axis in layout),
        layout,
    )
    assert view.output_axes == tuple(layout.index(axis) for axis in "DHW" if axis in layout)
    assert len(view.halo) == len(sides)


def test_three_dimensional_networks_have_a_halo_by_axis():
    net = Net(["batch", 1, "z", "y", "x"])
    last = net.conv("input", np.ones((1, 1, 1, 3, 5)))
    model = net.model({last: ("float32", [None] * 5)})
    view = analyse(model, Probe("input", last, "NCDHW", (None, 1, None, None, None)), Path())
    assert view.halo == (0, 1, 2)


def test_a_stride_of_three_is_probed_at_a_size_it_divides():
    net = Net(["batch", 1, "y", "x"])
    low = net.add("MaxPool", "input", kernel_shape=[3, 3], strides=[3, 3])
    sizes = net.add("Shape", "input")
    last = net.add("Resize", low, "", "", sizes, mode="nearest", nearest_mode="floor")
    model = net.model({last: ("float32", [None] * 4)})
    view = analyse(model, Probe("input", last, "NCHW", (1, 1, None, None)), Path())
    assert view.multiple == (3, 3)
    assert view.breakers == ()


def test_memory_counts_what_is_alive_at_once(tmp_path):
    thin = view_of(nets.unet(tmp_path / "a.onnx", width=8)).bytes_per_px
    wide = view_of(nets.unet(tmp_path / "b.onnx", width=16)).bytes_per_px
    assert 8 * 4 < thin < wide < 2.2 * thin


def test_the_classes_of_a_final_argmax_are_counted(tmp_path):
    assert view_of(nets.arg_max(tmp_path / "a.onnx")).label_count == 3
    assert view_of(nets.unet(tmp_path / "b.onnx")).label_count is None


def test_an_output_that_cannot_lie_centred_is_refused():
    net = Net(["batch", 1, "y", "x"])
    last = net.conv("input", np.ones((1, 1, 2, 2)), pads=[0] * 4)
    model = net.model({last: ("float32", [None] * 4)})
    with pytest.raises(ModelError, match=r"\(511, 511\) px for \(512, 512\) px"):
        analyse(model, Probe("input", last, "NCHW", FREE), Path())


def test_an_output_that_is_no_map_is_refused():
    net = Net(["batch", 1, "y", "x"])
    last = net.add("Flatten", net.add("GlobalAveragePool", "input"))
    model = net.model({last: ("float32", [None, 1])})
    with pytest.raises(ModelError, match="is not a map of the picture"):
        analyse(model, Probe("input", last, "NCHW", FREE), Path())


def squeeze_excite(net):
    gate = net.add("Sigmoid", net.add("GlobalAveragePool", "input"))
    return net.add("Mul", "input", gate)


def instance_norm(net):
    weights = net.constant(np.ones(4)), net.constant(np.zeros(4))
    return net.add("InstanceNormalization", "input", *weights)


def group_norm_by_reshape(net):
    flat = net.add("Reshape", "input", net.constant([0, 2, -1], "int64"))
    ones = net.constant(np.ones(2)), net.constant(np.zeros(2))
    normed = net.add("InstanceNormalization", flat, *ones)
    return net.add("Reshape", normed, net.add("Shape", "input"))


def attention(net):
    flat = net.add("Reshape", "input", net.constant([0, 4, -1], "int64"))
    likeness = net.add("MatMul", net.add("Transpose", flat, perm=[0, 2, 1]), flat)
    mixed = net.add("MatMul", flat, net.add("Softmax", likeness, axis=-1))
    return net.add("Reshape", mixed, net.add("Shape", "input"))


def training_norm(net):
    numbers = [net.constant(np.ones(4)) for _ in range(4)]
    return net.add("BatchNormalization", "input", *numbers, outputs=3, training_mode=1)


def coordinates(net):
    rows = net.add("Shape", "input", start=3, end=4)
    steps = net.add(
        "Range",
        *(net.constant(n, "int64") for n in (0,)),
        net.add("Squeeze", rows),
        net.constant(1, "int64"),
    )
    return net.add("Add", "input", net.add("Cast", steps, to=1))


BREAKERS = {
    "align_corners": lambda net: net.resize(
        "input", 2.0, "linear", coordinate_transformation_mode="align_corners"
    ),
    "fixed size": lambda net: net.add(
        "Resize", "input", "", "", net.constant([1, 4, 256, 256], "int64"), mode="linear"
    ),
    "rounds by place": lambda net: net.resize("input", 3.0, "linear"),
    "GlobalAveragePool": squeeze_excite,
    "InstanceNormalization": instance_norm,
    "Reshape mixes": group_norm_by_reshape,
    "MatMul": attention,
    "training mode": training_norm,
    "depends on the place": coordinates,
    "Softmax looks at the whole": lambda net: net.add("Softmax", "input", axis=3),
    "ReduceMean looks at the whole": lambda net: net.add(
        "Sub", "input", net.add("ReduceMean", "input", axes=[2, 3])
    ),
    "CumSum looks at the whole": lambda net: net.add("CumSum", "input", net.constant(2, "int64")),
    "wraps": lambda net: net.conv(
        net.add("Pad", "input", net.constant([0, 0, 1, 1, 0, 0, 1, 1], "int64"), mode="wrap"),
        np.ones((1, 4, 3, 3)),
        pads=[0] * 4,
    ),
    "Concat looks": lambda net: net.add("Concat", "input", "input", axis=2),
}


@pytest.mark.parametrize("words", BREAKERS)
def test_what_makes_exact_tiling_impossible_is_named(words):
    net = Net(ANY, opset=19 if words == "wraps" else 17)
    found = breakers(net, BREAKERS[words](net)) if words != "Concat looks" else _concat(net)
    assert any(words in breaker for breaker in found), found


def _concat(net):
    doubled = BREAKERS["Concat looks"](net)
    return breakers(net, net.add("MaxPool", doubled, kernel_shape=[2, 1], strides=[2, 1]))


def test_an_operator_of_another_domain_breaks_exactness():
    net = Net(ANY)
    net.nodes.append(onnx.helper.make_node("Relu", ["input"], ["t"], domain="some.where"))
    found = breakers(net, net.add("Relu", "t"))
    assert found[0] == "Relu is not known to be local"


def test_equal_findings_are_counted_once():
    net = Net(ANY)
    x = "input"
    for _ in range(3):
        weights = net.constant(np.ones(4)), net.constant(np.zeros(4))
        x = net.add("InstanceNormalization", x, *weights)
    assert breakers(net, x) == ("InstanceNormalization looks at the whole picture (3 times)",)


def test_operators_on_the_way_to_other_outputs_do_not_count():
    net = Net(ANY)
    instance_norm(net)
    assert breakers(net, net.add("Relu", "input")) == ()
