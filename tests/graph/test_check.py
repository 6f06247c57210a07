from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import helper

import nets
from bad_exports import WELL, export
from bad_layers import dropout
from napari_onnxseg.errors import ChoiceError, ModelError, ModelNotFoundError
from napari_onnxseg.graph.check import check
from napari_onnxseg.graph.findings import SEVERITIES, listed
from napari_onnxseg.graph.subject import Limits, Wanted
from netbuild import Net, save

LIMITS = Limits(opset=23, ir_version=11, release=(1, 31))
ANY = ["batch", 1, "y", "x"]


def severities(path, **more):
    return {f.code: f.severity for f in check(path, LIMITS, **more).findings}


def written(path, net, last, dtype="float32", dims=ANY):
    return save(net.model({last: (dtype, dims)}), path)


def finding(path, code, limits=LIMITS):
    return next(f for f in check(path, limits).findings if f.code == code)


def with_middle(path, op, **attributes):
    """Write the small U-Net with one more operator at low resolution."""
    return export(path, replace(WELL, middle=lambda net, x: net.add(op, x, **attributes)))


def test_findings_come_worst_first(tmp_path):
    model = onnx.load(nets.saliency(tmp_path / "a.onnx"))
    model.ir_version = 12
    order = [f.severity for f in check(save(model, tmp_path / "a.onnx"), LIMITS).findings]
    assert order == sorted(order, key=SEVERITIES.index)
    assert set(order) == set(SEVERITIES)


def test_a_report_can_be_written_as_json(tmp_path):
    told = check(nets.unet(tmp_path / "a.onnx")).to_json()
    assert told["ok"] is True
    assert {"severity", "code", "title", "meaning", "export", "mendable"} == set(
        told["findings"][0]
    )


def test_every_sentence_is_one_line_with_a_full_stop(tmp_path):
    for build in (nets.unet, nets.saliency, nets.arg_max, nets.shrink):
        for found in check(build(tmp_path / "a.onnx")).findings:
            assert found.title.endswith(".")
            assert found.meaning.endswith(".")
            assert "\n" not in found.title + found.meaning


def test_geometry_size_and_memory_are_told_in_numbers(tmp_path):
    path = nets.unet(tmp_path / "a.onnx", depth=3, width=8)
    assert "Total downsampling 8 px" in finding(path, "geometry").title
    count = sum(np.prod(t.dims) for t in onnx.load(path).graph.initializer)
    assert finding(path, "size").title.startswith(f"{count:,} parameters")
    assert "512 x 512 px takes about" in finding(path, "memory").title


def test_versions_are_judged_by_what_the_runtime_reads(tmp_path):
    path = nets.unet(tmp_path / "a.onnx")
    assert check(path, Limits(17, 8, (1, 31))).ok
    assert not check(path, Limits(16, 8, (1, 31))).ok
    found = finding(path, "ir-too-new", Limits(17, 7, (1, 31)))
    assert "version 8" in found.title
    assert "up to 7" in found.title


@pytest.mark.parametrize(
    ("opset", "release", "expected"),
    [(21, (1, 24), None), (22, (1, 24), "warning"), (22, (1, 31), "info")],
)
def test_operators_without_a_cuda_kernel_are_named(tmp_path, opset, release, expected):
    model = onnx.load(nets.unet(tmp_path / "a.onnx"))
    model.opset_import[0].version = opset
    path = save(model, tmp_path / "a.onnx")
    found = {f.code: f for f in check(path, Limits(23, 11, release)).findings}
    assert (found["no-cuda-kernel"].severity if expected else None) == expected
    if expected:
        assert ("ConvTranspose-22" in found["no-cuda-kernel"].title) == (expected == "warning")


def test_a_transposed_convolution_with_unequal_padding_is_named(tmp_path):
    def up(net, x):
        weight = net.constant(np.ones((4, 4, 3, 3)))
        return net.add("ConvTranspose", x, weight, strides=[2, 2], pads=[0, 0, 1, 1])

    found = finding(export(tmp_path / "a.onnx", replace(WELL, up=up)), "no-cuda-kernel")
    assert "ConvTranspose with unequal padding may have" in found.title
    assert not found.mendable


@pytest.mark.parametrize("layout", ["NCHW", ""])
@pytest.mark.parametrize(("train", "expected"), [(True, True), (False, False)])
def test_the_switch_of_a_dropout_is_read_also_where_the_layout_is_unclear(
    tmp_path, train, expected, layout
):
    net = Net(["batch", "c", "y", "x"])
    last = dropout(net, "input", train)
    path = written(tmp_path / "a.onnx", net, last, dims=["batch", "c", "y", "x"])
    assert ("dropout-training" in severities(path, wanted=Wanted(layout=layout))) == expected


@pytest.mark.parametrize(
    ("dtype", "code", "severity"),
    [
        ("uint8", "uint8-input", "info"),
        ("float16", "float16-input", "info"),
        ("float64", "float64-input", "warning"),
        ("int64", "odd-input", "warning"),
    ],
)
def test_element_types_of_the_input_are_told(tmp_path, dtype, code, severity):
    assert severities(nets.echo(tmp_path / "a.onnx", dtype=dtype))[code] == severity


