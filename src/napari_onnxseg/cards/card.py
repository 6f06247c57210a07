"""What a model is: everything a run needs to know, and where each fact came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

from napari_onnxseg.prepare.channels import ColourOrder
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.steps import Step

Task = Literal["semantic", "matting", "image"]
Layout = Literal["NCHW", "NHWC", "NCDHW", "NDHWC", "NHW", "NDHW"]
ScoreKind = Literal["logits", "probabilities", "labels", "values"]
Fact = Literal["user", "card", "package", "metadata", "file name", "graph", "probe", "assumed"]
"""Where something is known from; an earlier one wins, but the graph over all for tensors.

``"probe"`` is what the values of a trial run show where the graph leaves it open.
"""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input or output of the graph, as the file declares it.

    Parameters
    ----------
    name : str
        Name in the graph.
    dtype : str
        Numpy name of the element type, such as ``"float32"``.
    layout : {"NCHW", "NHWC", "NCDHW", "NDHWC", "NHW", "NDHW"}
        Order of the axes; the last two are outputs without a channel axis.
    batch : int or None
        Fixed batch size, or None when free.
    channels : int or None
        Number of channels (classes for an output), or None when the file leaves it open.
    sides : tuple of (int or None)
        Fixed spatial sides in pixels, None for each free one.
    """

    name: str
    dtype: str
    layout: Layout
    batch: int | None
    channels: int | None
    sides: tuple[int | None, ...]

    @property
    def spatial_ndim(self) -> int:
        """Spatial axes, 2 or 3."""
        return len(self.sides)

    @property
    def planes(self) -> int | None:
        """Numbers for each pixel: the channels, 1 without their axis, None when left open."""
        return self.channels if "C" in self.layout else 1


@dataclass(frozen=True, slots=True)
class Geometry:
    """How output pixels relate to input pixels, from the graph.

    Parameters
    ----------
    multiple : tuple of int
        Total downsampling per spatial axis; tile starts and sides lie on it.
    halo : tuple of int
        Smallest halo in pixels (a multiple of ``multiple``) for which tiles equal the
        whole image when kept parts start and end on multiples.
    radius : tuple of int
        Receptive radius in pixels.
    ratio : tuple of Fraction
        Output pixels per input pixel.
    shrink : tuple of int
        Input pixels per side that the output does not cover (networks without padding).
    breakers : tuple of str
        Operators that make exact tiling impossible, in words; empty when exact.
    bytes_per_px : float
        Working memory of one run per input pixel.
    """

    multiple: tuple[int, ...]
    halo: tuple[int, ...]
    radius: tuple[int, ...]
    ratio: tuple[Fraction, ...]
    shrink: tuple[int, ...]
    breakers: tuple[str, ...]
    bytes_per_px: float

    @property
    def exact(self) -> bool:
        """Whether tiles can equal the whole image bit for bit."""
        return not self.breakers


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """One semantic class.

    Parameters
    ----------
    id : int
        Value in the label map; 0 is background.
    name : str
        What people call it.
    colour : str or None
        ``#rrggbb``, or None for a transparent class.
    """

    id: int
    name: str
    colour: str | None


@dataclass(frozen=True, slots=True)
class ObjectRule:
    """How class scores become separate objects.

    Parameters
    ----------
    method : {"components", "watershed"}
        Connected components of the foreground, or watershed from seeds.
    inside : int
        Class whose probability marks the inside of an object.
    border : int or None
        Class that separates touching objects; part of the foreground.
    foreground_threshold : float
        Objects are where P(inside) + P(border) exceeds it, in [0, 1].
    seed_threshold : float
        Seeds are the components where P(inside) exceeds it, in [0, 1].
    min_area_px : int
        Smaller objects are dropped.
    landscape : {"score", "distance"}
        What the watershed floods: minus P(inside), or minus the distance to the outside.
    """

    method: Literal["components", "watershed"]
    inside: int = 1
    border: int | None = None
    foreground_threshold: float = 0.5
    seed_threshold: float = 0.5
    min_area_px: int = 0
    landscape: Literal["score", "distance"] = "score"


