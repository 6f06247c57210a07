"""Follow the picture forward through a graph, and an output pixel's view back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
import onnx

from napari_onnxseg.graph.fold import StaticGraph
from napari_onnxseg.graph.operator import Breaks, Local, Operator
from napari_onnxseg.graph.reach import HERE, Indices, Reach
from napari_onnxseg.graph.rules import examine

Span = tuple[Indices, Indices]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the picture lies in a tensor.

    Parameters
    ----------
    axes : tuple of int
        The spatial axes.
    scale : tuple of Fraction
        Input pixels per element, by axis.
    """

    axes: tuple[int, ...]
    scale: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """One tensor computed from another.

    Parameters
    ----------
    source, target : str
        Names of the tensors.
    reach : tuple of Reach
        By spatial axis.
    """

    source: str
    target: str
    reach: tuple[Reach, ...]


@dataclass(slots=True)
class Trail:
    """The picture on its way through the graph.

    Parameters
    ----------
    graph : StaticGraph
        The graph at one input size.
    free : bool
        Whether the sides of the input are free.
    places : dict of str to Place
        Where the picture lies in each tensor that carries it.
    links : list of Link
        In the order of computation.
    findings : dict of str to int
        What breaks exact tiling, in words, and how often.
    """

    graph: StaticGraph
    free: bool
    places: dict[str, Place] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    findings: dict[str, int] = field(default_factory=dict)

    @property
    def breakers(self) -> tuple[str, ...]:
        """The findings as phrases."""
        return tuple(
            words + (f" ({count} times)" if count > 1 else "")
            for words, count in self.findings.items()
        )

    def multiple(self, axis: int) -> int:
        """Return the least common multiple of all scales of one axis."""
        return lcm(*(place.scale[axis].numerator for place in self.places.values()))

    def note(self, node: onnx.NodeProto, why: str) -> None:
        """Count a finding."""
        words = f"{node.op_type} {why}"
        self.findings[words] = self.findings.get(words, 0) + 1


def follow(graph: StaticGraph, source: str, axes: tuple[int, ...], free: bool) -> Trail:
    """Follow the picture from the input through every operator.

    Parameters
    ----------
    graph : StaticGraph
        The graph at one input size.
    source : str
        Name of the input.
    axes : tuple of int
        Spatial axes of the input.
    free : bool
        Whether its sides are free.

    Returns
    -------
    Trail
        Places, links and findings.
    """
    trail = Trail(graph, free)
    trail.places[source] = Place(axes, (Fraction(1),) * len(axes))
    sides = [graph.shapes[source][axis] for axis in axes]
    for node in graph.nodes:
        carriers = [name for name in node.input if name in trail.places]
        if carriers:
            _step(trail, node, carriers)
        else:
            trail.note(node, "works on what no longer is a picture")
        _adopt(trail, node, axes, sides)
    return trail


def spans(
    trail: Trail, output: str, low: list[Indices], high: list[Indices]
) -> Iterator[tuple[int, str, Span]]:
    """Walk back from intervals of the output to every tensor they look at.

    Parameters
    ----------
    trail : Trail
        The graph, followed.
    output : str
        Where to start.
    low, high : list of numpy.ndarray
        (P,) int64, first and last element of each interval, by spatial axis.

    Yields
    ------
    tuple of int, str and pair of numpy.ndarray
        Spatial axis, name of the tensor, first and last element needed there.
    """
    for axis, start in enumerate(zip(low, high, strict=True)):
        seen: dict[str, Span] = {output: start}
        for link in reversed(trail.links):
            if link.target in seen:
                _widen(seen, link.source, link.reach[axis].of(*seen[link.target]))
        yield from ((axis, name, span) for name, span in seen.items())


def _widen(seen: dict[str, Span], name: str, span: Span) -> None:
    """Add an interval to what is needed of a tensor."""
    if name in seen:
        span = (np.minimum(seen[name][0], span[0]), np.maximum(seen[name][1], span[1]))
    seen[name] = span


def _step(trail: Trail, node: onnx.NodeProto, carriers: list[str]) -> None:
    """Take one operator that sees the picture."""
    first = trail.places[carriers[0]]
    operator = Operator(node, trail.graph, first.axes, carriers[0], trail.free)
    try:
        local: Local | None = examine(operator)
    except Breaks as found:
        trail.note(node, str(found))
        local = _rough(operator)
    if local is None:
        return
    if any(_mapped(trail.places[name], local) != _mapped(first, local) for name in carriers):
        trail.note(node, "joins maps of different resolution")
    for name in node.output:
        if name and _carries(trail.graph, name, local.axes):
            trail.places[name] = _mapped(first, local)
            trail.links += [Link(source, name, local.reach) for source in dict.fromkeys(carriers)]


def _mapped(place: Place, local: Local) -> Place:
    scale = tuple(s * r.scale for s, r in zip(place.scale, local.reach, strict=True))
    return Place(local.axes, scale)


def _carries(graph: StaticGraph, name: str, axes: tuple[int, ...]) -> bool:
    """Tell whether a tensor still has the picture's axes, more than one element long."""
    shape = graph.shapes.get(name)
    return shape is None or all(axis < len(shape) and shape[axis] > 1 for axis in axes)


def _rough(operator: Operator) -> Local | None:
    """Guess where the picture goes behind an operator that breaks exactness."""
    shapes: Mapping[str, tuple[int, ...]] = operator.graph.shapes
    before, after = (shapes.get(n, ()) for n in (operator.source, operator.node.output[0]))
    if not before or not after or before == after:
        return operator.same()
    if len(before) != len(after):
        return None
    ratios = [Fraction(before[axis], after[axis]) for axis in operator.axes]
    if any(ratio.numerator > 1 and ratio.denominator > 1 for ratio in ratios):
        return None
    return Local(
        operator.axes,
        tuple(
            HERE if r == 1 else Reach(r.numerator, 0, r.numerator, r.denominator) for r in ratios
        ),
    )


def _adopt(trail: Trail, node: onnx.NodeProto, axes: tuple[int, ...], sides: list[int]) -> None:
    """Take a tensor for the picture again when its shape fits, after it was lost."""
    for name in node.output:
        shape = trail.graph.shapes.get(name, ())
        if name in trail.places or len(shape) <= max(axes):
            continue
        lengths = [shape[axis] for axis in axes]
        if all(n > 1 and side % n == 0 for n, side in zip(lengths, sides, strict=True)):
            scale = tuple(Fraction(side, n) for n, side in zip(lengths, sides, strict=True))
            trail.places[name] = Place(axes, scale)
