"""Networks exported badly on purpose, each beside the same network exported well.

All are one small U-Net with the same random weights: convolution, pooling by two, back up by
two, skip connection, three classes. Only what is named differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from napari_onnxseg.graph.mend import Choices
from netbuild import Net, save

WIDTH, CLASSES, SIDE = 4, 3, 64
FREE: tuple[Any, ...] = ("batch", 1, "rows", "columns")
FIXED: tuple[Any, ...] = (1, 1, SIDE, SIDE)
Layer = Callable[[Net, str], str]


@dataclass(frozen=True)
class Plan:
    """What differs between exports."""

    dims: tuple[Any, ...] = FREE
    opset: int = 17
    up: Layer = lambda net, x: up_by_scale(net, x)
    middle: Layer = lambda net, x: x
    tail: Layer = lambda net, x: x
    classes: int = CLASSES
    side_outputs: bool = False


def up_by_scale(net: Net, x: str, **attributes: Any) -> str:
    scales = net.constant([1.0, 1.0, 2.0, 2.0])
    if net.opset < 11:
        return net.add("Resize", x, scales, mode="linear")
    where = {"coordinate_transformation_mode": "half_pixel", **attributes}
    return net.add("Resize", x, no_region(net), scales, mode="linear", **where)


def up_to_size(net: Net, x: str) -> str:
    """Enlarge to the size that the exporter saw."""
    sizes = net.constant([1, WIDTH, SIDE, SIDE], "int64")
    nothing = no_region(net)
    return net.add("Resize", x, nothing, nothing, sizes, mode="linear")


def up_to_sides(net: Net, x: str) -> str:
    """Take batch and channels from a shape, but the sides from the exporter's example."""
    shape = net.add("Shape", x)
    first = net.add("Slice", shape, *(net.constant([n], "int64") for n in (0, 2)))
    sizes = net.add("Concat", first, net.constant([SIDE, SIDE], "int64"), axis=0)
    return net.add("Resize", x, "", "", sizes, mode="linear")