@dataclass(frozen=True, slots=True)
class Head:
    """One output of a model and what it means.

    Parameters
    ----------
    name : str
        For people and for the names of layers and files; the name of the tensor when nobody
        said another.
    task : {"semantic", "matting", "image"}
        Classes per pixel, opacity, or numbers per pixel (a regression, a mended image).
    output : TensorSpec
        The tensor.
    geometry : Geometry
        Of the way from the input to this output.
    scores : {"logits", "probabilities", "labels", "values"}
        What it holds; ``values`` for images.
    classes : tuple of ClassInfo
        By ascending id; empty for images.
    channels : tuple of str
        Names of the channels of an image, where somebody named them.
    objects : ObjectRule or None
        How to separate objects.
    after : tuple of Step
        What is done to the numbers before they mean anything.
    """

    name: str
    task: Task
    output: TensorSpec
    geometry: Geometry
    scores: ScoreKind
    classes: tuple[ClassInfo, ...] = ()
    channels: tuple[str, ...] = ()
    objects: ObjectRule | None = None
    after: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Sizing:
    """How large a whole picture is made for a network that was trained on whole pictures.

    Parameters
    ----------
    side_px : int
        Rows and columns; with ``keep_aspect`` the shorter of the two.
    keep_aspect : bool
        Keep the picture's proportions instead of squeezing it into a square. Pictures
        with one side below and the other above ``side_px`` then keep their size.
    multiple : int
        Both sides are rounded down to it, and to the network's own multiple.
    """

    side_px: int
    keep_aspect: bool = False
    multiple: int = 1


@dataclass(frozen=True, slots=True)
class Suggested:
    """What the author of a model runs it with; a user's own choices win.

    Parameters
    ----------
    tile : tuple of int or None
        Sides the network was trained on, in pixels; followed where the graph does not allow
        exact tiles, because there the size of a tile changes the answer.
    halo : tuple of int or None
        Pixels per side that are not to be trusted; the least halo of tiles that are blended.
    threshold : float or None
        For one-channel models: the probability above which a pixel is foreground.
    """

    tile: tuple[int, ...] | None = None
    halo: tuple[int, ...] | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model and every fact that a run needs.

    Parameters
    ----------
    name : str
        Short name, as in the catalogue, or the file's stem.
    title : str
        One line for people.
    description : str
        What it is for, in a sentence or two.
    task : {"semantic", "matting", "image"}
        Classes per pixel, the opacity of one subject, or numbers per pixel.
    path : Path
        The ``.onnx`` file, absolute.
    sha256 : str
        Hash of that file.
    input, output : TensorSpec
        The tensors used; the graph wins over any description.
    geometry : Geometry
        From the graph.
    normalization : Normalization
        What the network was trained on.
    colour_order : {"RGB", "BGR"}
        Order of colour channels at the input.
    scores : {"logits", "probabilities", "labels", "values"}
        What the output holds.
    classes : tuple of ClassInfo
        By ascending id, background first; empty for matting and images.
    objects : ObjectRule or None
        How to separate objects, when the model is made for it.
    sizing : Sizing or None
        What a whole picture is brought to; cut-outs with fixed sides need none.
    pixel_size : tuple of float and str, or None
        Side of a pixel of the training images and its unit, such as ``(5.5, "cm")``.
    suggested : Suggested or None
        What the author runs it with.
    licence, origin : str
        Terms, and who made it from what.
    extra : mapping of str to str
        Entries of the file that no reader knows, for people.
    facts : mapping of str to Fact
        Where each field above came from.
    notes : tuple of str
        Sentences the user should read: guesses and contradictions.
    side_files : tuple of str
        Files beside the model that hold its weights.
    head_name : str
        What the output is called for people; nothing for the name of its tensor.
    channels : tuple of str
        Names of the channels of an image output, where somebody named them.
    after : tuple of Step
        What is done to the numbers of the output before they mean anything.
    others : tuple of Head
        Further outputs, each with its own meaning; `heads` lists all.
    """

    name: str
    title: str
    description: str
    task: Task
    path: Path
    sha256: str
    input: TensorSpec
    output: TensorSpec
    geometry: Geometry
    normalization: Normalization
    colour_order: ColourOrder
    scores: ScoreKind
    classes: tuple[ClassInfo, ...] = ()
    objects: ObjectRule | None = None
    sizing: Sizing | None = None
    pixel_size: tuple[float, str] | None = None
    suggested: Suggested | None = None
    licence: str = ""
    origin: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Fact] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    side_files: tuple[str, ...] = ()
    head_name: str = ""
    channels: tuple[str, ...] = ()
    after: tuple[Step, ...] = ()
    others: tuple[Head, ...] = ()

    @property
    def heads(self) -> tuple[Head, ...]:
        """All outputs, the main one first."""
        main = Head(
            name=self.head_name or self.output.name,
            task=self.task,
            output=self.output,
            geometry=self.geometry,
            scores=self.scores,
            classes=self.classes,
            channels=self.channels,
            objects=self.objects,
            after=self.after,
        )
        return (main, *self.others)
