from dataclasses import replace

import numpy as np
import onnx
import pytest

import nets
from bad_exports import FIXED, WELL, export
from bad_layers import shuffled_by_numbers, softmax
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.graph.mend import Choices, mend
from napari_onnxseg.graph.reshaping import Length, lengths
from napari_onnxseg.graph.surgery import Stuck
from netbuild import Net, save

SIDES = [1, 4, 16, 16]


def fixed(path, build, dims=SIDES):
    """Write a network of fixed size; ``build`` adds its middle."""
    net = Net([1, 1, 16, 16])
    last = build(net, net.random_conv("input", 1, 4, 3))
    return save(net.model({last: ("float32", dims)}), path)


def flat_attention(net, x):
    """Let every pixel look at every other, and go back by numbers of its own."""
    flat = net.add("Reshape", x, net.constant([1, 4, 256], "int64"))
    weights = net.add("MatMul", net.add("Transpose", flat, perm=[0, 2, 1]), flat)
    mixed = net.add("MatMul", flat, net.add("Softmax", weights, axis=-1))
    return net.add("Reshape", mixed, net.constant([1, 4, 16, 16], "int64"))


def position(net, x):
    return net.add("Add", x, net.constant(np.arange(256).reshape(1, 1, 16, 16)))


def cropped(net, x):
    ends = [net.constant([n, n], "int64") for n in (2, 12)]
    return net.add("Slice", x, *ends, net.constant([2, 3], "int64"))


def pooled(net, x):
    mean = net.add("AveragePool", x, kernel_shape=[16, 16])
    return net.add("Resize", mean, "", "", net.constant(SIDES, "int64"), mode="nearest")


def odd(net, x):
    low = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[3, 3])
    return net.add("Resize", low, "", "", net.constant(SIDES, "int64"), mode="nearest")


@pytest.mark.parametrize(
    ("build", "dims", "why"),
    [
        (flat_attention, SIDES, r"Reshape 'Reshape_\d' splits a side of the picture"),
        (position, SIDES, r"Add '.*' does not follow the size"),
        (cropped, [1, 4, 10, 10], "the output .* does not follow the size"),
        (pooled, SIDES, r"AveragePool '.*' covers the whole picture"),
        (odd, SIDES, r"Resize '.*' scales by 1 x 1 x 16/5 x 16/5"),
    ],
)
def test_sides_that_cannot_be_freed_are_left_with_the_reason_or_refused(tmp_path, build, dims, why):
    path = fixed(tmp_path / "bad.onnx", build, dims)
    mended = mend(path, tmp_path / "copy.onnx")
    (left,) = [words for words in mended.left if words.startswith("sides: ")]
    assert onnx.load(mended.path).graph.input[0].type.tensor_type.shape.dim[2].dim_value == 16
    with pytest.raises(ChoiceError, match=f"(?s)cannot be mended as asked .sides.: .*{why}"):
        mend(path, tmp_path / "asked.onnx", Choices(sides=True))
    assert not (tmp_path / "asked.onnx").exists()
    assert left


def test_the_batch_is_freed_where_the_sides_cannot_be(tmp_path):
    mended = mend(fixed(tmp_path / "bad.onnx", position), tmp_path / "copy.onnx")
    assert mended.done == ("freed the batch",)


def test_a_network_that_sees_everything_keeps_its_side_unless_asked(tmp_path):
    def wide(net, x):
        return net.random_conv(x, 4, 4, 17, dilations=[2, 2])

    path = fixed(tmp_path / "saliency.onnx", wide)
    mended = mend(path, tmp_path / "copy.onnx")
    assert mended.done == ("freed the batch",)
    assert "judges the whole picture" in mended.left[0]
    asked = mend(path, tmp_path / "asked.onnx", Choices(sides=True))
    assert asked.done == ("freed the batch and the sides",)


def test_nothing_is_freed_that_is_to_stay(tmp_path):
    path = export(tmp_path / "bad.onnx", replace(WELL, dims=FIXED, up=shuffled_by_numbers))
    mended = mend(path, tmp_path / "copy.onnx", Choices(batch=False, sides=False))
    assert mended.done == mended.left == ()


def test_a_size_that_fits_several_examples_is_not_guessed(tmp_path):
    net = Net(["batch", 1, "y", "x"])
    sizes = net.constant([1, 1, 64, 64], "int64")
    last = net.add("Resize", "input", "", "", sizes, mode="linear")
    path = save(net.model({last: ("float32", [None] * 4)}), tmp_path / "bad.onnx")
    (left,) = mend(path, tmp_path / "copy.onnx").left
    assert "fits" in left


