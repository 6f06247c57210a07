"""The size of the picture that an exporter traced a network with, where it shows."""

from __future__ import annotations

from napari_onnxseg.graph.fold import fold
from napari_onnxseg.graph.hard_sizes import hard_resize, makers_of, words
from napari_onnxseg.graph.probe import Probe
from napari_onnxseg.graph.subject import Subject
from napari_onnxseg.graph.surgery import Stuck


def example(subject: Subject, probe: Probe) -> tuple[int, ...]:
    """Find the one size at which the shapes of a graph with sizes of its own fit together.

    Parameters
    ----------
    subject : Subject
        A model whose input is declared free.
    probe : Probe
        Its tensors.

    Returns
    -------
    tuple of int
        Dims of the input.

    Raises
    ------
    Stuck
        When no size fits, or several do.
    """
    graph = subject.graph
    makers = makers_of(subject.model.graph)
    hard = [n for n in graph.nodes if hard_resize(graph, n, makers)] if graph else []
    if not hard or graph is None:
        raise Stuck("the size of the exporter's example cannot be found in the graph")
    target = graph.constants[hard[0].input[3]]
    sides = [int(n) for n in target if n > 1][-len(probe.axes) :]
    fitting = []
    for shift in range(-4, 9):
        tried = [n << shift if shift >= 0 else n >> -shift for n in sides]
        dims = probe.sized(tried)
        if min(tried) > 0 and _fits(subject, {probe.input: dims}):
            fitting.append(dims)
    if len(fitting) != 1:
        raise Stuck(f"{words(hard[0])} fits {len(fitting) or 'no'} sizes of the input")
    return fitting[0]


def _fits(subject: Subject, dims: dict[str, tuple[int, ...]]) -> bool:
    names = [tensor.name for tensor in subject.facts.outputs]
    graph = fold(subject.model, dims, names, subject.path.parent)
    return all(name in graph.shapes for node in graph.nodes for name in node.output if name)
