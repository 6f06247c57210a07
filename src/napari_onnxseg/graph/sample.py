"""A network of one convolution, to see whether a device can run any."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8


def write_sample(path: Path) -> None:
    """Write a network that takes the mean of three by three pixels.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file, replaced.
    """
    path.write_bytes(sample(OPSET, IR_VERSION))


def sample(opset: int, ir_version: int) -> bytes:
    """Return a network that takes the mean of three by three pixels.

    Parameters
    ----------
    opset, ir_version : int
        Versions that the file declares.

    Returns
    -------
    bytes
        Content of an ``.onnx`` file.
    """
    weight = numpy_helper.from_array(np.full((1, 1, 3, 3), 1 / 9, np.float32), "weight")
    dims = ["batch", 1, "y", "x"]
    tensors = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n in ("image", "mean")]
    node = helper.make_node("Conv", ["image", "weight"], ["mean"], pads=[1, 1, 1, 1])
    graph = helper.make_graph([node], "sample", tensors[:1], tensors[1:], [weight])
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=ir_version)
    return bytes(model.SerializeToString())
