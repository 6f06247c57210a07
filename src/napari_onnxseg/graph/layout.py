"""Which axis of an input holds channels: from its first convolution, or its declared dims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx

LAYOUTS = {(4, 1): "NCHW", (4, 3): "NHWC", (5, 1): "NCDHW", (5, 4): "NDHWC"}
"""Layout by rank and channel axis."""

_PASSING = (
    "Identity Cast Mul Add Sub Div Pad Clip Relu BatchNormalization QuantizeLinear DequantizeLinear"
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the first convolution says of the input.

    Parameters
    ----------
    layout : str
        Such as ``"NHWC"``.
    channels : int or None
        Channels its weights expect, where they are known.
    """

    layout: str
    channels: int | None


def convolution_evidence(graph: onnx.GraphProto, source: str, rank: int) -> Evidence | None:
    """Follow the input to its first convolution, whose second axis is always channels.

    Parameters
    ----------
    graph : onnx.GraphProto
        The graph.
    source : str
        Name of the input.
    rank : int
        Its number of axes.

    Returns
    -------
    Evidence or None
        None when no convolution reads the input without mixing its axes first.
    """
    sizes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for node, order in _readers(graph, source, tuple(range(rank))):
        if node.op_type == "Conv" and (rank, order[1]) in LAYOUTS:
            size = sizes.get(_weight(graph, node.input[1]))
            groups = next((a.i for a in node.attribute if a.name == "group"), 1)
            return Evidence(LAYOUTS[rank, order[1]], size[1] * groups if size else None)
    return None


def plausible_layouts(dims: Sequence[int | str | None]) -> tuple[str, ...]:
    """Return the layouts that declared dims allow.

    Parameters
    ----------
    dims : sequence of (int, str or None)
        Declared dims of an input; numbers where fixed.

    Returns
    -------
    tuple of str
        Layouts whose channel axis is a number below every fixed side; one when the
        declaration is clear.
    """
    found = []
    for axis in (1, len(dims) - 1):
        channels = dims[axis]
        sides = [d for i, d in enumerate(dims) if i not in (0, axis) and isinstance(d, int)]
        if isinstance(channels, int) and all(side > channels for side in sides):
            found.append(LAYOUTS[len(dims), axis])
    return tuple(found)


def _readers(
    graph: onnx.GraphProto, source: str, order: tuple[int, ...]
) -> Iterator[tuple[onnx.NodeProto, tuple[int, ...]]]:
    """Yield the nodes that read the input, with the input's axes in their order."""
    orders = {source: order}
    for node in graph.node:
        carrier = next((name for name in node.input if name in orders), None)
        if carrier is None:
            continue
        yield node, orders[carrier]
        if node.op_type == "Transpose":
            moved = next((list(a.ints) for a in node.attribute if a.name == "perm"), None)
            moved = moved or list(range(len(order)))[::-1]
            orders[node.output[0]] = tuple(orders[carrier][axis] for axis in moved)
        elif node.op_type in _PASSING.split():
            orders[node.output[0]] = orders[carrier]


def _weight(graph: onnx.GraphProto, name: str) -> str:
    """Return the stored tensor behind a weight, through its dequantisation."""
    for node in graph.node:
        if name in node.output and node.op_type in ("DequantizeLinear", "Identity", "Cast"):
            return str(node.input[0])
    return name
