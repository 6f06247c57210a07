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
)
"""Operators that leave the range of values as it is."""


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
    node = makers.get(output)
    while node is not None and node.op_type in _MOVES:
        node = makers.get(node.input[0])
    return node is not None and node.op_type in LINEAR
