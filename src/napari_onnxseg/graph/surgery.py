"""Small edits of a graph that keep every other name and value as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.subject import every_node

PREFIX = "onnxseg_"


class Stuck(ModelError):  # noqa: N818 - said to the person, mostly as a remark
    """A repair that cannot be proven right, and why."""


def fresh(graph: onnx.GraphProto, stem: str) -> str:
    """Return a name that the graph does not use yet.

    Parameters
    ----------
    graph : onnx.GraphProto
        The graph.
    stem : str
        What the name is about.

    Returns
    -------
    str
        The stem with a prefix of ours, and a number where needed.
    """
    used = {name for node in every_node(graph) for name in (*node.input, *node.output)}
    used.update(tensor.name for tensor in graph.initializer)
    used.update(info.name for info in (*graph.input, *graph.output))
    number, name = 0, PREFIX + stem
    while name in used:
        number += 1
        name = f"{PREFIX}{stem}_{number}"
    return name


def add_constant(graph: onnx.GraphProto, value: Any, dtype: str, stem: str) -> str:
    """Store a constant and return its name."""
    name = fresh(graph, stem)
    graph.initializer.append(numpy_helper.from_array(np.asarray(value, dtype), name))
    return name


def set_attribute(node: onnx.NodeProto, name: str, value: Any) -> None:
    """Give an attribute a value, in place of the one it had; None removes it."""
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))


def insert(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], before: onnx.NodeProto) -> None:
    """Put operators in front of another one."""
    position = next(i for i, node in enumerate(graph.node) if node == before)
    order = [*graph.node[:position], *nodes, *graph.node[position:]]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in order]
    del graph.node[:]
    graph.node.extend(copies)


def make_identity(node: onnx.NodeProto, source: str) -> None:
    """Turn an operator into one that hands a tensor on; its first output keeps its name."""
    node.op_type, node.domain = "Identity", ""
    del node.attribute[:], node.input[:], node.output[1:]
    node.input.append(source)


def rename_result(graph: onnx.GraphProto, name: str) -> str:
    """Give the tensor behind an output another name, so that the output's is free.

    Parameters
    ----------
    graph : onnx.GraphProto
        The graph, changed.
    name : str
        An output.

    Returns
    -------
    str
        The new name of the tensor.
    """
    new = fresh(graph, f"{name}_scores")
    for node in every_node(graph):
        for names in (node.input, node.output):
            renamed = [new if entry == name else entry for entry in names]
            del names[:]
            names.extend(renamed)
    return new


def uses(graph: onnx.GraphProto, name: str) -> int:
    """Count how often a tensor is read, outputs of the graph included."""
    inner = (g.output for n in every_node(graph) for a in n.attribute for g in (a.g, *a.graphs))
    named = [info.name for infos in (graph.output, *inner) for info in infos]
    return named.count(name) + sum(list(n.input).count(name) for n in every_node(graph))


def prune(graph: onnx.GraphProto, keep: Iterable[str]) -> int:
    """Drop all outputs but some, and what leads to none of these.

    Parameters
    ----------
    graph : onnx.GraphProto
        The graph, changed.
    keep : iterable of str
        Outputs that stay.

    Returns
    -------
    int
        Operators dropped.
    """
    wanted = set(keep)
    outputs = [info for info in graph.output if info.name in wanted]
    nodes: list[onnx.NodeProto] = []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            for inner in node.attribute:
                for branch in (inner.g, *inner.graphs):
                    wanted.update(_read_inside(branch))
            nodes.append(node)
    dropped = len(graph.node) - len(nodes)
    _replace(graph.node, nodes[::-1])
    _replace(graph.output, outputs)
    _replace(graph.initializer, [t for t in graph.initializer if t.name in wanted])
    _replace(graph.value_info, [])
    return dropped


def forget_shapes(graph: onnx.GraphProto) -> None:
    """Drop recorded shapes, which the runtime would trust after a change."""
    del graph.value_info[:]


def _read_inside(graph: onnx.GraphProto) -> set[str]:
    names = {info.name for info in graph.output}
    for node in every_node(graph):
        names.update(node.input)
    return names


def _replace(field: Any, entries: Sequence[Any]) -> None:
    """Set a repeated field to some of its own entries."""
    copies = [type(entry).FromString(entry.SerializeToString()) for entry in entries]
    del field[:]
    field.extend(copies)
