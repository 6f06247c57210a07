"""Operators that look at one pixel only: they work on channels or move axes."""

from __future__ import annotations

from collections.abc import Sequence

from napari_onnxseg.graph.operator import EVERYWHERE, Breaks, Local, Operator
from napari_onnxseg.graph.training import trains


def pointwise(op: Operator) -> Local:
    """Accept, unless a constant map is laid over the picture."""
    rank = len(op.after)
    if len(op.before) != rank:
        raise Breaks("joins arrays of different rank")
    for name in op.node.input:
        shape = op.graph.shapes.get(name, ())
        shifted = [axis - (rank - len(shape)) for axis in op.axes]
        if name in op.graph.fixed and any(a >= 0 and shape[a] > 1 for a in shifted):
            raise Breaks("adds a map that depends on the place")
    return op.same()


def unary(op: Operator) -> Local:
    """Accept an operator whose other inputs belong to channels."""
    return op.same()


def everywhere(op: Operator) -> Local:
    """Refuse an operator that mixes all pixels."""
    raise Breaks(EVERYWHERE)


def batch_norm(op: Operator) -> Local:
    """Accept with fixed statistics only."""
    if trains(op.node, op.graph.opset, op.graph.constants):
        raise Breaks("measures each tile anew (training mode)")
    return op.same()


def transpose(op: Operator) -> Local:
    """Move axes."""
    order = op.attribute("perm") or list(range(len(op.before)))[::-1]
    return Local(tuple(order.index(axis) for axis in op.axes), op.same().reach)


def reshape(op: Operator) -> Local:
    """Accept where every spatial axis is kept as one axis of the same length."""
    axes = tuple(_axis_after_reshape(op.before, op.after, axis) for axis in op.axes)
    return Local(axes, op.same().reach)


def expand(op: Operator) -> Local:
    """Accept where the picture itself keeps its size."""
    shift = len(op.after) - len(op.before)
    axes = tuple(axis + shift for axis in op.axes)
    if any(op.after[a] != op.before[b] for a, b in zip(axes, op.axes, strict=True)):
        raise Breaks("spreads a value over the whole picture")
    return Local(axes, op.same().reach)


def squeeze(op: Operator) -> Local:
    """Drop axes of length one."""
    default = [i for i, length in enumerate(op.before) if length == 1]
    gone = op.named_axes(len(op.before), default)
    op.refuse_spatial(gone)
    return Local(tuple(a - sum(g < a for g in gone) for a in op.axes), op.same().reach)


def unsqueeze(op: Operator) -> Local:
    """Insert axes of length one."""
    new = op.named_axes(len(op.after), [])
    kept = [axis for axis in range(len(op.after)) if axis not in new]
    return Local(tuple(kept[axis] for axis in op.axes), op.same().reach)


def reduce(op: Operator) -> Local:
    """Accept a reduction over channels."""
    gone = op.named_axes(len(op.before), list(range(len(op.before))))
    op.refuse_spatial(gone)
    kept = op.attribute("keepdims", 1)
    axes = op.axes if kept else tuple(a - sum(g < a for g in gone) for a in op.axes)
    return Local(axes, op.same().reach)


def arg_reduce(op: Operator) -> Local:
    """Accept the best of the channels."""
    axis = op.attribute("axis", 0) % len(op.before)
    op.refuse_spatial([axis])
    shift = 0 if op.attribute("keepdims", 1) else 1
    return Local(tuple(a - shift * (axis < a) for a in op.axes), op.same().reach)


def softmax(op: Operator) -> Local:
    """Accept over channels; before opset 13 all axes from the given one are one."""
    rank, old = len(op.before), op.graph.opset < 13
    axis = op.attribute("axis", 1 if old else -1) % rank
    op.refuse_spatial(range(axis, rank) if old else [axis])
    return op.same()


def layer_norm(op: Operator) -> Local:
    """Accept over trailing channels only."""
    rank = len(op.before)
    op.refuse_spatial(range(op.attribute("axis", -1) % rank, rank))
    return op.same()


def concat(op: Operator) -> Local:
    """Accept along channels, of maps that move with the picture."""
    op.refuse_spatial([op.attribute("axis", 1) % len(op.before)])
    return pointwise(op)


def split(op: Operator) -> Local:
    """Accept along channels."""
    op.refuse_spatial([op.attribute("axis", 0) % len(op.before)])
    return op.same()


def gather(op: Operator) -> Local:
    """Accept a choice of channels; a single one drops the axis."""
    axis = op.attribute("axis", 0) % len(op.before)
    op.refuse_spatial([axis])
    shift = len(op.after) - len(op.before)
    return Local(tuple(a + shift * (axis < a) for a in op.axes), op.same().reach)


def matmul(op: Operator) -> Local:
    """Accept a fixed matrix on the last axis when that holds channels."""
    first, second = op.node.input[:2]
    matrix = len(op.graph.shapes.get(second, ())) == 2
    if first != op.source or second not in op.graph.fixed or not matrix:
        raise Breaks(EVERYWHERE)
    op.refuse_spatial([len(op.before) - 1])
    return op.same()


def _axis_after_reshape(before: Sequence[int], after: Sequence[int], axis: int) -> int:
    """Find the output axis with the same length and as many elements in front of it."""
    ahead = 1
    for length in before[:axis]:
        ahead *= length
    seen = 1
    for position, length in enumerate(after):
        if seen == ahead and length == before[axis]:
            return position
        seen *= length
    raise Breaks("mixes rows and columns with other axes")