def test_channels_last_and_free_channels_are_told(tmp_path):
    assert "channels-last" in severities(nets.two_class(tmp_path / "a.onnx", layout="NHWC"))
    path = nets.echo(tmp_path / "b.onnx", channels=None)
    assert severities(path)["layout-unclear"] == "warning"
    assert "channels-free" in severities(path, wanted=Wanted(layout="NCHW"))


def test_an_unknown_layout_is_refused():
    with pytest.raises(ChoiceError, match="layout is 'NCYX'; allowed are NCHW, NHWC"):
        Wanted(layout="NCYX")


@pytest.mark.parametrize(("batch", "severity"), [(1, "info"), (4, "warning")])
def test_a_fixed_batch_is_told(tmp_path, batch, severity):
    path = nets.unet(tmp_path / "a.onnx", batch=batch)
    assert severities(path)["batch-fixed"] == severity


def test_several_inputs_are_an_error(tmp_path):
    model = onnx.load(nets.unet(tmp_path / "a.onnx"))
    model.graph.input.append(helper.make_tensor_value_info("prompt", 1, [1, 2]))
    assert severities(save(model, tmp_path / "a.onnx"))["several-inputs"] == "error"


def test_an_input_without_batch_axis_is_an_error(tmp_path):
    net = Net([1, "y", "x"])
    path = written(tmp_path / "a.onnx", net, net.add("Relu", "input"), dims=[1, "y", "x"])
    assert severities(path)["input-rank"] == "error"


def test_a_side_off_the_grid_is_told_with_both_numbers(tmp_path):
    net = Net([1, 1, 60, 64])
    low = net.add("MaxPool", "input", kernel_shape=[8, 8], strides=[8, 8], ceil_mode=1)
    sizes = net.constant([1, 1, 60, 64], "int64")
    last = net.add("Resize", low, "", "", sizes, mode="nearest")
    path = written(tmp_path / "a.onnx", net, last, dims=[1, 1, 60, 64])
    assert "60 by 8" in finding(path, "side-off-stride").title


def test_a_classifier_is_no_map(tmp_path):
    net = Net([1, 1, 32, 32])
    pooled = net.add("GlobalAveragePool", net.random_conv("input", 1, 4, 3))
    last = net.add("Flatten", pooled)
    path = written(tmp_path / "a.onnx", net, last, dims=[1, 4])
    assert severities(path)["not-a-map"] == "error"


@pytest.mark.parametrize("op", ["GlobalAveragePool", "MeanVarianceNormalization"])
def test_global_operators_are_named_as_what_makes_seams(tmp_path, op):
    def gated(net, x):
        return net.add("Mul", x, net.add(op, x))

    path = export(tmp_path / "a.onnx", replace(WELL, middle=gated))
    assert op in finding(path, "seams").title
    assert check(path).ok


def test_a_network_that_sees_everything_is_told(tmp_path):
    net = Net([1, 1, 32, 32])
    last = net.random_conv("input", 1, 1, 33, dilations=[2, 2])
    path = written(tmp_path / "a.onnx", net, last, dims=[1, 1, 32, 32])
    assert "looks 32 px far" in finding(path, "sees-everything").title


def test_random_numbers_are_an_error(tmp_path):
    def noisy(net, x):
        return net.add("Add", x, net.add("RandomNormalLike", x))

    assert severities(export(tmp_path / "a.onnx", replace(WELL, middle=noisy)))["random"] == "error"


def test_an_operator_that_its_version_lacks_is_an_error(tmp_path):
    path = with_middle(tmp_path / "a.onnx", "Gelu")
    assert severities(path)["unknown-operator"] == "error"


def test_a_huge_constant_is_named_without_being_made(tmp_path):
    net = Net(ANY)
    big = net.add("ConstantOfShape", net.constant([1 << 15, 1 << 15], "int64"))
    last = net.add("Add", "input", net.add("ReduceMean", big, keepdims=0))
    path = written(tmp_path / "a.onnx", net, last)
    assert big in finding(path, "huge-constant").title


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="not an ONNX model"):
        check(tmp_path / "a.onnx")
    with pytest.raises(ModelNotFoundError):
        check(tmp_path / "gone.onnx")


def test_an_output_can_be_named(tmp_path):
    path = nets.saliency(tmp_path / "a.onnx")
    names = [info.name for info in onnx.load(path).graph.output]
    title = {f.code: f.meaning for f in check(path, LIMITS, Wanted(output=names[2])).findings}
    assert names[2] in title["several-outputs"]
    with pytest.raises(ModelError, match=f"no output 'none'; it has {names[0]}"):
        check(path, LIMITS, Wanted(output="none"))


def test_long_lists_are_cut():
    assert listed("abcdefg") == "a, b, c, d, e and 2 more"
    assert listed("aab") == "a, b"


def test_a_fixed_export_of_a_volume_is_told_for_all_three_sides(tmp_path):
    path = nets.echo(tmp_path / "a.onnx", layout="NCDHW", sides=(16, 32, 32))
    assert "16 x 32 x 32 px" in finding(path, "sides-fixed").title
