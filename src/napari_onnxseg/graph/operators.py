"""What each operator does to the picture: where its axes go and how far it looks.

An operator that is not listed here, or that looks at the whole picture, raises `Breaks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import onnx
from onnx import helper

from napari_onnxseg.graph.fold import StaticGraph
from napari_onnxseg.graph.reach import (
    HERE,
    Reach,
    kernel_reach,
    resize_reach,
    transposed_reach,
)
from napari_onnxseg.types import AnyArray

EVERYWHERE = "looks at the whole picture"


class Breaks(Exception):  # noqa: N818 - a finding, not an error
    """Why tiles cannot equal the whole picture behind an operator."""


@dataclass(frozen=True, slots=True)
class Local:
    """A local operator.

    Parameters
    ----------
    axes : tuple of int
        Where the spatial axes lie in the output.
    reach : tuple of Reach
        One per spatial axis.
    """

    axes: tuple[int, ...]
    reach: tuple[Reach, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """One node, with what is known of its tensors.

    Parameters
    ----------
    node : onnx.NodeProto
        The node.
    graph : StaticGraph
        Shapes and constants.
    axes : tuple of int
        Where the spatial axes lie in the input that carries the picture.
    source : str
        Name of that input.
    free : bool
        Whether the sides of the model's input are free.
    """

    node: onnx.NodeProto
    graph: StaticGraph
    axes: tuple[int, ...]
    source: str
    free: bool

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute, text decoded."""
        for found in self.node.attribute:
            if found.name == name:
                value = helper.get_attribute_value(found)
                return value.decode() if isinstance(value, bytes) else value
        return default

    def constant(self, position: int) -> AnyArray | None:
        """Return the value of an input that is constant, else None."""
        names = self.node.input
        name = names[position] if position < len(names) else ""
        return self.graph.constants.get(name)

    @property
    def before(self) -> tuple[int, ...]:
        """Shape of the picture's input."""
        return self._shape(self.source)

    @property
    def after(self) -> tuple[int, ...]:
        """Shape of the first output."""
        return self._shape(self.node.output[0])

    def same(self) -> Local:
        """Return the answer of an operator that looks at the same element only."""
        return Local(self.axes, (HERE,) * len(self.axes))

    def _shape(self, name: str) -> tuple[int, ...]:
        if name not in self.graph.shapes:
            raise Breaks("has a size that the graph does not tell")
        return self.graph.shapes[name]


Rule = Callable[[Operator], Local]


def examine(operator: Operator) -> Local:
    """Tell what an operator does to the picture.

    Parameters
    ----------
    operator : Operator
        The node and its tensors.

    Returns
    -------
    Local
        Axes of the output and reach.

    Raises
    ------
    Breaks
        When the operator is not local, depends on the place, or is not known.
    """
    rule = RULES.get(operator.node.op_type)
    if rule is None or operator.node.domain not in ("", "ai.onnx", "com.microsoft"):
        raise Breaks("is not known to be local")
    return rule(operator)


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


def batch_norm(op: Operator) -> Local:
    """Accept with fixed statistics only."""
    if op.attribute("training_mode", 0) or (op.graph.opset < 7 and not op.attribute("is_test", 0)):
        raise Breaks("measures each tile anew (training mode)")
    return op.same()


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
    pads = op.attribute("pads") or _numbers(op, 1)
    chosen = _numbers(op, 3, default=range(len(op.before)))
    axes = [axis % len(op.before) for axis in chosen]
    offsets = [pads[axes.index(axis)] if axis in axes else 0 for axis in op.axes]
    return Local(op.axes, tuple(Reach(1, -offset, -offset) for offset in offsets))


def cut(op: Operator) -> Local:
    """Slice: a crop, or every n-th element."""
    rank = len(op.before)
    starts = op.attribute("starts") or _numbers(op, 1)
    ends = op.attribute("ends") or _numbers(op, 2)
    axes = op.attribute("axes") or _numbers(op, 3, default=range(len(starts)))
    steps = _numbers(op, 4, default=[1] * len(starts))
    reach = [HERE] * len(op.axes)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if axis % rank in op.axes:
            length = op.before[axis % rank]
            if step < 1 or _cuts_at_a_fixed_place(op, end, length):
                raise Breaks("cuts at a place that does not move with the picture")
            first = start + length if start < 0 else start
            reach[op.axes.index(axis % rank)] = Reach(step, first, first)
    return Local(op.axes, tuple(reach))


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
    gone = _axes(op, len(op.before), default)
    _refuse_spatial(op, gone)
    return Local(tuple(a - sum(g < a for g in gone) for a in op.axes), op.same().reach)


def unsqueeze(op: Operator) -> Local:
    """Insert axes of length one."""
    new = _axes(op, len(op.after), [])
    kept = [axis for axis in range(len(op.after)) if axis not in new]
    return Local(tuple(kept[axis] for axis in op.axes), op.same().reach)


def reduce(op: Operator) -> Local:
    """Accept a reduction over channels."""
    gone = _axes(op, len(op.before), list(range(len(op.before))))
    _refuse_spatial(op, gone)
    kept = op.attribute("keepdims", 1)
    axes = op.axes if kept else tuple(a - sum(g < a for g in gone) for a in op.axes)
    return Local(axes, op.same().reach)


