"""Turn a network of 64-bit numbers into one of 32-bit numbers."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from napari_onnxseg.graph.subject import Subject, every_node
from napari_onnxseg.graph.surgery import forget_shapes

DOUBLE, FLOAT = TensorProto.DOUBLE, TensorProto.FLOAT


def has_double(subject: Subject) -> bool:
    """Tell whether inputs, outputs or weights are float64.

    Parameters
    ----------
    subject : Subject
        The model.

    Returns
    -------
    bool
        Whether `to_float32` has something to do.
    """
    graph = subject.model.graph
    declared = (info.type.tensor_type.elem_type for info in (*graph.input, *graph.output))
    return DOUBLE in declared or any(tensor.data_type == DOUBLE for tensor in graph.initializer)


def to_float32(subject: Subject) -> str:
    """Store, declare and compute in 32 bits whatever was in 64.

    Parameters
    ----------
    subject : Subject
        The model, changed; its weights are loaded.

    Returns
    -------
    str
        What was done; empty when nothing was float64.
    """
    if not has_double(subject):
        return ""
    graph = subject.model.graph
    weights = [tensor for tensor in graph.initializer if tensor.data_type == DOUBLE]
    for tensor in weights:
        tensor.CopyFrom(_narrow(tensor))
    for info in (*graph.input, *graph.output):
        if info.type.tensor_type.elem_type == DOUBLE:
            info.type.tensor_type.elem_type = FLOAT
    for node in every_node(graph):
        for attribute in node.attribute:
            _narrow_attribute(node, attribute)
    forget_shapes(graph)
    return f"turned float64 into float32 ({len(weights)} tensors of weights)"


def _narrow(tensor: onnx.TensorProto) -> onnx.TensorProto:
    return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name)


def _narrow_attribute(node: onnx.NodeProto, attribute: AttributeProto) -> None:
    """Narrow a stored constant, or the type that an operator makes."""
    if attribute.type == AttributeProto.TENSOR and attribute.t.data_type == DOUBLE:
        attribute.t.CopyFrom(_narrow(attribute.t))
    elif attribute.name in ("to", "dtype") and attribute.i == DOUBLE:
        attribute.i = FLOAT
