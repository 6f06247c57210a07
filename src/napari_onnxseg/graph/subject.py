"""A model under examination: its file, the tensors that matter, and its shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import onnx
from onnx import inliner

from napari_onnxseg.errors import ChoiceError, ModelError
from napari_onnxseg.graph.fold import StaticGraph, fold
from napari_onnxseg.graph.inspect import GraphFacts, TensorFacts, inspect
from napari_onnxseg.graph.layout import LAYOUTS, convolution_evidence, plausible_layouts
from napari_onnxseg.graph.load import parse_model, read_model, side_files
from napari_onnxseg.graph.probe import PROBES, Probe
from napari_onnxseg.graph.receptive import Receptive, analyse

LONGEST = 200
"""Characters of a foreign message that are shown."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the installed runtime can read.

    Parameters
    ----------
    opset, ir_version : int
        Newest version of the standard operators and of the file format.
    release : tuple of int
        Version of the runtime, major and minor.
    """

    opset: int
    ir_version: int
    release: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person says about a model whose graph leaves it open.

    Parameters
    ----------
    layout : str
        Axes of the input, such as ``"NHWC"``, or nothing.
    output : str
        The output of interest, or nothing.

    Raises
    ------
    ChoiceError
        When there is no such layout.
    """

    layout: str = ""
    output: str = ""

    def __post_init__(self) -> None:
        if self.layout and self.layout not in LAYOUTS.values():
            raise ChoiceError(
                f"The layout is {self.layout!r}; allowed are {', '.join(LAYOUTS.values())}."
            )


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of a model once it is read.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    model : onnx.ModelProto
        The graph, its functions inlined; weights of side files are not loaded.
    facts : GraphFacts
        Its declarations.
    source, target : TensorFacts or None
        The picture and the map, where there is one of each.
    probe : Probe or None
        The tensors, with the layout of the picture, when that is known.
    graph : StaticGraph or None
        All shapes at one size.
    view : Receptive or None
        Tiling facts.
    trouble : str
        Why there is no view, in a sentence.
    malformed : str
        Why the graph cannot be followed at all, in a sentence.
    """

    path: Path
    model: onnx.ModelProto
    facts: GraphFacts
    source: TensorFacts | None = None
    target: TensorFacts | None = None
    probe: Probe | None = None
    graph: StaticGraph | None = None
    view: Receptive | None = None
    trouble: str = ""
    malformed: str = ""

    @property
    def nodes(self) -> Iterator[onnx.NodeProto]:
        """All operators, those of branches too."""
        return every_node(self.model.graph)

    @property
    def fixed_sides(self) -> tuple[int, ...]:
        """Lengths of the spatial axes of the input that are fixed."""
        if self.probe is None:
            return ()
        return tuple(d for d in (self.probe.dims[axis] for axis in self.probe.axes) if d)

    @property
    def channel_axis(self) -> int | None:
        """Axis of the output that holds classes; None where there is none, or it is unknown."""
        if self.view is None or not self.view.output_dims:
            return None
        rest = set(range(1, len(self.view.output_dims))) - set(self.view.output_axes)
        return min(rest) if len(rest) == 1 else None


def read_subject(path: Path, wanted: Wanted | None = None) -> Subject:
    """Read a model file for examination.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    wanted : Wanted, optional
        What the person says about it.

    Returns
    -------
    Subject
        What is known of it.

    Raises
    ------
    ModelError
        When the file is missing or is no ONNX model.
    """
    return subject_of(parse_model(path), path, wanted)


def subject_of(model: onnx.ModelProto, path: Path, wanted: Wanted | None = None) -> Subject:
    """Examine a model that is already read.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    path : Path
        Its file, beside which its side files lie.
    wanted : Wanted, optional
        What the person says about it.

    Returns
    -------
    Subject
        What is known of it.

    Raises
    ------
    ModelError
        When its declarations cannot be read.
    """
    wanted = wanted or Wanted()
    if model.functions:
        model = inliner.inline_local_functions(model)
    facts = _declarations(model)
    source = facts.inputs[0] if len(facts.inputs) == 1 else None
    target = _target(facts, wanted.output, len(source.dims) if source else 4)
    probe = _probe(model.graph, source, target, wanted.layout) if source and target else None
    found = Subject(path, model, facts, source, target, probe)
    if probe is None or not _complete(model, path):
        return found
    try:
        return _measured(found, probe)
    except Exception as error:  # a graph that breaks the rules fails in as many ways as there are
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
        return replace(found, malformed=f"The graph breaks the rules of the format ({reason}).")


def every_node(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield all operators of a graph and of its branches."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from every_node(inner)


def _declarations(model: onnx.ModelProto) -> GraphFacts:
    try:
        _require_text(model.graph)
        return inspect(model)
    except (KeyError, UnicodeDecodeError) as error:
        raise ModelError(
            f"The declarations of the model are damaged ({error}); export or download it again."
        ) from error


def _require_text(graph: onnx.GraphProto) -> None:
    """Raise when a name is no text, as in a file that was damaged."""
    for node in every_node(graph):
        for name in (node.op_type, node.domain, *node.input, *node.output):
            if not isinstance(name, str):
                name.decode()
    for tensor in graph.initializer:
        if not isinstance(tensor.name, str):
            tensor.name.decode()


def _target(facts: GraphFacts, name: str, rank: int) -> TensorFacts | None:
    """Return the output asked for, or the first that can be a map."""
    if name:
        for tensor in facts.outputs:
            if tensor.name == name:
                return tensor
        names = ", ".join(tensor.name for tensor in facts.outputs)
        raise ModelError(f"The model has no output '{name}'; it has {names}.")
    maps = [tensor for tensor in facts.outputs if len(tensor.dims) in (rank, rank - 1)]
    return (maps or facts.outputs)[0]


def _probe(
    graph: onnx.GraphProto, source: TensorFacts, target: TensorFacts, layout: str
) -> Probe | None:
    """Return what to analyse, when the layout of the input is known."""
    rank = len(source.dims)
    if rank not in (4, 5):
        return None
    seen = convolution_evidence(graph, source.name, rank)
    shapes = plausible_layouts(source.dims)
    layout = (seen.layout if seen else "") or (shapes[0] if len(shapes) == 1 else "") or layout
    if layout not in LAYOUTS.values() or len(layout) != rank:
        return None
    dims = [dim if isinstance(dim, int) else None for dim in source.dims]
    channel = layout.index("C")
    dims[channel] = dims[channel] or (seen.channels if seen else None)
    return Probe(source.name, target.name, layout, tuple(dims))


def _complete(model: onnx.ModelProto, path: Path) -> bool:
    """Tell whether all side files are where they may be, and long enough."""
    if not side_files(model):
        return True
    try:
        read_model(path)
    except ModelError:
        return False
    return True


def _measured(found: Subject, probe: Probe) -> Subject:
    """Add shapes and tiling facts."""
    view, trouble = None, ""
    try:
        view = analyse(found.model, probe, found.path.parent)
    except ModelError as error:
        trouble = str(error)
    names = [tensor.name for tensor in found.facts.outputs]
    dims = {probe.input: probe.sized(_sides(probe, view))}
    graph = fold(found.model, dims, names, found.path.parent)
    return replace(found, graph=graph, view=view, trouble=trouble)


def _sides(probe: Probe, view: Receptive | None) -> list[int]:
    """Return sides that the network divides evenly, for those that are free."""
    multiples = view.multiple if view else (1,) * len(probe.axes)
    even = (side for side in PROBES if all(side % multiple == 0 for multiple in multiples))
    side = next(even, PROBES[0])
    return [given or side for given in (view.sides if view else (None,) * len(probe.axes))]
