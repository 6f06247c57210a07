"""Free batch and sides: sizes of the exporter's example are replaced by rules, where provable.

A copy is changed, then its shapes are inferred at the declared size and at a larger one whose
axes all grow by another factor. It is accepted only when every shape follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import onnx

from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.example import example
from napari_onnxseg.graph.fold import StaticGraph, fold
from napari_onnxseg.graph.hard_sizes import (
    hard_reshape,
    hard_sizes,
    makers_of,
    words,
)
from napari_onnxseg.graph.mend_reshape import follow_reshape, follow_shape
from napari_onnxseg.graph.mend_resize import follow_resizes
from napari_onnxseg.graph.probe import Probe
from napari_onnxseg.graph.receptive import analyse
from napari_onnxseg.graph.reshaping import lengths
from napari_onnxseg.graph.subject import Subject
from napari_onnxseg.graph.surgery import Stuck, forget_shapes

BATCH = 5
"""Pictures in the larger size."""

GROWTH = (2, 3, 5)
"""Factors by which the sides grow in the larger size."""

POOLS = ("MaxPool", "AveragePool", "LpPool")
NAMES = {"N": "batch", "D": "slices", "H": "rows", "W": "columns"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The declared size of an input and a larger one.

    Parameters
    ----------
    small, large : tuple of int
        Dims of the input.
    freed : str
        Axes that become free, such as ``"NHW"``.
    """

    small: tuple[int, ...]
    large: tuple[int, ...]
    freed: str


def freed(subject: Subject, batch: bool, sides: bool) -> onnx.ModelProto:
    """Return a copy of a model whose batch or sides are free.

    Parameters
    ----------
    subject : Subject
        The model.
    batch, sides : bool
        What to free.

    Returns
    -------
    onnx.ModelProto
        The copy; it gives the same answer at the declared size.

    Raises
    ------
    Stuck
        Naming the operator that has a size of its own, or other reason.
    """
    if subject.probe is None or subject.view is None:
        raise Stuck("the way of the picture through the network is not known")
    model = onnx.ModelProto()
    model.CopyFrom(subject.model)
    forget_shapes(model.graph)
    sizes = _sizes(subject, subject.probe, batch, sides)
    names = [tensor.name for tensor in subject.facts.outputs]
    graph = fold(model, {subject.probe.input: sizes.small}, names, subject.path.parent)
    _refuse_whole_pools(graph, sizes)
    follow_resizes(model.graph, graph)
    _follow_reshapes(model, subject, sizes, names)
    _verify(model, subject, sizes, names)
    _declare(model, subject, sizes, names)
    return model


def needed(subject: Subject) -> tuple[bool, bool]:
    """Tell whether the batch and whether the sides are bound to a size.

    Parameters
    ----------
    subject : Subject
        The model.

    Returns
    -------
    tuple of bool
        Batch, sides.
    """
    probe, graph = subject.probe, subject.graph
    if probe is None or graph is None:
        return False, False
    batch = probe.dims[probe.layout.index("N")] is not None
    return batch, bool(subject.fixed_sides or hard_sizes(graph, makers_of(subject.model.graph)))


def _sizes(subject: Subject, probe: Probe, batch: bool, sides: bool) -> Sizes:
    """Return the size of the exporter's example, and a larger one."""
    bound = bool(subject.fixed_sides)
    small = example(subject, probe) if sides and not bound else _declared(subject, probe)
    large = list(small)
    for axis, growth in zip(probe.axes, GROWTH, strict=False):
        large[axis] *= growth if sides else 1
    position = probe.layout.index("N")
    large[position] = BATCH if batch else small[position]
    letters = ("N" if batch else "") + ("".join(probe.layout[a] for a in probe.axes) * sides)
    return Sizes(small, tuple(large), letters)


def _declared(subject: Subject, probe: Probe) -> tuple[int, ...]:
    """Return the declared dims, free sides as they were looked at."""
    shapes = subject.graph.shapes if subject.graph else {}
    return shapes.get(probe.input) or probe.sized([64] * len(probe.axes))


def _refuse_whole_pools(graph: StaticGraph, sizes: Sizes) -> None:
    """Refuse windows as large as the map: all may be meant, or of that many pixels."""
    for node in graph.nodes:
        if node.op_type in POOLS and len(sizes.freed) > 1:
            window = next((list(a.ints) for a in node.attribute if a.name == "kernel_shape"), [])
            if list(graph.shapes.get(node.input[0], ())[2:]) == window and prod(window) > 1:
                raise Stuck(f"{words(node)} covers the whole picture at the declared size")


