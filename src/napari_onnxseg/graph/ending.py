"""How a network ends: the activations on its scores, and over which axes they run."""

from __future__ import annotations

import onnx

from napari_onnxseg.graph.inspect import final_operator, opset_of
from napari_onnxseg.graph.subject import Subject

SOFT = ("Softmax", "Sigmoid", "HardSigmoid", "LogSoftmax")
"""Operators that turn logits into probabilities."""

IN_PLACE = (*SOFT, "Identity", "Cast", "Clip", "Resize", "Slice", "Pad")
"""Operators behind which axes are in the same order."""


def activations(graph: onnx.GraphProto, output: str) -> list[onnx.NodeProto]:
    """Return the activations at the end of an output, the last one first.

    Parameters
    ----------
    graph : onnx.GraphProto
        The graph.
    output : str
        Its output.

    Returns
    -------
    list of onnx.NodeProto
        Up to the first operator that does more than move, cast or activate; a single ArgMax
        ends the list.
    """
    found: list[onnx.NodeProto] = []
    node = final_operator(output, graph.node)
    while node is not None and node.op_type in (*SOFT, "ArgMax"):
        found.append(node)
        node = final_operator(node.input[0], graph.node) if node.op_type != "ArgMax" else None
    return found


def mixes_pixels(subject: Subject, node: onnx.NodeProto) -> bool | None:
    """Tell whether a softmax near the end of the main output runs over rows or columns.

    Parameters
    ----------
    subject : Subject
        The model.
    node : onnx.NodeProto
        A Softmax or LogSoftmax.

    Returns
    -------
    bool or None
        None when the axes cannot be followed to it.
    """
    spatial = _spatial_axes(subject, node)
    shape = subject.graph.shapes.get(node.input[0], ()) if subject.graph else ()
    if spatial is None or not shape:
        return None
    covered = _softmax_axes(node, len(shape), opset_of(subject.model))
    return any(axis in spatial and shape[axis] > 1 for axis in covered)


def _softmax_axes(node: onnx.NodeProto, rank: int, opset: int) -> tuple[int, ...]:
    """Return the axes that sum to one; before opset 13 all from the given one on."""
    given = next((a.i for a in node.attribute if a.name == "axis"), 1 if opset < 13 else -1)
    axis = given % rank
    return tuple(range(axis, rank)) if opset < 13 else (axis,)


def _spatial_axes(subject: Subject, node: onnx.NodeProto) -> tuple[int, ...] | None:
    """Follow the spatial axes of the main output back to an operator."""
    if subject.view is None or subject.target is None:
        return None
    axes, name = subject.view.output_axes, subject.target.name
    makers = {output: maker for maker in subject.model.graph.node for output in maker.output}
    while name != node.output[0]:
        maker = makers[name]
        order = next((list(a.ints) for a in maker.attribute if a.name == "perm"), [])
        if maker.op_type == "Transpose" and order:
            axes = tuple(order[axis] for axis in axes)
        elif maker.op_type not in IN_PLACE:
            return None
        name = maker.input[0]
    return axes
