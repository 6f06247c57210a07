"""Findings about the file: versions, operators nobody knows, side files and weights."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import onnx
from onnx import TensorProto, helper

from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph import advice
from napari_onnxseg.graph.findings import Finding, listed
from napari_onnxseg.graph.load import read_model
from napari_onnxseg.graph.subject import Limits, Subject

STANDARD = ("", "ai.onnx", "ai.onnx.ml")
EXTENDED = ("com.microsoft", "com.ms.internal.nhwc", "ai.onnx.preview.training")
HUGE_BYTES = 256 << 20
"""A single constant above this is rather a table or a picture than weights."""

WITHOUT_CUDA: dict[str, tuple[int, tuple[int, int] | None]] = {
    "ConvTranspose": (22, (1, 25)),
    "MaxPool": (22, None),
    "GlobalAveragePool": (22, None),
    "GlobalMaxPool": (22, None),
    "Pad": (19, None),
}
"""Operator set since which CUDA builds had no kernel, and the release that brought one.

References
----------
https://github.com/microsoft/onnxruntime/issues/26393, issue 27729, pull request 27710.
"""


def about_versions(subject: Subject, limits: Limits | None) -> Iterator[Finding]:
    """Compare the versions of the file with those of the installed runtime."""
    facts = subject.facts
    if limits is None:
        return
    if facts.opset > limits.opset:
        yield Finding(
            "error",
            "opset-too-new",
            f"The model uses operator set {facts.opset}; the installed onnxruntime knows up to "
            f"{limits.opset}.",
            "The model cannot be loaded.",
            advice.VERSION,
            mendable=facts.opset <= onnx.defs.onnx_opset_version(),
        )
    if facts.ir_version > limits.ir_version:
        yield Finding(
            "error",
            "ir-too-new",
            f"The file has format version {facts.ir_version}; the installed onnxruntime reads up "
            f"to {limits.ir_version}.",
            "The model cannot be loaded.",
            advice.VERSION,
            mendable=True,
        )


def about_kernels(subject: Subject, limits: Limits | None) -> Iterator[Finding]:
    """Name operators that a GPU may leave to the processor."""
    release = limits.release if limits else (0, 0)
    used = {node.op_type for node in subject.nodes if node.domain in STANDARD}
    sure, unsure = [], []
    for op_type, (opset, cured) in WITHOUT_CUDA.items():
        if op_type in used and subject.facts.opset >= opset:
            if cured is None:
                unsure.append(f"{op_type}-{opset}")
            elif limits and release < cured:
                sure.append(f"{op_type}-{opset}")
    if any(_unequal(node) for node in subject.nodes):
        unsure.append("ConvTranspose with unequal padding")
    if sure or unsure:
        yield Finding(
            "warning" if sure else "info",
            "no-cuda-kernel",
            f"{listed(sure + unsure)} {'has' if sure else 'may have'} no CUDA kernel in this "
            "release of onnxruntime.",
            "On an NVIDIA GPU these operators run on the processor, and every tile is copied "
            "forth and back; the picture is right, but slow.",
            advice.VERSION,
            mendable=not any("Pad" in name or "padding" in name for name in sure + unsure),
        )


def about_form(subject: Subject) -> Iterator[Finding]:
    """Tell when the graph cannot be followed."""
    if subject.malformed:
        yield Finding(
            "error",
            "malformed",
            subject.malformed,
            "The model cannot be run, or not be relied on.",
            advice.STANDARD,
        )


def about_operators(subject: Subject) -> Iterator[Finding]:
    """Name operators that no runtime of this plugin can know."""
    custom = [n for n in subject.nodes if n.domain not in STANDARD + EXTENDED]
    if custom:
        yield Finding(
            "error",
            "custom-operator",
            "The model uses operators outside the standard: "
            f"{listed(f'{n.domain}.{n.op_type}' for n in custom)}.",
            "They need code that does not come with the model, and foreign code is never loaded; "
            "the model cannot run.",
            advice.STANDARD,
        )
    unknown = [n.op_type for n in subject.nodes if _unknown(n, subject.facts.opset)]
    if unknown:
        yield Finding(
            "error",
            "unknown-operator",
            f"Operator set {subject.facts.opset} has no {listed(unknown)}.",
            "The model cannot be loaded.",
            advice.VERSION,
        )


def about_side_files(subject: Subject) -> Iterator[Finding]:
    """Look for the files that hold the weights."""
    names = subject.facts.external_data
    if not names:
        return
    try:
        read_model(subject.path)
    except ModelError as error:
        yield Finding(
            "error",
            _side_file_code(str(error)),
            str(error),
            "The model cannot be loaded without its weights.",
            advice.ONE_FILE,
        )
        return
    yield Finding(
        "info",
        "side-files",
        f"Weights lie in {listed(names)} beside the model.",
        "Both files must be copied and renamed together.",
        advice.ONE_FILE,
        mendable=True,
    )


def _side_file_code(message: str) -> str:
    """Return the short name of what is wrong with a side file."""
    if "outside" in message:
        return "side-file-outside"
    return "side-file-short" if "cut short" in message else "side-file-missing"


def about_weights(subject: Subject) -> Iterator[Finding]:
    """Count the weights, and name the odd ones."""
    weights = subject.model.graph.initializer
    count = sum(prod(tensor.dims) for tensor in weights)
    size = sum(map(bytes_of, weights))
    yield Finding(
        "info",
        "size",
        f"{count:,} parameters, {size / 1e6:,.1f} MB.",
        "This much memory is taken once, whatever the size of the picture.",
    )
    double = [tensor.name for tensor in weights if tensor.data_type == TensorProto.DOUBLE]
    if double:
        yield Finding(
            "warning",
            "float64-weights",
            f"{len(double)} tensors hold 64-bit weights ({listed(double)}).",
            "The runtime has no 64-bit convolutions; the model may not load, and is slow where "
            "it does.",
            advice.FLOAT32,
            mendable=True,
        )
    yield from _huge(subject)


def bytes_of(tensor: onnx.TensorProto) -> int:
    """Return the bytes that a tensor takes once loaded; 0 when its type is unknown."""
    if tensor.data_type not in TensorProto.DataType.values()[1:]:
        return 0
    size: int = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    count: int = prod(tensor.dims)
    return count * size


def _unequal(node: onnx.NodeProto) -> bool:
    """Tell whether a transposed convolution pads one side more than the other."""
    pads = next((list(a.ints) for a in node.attribute if a.name == "pads"), [])
    half = len(pads) // 2
    return node.op_type == "ConvTranspose" and pads[:half] != pads[half:]


def _unknown(node: onnx.NodeProto, opset: int) -> bool:
    """Tell whether the standard of that version lacks an operator."""
    newest = onnx.defs.onnx_opset_version()
    if node.domain not in ("", "ai.onnx") or not 0 < opset <= newest:
        return False
    try:
        onnx.defs.get_schema(node.op_type, opset, "")
    except onnx.defs.SchemaError:
        return True
    return False


def _huge(subject: Subject) -> Iterator[Finding]:
    """Name constants larger than any weights: stored ones, and ones made while running."""
    found = [t.name for t in subject.model.graph.initializer if bytes_of(t) > HUGE_BYTES]
    if subject.graph:
        graph = subject.graph
        found += [
            name
            for name in sorted(graph.fixed)
            if prod(graph.shapes.get(name, ())) * graph.item_bytes.get(name, 4) > HUGE_BYTES
        ]
    if found:
        yield Finding(
            "warning",
            "huge-constant",
            f"Constants of more than {HUGE_BYTES >> 20} MB: {listed(found)}.",
            "Each copy of the model takes this memory before it sees a picture.",
            advice.FREE_SIZE,
        )
