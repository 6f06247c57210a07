"""The bundled U-Net dressed as other tools want their networks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import compose, helper, numpy_helper

from napari_onnxseg.cards.catalog import bundled_folder

CLASSES = ("background", "inside", "border")
LOW, HIGH = 0.02, 0.75
"""What the network takes for 0 and 1, where a format cannot say that it wants percentiles."""


def channels_last(
    path: Path, side: int | None, *, reverse: bool = False, values: bool = False
) -> Path:
    """Write the U-Net with rows, columns, channels in this order, fed 0..1.

    Parameters
    ----------
    path : Path
        The new file.
    side : int or None
        Fixed rows and columns; None leaves them free.
    reverse : bool
        Fed blue, green, red.
    values : bool
        Give one channel: how likely each pixel is inside a nucleus, times 255.
    """
    side = side or 0
    before = [
        helper.make_node("Sub", ["pixels", "low"], ["lifted"]),
        helper.make_node("Mul", ["lifted", "gain"], ["scaled"]),
        helper.make_node("Gather", ["scaled", "order"], ["ordered"], axis=3),
        helper.make_node("Transpose", ["ordered"], ["into"], perm=[0, 3, 1, 2]),
    ]
    after = [helper.make_node("Softmax", ["out_of"], ["odds"], axis=1)]
    last = "odds"
    if values:
        after.append(helper.make_node("Gather", ["odds", "inside"], ["one"], axis=1))
        after.append(helper.make_node("Mul", ["one", "byte"], ["bytes"]))
        last = "bytes"
    after.append(helper.make_node("Transpose", [last], ["scores"], perm=[0, 2, 3, 1]))
    constants = {
        "low": np.float32(LOW),
        "gain": np.float32(1 / (HIGH - LOW)),
        "order": np.array([2, 1, 0] if reverse else [0, 1, 2]),
        "inside": np.array([1]),
        "byte": np.float32(255),
    }
    dims = ["n", side or "h", side or "w"]
    return _around(path, before, after, constants, ([*dims, 3], [*dims, 1 if values else 3]))


def channels_first(path: Path, ending: str, side: int | None) -> Path:
    """Write the U-Net with its own layout and another ending.

    Parameters
    ----------
    path : Path
        The new file.
    ending : {"logits", "softmax", "inside", "quarter"}
        Three scores; three probabilities; the one of the inside; three scores at a quarter of
        the sides.
    side : int or None
        Fixed rows and columns; None leaves them free.
    """
    sides: list[object] = [side or "h", side or "w"]
    after = [helper.make_node("Softmax", ["out_of"], ["odds"], axis=1)]
    channels = 1 if ending == "inside" else len(CLASSES)
    if ending == "inside":
        after.append(helper.make_node("Gather", ["odds", "inside"], ["scores"], axis=1))
    elif ending == "quarter":
        pool = {"kernel_shape": [4, 4], "strides": [4, 4]}
        after = [helper.make_node("AveragePool", ["out_of"], ["scores"], **pool)]
        ends: list[object] = [side // 4 if side else "qh", side // 4 if side else "qw"]
    else:
        kind = "Identity" if ending == "logits" else "Softmax"
        axis = {} if ending == "logits" else {"axis": 1}
        after = [helper.make_node(kind, ["out_of"], ["scores"], **axis)]
    into = [helper.make_node("Identity", ["pixels"], ["into"])]
    out = ["n", channels, *(ends if ending == "quarter" else sides)]
    return _around(path, into, after, {"inside": np.array([1])}, (["n", 3, *sides], out))


def _around(
    path: Path,
    before: Sequence[onnx.NodeProto],
    after: Sequence[onnx.NodeProto],
    constants: dict[str, np.ndarray],
    dims: tuple[list[object], list[object]],
) -> Path:
    """Write the U-Net with operators before and after it."""
    inner = compose.add_prefix(onnx.load(bundled_folder() / "unet-nuclei.onnx"), "net_")
    graph = inner.graph
    into, out_of = graph.input[0].name, graph.output[0].name
    for node in graph.node:
        node.input[:] = ["into" if name == into else name for name in node.input]
        node.output[:] = ["out_of" if name == out_of else name for name in node.output]
    used = {name for node in (*before, *after) for name in node.input}
    made = helper.make_graph(
        [*before, *graph.node, *after],
        "dressed",
        [helper.make_tensor_value_info("pixels", 1, dims[0])],
        [helper.make_tensor_value_info("scores", 1, dims[1])],
        [
            *graph.initializer,
            *(
                numpy_helper.from_array(np.asarray(value), name)
                for name, value in constants.items()
                if name in used
            ),
        ],
    )
    model = helper.make_model(
        made, opset_imports=inner.opset_import, ir_version=inner.ir_version, producer_name="others"
    )
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path
