"""Rewrite a reshape so that its lengths come from the array it is given."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from napari_onnxseg.graph.reshaping import Length
from napari_onnxseg.graph.surgery import add_constant, fresh, insert, set_attribute

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
