"""Which rule each operator follows; an operator that is not listed breaks exact tiling."""

from __future__ import annotations

from collections.abc import Callable

from napari_onnxseg.graph import pointwise, sliding
from napari_onnxseg.graph.operator import Breaks, Local, Operator

Rule = Callable[[Operator], Local]

DOMAINS = ("", "ai.onnx", "com.microsoft")
"""Where the operators listed here are defined."""

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

_GLOBAL = (
    "InstanceNormalization GroupNormalization MeanVarianceNormalization LpNormalization "
    "GlobalAveragePool GlobalMaxPool GlobalLpPool Attention MultiHeadAttention Gemm Einsum CumSum "
    "GridSample DynamicQuantizeLinear"
)

RULES: dict[str, Rule] = {
    **dict.fromkeys(_POINTWISE.split(), pointwise.pointwise),
    **dict.fromkeys(_UNARY.split(), pointwise.unary),
    **dict.fromkeys(_GLOBAL.split(), pointwise.everywhere),
    **dict.fromkeys(("Conv", "ConvInteger", "FusedConv"), sliding.kernel),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), sliding.pool),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), pointwise.softmax),
    **dict.fromkeys(("ArgMax", "ArgMin"), pointwise.arg_reduce),
    **dict.fromkeys(("Resize", "Upsample"), sliding.resize),
    **dict.fromkeys(("Reshape", "Flatten"), pointwise.reshape),
    **dict.fromkeys(
        [f"Reduce{kind}" for kind in ("Mean", "Sum", "Max", "Min", "L1", "L2", "Prod")],
        pointwise.reduce,
    ),
    "BatchNormalization": pointwise.batch_norm,
    "QLinearConv": sliding.quantized_kernel,
    "ConvTranspose": sliding.transposed,
    "Pad": sliding.pad,
    "Slice": sliding.cut,
    "Transpose": pointwise.transpose,
    "Expand": pointwise.expand,
    "Squeeze": pointwise.squeeze,
    "Unsqueeze": pointwise.unsqueeze,
    "LayerNormalization": pointwise.layer_norm,
    "Concat": pointwise.concat,
    "Split": pointwise.split,
    "Gather": pointwise.gather,
    "DepthToSpace": sliding.depth_to_space,
    "SpaceToDepth": sliding.space_to_depth,
    "MatMul": pointwise.matmul,
}


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
    if rule is None or operator.node.domain not in DOMAINS:
        raise Breaks("is not known to be local")
    return rule(operator)


def in_place(op_type: str) -> bool:
    """Tell whether the runtime can write an operator's output over its input."""
    return RULES.get(op_type) in (pointwise.pointwise, pointwise.unary)