@pytest.mark.parametrize(
    ("before", "after", "moving", "expected"),
    [
        ((1, 4, 8, 8), (1, 4, 64), {0, 2, 3}, [(1, (0,)), (4, ()), (1, (2, 3))]),
        ((1, 4, 8, 8), (4, 8, 8), {0, 2, 3}, [(4, (0,)), (1, (2,)), (1, (3,))]),
        (
            (1, 16, 8, 8),
            (1, 4, 2, 2, 8, 8),
            {2, 3},
            [(1, ()), (4, ()), (2, ()), (2, ()), (1, (2,)), (1, (3,))],
        ),
        ((1, 4, 8, 2, 8, 2), (1, 4, 16, 16), {2, 4}, [(1, ()), (4, ()), (2, (2,)), (2, (4,))]),
        ((1, 32, 8, 8), (1, 8, 256), {2, 3}, [(1, ()), (8, ()), (4, (2, 3))]),
        ((8, 8), (8, 1, 8), {0, 1}, [(1, (0,)), (1, ()), (1, (1,))]),
    ],
)
def test_reshapes_are_read_in_the_order_of_memory(before, after, moving, expected):
    assert lengths(before, after, moving) == [Length(*one) for one in expected]
    assert tuple(length.of(before) for length in lengths(before, after, moving)) == after


@pytest.mark.parametrize(
    ("before", "after", "moving"),
    [((1, 64, 4), (1, 8, 8, 4), {1}), ((6, 4), (4, 6), {0}), ((1, 4), (5,), set())],
)
def test_reshapes_with_two_readings_are_refused(before, after, moving):
    with pytest.raises(Stuck):
        lengths(before, after, moving)


def test_an_older_operator_set_is_declared_only_where_nothing_changed(tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, opset=22))
    assert mend(path, tmp_path / "b.onnx", Choices(opset=19)).done
    with pytest.raises(ChoiceError, match="Resize means something else before operator set 22"):
        mend(path, tmp_path / "c.onnx", Choices(opset=17))


@pytest.mark.parametrize(
    ("build", "message"),
    [(nets.arg_max, "decides on classes itself"), (nets.saliency, "")],
)
def test_an_activation_is_added_where_classes_are_known(tmp_path, build, message):
    path = build(tmp_path / "a.onnx")
    if not message:
        assert mend(path, tmp_path / "b.onnx", Choices(activation="none")).done
        return
    with pytest.raises(ChoiceError, match=message):
        mend(path, tmp_path / "b.onnx", Choices(activation="softmax"))


def test_a_resize_that_knows_one_placing_only_is_refused(tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, opset=10))
    with pytest.raises(ChoiceError, match="operator set 10 knows one placing only"):
        mend(path, tmp_path / "b.onnx", Choices(resize="half_pixel"))


def test_probabilities_that_are_limited_keep_their_activation(tmp_path):
    def limited(net, x):
        return net.add("Clip", softmax(net, x), net.constant(0.1), net.constant(0.9))

    path = export(tmp_path / "a.onnx", replace(WELL, tail=limited))
    with pytest.raises(ChoiceError, match="limits the probabilities"):
        mend(path, tmp_path / "b.onnx", Choices(activation="none"))


def test_statistics_of_training_that_are_read_elsewhere_are_kept(tmp_path):
    def measured(net, x):
        numbers = [net.constant(np.ones(4)) for _ in range(4)]
        y = net.add("BatchNormalization", x, *numbers, training_mode=1, outputs=3)
        shape = net.constant([1, 4, 1, 1], "int64")
        return net.add("Mul", y, net.add("Reshape", y.replace("_0", "_1"), shape))

    path = export(tmp_path / "a.onnx", replace(WELL, middle=measured))
    mended = mend(path, tmp_path / "b.onnx")
    assert "hands on what only training gives" in mended.left[0]
    assert "norm-training" in mended.report.codes


@pytest.mark.parametrize(
    "choice", [{"activation": "relu"}, {"resize": "corners"}, {"external": "away"}]
)
def test_unknown_choices_are_refused(choice):
    (name,) = choice
    with pytest.raises(ChoiceError, match=f"{name} is .*; allowed are"):
        Choices(**choice)


def test_an_unknown_output_is_refused(tmp_path):
    path = nets.saliency(tmp_path / "a.onnx")
    with pytest.raises(ChoiceError, match="has no output 'x'; it has "):
        mend(path, tmp_path / "b.onnx", Choices(keep=("x",)))