def _follow_reshapes(
    model: onnx.ModelProto, subject: Subject, sizes: Sizes, names: Sequence[str]
) -> None:
    """Let reshapes take their lengths from the array before, one after the other."""
    done: set[str] = set()
    while True:
        small, large = _both(model, subject, sizes, names)
        hard = [n for n in small.nodes if hard_reshape(small, n) and n.output[0] not in done]
        changed = False
        for node in hard:
            if changed or node.input[0] not in large.shapes:
                break
            done.add(node.output[0])
            changed = _follow_one(model.graph, node, small, large)
        if not changed:
            return


def _follow_one(
    changed: onnx.GraphProto, node: onnx.NodeProto, small: StaticGraph, large: StaticGraph
) -> bool:
    """Rewrite one reshape unless it follows already; tell whether it was."""
    before, after = (small.shapes.get(name, ()) for name in (node.input[0], node.output[0]))
    grown = large.shapes[node.input[0]]
    if len(before) != len(grown) or not after:
        raise Stuck(f"{words(node)} has a size that the graph does not tell")
    moving = {axis for axis, length in enumerate(before) if grown[axis] != length}
    try:
        rule = lengths(before, after, moving)
    except Stuck as stuck:
        if follow_shape(changed, node, small):
            return True
        raise Stuck(f"{words(node)} {stuck}") from None
    if large.shapes.get(node.output[0]) == tuple(length.of(grown) for length in rule):
        return False
    follow_reshape(changed, node, rule)
    return True


def _both(
    model: onnx.ModelProto, subject: Subject, sizes: Sizes, names: Sequence[str]
) -> tuple[StaticGraph, StaticGraph]:
    """Return the shapes at the declared size and at the larger one."""
    source = subject.source.name if subject.source else ""
    small, large = (
        fold(model, {source: dims}, names, subject.path.parent)
        for dims in (sizes.small, sizes.large)
    )
    return small, large


def _verify(model: onnx.ModelProto, subject: Subject, sizes: Sizes, names: Sequence[str]) -> None:
    """Raise unless all shapes follow the size of the input."""
    source = subject.source.name if subject.source else ""
    small, large = _both(model, subject, sizes, names)
    before = fold(subject.model, {source: sizes.small}, names, subject.path.parent)
    for node in large.nodes:
        if any(name and name not in large.shapes for name in node.output):
            raise Stuck(f"{words(node)} does not follow the size of the input")
    if any(before.shapes.get(name) != small.shapes.get(name) for name in names):
        raise Stuck("the output would have another shape")
    for name in names:
        grown = sum(a != b for a, b in zip(small.shapes[name], large.shapes[name], strict=True))
        if name == (subject.target.name if subject.target else "") and grown != len(sizes.freed):
            raise Stuck(f"the output '{name}' does not follow the size of the input")
    _refuse_breakers(model, subject, sizes)


def _refuse_breakers(model: onnx.ModelProto, subject: Subject, sizes: Sizes) -> None:
    """Raise when the copy is bound to a place in a way that the original was not."""
    probe, view = subject.probe, subject.view
    if probe is None or view is None:
        return
    pairs = zip(probe.layout, probe.dims, strict=True)
    dims = tuple(None if axis in sizes.freed else length for axis, length in pairs)
    try:
        seen = analyse(model, replace(probe, dims=dims), subject.path.parent)
    except ModelError as error:
        raise Stuck(str(error)) from error
    known = {words.split(" (")[0] for words in view.breakers}
    new = [words for words in seen.breakers if words.split(" (")[0] not in known]
    if new:
        raise Stuck(new[0])


def _declare(model: onnx.ModelProto, subject: Subject, sizes: Sizes, names: Sequence[str]) -> None:
    """Write the free axes into the declarations of inputs and outputs."""
    probe = subject.probe
    if probe is None:
        return
    small, large = _both(model, subject, sizes, names)
    named: dict[str, int] = {}
    source = next(info for info in model.graph.input if info.name == probe.input)
    for axis, letter in enumerate(probe.layout):
        if letter in sizes.freed:
            dim = source.type.tensor_type.shape.dim[axis]
            dim.dim_param = dim.dim_param or NAMES[letter]
            named[dim.dim_param] = sizes.large[axis]
    for info in model.graph.output:
        shapes = (small.shapes[info.name], large.shapes[info.name])
        _declare_output(info, shapes, named)


def _declare_output(
    info: onnx.ValueInfoProto,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    known: dict[str, int],
) -> None:
    """Name the axes of an output that grow; those as long as an input's alike."""
    small, large = shapes
    dims = info.type.tensor_type.shape.dim
    if len(dims) != len(small):
        info.type.tensor_type.ClearField("shape")
        return
    for axis, dim in enumerate(dims):
        if small[axis] == large[axis]:
            continue
        same = [name for name, length in known.items() if length == large[axis]]
        dim.dim_param = same[0] if same else f"{info.name}_{axis}"
