"""Every shape of a graph as numbers, for one size of the input, without running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, inliner, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import InferenceError, infer_node_outputs

from napari_onnxseg.graph.inspect import opset_of
from napari_onnxseg.types import AnyArray

SMALL = 4096
"""Elements up to which a constant is evaluated; shape arithmetic is far below."""

Shape = tuple[int, ...]


@dataclass(slots=True)
class StaticGraph:
    """A graph at one input size.

    Parameters
    ----------
    opset : int
        Version of the standard operators.
    nodes : list of onnx.NodeProto
        Operators that depend on the pixels and lead to an output, in order.
    shapes : dict of str to tuple of int
        Shape of each tensor where it could be inferred.
    item_bytes : dict of str to int
        Bytes per element of each tensor whose type could be inferred.
    constants : dict of str to numpy.ndarray
        Values of small tensors that do not depend on the pixels.
    fixed : set of str
        All tensors that do not depend on the pixels.
    from_size : set of str
        Those of them that depend on the size of the input.
    """

    opset: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    item_bytes: dict[str, int] = field(default_factory=dict)
    constants: dict[str, AnyArray] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    from_size: set[str] = field(default_factory=set)


def fold(
    model: onnx.ModelProto, dims: Mapping[str, Sequence[int]], outputs: Iterable[str], folder: Path
) -> StaticGraph:
    """Infer all shapes on the way to some outputs.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, weights may be left in side files.
    dims : mapping of str to sequence of int
        The size of each input.
    outputs : iterable of str
        Outputs of interest; operators that lead to none of them are left out.
    folder : Path
        Where side files are.

    Returns
    -------
    StaticGraph
        The graph with its shapes.
    """
    if model.functions:
        model = inliner.inline_local_functions(model)
    folder_of_shapes = _Folder(model, dims, folder)
    for node in _ancestors(model.graph, outputs):
        folder_of_shapes.take(node)
    return folder_of_shapes.graph


def _ancestors(graph: onnx.GraphProto, outputs: Iterable[str]) -> list[onnx.NodeProto]:
    """Return the nodes that lead to the outputs, in order."""
    wanted = set(outputs)
    kept = []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            wanted.update(_captured(node))
            kept.append(node)
    return kept[::-1]


def _captured(node: onnx.NodeProto) -> set[str]:
    """Return the outer tensors that the branches of a control-flow operator use."""
    names: set[str] = set()
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                names.update(inner.input, _captured(inner))
    return names


class _Folder:
    """Takes nodes in order and keeps what is known about each tensor."""

    def __init__(
        self, model: onnx.ModelProto, dims: Mapping[str, Sequence[int]], folder: Path
    ) -> None:
        self.graph = StaticGraph(opset_of(model))
        self.imports = list(model.opset_import)
        self.versions = {entry.domain: entry.version for entry in model.opset_import}
        self.ir_version = model.ir_version
        self.types: dict[str, onnx.TypeProto] = {}
        for tensor in model.graph.initializer:
            self._take_weight(tensor, folder)
        for info in model.graph.input:
            if info.name in dims:
                element = info.type.tensor_type.elem_type
                self._learn(info.name, helper.make_tensor_type_proto(element, dims[info.name]))

    def take(self, node: onnx.NodeProto) -> None:
        """Infer the outputs of one node from what is known of its inputs."""
        for name, kind in self._infer(node).items():
            self._learn(name, kind)
        if node.op_type in ("Shape", "Size") and node.input[0] in self.graph.shapes:
            self._take_shape(node)
        elif all(name in self.graph.fixed for name in node.input if name) and not _captured(node):
            self._take_fixed(node)
        else:
            self.graph.nodes.append(node)

    def _take_weight(self, tensor: onnx.TensorProto, folder: Path) -> None:
        self._learn(tensor.name, helper.make_tensor_type_proto(tensor.data_type, tensor.dims))
        self.graph.fixed.add(tensor.name)
        if prod(tensor.dims) <= SMALL:
            self.graph.constants[tensor.name] = numpy_helper.to_array(tensor, str(folder))

    def _take_shape(self, node: onnx.NodeProto) -> None:
        shape = np.array(self.graph.shapes[node.input[0]], np.int64)
        start, end = (
            next((a.i for a in node.attribute if a.name == key), default)
            for key, default in (("start", 0), ("end", shape.size))
        )
        value = shape[start:end] if node.op_type == "Shape" else np.array(shape.prod())
        self._keep(node.output[0], value)
        self.graph.from_size.add(node.output[0])

    def _take_fixed(self, node: onnx.NodeProto) -> None:
        self.graph.fixed.update(node.output)
        if self.graph.from_size.intersection(node.input):
            self.graph.from_size.update(node.output)
        small = all(
            prod(self.graph.shapes.get(name, (SMALL + 1,))) <= SMALL for name in node.output
        )
        if small and all(name in self.graph.constants for name in node.input if name):
            for name, value in zip(node.output, self._evaluate(node), strict=False):
                self._keep(name, value)

    def _evaluate(self, node: onnx.NodeProto) -> Sequence[AnyArray]:
        """Return the values of a node whose inputs are all known."""
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            return [numpy_helper.to_array(node.attribute[0].t)]
        feeds = {name: self.graph.constants[name] for name in node.input if name}
        inputs = [helper.make_value_info(name, self.types[name]) for name in feeds]
        outputs = [helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name]
        graph = helper.make_graph([node], "one", inputs, outputs)
        model = helper.make_model_gen_version(graph, opset_imports=self.imports)
        values: Sequence[AnyArray] = ReferenceEvaluator(model).run(None, feeds)
        return [np.asarray(value) for value in values]

    def _keep(self, name: str, value: AnyArray) -> None:
        element = helper.np_dtype_to_tensor_dtype(value.dtype)
        self._learn(name, helper.make_tensor_type_proto(element, value.shape))
        self.graph.constants[name] = value
        self.graph.fixed.add(name)

    def _learn(self, name: str, kind: onnx.TypeProto) -> None:
        self.types[name] = kind
        tensor = kind.tensor_type
        if tensor.elem_type:
            self.graph.item_bytes[name] = helper.tensor_dtype_to_np_dtype(tensor.elem_type).itemsize
        if tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            self.graph.shapes[name] = tuple(int(dim.dim_value) for dim in tensor.shape.dim)

    def _infer(self, node: onnx.NodeProto) -> dict[str, onnx.TypeProto]:
        """Ask the operator's definition; nothing when it has none or refuses."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            schema = onnx.defs.get_schema(node.op_type, self.versions.get(domain, 1), domain)
            known = {name: self.types[name] for name in node.input if name in self.types}
            data = {
                name: numpy_helper.from_array(self.graph.constants[name], name)
                for name in node.input
                if name in self.graph.constants
            }
            inferred: dict[str, onnx.TypeProto] = infer_node_outputs(
                schema, node, known, data, opset_imports=self.imports, ir_version=self.ir_version
            )
        except (onnx.defs.SchemaError, InferenceError, KeyError):
            return {}
        return inferred