def pooled_to_size(net: Net, x: str) -> str:
    """Spread the mean of all pixels to the size that the exporter saw."""
    sizes = net.constant([1, WIDTH, SIDE // 2, SIDE // 2], "int64")
    mean = net.add("GlobalAveragePool", x)
    return net.add("Add", x, net.add("Resize", mean, "", "", sizes, mode="linear"))


def pooled(net: Net, x: str) -> str:
    return net.add("Add", x, net.add("GlobalAveragePool", x))


def group_norm(net: Net, x: str, back: str) -> str:
    """Normalise groups of channels as exporters write it."""
    flat = net.add("Reshape", x, net.constant([0, 2, -1], "int64"))
    one, zero = net.constant(np.ones(2)), net.constant(np.zeros(2))
    return net.add("Reshape", net.add("InstanceNormalization", flat, one, zero), back)


def group_norm_by_numbers(net: Net, x: str) -> str:
    sides = [1, WIDTH, SIDE // 2, SIDE // 2]
    return group_norm(net, x, net.constant(sides, "int64"))


def group_norm_by_shape(net: Net, x: str) -> str:
    return group_norm(net, x, net.add("Shape", x))


def no_region(net: Net) -> str:
    """Return an empty tensor, which operator sets 11 and 12 want in place of nothing."""
    return "" if net.opset >= 13 else net.constant(np.zeros(0))


def shuffled_by_numbers(net: Net, x: str) -> str:
    """Lay channels out as pixels, with the shapes that the exporter saw."""
    half = SIDE // 2
    wide = net.random_conv(x, WIDTH, 4 * WIDTH, 1)
    apart = net.add("Reshape", wide, net.constant([1, WIDTH, 2, 2, half, half], "int64"))
    turned = net.add("Transpose", apart, perm=[0, 1, 4, 2, 5, 3])
    return net.add("Reshape", turned, net.constant([1, WIDTH, SIDE, SIDE], "int64"))


def shuffled(net: Net, x: str) -> str:
    wide = net.random_conv(x, WIDTH, 4 * WIDTH, 1)
    return net.add("DepthToSpace", wide, blocksize=2, mode="CRD")


def norm(net: Net, x: str, **attributes: Any) -> str:
    numbers = ([1.0, 0.5, 2.0, 1.5], [0.1, -0.2, 0.0, 0.3], [0.2, 0.1, -0.3, 0.0], [1.0, 2.0] * 2)
    return net.add("BatchNormalization", x, *map(net.constant, numbers), **attributes)


def norm_training(net: Net, x: str) -> str:
    if net.opset >= 14:
        return norm(net, x, training_mode=1, outputs=3)
    return norm(net, x, outputs=5)


def dropout(net: Net, x: str, train: bool) -> str:
    return net.add("Dropout", x, net.constant(0.5), net.constant(train, "bool"))


def instance_norm(net: Net, x: str) -> str:
    ones, zeros = net.constant(np.ones(WIDTH)), net.constant(np.zeros(WIDTH))
    return net.add("InstanceNormalization", x, ones, zeros)


def custom(net: Net, x: str) -> str:
    last = net.add("Swirl", x)
    net.nodes[-1].domain = "my.lab"
    return last


def softmax(net: Net, x: str) -> str:
    """Over classes, also before operator set 13."""
    if net.opset >= 13:
        return net.add("Softmax", x, axis=1)
    last = net.add("Transpose", x, perm=[0, 2, 3, 1])
    return net.add("Transpose", net.add("Softmax", last, axis=3), perm=[0, 3, 1, 2])


def softmax_at_one(net: Net, x: str) -> str:
    """Write axis 1 as the exporter would today; before operator set 13 that means all pixels."""
    return net.add("Softmax", x, axis=1)


def softmax_twice(net: Net, x: str) -> str:
    return softmax(net, softmax(net, x))


def export(path: Path, plan: Plan) -> Path:
    """Write the small U-Net."""
    net = Net(plan.dims, opset=plan.opset, seed=5)
    skip = net.add("Relu", net.random_conv("input", 1, WIDTH, 3))
    low = net.add("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2])
    low = plan.middle(net, net.add("Relu", net.random_conv(low, WIDTH, WIDTH, 3)))
    joined = net.add("Concat", skip, plan.up(net, low), axis=1)
    joined = net.add("Relu", net.random_conv(joined, 2 * WIDTH, WIDTH, 3))
    last = plan.tail(net, net.random_conv(joined, WIDTH, plan.classes, 1))
    dims = [plan.dims[0], plan.classes, *plan.dims[2:]]
    outputs = {last: ("float32", dims)}
    if plan.side_outputs:
        coarse = [plan.dims[0], CLASSES, *(["half_rows", "half_columns"])]
        outputs[net.random_conv(low, WIDTH, CLASSES, 1)] = ("float32", coarse)
    model = net.model(outputs)
    if plan.middle is custom:
        model.opset_import.append(helper.make_opsetid("my.lab", 1))
    return save(model, path)


def double(path: Path, plan: Plan) -> Path:
    """Write it with 64-bit numbers throughout."""
    model = onnx.load(export(path, plan))
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and tensor.dims:
            wide = numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.elem_type = TensorProto.DOUBLE
    return save(model, path)


def too_new(path: Path, plan: Plan) -> Path:
    """Declare an operator set that no runtime reads yet, without using anything new."""
    model = onnx.load(export(path, plan))
    model.opset_import[0].version = onnx.defs.onnx_opset_version()
    model.ir_version = onnx.IR_VERSION
    return save(model, path)


def without_weights(path: Path, plan: Plan) -> Path:
    """Lose the side file."""
    model = onnx.load(export(path, plan))
    onnx.save(model, path, save_as_external_data=True, location="lost.data", size_threshold=0)
    (path.parent / "lost.data").unlink()
    return path


def elsewhere(path: Path, plan: Plan) -> Path:
    """Point the weights out of the folder."""
    model = onnx.load(without_weights(path, plan), load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../lost.data"
    return save(model, path)


@dataclass(frozen=True)
class Bad:
    """A bad export, what a check calls it, and what mends it.

    ``good`` is None for what cannot be mended.
    """

    code: str
    severity: str
    plan: Plan
    good: Plan | None
    choices: Choices = field(default_factory=Choices)
    write: Callable[[Path, Plan], Path] = export


WELL = Plan()
BAD = {
    "traced at one size": Bad(
        "sides-fixed", "warning", replace(WELL, dims=FIXED, up=up_to_size), WELL
    ),
    "shuffled by numbers": Bad(
        "sides-fixed",
        "warning",
        replace(WELL, dims=FIXED, up=shuffled_by_numbers),
        replace(WELL, up=shuffled),
    ),
    "sides as numbers": Bad(
        "sides-fixed", "warning", replace(WELL, dims=FIXED, up=up_to_sides), WELL
    ),
    "pooled to one size": Bad(
        "sides-fixed",
        "warning",
        replace(WELL, dims=FIXED, middle=pooled_to_size),
        replace(WELL, middle=pooled),
    ),
    "group norm by numbers": Bad(
        "sides-fixed",
        "warning",
        replace(WELL, dims=FIXED, middle=group_norm_by_numbers),
        replace(WELL, middle=group_norm_by_shape),
    ),
    "free by a shape only": Bad("hard-coded-size", "error", replace(WELL, up=up_to_sides), WELL),
    "free by name only": Bad("hard-coded-size", "error", replace(WELL, up=up_to_size), WELL),
    "norm in training": Bad(
        "norm-training",
        "error",
        replace(WELL, middle=norm_training),
        replace(WELL, middle=norm),
    ),
    "old norm in training": Bad(
        "norm-training",
        "error",
        replace(WELL, opset=11, middle=norm_training),
        replace(WELL, opset=11, middle=norm),
    ),
    "dropout in training": Bad(
        "dropout-training",
        "error",
        replace(WELL, middle=lambda net, x: dropout(net, x, True)),
        replace(WELL, middle=lambda net, x: dropout(net, x, False)),
    ),
    "softmax twice": Bad(
        "activation-doubled",
        "error",
        replace(WELL, tail=softmax_twice),
        replace(WELL, tail=softmax),
        Choices(activation="softmax"),
    ),
    "softmax over the picture": Bad(
        "softmax-axis",
        "error",
        replace(WELL, opset=11, tail=softmax_at_one),
        replace(WELL, opset=11, tail=softmax),
        Choices(activation="softmax"),
    ),
    "softmax of one class": Bad(
        "softmax-of-one",
        "error",
        replace(WELL, classes=1, tail=softmax),
        replace(WELL, classes=1, tail=lambda net, x: net.add("Sigmoid", x)),
        Choices(activation="sigmoid"),
    ),
    "corners aligned": Bad(
        "resize-corners",
        "warning",
        replace(
            WELL,
            up=lambda net, x: up_by_scale(net, x, coordinate_transformation_mode="align_corners"),
        ),
        WELL,
        Choices(resize="half_pixel"),
    ),
    "deep supervision": Bad(
        "several-outputs",
        "warning",
        replace(WELL, side_outputs=True),
        WELL,
        Choices(keep=("t9_0",)),
    ),
    "64-bit numbers": Bad("float64-input", "warning", WELL, WELL, write=double),
    "from the future": Bad("opset-too-new", "error", replace(WELL, opset=23), WELL, write=too_new),
    "weights lost": Bad("side-file-missing", "error", WELL, None, write=without_weights),
    "weights elsewhere": Bad("side-file-outside", "error", WELL, None, write=elsewhere),
    "an operator of one's own": Bad("custom-operator", "error", replace(WELL, middle=custom), None),
    "instance norm": Bad("seams", "warning", replace(WELL, middle=instance_norm), None),
}
