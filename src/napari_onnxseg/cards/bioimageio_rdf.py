"""What a bioimage.io description says, in one form for all its versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from napari_onnxseg.cards.bioimageio_sources import File
from napari_onnxseg.prepare.steps import Step

AxisKind = Literal["batch", "channel", "space", "time", "index"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a tensor.

    Parameters
    ----------
    name : str
        ``batch``, ``channel``, ``index``, ``time``, ``z``, ``y``, ``x``.
    kind : str
        What it stands for.
    size : int or None
        Fixed length.
    least, step : int
        Allowed lengths ``least + n * step`` where ``step`` is not 0.
    scale : float
        Units per pixel.
    unit : str
        The unit, or nothing.
    halo : int
        Pixels that are not to be trusted on each side.
    names : tuple of str
        Of channels.
    refers : tuple of str, or None
        Tensor and axis that give the length.
    """

    name: str
    kind: AxisKind
    size: int | None = None
    least: int = 1
    step: int = 0
    scale: float = 1.0
    unit: str = ""
    halo: int = 0
    names: tuple[str, ...] = ()
    refers: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input or output.

    Parameters
    ----------
    name : str
        In the description.
    axes : tuple of Axis
        In their order.
    dtype : str
        Numpy name.
    values : tuple of str
        All values or class names, where they are listed.
    low, high : float or None
        Range of the values.
    steps : tuple of Step
        What is done before or after the network.
    notes : tuple of str
        Sentences on these steps.
    test, sample : File or None
        Example data.
    optional : bool
        Whether the network runs without it.
    """

    name: str
    axes: tuple[Axis, ...]
    dtype: str = "float32"
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    test: File | None = None
    sample: File | None = None
    optional: bool = False

    @property
    def channels(self) -> int | None:
        """Number of channels, 1 without such an axis; None when open."""
        axis = next((axis for axis in self.axes if axis.kind == "channel"), None)
        return 1 if axis is None else axis.size

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels, or nothing."""
        return next((axis.names for axis in self.axes if axis.kind == "channel"), ())

    @property
    def is_map(self) -> bool:
        """Whether it has numbers for each pixel."""
        return {"y", "x"} <= {axis.name for axis in self.axes}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far results may differ from the test tensors.

    Parameters
    ----------
    relative, absolute : float
        An element differs when ``|a - e| > absolute + relative * |e|``.
    per_million : float
        Elements that may differ.
    outputs : tuple of str
        Names that it is for; all when empty.
    """

    relative: float = 1e-3
    absolute: float = 1e-3
    per_million: float = 100
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rdf:
    """A model as bioimage.io describes it.

    Parameters
    ----------
    path : Path
        The description.
    version : str
        Of the format.
    name : str
        One line for people.
    inputs, outputs : tuple of Tensor
        In the order of the graph.
    nickname, description, licence, documentation : str
        As in the file.
    authors, cite, tags : tuple of str
        For people.
    weights : File or None
        The ONNX file.
    external : File or None
        File beside it that holds its weights.
    formats : tuple of str
        Formats in which there are weights.
    tolerances : tuple of Tolerance
        For the test tensors, the first that fits counts.
    extra : mapping of str to str
        Further entries, for people.
    notes : tuple of str
        Sentences for the user.
    """

    path: Path
    version: str
    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    nickname: str = ""
    description: str = ""
    licence: str = ""
    documentation: str = ""
    authors: tuple[str, ...] = ()
    cite: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    weights: File | None = None
    external: File | None = None
    formats: tuple[str, ...] = ()
    tolerances: tuple[Tolerance, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
