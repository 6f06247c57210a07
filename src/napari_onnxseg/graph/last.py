"""Whether the end of a graph alone tells that its scores are logits."""

from __future__ import annotations

from pathlib import Path

from napari_onnxseg.graph.load import read_model

LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul", "BatchNormalization", "LogSoftmax"})
"""Operators whose values know no bounds."""

_MOVES = (
    "Identity",
    "Cast",
    "Transpose",
    "Squeeze",
    "Unsqueeze",
    "Reshape",
    "Resize",
    "Slice",
    "Pad",
    "Relu",
    "LeakyRelu",
    "PRelu",
)
"""Operators that leave the range of values as it is, or open upwards."""

_JOINS = ("Add", "Sub", "Sum", "Concat")
"""Operators whose values know no bounds when those of one input know none."""


def ends_unbounded(path: Path, output: str) -> bool:
    """Tell whether an output comes from an operator that no range holds back.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    output : str
        Its output.

    Returns
    -------
    bool
        True behind a convolution and the like; False where values may have been brought to
        a range, by whatever operators do that.

    Raises
    ------
    ModelError
        When the file cannot be read.
    """
    nodes = read_model(path).graph.node
    makers = {name: node for node in nodes for name in node.output}
    waiting, seen = [output], set()
    while waiting:
        name = waiting.pop()
        node = makers.get(name)
        if node is None or name in seen:
            continue
        seen.add(name)
        if node.op_type in LINEAR:
            return True
        if node.op_type in _JOINS:
            waiting += node.input
        elif node.op_type in _MOVES:
            waiting.append(node.input[0])
    return False
