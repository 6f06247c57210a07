"""Switch training off, and place the samples of resizes."""

from __future__ import annotations

from typing import Literal

import onnx

from napari_onnxseg.graph.findings_operators import resize_modes, shifts
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
from napari_onnxseg.graph.training import DROPOUT, NORM, switches, trains

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
    constants = {**switches(graph), **(subject.graph.constants if subject.graph else {})}
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

    Nearest neighbours that move the picture are placed as PyTorch does.

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
    resizes = [n for n in every_node(subject.model.graph) if n.op_type in ("Resize", "Upsample")]
    changed = [node for node in resizes if _place(node, placing, opset)]
    return f"set {len(changed)} Resize to {placing}" if changed else ""


def _place(node: onnx.NodeProto, placing: Placing, opset: int) -> bool:
    """Place the samples of one resize; tell whether that changed it."""
    mode, where, rounding = resize_modes(node, opset)
    if mode == "nearest":
        if shifts(where, rounding):
            set_attribute(node, "coordinate_transformation_mode", "asymmetric")
            set_attribute(node, "nearest_mode", "floor")
        return shifts(where, rounding)
    if where == placing:
        return False
    if opset < 11 or node.op_type == "Upsample":
        raise Stuck(f"{words(node)} of operator set {opset} knows one placing only")
    set_attribute(node, "coordinate_transformation_mode", placing)
    return True


def _settle(node: onnx.NodeProto, opset: int) -> None:
    """Switch one operator to inference."""
    if node.op_type == DROPOUT:
        make_identity(node, node.input[0])
        return
    del node.output[1:]
    if opset < 7:
        set_attribute(node, "is_test", 1)
    set_attribute(node, "training_mode", None)
