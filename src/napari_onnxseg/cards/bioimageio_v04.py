"""Tensors of bioimage.io descriptions 0.3 and 0.4: axes are letters, shapes are lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from napari_onnxseg.cards.bioimageio_context import Context
from napari_onnxseg.cards.bioimageio_node import LONGEST, Node, fault
from napari_onnxseg.cards.bioimageio_ops import steps_of
from napari_onnxseg.cards.bioimageio_parts import file_of
from napari_onnxseg.cards.bioimageio_rdf import Axis, AxisKind, Tensor

_NAMES: Mapping[str, tuple[str, AxisKind]] = {
    "b": ("batch", "batch"),
    "c": ("channel", "channel"),
    "i": ("index", "index"),
    "t": ("time", "time"),
    **{letter: (letter, "space") for letter in "zyx"},
}
_KEYS = "name description axes data_type data_range shape"
_INPUT = (*_KEYS.split(), "preprocessing")
_OUTPUT = (*_KEYS.split(), "halo", "postprocessing")
_VERSION = (0, 4)

LARGEST = 1e6
"""How many times as long as the input an output can be."""


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
    nodes, results = top.nodes("inputs"), top.nodes("outputs")
    names = tuple(node.required("name") for node in nodes)
    inputs = [_tensor(n, "preprocessing", _INPUT, names) for n in nodes]
    outputs = [_tensor(n, "postprocessing", _OUTPUT, names) for n in results]
    return _with_files(top, inputs, "inputs"), _with_files(top, outputs, "outputs")


def _with_files(top: Node, found: list[Tensor], side: str) -> tuple[Tensor, ...]:
    """Give each tensor its examples."""
    tests, samples = (_listed(top.given.get(f"{kind}_{side}")) for kind in ("test", "sample"))
    padded = [*tests, *[None] * len(found)], [*samples, *[None] * len(found)]
    return tuple(
        replace(tensor, test=file_of(padded[0][i]), sample=file_of(padded[1][i]))
        for i, tensor in enumerate(found)
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tensor(node: Node, key: str, known: tuple[str, ...], inputs: tuple[str, ...]) -> Tensor:
    node.only(*known)
    span = node.given.get("data_range")
    ends = span if isinstance(span, list) and len(span) == 2 else [None, None]
    tensor = Tensor(
        name=node.required("name"),
        axes=_axes(node),
        dtype=node.text("data_type", "float32"),
        low=_end(ends[0]),
        high=_end(ends[1]),
    )
    context = Context(tensor, inputs, _VERSION)
    steps = steps_of(context, node.nodes(key))
    return replace(tensor, steps=steps, notes=tuple(context.notes))


def _end(value: Any) -> float | None:
    """Return one end of a range; None where it is open."""
    if not isinstance(value, (int, float)) or abs(value) > 1e30:
        return None
    return float(value)


def _axes(node: Node) -> tuple[Axis, ...]:
    letters = node.required("axes")
    if set(letters) - set(_NAMES) or len(set(letters)) < len(letters):
        raise fault(
            node.place("axes"), letters, f"letters of {''.join(_NAMES)}, each once, are needed"
        )
    axes = [Axis(*_NAMES[letter]) for letter in letters]
    shape = node.given.get("shape")
    if isinstance(shape, list):
        sizes = _lengths(node.numbers("shape"), node, "shape", axes)
        axes = [replace(a, size=int(n)) for a, n in zip(axes, sizes, strict=True)]
    elif isinstance(shape, Mapping) and "min" in shape:
        axes = _parametrised(node.node("shape"), axes)
    elif isinstance(shape, Mapping):
        axes = _referring(node.node("shape"), axes)
    else:
        raise fault(node.place("shape"), shape, "a list or an object is needed")
    halo = _lengths(node.numbers("halo") or (0.0,) * len(axes), node, "halo", axes)
    return tuple(_halved(a, int(n)) for a, n in zip(axes, halo, strict=True))


def _halved(axis: Axis, halo: int) -> Axis:
    """Return an axis with its halo, which only space has; a batch has any length."""
    if axis.kind == "batch":
        return replace(axis, size=None, least=1, step=0)
    return replace(axis, halo=max(halo, 0)) if axis.kind == "space" else axis


def _lengths(
    numbers: tuple[float, ...], node: Node, key: str, axes: list[Axis]
) -> tuple[float, ...]:
    if len(numbers) != len(axes) or max(map(abs, numbers)) > LONGEST:
        needed = f"{len(axes)} numbers up to {LONGEST} are needed"
        raise fault(node.place(key), node.given.get(key), needed)
    return numbers


def _parametrised(shape: Node, axes: list[Axis]) -> list[Axis]:
    shape.only("min", "step")
    least = _lengths(shape.numbers("min"), shape, "min", axes)
    step = _lengths(shape.numbers("step"), shape, "step", axes)
    return [
        replace(axis, size=None if by else int(n), least=max(int(n), 1), step=int(by))
        for axis, n, by in zip(axes, least, step, strict=True)
    ]


def _referring(shape: Node, axes: list[Axis]) -> list[Axis]:
    """Read lengths that follow an input; ``reference_input`` is what 0.3 calls it."""
    shape.only("reference_tensor", "reference_input", "scale", "offset")
    name = shape.text("reference_tensor") or shape.required("reference_input")
    scales, count = shape.given.get("scale"), len(axes)
    if not isinstance(scales, list) or len(scales) != count:
        raise fault(shape.place("scale"), scales, f"{count} numbers are needed")
    plain = Node({"scale": [0 if entry is None else entry for entry in scales]}, shape.where)
    if any(scale and not 1 / LARGEST <= scale <= LARGEST for scale in plain.numbers("scale")):
        raise fault(shape.place("scale"), scales, "numbers of usual size are needed")
    offsets = shape.numbers("offset") or (0.0,) * count
    pairs = zip(
        axes,
        plain.numbers("scale"),
        _lengths(offsets, shape, "offset", axes),
        strict=True,
    )
    return [_referred(axis, name, scale, offset) for axis, scale, offset in pairs]


def _referred(axis: Axis, name: str, scale: float, offset: float) -> Axis:
    if not scale:
        return replace(axis, size=max(int(2 * offset), 1))
    tensor, _, other = name.partition(".")
    refers = (tensor, other or axis.name)
    return replace(axis, refers=refers, scale=1 / scale)
