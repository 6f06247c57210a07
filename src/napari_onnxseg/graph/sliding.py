"""Operators that look beside a pixel or change the size of the picture."""

from __future__ import annotations

from fractions import Fraction

from napari_onnxseg.graph.operator import Breaks, Local, Operator
from napari_onnxseg.graph.reach import (
    HERE,
    Reach,
    kernel_reach,
    resize_reach,
    transposed_reach,
)


def kernel(op: Operator, weight: int | None = 1) -> Local:
    """Convolution and pooling."""
    count = len(op.axes)
    sizes, strides, dilations, pads = _window(op, weight)
    auto = op.attribute("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        pads = [
            _same_pad(op, i, (sizes[i] - 1) * dilations[i] + 1, strides[i], auto)
            for i in range(count)
        ]
    elif auto == "VALID":
        pads = [0] * count
    return Local(
        op.axes,
        tuple(
            kernel_reach(*numbers) for numbers in zip(sizes, strides, dilations, pads, strict=False)
        ),
    )


def pool(op: Operator) -> Local:
    """Pooling has no weights."""
    return kernel(op, None)


def quantized_kernel(op: Operator) -> Local:
    """Convolution of integers: weights are the fourth input."""
    return kernel(op, 3)


def transposed(op: Operator) -> Local:
    """Transposed convolution; explicit output shapes move its padding."""
    sizes, strides, dilations, pads = _window(op, 1)
    auto = op.attribute("auto_pad", "NOTSET")
    if auto == "VALID":
        pads = [0] * len(op.axes)
    elif auto.startswith("SAME") or op.attribute("output_shape"):
        extra = op.attribute("output_padding") or [0] * len(op.axes)
        for i, axis in enumerate(op.axes):
            grown = strides[i] * (op.before[axis] - 1) + extra[i]
            total = grown + (sizes[i] - 1) * dilations[i] + 1 - op.after[axis]
            pads[i] = total // 2 if auto == "SAME_UPPER" else total - total // 2
    return Local(
        op.axes,
        tuple(
            transposed_reach(*numbers)
            for numbers in zip(sizes, strides, dilations, pads, strict=False)
        ),
    )


def resize(op: Operator) -> Local:
    """Change of size by a factor that the shapes tell."""
    mode = op.attribute("mode", "nearest")
    where = op.attribute("coordinate_transformation_mode", "half_pixel")
    if op.node.op_type == "Upsample" or op.graph.opset < 11:
        where, rounding = "asymmetric", "floor"
    else:
        rounding = op.attribute("nearest_mode", "round_prefer_floor")
    if where not in ("half_pixel", "pytorch_half_pixel", "asymmetric", "half_pixel_symmetric"):
        raise Breaks(f"places its samples by the size of the picture ({where})")
    if op.free and _fixed_size(op):
        raise Breaks("brings every picture to one fixed size")
    factors = [Fraction(op.after[axis], op.before[axis]) for axis in op.axes]
    if any(_odd(factor, mode) for factor in factors):
        raise Breaks(f"scales by {', '.join(str(f) for f in factors)}, which rounds by place")
    widen = bool(op.attribute("antialias", 0))
    corner = where == "asymmetric"
    return Local(
        op.axes,
        tuple(
            HERE if factor == 1 else resize_reach(factor, mode, corner, rounding, widen)
            for factor in factors
        ),
    )


def pad(op: Operator) -> Local:
    """Move the picture by the padding."""
    if op.attribute("mode", "constant") == "wrap":
        raise Breaks("wraps the picture around")
    pads = op.attribute("pads") or op.numbers(1)
    chosen = op.numbers(3, default=range(len(op.before)))
    axes = [axis % len(op.before) for axis in chosen]
    offsets = [pads[axes.index(axis)] if axis in axes else 0 for axis in op.axes]
    return Local(op.axes, tuple(Reach(1, -offset, -offset) for offset in offsets))


def cut(op: Operator) -> Local:
    """Slice: a crop, or every n-th element."""
    rank = len(op.before)
    starts = op.attribute("starts") or op.numbers(1)
    ends = op.attribute("ends") or op.numbers(2)
    axes = op.attribute("axes") or op.numbers(3, default=range(len(starts)))
    steps = op.numbers(4, default=[1] * len(starts))
    reach = [HERE] * len(op.axes)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if axis % rank in op.axes:
            length = op.before[axis % rank]
            if step < 1 or _cuts_at_a_fixed_place(op, end, length):
                raise Breaks("cuts at a place that does not move with the picture")
            first = start + length if start < 0 else start
            reach[op.axes.index(axis % rank)] = Reach(step, first, first)
    return Local(op.axes, tuple(reach))


def depth_to_space(op: Operator) -> Local:
    """Lay channels out as pixels."""
    side = op.attribute("blocksize")
    return Local(op.axes, (Reach(1, 0, 0, side),) * len(op.axes))


def space_to_depth(op: Operator) -> Local:
    """Stack pixels as channels."""
    side = op.attribute("blocksize")
    return Local(op.axes, (Reach(side, 0, side - 1),) * len(op.axes))


def _window(op: Operator, weight: int | None) -> tuple[list[int], ...]:
    """Return sizes, strides, dilations and leading pads of a sliding window."""
    count = len(op.axes)
    if op.axes != tuple(range(2, 2 + count)):
        raise Breaks("slides over axes that are not the picture's")
    sizes = op.attribute("kernel_shape")
    if weight is not None:
        name = op.node.input[weight]
        if name not in op.graph.fixed:
            raise Breaks("computes its weights from the picture")
        sizes = sizes or op.graph.shapes[name][2:]
    ones = [1] * count
    return (
        list(sizes),
        list(op.attribute("strides") or ones),
        list(op.attribute("dilations") or ones),
        list(op.attribute("pads") or [0] * (2 * count))[:count],
    )


def _same_pad(op: Operator, i: int, extent: int, stride: int, auto: str) -> int:
    """Return the leading padding that keeps ``ceil(length / stride)`` elements."""
    length = op.before[op.axes[i]]
    total = max(0, (-(-length // stride) - 1) * stride + extent - length)
    return total // 2 if auto == "SAME_UPPER" else total - total // 2


def _odd(factor: Fraction, mode: str) -> bool:
    """Tell whether positions at this factor cannot be exact in floating point."""
    if mode == "nearest":
        return factor.numerator > 1 and factor.denominator > 1
    return any(number & (number - 1) for number in (factor.numerator, factor.denominator))


def _fixed_size(op: Operator) -> bool:
    """Tell whether a resize names its output size without looking at the input's."""
    name = op.node.input[3] if len(op.node.input) > 3 else ""
    return bool(name) and name in op.graph.constants and name not in op.graph.from_size


def _cuts_at_a_fixed_place(op: Operator, end: int, length: int) -> bool:
    moves = len(op.node.input) > 2 and op.node.input[2] in op.graph.from_size
    return op.free and not moves and 0 <= end < length
