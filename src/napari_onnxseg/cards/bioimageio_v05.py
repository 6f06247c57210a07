"""Tensors of bioimage.io descriptions 0.5: an object for each axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from napari_onnxseg.cards.bioimageio_context import Context
from napari_onnxseg.cards.bioimageio_node import Node, fault
from napari_onnxseg.cards.bioimageio_ops import steps_of
from napari_onnxseg.cards.bioimageio_parts import file_of
from napari_onnxseg.cards.bioimageio_rdf import Axis, Tensor
from napari_onnxseg.prepare.steps import Step

_KEYS = "id description axes data test_tensor sample_tensor"
_INPUT = (*_KEYS.split(), "preprocessing", "optional", "pad", "output_of")
_OUTPUT = (*_KEYS.split(), "postprocessing")
_AXIS: Mapping[str, tuple[str, ...]] = {
    "batch": ("size", "concatenable"),
    "channel": ("channel_names", "size"),
    "index": ("size", "concatenable"),
    "time": ("size", "unit", "scale", "concatenable", "halo"),
    "space": ("size", "unit", "scale", "concatenable", "halo"),
}
_VERSION = (0, 5)


def tensors(top: Node) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return inputs and outputs.

    Parameters
    ----------
    top : Node
        The description.

    Returns
    -------
    tuple of (tuple of Tensor)
        In their order.

    Raises
    ------
    ModelError
        Naming the entry that cannot be used.
    """
    nodes = top.nodes("inputs")
    names = tuple(node.text("id", "input") for node in nodes)
    inputs = [_tensor(node, "preprocessing", _INPUT, names) for node in nodes]
    outputs = [_tensor(node, "postprocessing", _OUTPUT, names) for node in top.nodes("outputs")]
    return tuple(inputs), tuple(outputs)


def _tensor(node: Node, key: str, known: tuple[str, ...], inputs: tuple[str, ...]) -> Tensor:
    node.only(*known)
    data = _data(node)
    span = data.given.get("range")
    ends = span if isinstance(span, list) and len(span) == 2 else [None, None]
    tensor = Tensor(
        name=node.text("id", "input" if key == "preprocessing" else "output"),
        axes=tuple(_axis(axis) for axis in node.nodes("axes")),
        dtype=data.text("type") or data.text("dtype") or _default_dtype(data),
        values=data.texts("values"),
        low=_end(ends[0]),
        high=_end(ends[1]),
        test=file_of(node.given.get("test_tensor")),
        sample=file_of(node.given.get("sample_tensor")),
        optional=node.given.get("optional") is True,
    )
    if len({axis.name for axis in tensor.axes}) < len(tensor.axes):
        raise fault(node.place("axes"), [a.name for a in tensor.axes], "each 'id' once is needed")
    context = Context(tensor, inputs, _VERSION)
    steps = steps_of(context, node.nodes(key))
    return replace(tensor, steps=_ended(steps, node.nodes(key), tensor), notes=tuple(context.notes))


def _ended(steps: tuple[Step, ...], nodes: tuple[Node, ...], tensor: Tensor) -> tuple[Step, ...]:
    """Add the cast to the type of the tensor that ends every chain."""
    last = nodes[-1].text("id") if nodes else "ensure_dtype"
    if last in ("ensure_dtype", "binarize") or tensor.dtype.startswith("float"):
        return steps
    return (*steps, Step("cast", dtype=tensor.dtype))


def _data(node: Node) -> Node:
    """Return what is said of the values; of a list with an entry a channel, the first."""
    data = node.given.get("data")
    if isinstance(data, list) and data:
        return Node(data[0], f"{node.where}.data.0")
    return node.node("data")


def _default_dtype(data: Node) -> str:
    return "uint8" if data.has("values") else "float32"


def _end(value: Any) -> float | None:
    """Return one end of a range; None where it is open."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e30:
        return None
    return float(value)


def _axis(node: Node) -> Axis:
    kind = node.required("type")
    if kind not in _AXIS:
        raise fault(node.place("type"), kind, f"known are {', '.join(_AXIS)}")
    node.only("type", "id", "description", *_AXIS[kind])
    names = node.texts("channel_names") if kind == "channel" else ()
    scale = node.number("scale")
    if scale is not None and not 1e-12 < scale < 1e12:
        raise fault(node.place("scale"), scale, "a number above 0 is needed")
    axis = Axis(
        name=node.text("id", "x" if kind == "space" else kind),
        kind=kind,  # type: ignore[arg-type]
        scale=scale or 1.0,
        unit=node.text("unit"),
        halo=node.whole("halo", 0) or 0,
        names=names,
        size=len(names) or None,
    )
    return axis if kind in ("batch", "channel") and not node.has("size") else _sized(axis, node)


def _sized(axis: Axis, node: Node) -> Axis:
    """Add the length: a number, steps from a least one, another axis, or open."""
    given = node.given.get("size")
    if axis.kind == "batch":
        return axis
    if not isinstance(given, Mapping):
        return replace(axis, size=node.whole("size"))
    size = node.node("size")
    if size.has("tensor_id"):
        size.only("tensor_id", "axis_id", "offset")
        return replace(axis, refers=(size.required("tensor_id"), size.required("axis_id")))
    size.only("min", "step", "max")
    return replace(axis, least=size.whole("min") or 1, step=size.whole("step", 0) or 0)
