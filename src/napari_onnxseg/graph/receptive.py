"""How tiles must be cut so that they equal the whole picture, from the graph alone.

Shapes are folded at one input size. Forward, the scale of each tensor gives the total
downsampling. Backward, integer intervals give the pixels that an output looks at: exact
through strides, phases and skips, and valid for all sizes on the same multiple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, prod
from pathlib import Path

import numpy as np
import onnx

from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.fold import StaticGraph
from napari_onnxseg.graph.inspect import final_operator
from napari_onnxseg.graph.probe import Probe, followed, settled
from napari_onnxseg.graph.reach import Indices
from napari_onnxseg.graph.rules import in_place
from napari_onnxseg.graph.walk import Place, Trail, spans

FAR = 1 << 20
"""Periods by which the walk stays clear of the borders."""

ALLOCATED = 2.2
"""Memory that the runtime takes per byte alive in the graph, measured."""


@dataclass(frozen=True, slots=True)
class Receptive:
    """How output pixels relate to input pixels; tuples are by spatial axis.

    Parameters
    ----------
    multiple : tuple of int
        Total downsampling, pixels.
    halo : tuple of int
        Smallest exact halo for parts that start and end on multiples, pixels.
    radius : tuple of int
        How far one output pixel looks, pixels.
    ratio : tuple of Fraction
        Output pixels per input pixel.
    shrink : tuple of int
        Input pixels per side that the output does not cover.
    breakers : tuple of str
        What makes exact tiling impossible, in words.
    bytes_per_px : float
        Working memory of a run per input pixel.
    output_axes : tuple of int
        Where the spatial axes lie in the output.
    output_dims : tuple of int
        Shape of the output for the probe.
    label_count : int or None
        Number of classes, where the graph itself decides for one of them.
    sides : tuple of (int or None)
        Sides a tile must have although the input is free: networks without padding divide
        some sizes evenly only. None where any multiple will do.
    """

    multiple: tuple[int, ...]
    halo: tuple[int, ...]
    radius: tuple[int, ...]
    ratio: tuple[Fraction, ...]
    shrink: tuple[int, ...]
    breakers: tuple[str, ...]
    bytes_per_px: float
    output_axes: tuple[int, ...]
    output_dims: tuple[int, ...]
    label_count: int | None
    sides: tuple[int | None, ...]


def analyse(model: onnx.ModelProto, probe: Probe, folder: Path) -> Receptive:
    """Derive tiling facts from the graph.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    probe : Probe
        Which tensors, and the declared size of the input.
    folder : Path
        Where side files of the model are.

    Returns
    -------
    Receptive
        The facts.

    Raises
    ------
    ModelError
        When the output cannot be laid over the input.
    """
    trail = settled(model, probe, folder)
    view = _measure(trail, probe)
    padded = bool(view.output_dims) and not any(view.shrink)
    if padded or not probe.free or max(view.multiple) == 1:
        return view
    sides = [trail.graph.shapes[probe.input][axis] for axis in probe.axes]
    return _fitting(view, sides, lambda one: _tried(model, probe, folder, one))


def _fitting(
    view: Receptive, sides: list[int], tried: Callable[[list[int]], Receptive | None]
) -> Receptive:
    """Find the size that a network without padding divides evenly: it then loses least."""
    steps = zip(sides, view.shrink, view.multiple, strict=True)
    grown = tried([side + 2 * lost % multiple for side, lost, multiple in steps])
    if grown is not None and view.output_dims and grown.shrink == view.shrink:
        return view
    sizes = [[side + more for side in sides] for more in range(max(view.multiple))]
    found = [(tried(one), tuple(one)) for one in sizes]
    fitting = [(seen.shrink, one, seen) for seen, one in found if seen is not None]
    if not fitting:
        return view
    _, best, seen = min(fitting, key=lambda entry: entry[:2])
    return replace(seen, sides=best)


def _tried(
    model: onnx.ModelProto, probe: Probe, folder: Path, sides: Sequence[int]
) -> Receptive | None:
    """Analyse at one size of the input; None where the network does not fit."""
    try:
        view = _measure(followed(model, probe, folder, sides), probe)
    except ModelError:
        return None
    return view if view.output_dims else None


def _measure(trail: Trail, probe: Probe) -> Receptive:
    """Walk back from one period of the output."""
    place = trail.places[probe.output]
    sides = [trail.graph.shapes[probe.input][axis] for axis in probe.axes]
    shape = trail.graph.shapes.get(probe.output, ())
    _require_batch(shape, place.axes, probe)
    shrink = _shrink(sides, shape, place)
    count = range(len(sides))
    multiple = tuple(trail.multiple(i) for i in count)
    halo, radius = _views(trail, probe, multiple, shrink)
    return Receptive(
        multiple=multiple,
        halo=tuple(map(_on_grid, halo, multiple, shrink)),
        radius=radius,
        ratio=tuple(1 / s for s in place.scale),
        shrink=shrink,
        breakers=trail.breakers,
        bytes_per_px=ALLOCATED * _peak_bytes(trail.graph, probe) / (prod(sides) * probe.batch),
        output_axes=place.axes,
        output_dims=shape,
        label_count=_label_count(trail.graph, probe.output),
        sides=(None,) * len(sides),
    )


def _require_batch(shape: Sequence[int], axes: Sequence[int], probe: Probe) -> None:
    """Raise when the first axis beside rows and columns does not hold the batch."""
    first = next((size for axis, size in enumerate(shape) if axis not in axes), probe.batch)
    if first != probe.batch or (shape and len(shape) == len(axes)):
        raise ModelError(
            f"The output '{probe.output}' ({' × '.join(map(str, shape))} for {probe.batch} picture"
            f"{'' if probe.batch == 1 else 's'}) does not begin with the batch; export it with "
            "the batch as its first axis."
        )


def _shrink(sides: Sequence[int], shape: Sequence[int], place: Place) -> tuple[int, ...]:
    """Return half of what the output lacks; it must lie in the middle of the input."""
    missing = [
        side - shape[axis] * scale if shape else Fraction(0)
        for side, axis, scale in zip(sides, place.axes, place.scale, strict=True)
    ]
    if any(m < 0 or m.denominator > 1 or m.numerator % 2 for m in missing):
        given = tuple(shape[axis] for axis in place.axes)
        raise ModelError(
            f"The model gives {given} px for {tuple(sides)} px, which cannot lie centred on the "
            "input; export it with padding that keeps the size."
        )
    return tuple(int(m) // 2 for m in missing)


def _views(
    trail: Trail, probe: Probe, multiple: Sequence[int], shrink: Sequence[int]
) -> tuple[list[int], tuple[int, ...]]:
    """Return the pixels needed beside one period, and the radius of one output pixel."""
    place = trail.places[probe.output]
    count = range(len(multiple))
    low, high = [], []
    for i in count:
        first = int(FAR * multiple[i] / place.scale[i])
        pixels = first + np.arange(int(multiple[i] / place.scale[i]), dtype=np.int64)
        low.append(np.append(pixels, pixels[0]))
        high.append(np.append(pixels, pixels[-1]))
    halo, radius = list(shrink), [0] * len(multiple)
    for i, name, (start, stop) in spans(trail, probe.output, low, high):
        extent = _extent(trail, probe, name, i)
        first = FAR * multiple[i] + shrink[i]
        needed = _needed(extent, (first, first + multiple[i]), int(start[-1]), int(stop[-1]))
        halo[i] = max(halo[i], needed)
        if name == probe.input:
            radius[i] = _radius(low[i][:-1], start[:-1], stop[:-1], place.scale[i], shrink[i])
    return halo, tuple(radius)


@dataclass(frozen=True, slots=True)
class _Extent:
    """One axis of a tensor: its length, input pixels per element, and pixels of the input."""

    length: Fraction
    scale: Fraction
    side: int


def _extent(trail: Trail, probe: Probe, name: str, i: int) -> _Extent:
    place, shape = trail.places[name], trail.graph.shapes.get(name)
    side, scale = trail.graph.shapes[probe.input][probe.axes[i]], place.scale[i]
    return _Extent(Fraction(shape[place.axes[i]]) if shape else side / scale, scale, side)


def _needed(extent: _Extent, keep: tuple[int, int], first: int, last: int) -> int:
    """Return the halo around pixels ``keep`` that holds elements ``first`` to ``last``."""
    left = keep[0] - first * extent.scale
    right = (last - extent.length + 1) * extent.scale + extent.side - keep[1]
    return max(ceil(left), ceil(right))


def _on_grid(halo: int, multiple: int, shrink: int) -> int:
    """Round a halo up to the grid; what the network gives up anyway is halo enough."""
    return shrink if halo <= shrink else -(-halo // multiple) * multiple


def _radius(pixels: Indices, start: Indices, stop: Indices, scale: Fraction, shrink: int) -> int:
    """Return the farthest input pixel that any phase of the output looks at."""
    found = 0
    for pixel, low, high in zip(pixels.tolist(), start.tolist(), stop.tolist(), strict=True):
        first = floor(pixel * scale) + shrink
        last = ceil((pixel + 1) * scale) - 1 + shrink
        found = max(found, first - low, high - last)
    return found


def _peak_bytes(graph: StaticGraph, probe: Probe) -> int:
    """Return the most bytes alive at once, tensors freed after their last use."""
    last = {name: i for i, node in enumerate(graph.nodes) for name in node.input}
    last[probe.output] = len(graph.nodes)
    alive = {probe.input: _bytes(graph, probe.input)}
    peak = 0
    for i, node in enumerate(graph.nodes):
        if in_place(node.op_type) and last.get(node.input[0]) == i:
            alive.pop(node.input[0], None)
        alive |= {name: _bytes(graph, name) for name in node.output if name}
        peak = max(peak, sum(alive.values()))
        alive = {name: size for name, size in alive.items() if last.get(name, -1) > i}
    return peak


def _label_count(graph: StaticGraph, output: str) -> int | None:
    """Return how many channels a final ArgMax chooses from."""
    node = final_operator(output, graph.nodes)
    if node is None or node.op_type != "ArgMax":
        return None
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
    shape = graph.shapes.get(node.input[0])
    return shape[axis] if shape else None


def _bytes(graph: StaticGraph, name: str) -> int:
    return prod(graph.shapes.get(name, ())) * graph.item_bytes.get(name, 4)
