"""Declare an older operator set, where no operator means anything else there."""

from __future__ import annotations

from typing import Any

import onnx

from napari_onnxseg.graph.inspect import opset_of
from napari_onnxseg.graph.subject import Subject, every_node
from napari_onnxseg.graph.surgery import Stuck

CHANGED_IN_WORDS = frozenset({"Pad", "GroupNormalization", "GridSample", "Round", "Clip"})
"""Operators whose newer versions mean more under the same names."""


def lower_opset(subject: Subject, opset: int) -> str:
    """Declare an older operator set.

    Parameters
    ----------
    subject : Subject
        The model, changed.
    opset : int
        The version wanted.

    Returns
    -------
    str
        What was done; empty when the model declares that version or an older one.

    Raises
    ------
    Stuck
        Naming the operator that changed between the versions.
    """
    model, now = subject.model, opset_of(subject.model)
    if now <= opset:
        return ""
    if now > onnx.defs.onnx_opset_version():
        raise Stuck(f"operator set {now} is newer than what is known here")
    for node in every_node(model.graph):
        if node.domain in ("", "ai.onnx") and not _same(node, now, opset):
            raise Stuck(f"{node.op_type} means something else before operator set {now}")
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = opset
    return f"declared operator set {opset} instead of {now}"


def lower_ir(subject: Subject, ir_version: int) -> str:
    """Declare an older version of the file format.

    Parameters
    ----------
    subject : Subject
        The model, changed.
    ir_version : int
        The version wanted.

    Returns
    -------
    str
        What was done; empty when the file declares that version or an older one.
    """
    now = subject.model.ir_version
    if now <= ir_version:
        return ""
    subject.model.ir_version = ir_version
    return f"declared file format {ir_version} instead of {now}"


def _same(node: onnx.NodeProto, new: int, old: int) -> bool:
    """Tell whether an operator has the same definition in both versions, types aside."""
    try:
        first, second = (onnx.defs.get_schema(node.op_type, v, "") for v in (new, old))
    except onnx.defs.SchemaError:
        return False
    if first.since_version == second.since_version:
        return True
    return node.op_type not in CHANGED_IN_WORDS and _outline(first) == _outline(second)


def _outline(schema: Any) -> tuple[Any, ...]:
    """Return names and defaults of a definition, without the types it allows."""
    attributes = {
        name: (attribute.type, attribute.required, attribute.default_value.SerializeToString())
        for name, attribute in schema.attributes.items()
    }
    tensors = [[(t.name, t.option) for t in side] for side in (schema.inputs, schema.outputs)]
    return attributes, tensors
