"""Which operators were exported as they train."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import numpy_helper

from napari_onnxseg.types import AnyArray

NORM, DROPOUT = "BatchNormalization", "Dropout"


def trains(node: onnx.NodeProto, opset: int, constants: Mapping[str, AnyArray]) -> bool:
    """Tell whether an operator behaves as in training.

    Parameters
    ----------
    node : onnx.NodeProto
        Any operator.
    opset : int
        Version of the standard operators.
    constants : mapping of str to numpy.ndarray
        Known values, among them the switch of a Dropout.

    Returns
    -------
    bool
        True for a BatchNormalization that measures its input and a Dropout that drops.
    """
    if node.op_type == NORM:
        return _norm_trains(node, opset)
    if node.op_type == DROPOUT:
        return _dropout_trains(node, opset, constants)
    return False


def switches(graph: onnx.GraphProto) -> dict[str, AnyArray]:
    """Return the truth values that a graph stores, by name."""
    stored = [(tensor.name, tensor) for tensor in graph.initializer]
    made = [node for node in graph.node if node.op_type == "Constant"]
    stored += [(n.output[0], a.t) for n in made for a in n.attribute if a.name == "value"]
    return {
        name: np.asarray(numpy_helper.to_array(tensor))
        for name, tensor in stored
        if tensor.data_type == onnx.TensorProto.BOOL and not tensor.external_data
    }


def _norm_trains(node: onnx.NodeProto, opset: int) -> bool:
    if opset >= 14:
        return bool(_switch(node, "training_mode"))
    if opset < 7:
        return not _switch(node, "is_test")
    return sum(bool(name) for name in node.output) > 1


def _dropout_trains(node: onnx.NodeProto, opset: int, constants: Mapping[str, AnyArray]) -> bool:
    if opset < 7:
        return not _switch(node, "is_test")
    if opset < 12 or len(node.input) < 3 or not node.input[2]:
        return False
    switch = constants.get(node.input[2])
    return switch is None or bool(switch.any())


def _switch(node: onnx.NodeProto, name: str) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), 0)
