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

from bad_layers import (
    SIDE,
    WIDTH,
    custom,
    dropout,
    group_norm_by_numbers,
    group_norm_by_shape,
    instance_norm,
    norm,
    norm_training,
    pooled,
    pooled_to_size,
    shuffled,
    shuffled_by_numbers,
    softmax,
    softmax_at_one,
    softmax_twice,
    up_by_scale,
    up_to_sides,
    up_to_size,
)
from napari_onnxseg.graph.mend import Choices
from netbuild import Net, save

CLASSES = 3
FREE: tuple[Any, ...] = ("batch", 1, "rows", "columns")
FIXED: tuple[Any, ...] = (1, 1, SIDE, SIDE)
Layer = Callable[[Net, str], str]


@dataclass(frozen=True)
class Plan:
    """What differs between exports."""

    dims: tuple[Any, ...] = FREE
    opset: int = 17
    up: Layer = up_by_scale
    middle: Layer = lambda net, x: x
    tail: Layer = lambda net, x: x
    classes: int = CLASSES
    side_outputs: bool = False


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
    scales = {node.input[2] for node in model.graph.node if node.op_type == "Resize"}
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and tensor.name not in scales:
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
