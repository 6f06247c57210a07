"""How tiles must be cut so that they equal the whole picture, from the graph alone.

Shapes are folded at one input size. Forward, the scale of each tensor gives the total
downsampling. Backward, integer intervals give the pixels that an output looks at: exact
through strides, phases and skips, and valid for all sizes on the same multiple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod
from pathlib import Path

import numpy as np
import onnx

from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.fold import StaticGraph, fold
from napari_onnxseg.graph.inspect import final_operator
from napari_onnxseg.graph.reach import Indices
from napari_onnxseg.graph.rules import in_place
from napari_onnxseg.graph.walk import Place, Trail, follow, spans

PROBES = (512, 576, 960, 1344)
"""Sides tried for a free input: powers of two first, then with factors 3, 5 and 7."""

FAR = 1 << 20
"""Periods by which the walk stays clear of the borders."""

ALLOCATED = 2.2
"""Memory that the runtime takes per byte alive in the graph, measured."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What to analyse.

    Parameters
    ----------
    input, output : str
        Names of the tensors.
    layout : str
        Axes of the input, such as ``"NCHW"``.
    dims : tuple of (int or None)
        Declared dims of the input, None for each free one.
    """

    input: str
    output: str
    layout: str
    dims: tuple[int | None, ...]

    @property
    def axes(self) -> tuple[int, ...]:
        """Spatial axes of the input."""
        return tuple(self.layout.index(axis) for axis in "DHW" if axis in self.layout)

    @property
    def free(self) -> bool:
        """Whether any side is free."""
        return any(self.dims[axis] is None for axis in self.axes)

    @property
    def batch(self) -> int:
        """Pictures in one run: the fixed number, or one."""
        return self.dims[self.layout.index("N")] or 1

    def sized(self, side: int) -> tuple[int, ...]:
        """Return the dims with free sides set, and one for a free batch or channel count."""
        return tuple(
            given or (side if axis in self.axes else 1) for axis, given in enumerate(self.dims)
        )


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
    trail = _settled_trail(model, probe, folder)
    if probe.output not in trail.places:
        raise ModelError(
            f"The output '{probe.output}' of the model is not a map of the picture "
            f"(shape {trail.graph.shapes.get(probe.output)}); choose a segmentation network."
        )
    return _measure(trail, probe)


def _settled_trail(model: onnx.ModelProto, probe: Probe, folder: Path) -> Trail:
    """Follow the picture at the first probe size that the network divides evenly."""
    trails = []
    for side in PROBES if probe.free else PROBES[:1]:
        dims = probe.sized(side)
        graph = fold(model, {probe.input: dims}, [probe.output], folder)
        trail = follow(graph, probe.input, probe.axes, probe.free)
        multiples = [trail.multiple(i) for i in range(len(probe.axes))]
        trails.append(trail)
        even = all(dims[a] % m == 0 for a, m in zip(probe.axes, multiples, strict=True))
        if even and not any("scales by" in words for words in trail.findings):
            return trail
    return min(trails, key=lambda trail: len(trail.findings))


def _measure(trail: Trail, probe: Probe) -> Receptive:
    """Walk back from one period of the output."""
    place = trail.places[probe.output]
    sides = [trail.graph.shapes[probe.input][axis] for axis in probe.axes]
    shape = trail.graph.shapes.get(probe.output, ())
    shrink = _shrink(sides, shape, place)
    count = range(len(sides))
    multiple = tuple(trail.multiple(i) for i in count)
    halo, radius = _views(trail, probe, multiple, shrink)
    return Receptive(
        multiple=multiple,
        halo=tuple(-(-h // m) * m for h, m in zip(halo, multiple, strict=True)),
        radius=radius,
        ratio=tuple(1 / s for s in place.scale),
        shrink=shrink,
        breakers=trail.breakers,
        bytes_per_px=ALLOCATED * _peak_bytes(trail.graph, probe) / (prod(sides) * probe.batch),
        output_axes=place.axes,
        output_dims=shape,
        label_count=_label_count(trail.graph, probe.output),
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
        first = int((FAR * multiple[i] - shrink[i]) / place.scale[i])
        pixels = first + np.arange(int(multiple[i] / place.scale[i]), dtype=np.int64)
        low.append(np.append(pixels, pixels[0]))
        high.append(np.append(pixels, pixels[-1]))
    halo, radius = list(shrink), [0] * len(multiple)
    for i, name, (start, stop) in spans(trail, probe.output, low, high):
        extent = _extent(trail, probe, name, i)
        halo[i] = max(halo[i], _needed(extent, multiple[i], int(start[-1]), int(stop[-1])))
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


def _needed(extent: _Extent, multiple: int, first: int, last: int) -> int:
    """Return the halo that keeps elements ``first`` to ``last`` inside those of a tile."""
    start = FAR * multiple
    left = start - first * extent.scale
    right = (last - extent.length + 1) * extent.scale - start + extent.side - multiple
    return max(ceil(left), ceil(right))


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
