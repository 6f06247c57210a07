"""At which size of the input a network is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.fold import fold
from napari_onnxseg.graph.walk import Trail, follow

PROBES = (512, 576, 960, 1344)
"""Sides tried for a free input: powers of two first, then with factors 3, 5 and 7."""


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

    def sized(self, sides: Sequence[int]) -> tuple[int, ...]:
        """Return the dims with free sides set, and one for a free batch or channel count."""
        free = dict(zip(self.axes, sides, strict=True))
        return tuple(given or free.get(axis, 1) for axis, given in enumerate(self.dims))


def followed(model: onnx.ModelProto, probe: Probe, folder: Path, sides: Sequence[int]) -> Trail:
    """Follow the picture at one size of the input.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    probe : Probe
        Which tensors.
    folder : Path
        Where side files are.
    sides : sequence of int
        For the free sides, pixels.

    Returns
    -------
    Trail
        The picture's way to the output.

    Raises
    ------
    ModelError
        When the output is not a map of the picture.
    """
    graph = fold(model, {probe.input: probe.sized(sides)}, [probe.output], folder)
    trail = follow(graph, probe.input, probe.axes, probe.free)
    if probe.output not in trail.places:
        raise ModelError(
            f"The output '{probe.output}' of the model is not a map of the picture "
            f"(shape {graph.shapes.get(probe.output)}); choose a segmentation network."
        )
    return trail


def settled(model: onnx.ModelProto, probe: Probe, folder: Path) -> Trail:
    """Follow the picture at the first probe size that the network divides evenly.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    probe : Probe
        Which tensors, and the declared size of the input.
    folder : Path
        Where side files are.

    Returns
    -------
    Trail
        The picture's way to the output.

    Raises
    ------
    ModelError
        When the output is not a map of the picture.
    """
    trails = []
    count = len(probe.axes)
    for side in PROBES if probe.free else PROBES[:1]:
        trail = followed(model, probe, folder, [side] * count)
        sides = [trail.graph.shapes[probe.input][axis] for axis in probe.axes]
        even = all(sides[i] % trail.multiple(i) == 0 for i in range(count))
        if even and not any("scales by" in words for words in trail.findings):
            return trail
        trails.append(trail)
    return min(trails, key=lambda trail: len(trail.findings))
