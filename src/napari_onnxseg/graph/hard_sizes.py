"""Sizes of the exporter's example that were written into a graph as numbers."""

from __future__ import annotations

import onnx

from napari_onnxseg.graph.fold import StaticGraph


def hard_sizes(graph: StaticGraph) -> list[str]:
    """Return the operators that name a spatial size which does not follow the input's.

    Parameters
    ----------
    graph : StaticGraph
        The graph at one size.

    Returns
    -------
    list of str
        Type and name of each.
    """
    return [words(node) for node in graph.nodes if hard_resize(graph, node) or _full(graph, node)]


def hard_resize(graph: StaticGraph, node: onnx.NodeProto) -> bool:
    """Tell whether a resize names its output size as numbers."""
    if node.op_type != "Resize" or len(node.input) < 4 or not node.input[3]:
        return False
    return node.input[3] in graph.constants and node.input[3] not in graph.from_size


def hard_reshape(graph: StaticGraph, node: onnx.NodeProto) -> bool:
    """Tell whether a reshape names its output shape as numbers."""
    if node.op_type != "Reshape" or len(node.input) < 2:
        return False
    return node.input[1] in graph.constants and node.input[1] not in graph.from_size


def words(node: onnx.NodeProto) -> str:
    """Return the type of an operator, and its name or first output in quotes."""
    return f"{node.op_type} '{node.name or node.output[0]}'"


def _full(graph: StaticGraph, node: onnx.NodeProto) -> bool:
    """Tell whether a reshape leaves no axis open, not even by copying it."""
    if not hard_reshape(graph, node):
        return False
    target = graph.constants[node.input[1]]
    return bool((target > 0).all()) and target.size > 2
