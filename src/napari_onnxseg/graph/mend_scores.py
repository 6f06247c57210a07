"""Add or remove the activation at the end of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import onnx
from onnx import helper

from napari_onnxseg.graph.ending import activations, mixes_pixels
from napari_onnxseg.graph.hard_sizes import words
from napari_onnxseg.graph.inspect import opset_of
from napari_onnxseg.graph.subject import Subject
from napari_onnxseg.graph.surgery import Stuck, forget_shapes, make_identity, rename_result

Ending = Literal["softmax", "sigmoid", "none"]
ENDINGS: tuple[Ending, ...] = ("softmax", "sigmoid", "none")

_SHORT = {"Softmax": "softmax", "Sigmoid": "sigmoid"}


def end_with(subject: Subject, ending: Ending) -> str:
    """Let the main output end in one activation, or in none.

    Parameters
    ----------
    subject : Subject
        The model, changed.
    ending : {"softmax", "sigmoid", "none"}
        What the scores go through last.

    Returns
    -------
    str
        What was done, in a sentence; empty when the network ends that way already.

    Raises
    ------
    Stuck
        When the axis of classes is not known, or values are cut on the way.
    """
    graph = subject.model.graph
    chain = activations(graph, subject.target.name) if subject.target else []
    if chain and chain[0].op_type == "ArgMax":
        raise Stuck("the network decides on classes itself (ArgMax)")
    if subject.target is None or subject.channel_axis is None:
        raise Stuck("which axis of the output holds classes is not known")
    first = chain[-1] if chain else None
    rightly = first is not None and _is(first, ending, subject)
    extra = chain[:-1] if rightly else chain
    if extra:
        _refuse_cuts(graph, subject.target.name, extra[-1])
    told = _told([node.op_type for node in extra], "" if rightly or ending == "none" else ending)
    for node in extra:
        make_identity(node, node.input[0])
    added = not rightly and ending != "none"
    if added:
        _append(subject, ending)
    if extra or added:
        forget_shapes(graph)
    return told


def _is(node: onnx.NodeProto, ending: Ending, subject: Subject) -> bool:
    """Tell whether an activation is the one wanted, over classes alone."""
    if _SHORT.get(node.op_type) != ending:
        return False
    mixes = mixes_pixels(subject, node) if ending == "softmax" else False
    if mixes is None:
        raise Stuck(f"{words(node)} works on another arrangement of the scores")
    return not mixes


def _refuse_cuts(graph: onnx.GraphProto, output: str, first: onnx.NodeProto) -> None:
    """Raise when values are limited behind an activation that is to go."""
    makers = {name: node for node in graph.node for name in node.output}
    name = output
    while name != first.output[0]:
        node = makers[name]
        if node.op_type in ("Clip", "Pad"):
            raise Stuck(f"{words(node)} limits the probabilities behind the activation")
        name = node.input[0]


def _append(subject: Subject, ending: Ending) -> None:
    """Put an activation behind the scores; the output keeps its name."""
    graph, axis = subject.model.graph, subject.channel_axis
    output = subject.target.name if subject.target else ""
    scores = rename_result(graph, output)
    if ending == "sigmoid":
        graph.node.append(helper.make_node("Sigmoid", [scores], [output]))
    elif opset_of(subject.model) >= 13:
        graph.node.append(helper.make_node("Softmax", [scores], [output], axis=axis))
    else:
        rank = len(subject.view.output_dims) if subject.view else 4
        graph.node.extend(_flat_softmax(scores, output, axis or 1, rank))


def _flat_softmax(scores: str, output: str, axis: int, rank: int) -> list[onnx.NodeProto]:
    """Softmax before opset 13 takes all axes from the given one on: classes must come last."""
    order = [other for other in range(rank) if other != axis] + [axis]
    back = [order.index(position) for position in range(rank)]
    last, soft = f"{scores}_last", f"{scores}_soft"
    return [
        helper.make_node("Transpose", [scores], [last], perm=order),
        helper.make_node("Softmax", [last], [soft], axis=rank - 1),
        helper.make_node("Transpose", [soft], [output], perm=back),
    ]


def _told(removed: Sequence[str], added: str) -> str:
    """Say what is removed and added."""
    parts = [f"removed {' and '.join(removed)} at the end"] if removed else []
    parts += [f"added {added} over classes" if added == "softmax" else f"added {added}"]
    return ", ".join(parts if added else parts[:-1])
