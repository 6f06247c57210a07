"""Sizes of the exporter's example that were written into a graph as numbers."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from napari_onnxseg.graph.fold import StaticGraph

Makers = Mapping[str, onnx.NodeProto]

PASSING = ("Cast", "Identity")
"""Operators that hand numbers on one by one."""


def makers_of(graph: onnx.GraphProto) -> Makers:
    """Return which operator makes each tensor of a graph."""
    return {name: node for node in graph.node for name in node.output}


def hard_sizes(graph: StaticGraph, makers: Makers) -> list[str]:
    """Return the operators that name a spatial size which does not follow the input's.

    Parameters
    ----------
    graph : StaticGraph
        The graph at one size.
    makers : mapping of str to onnx.NodeProto
        Which operator makes each tensor, those of shape arithmetic too.

    Returns
    -------
    list of str
        Type and name of each.
    """
    return [
        words(node)
        for node in graph.nodes
        if hard_resize(graph, node, makers) or _full(graph, node)
    ]


def hard_resize(graph: StaticGraph, node: onnx.NodeProto, makers: Makers) -> bool:
    """Tell whether a resize names its output sides as numbers.

    Parameters
    ----------
    graph : StaticGraph
        The graph at one size.
    node : onnx.NodeProto
        Any operator.
    makers : mapping of str to onnx.NodeProto
        Which operator makes each tensor.

    Returns
    -------
    bool
        True also when only the sides are numbers and the rest is taken from a shape.
    """
    if node.op_type != "Resize" or len(node.input) < 4 or node.input[3] not in graph.constants:
        return False
    return any(_numbers(graph, node.input[3], makers)[-2:])


def hard_reshape(graph: StaticGraph, node: onnx.NodeProto) -> bool:
    """Tell whether a reshape names its output shape as numbers."""
    if node.op_type != "Reshape" or len(node.input) < 2:
        return False
    return node.input[1] in graph.constants and node.input[1] not in graph.from_size


def words(node: onnx.NodeProto) -> str:
    """Return the type of an operator, and its name or first output in quotes."""
    return f"{node.op_type} '{node.name or node.output[0]}'"


def _numbers(graph: StaticGraph, name: str, makers: Makers) -> list[bool]:
    """Tell of each entry of a constant whether it is a number, not taken from a shape."""
    count = int(graph.constants[name].size) if name in graph.constants else 0
    if name not in graph.from_size:
        return [True] * count
    maker = makers.get(name)
    if maker is not None and maker.op_type in PASSING:
        return _numbers(graph, maker.input[0], makers)
    if maker is not None and maker.op_type == "Concat":
        return [flag for part in maker.input for flag in _numbers(graph, part, makers)]
    return [False] * count


def _full(graph: StaticGraph, node: onnx.NodeProto) -> bool:
    """Tell whether a reshape leaves no axis open, not even by copying it."""
    if not hard_reshape(graph, node):
        return False
    target = graph.constants[node.input[1]]
    return bool((target > 0).all()) and target.size > 2