def arg_reduce(op: Operator) -> Local:
    """Accept the best of the channels."""
    axis = op.attribute("axis", 0) % len(op.before)
    _refuse_spatial(op, [axis])
    shift = 0 if op.attribute("keepdims", 1) else 1
    return Local(tuple(a - shift * (axis < a) for a in op.axes), op.same().reach)


def softmax(op: Operator) -> Local:
    """Accept over channels; before opset 13 all axes from the given one are one."""
    rank, old = len(op.before), op.graph.opset < 13
    axis = op.attribute("axis", 1 if old else -1) % rank
    _refuse_spatial(op, range(axis, rank) if old else [axis])
    return op.same()


def layer_norm(op: Operator) -> Local:
    """Accept over trailing channels only."""
    rank = len(op.before)
    _refuse_spatial(op, range(op.attribute("axis", -1) % rank, rank))
    return op.same()


def concat(op: Operator) -> Local:
    """Accept along channels, of maps that move with the picture."""
    _refuse_spatial(op, [op.attribute("axis", 1) % len(op.before)])
    return pointwise(op)


def split(op: Operator) -> Local:
    """Accept along channels."""
    _refuse_spatial(op, [op.attribute("axis", 0) % len(op.before)])
    return op.same()


def gather(op: Operator) -> Local:
    """Accept a choice of channels; a single one drops the axis."""
    axis = op.attribute("axis", 0) % len(op.before)
    _refuse_spatial(op, [axis])
    shift = len(op.after) - len(op.before)
    return Local(tuple(a + shift * (axis < a) for a in op.axes), op.same().reach)


def depth_to_space(op: Operator) -> Local:
    """Lay channels out as pixels."""
    side = op.attribute("blocksize")
    return Local(op.axes, (Reach(1, 0, 0, side),) * len(op.axes))


def space_to_depth(op: Operator) -> Local:
    """Stack pixels as channels."""
    side = op.attribute("blocksize")
    return Local(op.axes, (Reach(side, 0, side - 1),) * len(op.axes))


def matmul(op: Operator) -> Local:
    """Accept a fixed matrix on the last axis when that holds channels."""
    first, second = op.node.input[:2]
    matrix = len(op.graph.shapes.get(second, ())) == 2
    if first != op.source or second not in op.graph.fixed or not matrix:
        raise Breaks(EVERYWHERE)
    _refuse_spatial(op, [len(op.before) - 1])
    return op.same()


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


def _numbers(op: Operator, position: int, default: Sequence[int] | None = None) -> list[int]:
    """Return a constant input as integers."""
    value = op.constant(position)
    if value is not None:
        return [int(number) for number in value.ravel()]
    given = position < len(op.node.input) and op.node.input[position]
    if given or default is None:
        raise Breaks("takes its numbers from the picture")
    return list(default)


def _axes(op: Operator, rank: int, default: list[int]) -> list[int]:
    """Return the axes an operator names, as attribute or as second input."""
    given = op.attribute("axes")
    chosen = list(given) if given is not None else _numbers(op, 1, default=default)
    if not chosen and op.attribute("noop_with_empty_axes", 0):
        return []
    return sorted(axis % rank for axis in (chosen or default))


def _refuse_spatial(op: Operator, axes: Sequence[int]) -> None:
    if any(axis in op.axes for axis in axes):
        raise Breaks(EVERYWHERE)


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


_POINTWISE = (
    "Add Sub Mul Div Pow Max Min Mean Sum Where Equal Greater Less GreaterOrEqual LessOrEqual "
    "And Or Xor Not Mod PRelu BitShift"
)
_UNARY = (
    "Relu LeakyRelu Sigmoid HardSigmoid HardSwish Swish Tanh Elu Selu Celu Gelu Mish Softplus "
    "Softsign Erf Exp Log Sqrt Reciprocal Abs Neg Clip Cast CastLike Identity Dropout Floor Ceil "
    "Round Sign QuantizeLinear DequantizeLinear LRN ThresholdedRelu Shrink IsNaN IsInf Sin Cos "
    "FastGelu QuickGelu"
)

RULES: dict[str, Rule] = {
    **dict.fromkeys(_POINTWISE.split(), pointwise),
    **dict.fromkeys(_UNARY.split(), unary),
    **dict.fromkeys(("Conv", "ConvInteger", "FusedConv"), kernel),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), pool),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), softmax),
    **dict.fromkeys(("ArgMax", "ArgMin"), arg_reduce),
    **dict.fromkeys(("Resize", "Upsample"), resize),
    **dict.fromkeys(("Reshape", "Flatten"), reshape),
    **dict.fromkeys(
        [f"Reduce{kind}" for kind in ("Mean", "Sum", "Max", "Min", "L1", "L2", "Prod")], reduce
    ),
    "BatchNormalization": batch_norm,
    "QLinearConv": quantized_kernel,
    "ConvTranspose": transposed,
    "Pad": pad,
    "Slice": cut,
    "Transpose": transpose,
    "Expand": expand,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "LayerNormalization": layer_norm,
    "Concat": concat,
    "Split": split,
    "Gather": gather,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "MatMul": matmul,
}
