"""Switch training off, and place the samples of resizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import onnx

from napari_onnxseg.graph.findings_operators import resize_modes
from napari_onnxseg.graph.hard_sizes import words
from napari_onnxseg.graph.inspect import opset_of
from napari_onnxseg.graph.subject import Subject, every_node
from napari_onnxseg.graph.surgery import (
    Stuck,
    forget_shapes,
    make_identity,
    set_attribute,
    uses,
)
from napari_onnxseg.graph.training import DROPOUT, NORM, trains
from napari_onnxseg.types import AnyArray

Placing = Literal["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
PLACINGS: tuple[Placing, ...] = (
    "half_pixel",
    "pytorch_half_pixel",
    "asymmetric",
    "align_corners",
)


def set_inference(subject: Subject) -> str:
    """Let every normalisation use its stored statistics, and every dropout pass all.

    Parameters
    ----------
    subject : Subject
        The model, changed.

    Returns
    -------
    str
        What was done; empty when nothing was in training mode.

    Raises
    ------
    Stuck
        When something else reads what only training gives.
    """
    graph, opset = subject.model.graph, opset_of(subject.model)
    constants: Mapping[str, AnyArray] = subject.graph.constants if subject.graph else {}
    found = [node for node in every_node(graph) if trains(node, opset, constants)]
    for node in found:
        for name in node.output[1:]:
            if name and uses(graph, name):
                raise Stuck(f"{words(node)} hands on what only training gives")
    for node in found:
        _settle(node, opset)
    if found:
        forget_shapes(graph)
    counts = {kind: sum(n.op_type == kind for n in found) for kind in (NORM, "Identity")}
    parts = [f"{counts[NORM]} BatchNormalization" * bool(counts[NORM])]
    parts += [f"{counts['Identity']} {DROPOUT}" * bool(counts["Identity"])]
    told = " and ".join(part for part in parts if part)
    return f"set {told} to inference" if told else ""


def place_samples(subject: Subject, placing: Placing) -> str:
    """Let every linear or cubic resize place its samples in one way.

    Parameters
    ----------
    subject : Subject
        The model, changed.
    placing : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}
        As ``coordinate_transformation_mode`` of Resize.

    Returns
    -------
    str
        What was done; empty when all do so already.

    Raises
    ------
    Stuck
        Before operator set 11, which knows one way only.
    """
    opset = opset_of(subject.model)
    changed = 0
    for node in every_node(subject.model.graph):
        if node.op_type in ("Resize", "Upsample"):
            mode, where, _ = resize_modes(node, opset)
            if mode == "nearest" or where == placing:
                continue
            if opset < 11 or node.op_type == "Upsample":
                raise Stuck(f"{words(node)} of operator set {opset} knows one placing only")
            set_attribute(node, "coordinate_transformation_mode", placing)
            changed += 1
    return f"set {changed} Resize to {placing}" if changed else ""


def _settle(node: onnx.NodeProto, opset: int) -> None:
    """Switch one operator to inference."""
    if node.op_type == DROPOUT:
        make_identity(node, node.input[0])
        return
    del node.output[1:]
    if opset < 7:
        set_attribute(node, "is_test", 1)
    set_attribute(node, "training_mode", None)
