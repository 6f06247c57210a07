"""What an ONNX file declares: tensors, versions, metadata and its last activation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import onnx
from onnx import helper

from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.load import read_model, side_files

Activation = Literal["softmax", "sigmoid", "argmax"]

_ACTIVATIONS: dict[str, Activation] = {
    "Softmax": "softmax",
    "Sigmoid": "sigmoid",
    "HardSigmoid": "sigmoid",
    "ArgMax": "argmax",
}
_TRANSPARENT = "Identity Cast Transpose Squeeze Unsqueeze Reshape Clip Resize Slice Pad"


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """One declared input or output.

    Parameters
    ----------
    name : str
        Name in the graph.
    dtype : str
        Numpy name of the element type.
    dims : tuple of (int, str or None)
        Number where fixed, name where symbolic, None where nothing is said.
    """

    name: str
    dtype: str
    dims: tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """What the file says about itself.

    Parameters
    ----------
    inputs, outputs : tuple of TensorFacts
        Declared tensors; weights listed as inputs are left out.
    opset, ir_version : int
        Version of the standard operators and of the file format.
    producer : str
        The exporter, with its version.
    metadata : mapping of str to str
        Free-form entries of the exporter.
    activations : mapping of str to {"softmax", "sigmoid", "argmax"}
        The last activation of each output that has one.
    external_data : tuple of str
        Files beside the model that hold weights.
    """

    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    opset: int
    ir_version: int
    producer: str
    metadata: Mapping[str, str]
    activations: Mapping[str, Activation]
    external_data: tuple[str, ...]


def inspect(source: Path | onnx.ModelProto) -> GraphFacts:
    """Read what a model file declares, without its weights.

    Parameters
    ----------
    source : Path or onnx.ModelProto
        The ``.onnx`` file, or the model once read.

    Returns
    -------
    GraphFacts
        The declarations.

    Raises
    ------
    ModelError
        When the file is no ONNX model or its side files are missing.
    """
    model = source if isinstance(source, onnx.ModelProto) else read_model(source)
    weights = {tensor.name for tensor in model.graph.initializer}
    return GraphFacts(
        inputs=tuple(_facts(info) for info in model.graph.input if info.name not in weights),
        outputs=tuple(_facts(info) for info in model.graph.output),
        opset=opset_of(model),
        ir_version=model.ir_version,
        producer=f"{model.producer_name} {model.producer_version}".strip(),
        metadata={_text(entry.key): _text(entry.value) for entry in model.metadata_props},
        activations=_activations(model.graph),
        external_data=side_files(model),
    )


def opset_of(model: onnx.ModelProto) -> int:
    """Return the version of the standard operators; 0 when the model uses none."""
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)


def _facts(info: onnx.ValueInfoProto) -> TensorFacts:
    if not info.type.HasField("tensor_type"):
        raise ModelError(
            f"{info.name!r} of the model is not an array; only networks from array to array "
            "can be used."
        )
    tensor = info.type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    return TensorFacts(info.name, dtype, tuple(_dim(dim) for dim in tensor.shape.dim))


def _text(value: str | bytes) -> str:
    """Return an entry as text; protobuf gives bytes where it is not in UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value") and dim.dim_value > 0:
        return int(dim.dim_value)
    return str(dim.dim_param) or None


def final_operator(name: str, nodes: Iterable[onnx.NodeProto]) -> onnx.NodeProto | None:
    """Return the last operator before a tensor that gives scores their meaning.

    Parameters
    ----------
    name : str
        The tensor.
    nodes : iterable of onnx.NodeProto
        The graph.

    Returns
    -------
    onnx.NodeProto or None
        The first one met going back that does more than move, cast or resize values.
    """
    makers = {output: node for node in nodes for output in node.output}
    node = makers.get(name)
    while node is not None and node.op_type in _TRANSPARENT.split():
        node = makers.get(node.input[0])
    return node


def _activations(graph: onnx.GraphProto) -> dict[str, Activation]:
    found = {info.name: final_operator(info.name, graph.node) for info in graph.output}
    return {
        name: _ACTIVATIONS[node.op_type]
        for name, node in found.items()
        if node is not None and node.op_type in _ACTIVATIONS
    }
