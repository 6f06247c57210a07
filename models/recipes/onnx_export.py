"""Export a network as a plain ONNX file; shared by the recipes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import nn

OPSET = 18
SHAPE_ARITHMETIC = {"Shape", "Gather", "Slice", "Unsqueeze", "Cast", "Range", "ConstantOfShape"}


def export_plain(
    net: nn.Module, example: torch.Tensor, dynamic: dict[int, str], names: tuple[str, str]
) -> onnx.ModelProto:
    """Export a network with one input and one output.

    Parameters
    ----------
    net
        The network, in evaluation mode; batch normalisation already folded.
    example
        An input, with more than one image when the batch is to stay free.
    dynamic
        The axes of the input that stay free and their names.
    names
        Names of the graph's input and output.

    Returns
    -------
    onnx.ModelProto
        Checked, without shape arithmetic and without traces of the exporter.
    """
    dims = dict.fromkeys(dynamic, torch.export.Dim.DYNAMIC)
    program = torch.onnx.export(
        net.eval(),
        (example,),
        dynamo=True,
        opset_version=OPSET,
        input_names=[names[0]],
        output_names=[names[1]],
        dynamic_shapes=(dims,),
        external_data=False,
        optimize=True,
        verbose=False,
    )
    model = program.model_proto
    tidy(model, dynamic)
    onnx.checker.check_model(model, full_check=True)
    return model


def tidy(model: onnx.ModelProto, dynamic: dict[int, str]) -> None:
    """Drop the exporter's notes, name the free axes, refuse shape arithmetic.

    Parameters
    ----------
    model
        Changed in place.
    dynamic
        The free axes of input and output and their names.
    """
    graph = model.graph
    del model.metadata_props[:], graph.metadata_props[:], graph.value_info[:], model.functions[:]
    for part, field in ((model, "producer_version"), (model, "doc_string"), (graph, "doc_string")):
        part.ClearField(field)
    for item in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        del item.metadata_props[:]
        item.ClearField("doc_string")
    for number, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{number}"
    for value in (*graph.input, *graph.output):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if axis in dynamic:
                dim.dim_param = dynamic[axis]
    left = SHAPE_ARITHMETIC & {node.op_type for node in graph.node}
    if left:
        raise ValueError(f"The exported graph still computes shapes: {sorted(left)}.")


def write_model(model: onnx.ModelProto, path: Path) -> str:
    """Write the file and return its SHA-256."""
    data = model.SerializeToString(deterministic=True)
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def write_json(content: dict[str, Any], path: Path) -> None:
    """Write readable JSON with a final newline."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def count_operators(model: onnx.ModelProto) -> dict[str, int]:
    """Return how often each operator occurs, sorted by name."""
    kinds = [node.op_type for node in model.graph.node]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}
