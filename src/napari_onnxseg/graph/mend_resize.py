"""Let resizes name factors, or the size of a map before them, instead of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import onnx
from onnx import helper

from napari_onnxseg.graph.fold import StaticGraph
from napari_onnxseg.graph.hard_sizes import hard_resize, makers_of, words
from napari_onnxseg.graph.surgery import Stuck, add_constant, fresh, insert, set_attribute


def follow_resizes(changed: onnx.GraphProto, graph: StaticGraph) -> None:
    """Replace the sizes that resizes name as numbers.

    Parameters
    ----------
    changed : onnx.GraphProto
        The graph, changed.
    graph : StaticGraph
        Its shapes at the size of the exporter's example.

    Raises
    ------
    Stuck
        Naming a resize whose factor is not exact.
    """
    makers = makers_of(changed)
    hard = {node.output[0] for node in graph.nodes if hard_resize(graph, node, makers)}
    for name in hard:
        node = next(node for node in changed.node if node.output[:1] == [name])
        before, after = _shapes(graph, node)
        if _spreads(before, after):
            _take_size(changed, node, graph)
        else:
            node.input[2] = add_constant(
                changed, _factors(node, before, after), "float32", "scales"
            )
            del node.input[3:]
        set_attribute(node, "keep_aspect_ratio_policy", None)


def _shapes(graph: StaticGraph, node: onnx.NodeProto) -> tuple[tuple[int, ...], tuple[int, ...]]:
    before, after = (graph.shapes.get(n, ()) for n in (node.input[0], node.output[0]))
    if not before or len(before) != len(after):
        raise Stuck(f"{words(node)} has a size that the graph does not tell")
    return before, after


def _spreads(before: Sequence[int], after: Sequence[int]) -> bool:
    """Tell whether a single pixel, as a mean of all, is laid over a map."""
    changed = [a for a, b in zip(before, after, strict=True) if a != b]
    return bool(changed) and all(length == 1 for length in changed)


def _factors(node: onnx.NodeProto, before: Sequence[int], after: Sequence[int]) -> list[float]:
    """Return the factor of each axis; only such as are exact in floating point."""
    ratios = [Fraction(a, b) for a, b in zip(after, before, strict=True)]
    if any(r.denominator & (r.denominator - 1) for r in ratios):
        raise Stuck(f"{words(node)} scales by {' x '.join(map(str, ratios))}")
    return [float(ratios[axis]) for axis in _axes(node, len(ratios))]


def _axes(node: onnx.NodeProto, rank: int) -> list[int]:
    """Return the axes that a resize names sizes for."""
    chosen = next((list(a.ints) for a in node.attribute if a.name == "axes"), None)
    return list(range(rank)) if chosen is None else [axis % rank for axis in chosen]


def _take_size(changed: onnx.GraphProto, node: onnx.NodeProto, graph: StaticGraph) -> None:
    """Take the size from the nearest map before that is as large, as a pooled branch does."""
    before, after = _shapes(graph, node)
    source = _map_before(changed, node, graph, after)
    sizes = fresh(changed, "sizes")
    nodes, parts = [], []
    for number, axis in enumerate(_axes(node, len(after))):
        grows = before[axis] != after[axis]
        shape, part = f"{sizes}_{number}_shape", f"{sizes}_{number}"
        index = add_constant(changed, [axis], "int64", "axis")
        nodes.append(helper.make_node("Shape", [source if grows else node.input[0]], [shape]))
        nodes.append(helper.make_node("Gather", [shape, index], [part], axis=0))
        parts.append(part)
    nodes.append(helper.make_node("Concat", parts, [sizes], axis=0))
    node.input[3] = sizes
    insert(changed, nodes, node)


def _map_before(
    changed: onnx.GraphProto, node: onnx.NodeProto, graph: StaticGraph, after: Sequence[int]
) -> str:
    """Return the nearest tensor that leads to a resize and has its output's sides."""
    makers = makers_of(changed)
    name: str = node.input[0]
    grown = [axis for axis in range(len(after)) if graph.shapes[name][axis] != after[axis]]
    while name in makers or name in graph.shapes:
        shape = graph.shapes.get(name, ())
        if len(shape) == len(after) and all(shape[axis] == after[axis] for axis in grown):
            return name
        if name not in makers:
            break
        name = makers[name].input[0] if makers[name].input else ""
    raise Stuck(f"{words(node)} spreads a pixel to a size that no map before it has")
