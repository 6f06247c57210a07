"""Rewrite a reshape so that its lengths come from the array it is given."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from napari_onnxseg.graph.fold import StaticGraph
from napari_onnxseg.graph.hard_sizes import makers_of
from napari_onnxseg.graph.reshaping import Length
from napari_onnxseg.graph.surgery import add_constant, fresh, insert, set_attribute

IN_ORDER = ("Reshape", "InstanceNormalization", "Identity", "Cast", "Relu", "Sigmoid", "Tanh")
"""Operators that leave every element at its place in memory."""

COPY, INFER = 0, -1
"""What a reshape understands by these lengths."""


def follow_reshape(graph: onnx.GraphProto, node: onnx.NodeProto, rule: Sequence[Length]) -> None:
    """Replace the numbers of a reshape by lengths of the array before.

    Parameters
    ----------
    graph : onnx.GraphProto
        The graph, changed.
    node : onnx.NodeProto
        The reshape, or a copy of it.
    rule : sequence of Length
        One per axis after.
    """
    found = next(other for other in graph.node if other.output[:1] == node.output[:1])
    plain = _plain(rule)
    if plain is None:
        _compute(graph, found, rule)
        return
    found.input[1] = add_constant(graph, plain, "int64", "shape")
    set_attribute(found, "allowzero", None)


def follow_shape(graph: onnx.GraphProto, node: onnx.NodeProto, shapes: StaticGraph) -> bool:
    """Let a reshape undo an earlier one, where nothing between moves elements.

    Parameters
    ----------
    graph : onnx.GraphProto
        The graph, changed.
    node : onnx.NodeProto
        The reshape, or a copy of it.
    shapes : StaticGraph
        Shapes at the size of the exporter's example.

    Returns
    -------
    bool
        Whether a tensor of that very shape lies before, and was taken as the model.
    """
    found = next(other for other in graph.node if other.output[:1] == node.output[:1])
    makers, wanted = makers_of(graph), shapes.shapes.get(node.output[0])
    name = found.input[0]
    while shapes.shapes.get(name) != wanted:
        maker = makers.get(name)
        if maker is None or not _keeps_order(maker, shapes):
            return False
        name = maker.input[0]
    target = fresh(graph, "shape")
    found.input[1] = target
    insert(graph, [helper.make_node("Shape", [name], [target])], found)
    return True


def _keeps_order(node: onnx.NodeProto, shapes: StaticGraph) -> bool:
    """Tell whether an operator leaves each element of its first input at its place in memory."""
    if node.op_type in ("Add", "Mul", "Sub", "Div"):
        first, second = node.input
        same = shapes.shapes.get(first) == shapes.shapes.get(node.output[0])
        return second in shapes.fixed and same
    return node.op_type in IN_ORDER


def _plain(rule: Sequence[Length]) -> list[int] | None:
    """Return numbers that say the same, when one open axis at most is left."""
    target = [
        COPY if length == Length(1, (axis,)) else INFER if length.axes else length.factor
        for axis, length in enumerate(rule)
    ]
    return target if target.count(INFER) <= 1 else None


def _compute(graph: onnx.GraphProto, node: onnx.NodeProto, rule: Sequence[Length]) -> None:
    """Compute the lengths from the shape of the array before."""
    target = fresh(graph, "shape")
    before = f"{target}_before"
    nodes = [helper.make_node("Shape", [node.input[0]], [before])]
    parts = []
    for axis, length in enumerate(rule):
        part = add_constant(graph, [length.factor], "int64", "factor")
        for number, picked in enumerate(length.axes):
            index = add_constant(graph, [picked], "int64", "axis")
            one, product = f"{target}_{axis}_{number}", f"{target}_{axis}_{number}_product"
            nodes.append(helper.make_node("Gather", [before, index], [one], axis=0))
            nodes.append(helper.make_node("Mul", [part, one], [product]))
            part = product
        parts.append(part)
    nodes.append(helper.make_node("Concat", parts, [target], axis=0))
    node.input[1] = target
    insert(graph, nodes, node)
