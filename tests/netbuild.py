"""Write small ONNX graphs by hand: nodes are appended, weights are named for you."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Dims = Sequence[int | str | None]

OPSET = 17
IR_VERSION = 8
ELEMENT = {
    "bool": TensorProto.BOOL,
    "uint8": TensorProto.UINT8,
    "int64": TensorProto.INT64,
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
}


class Net:
    """A graph under construction; `add` returns the name of the new tensor."""

    def __init__(self, dims: Dims, dtype: str = "float32", *, opset: int = OPSET, seed: int = 0):
        self.input = helper.make_tensor_value_info("input", ELEMENT[dtype], list(dims))
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(seed)

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(op, list(inputs), names, f"{op}_{len(self.nodes)}", **attributes)
        self.nodes.append(node)
        return names[0]

    def constant(self, value: Any, dtype: str = "float32") -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def conv(self, x: str, weight: Any, bias: Any = None, **attributes: Any) -> str:
        """Convolve; the same padding unless pads are given."""
        weight = np.asarray(weight, np.float32)
        dilations = attributes.get("dilations", [1] * (weight.ndim - 2))
        reach = [d * (k - 1) for k, d in zip(weight.shape[2:], dilations, strict=True)]
        same = [r // 2 for r in reach] + [r - r // 2 for r in reach]
        attributes.setdefault("pads", same)
        names = [x, self.constant(weight)] + ([] if bias is None else [self.constant(bias)])
        return self.add("Conv", *names, **attributes)

    def random_conv(self, x: str, inputs: int, outputs: int, kernel: int, **more: Any) -> str:
        """Convolve with random weights of a size that keeps activations near one."""
        spread = (2 / (inputs * kernel * kernel)) ** 0.5
        shape = (outputs, inputs, kernel, kernel)
        bias = self.random.normal(0, 0.1, outputs)
        return self.conv(x, self.random.normal(0, spread, shape), bias, **more)

    def resize(self, x: str, factor: float, mode: str, **attributes: Any) -> str:
        """Enlarge or shrink (N, C, Y, X) by a factor."""
        if mode == "nearest":
            attributes.setdefault("coordinate_transformation_mode", "asymmetric")
            attributes.setdefault("nearest_mode", "floor")
        scales = self.constant([1.0, 1.0, factor, factor])
        return self.add("Resize", x, "", scales, mode=mode, **attributes)

    def model(self, outputs: Mapping[str, tuple[str, Dims]]) -> onnx.ModelProto:
        """Finish: ``outputs`` maps a tensor to its element type and declared dims."""
        infos = [
            helper.make_tensor_value_info(name, ELEMENT[dtype], list(dims))
            for name, (dtype, dims) in outputs.items()
        ]
        graph = helper.make_graph(self.nodes, "toy", [self.input], infos, self.weights)
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)


def save(model: onnx.ModelProto, path: Path, card: Mapping[str, Any] | None = None) -> Path:
    """Write the model, and a card beside it when its own keys are given."""
    data = model.SerializeToString()
    path.write_bytes(data)
    if card is not None:
        content = {
            "format": 1,
            "name": path.stem,
            "task": "semantic",
            "sha256": hashlib.sha256(data).hexdigest(),
            "input": {"normalization": {"method": "none"}},
        } | dict(card)
        path.with_suffix(".json").write_text(json.dumps(content), encoding="utf-8")
    return path
