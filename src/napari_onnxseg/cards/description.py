"""What a card or another source says of a model; where it says nothing, nothing is filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from napari_onnxseg.cards.card import (
    ClassInfo,
    Fact,
    Layout,
    ObjectRule,
    ScoreKind,
    Sizing,
    Suggested,
    Task,
)
from napari_onnxseg.prepare.channels import ColourOrder
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.steps import Step


@dataclass(frozen=True, slots=True)
class TensorHints:
    """What a card says of the tensors; it decides how the graph is read.

    Parameters
    ----------
    input_name, output_name : str
        Tensors to use, or nothing.
    input_layout, output_layout : str or None
        Order of their axes.
    channels : int or None
        Channels of the input.
    first_output : bool
        Of several outputs the first is meant, whatever the others are.
    """

    input_name: str = ""
    output_name: str = ""
    input_layout: Layout | None = None
    output_layout: Layout | None = None
    channels: int | None = None
    first_output: bool = False


@dataclass(frozen=True, slots=True)
class HeadHints:
    """What a source says of one further output; None or empty where it says nothing.

    Parameters
    ----------
    output_name : str
        The tensor.
    name : str
        For people.
    task : {"semantic", "image"} or None
        Classes or numbers per pixel.
    layout : str or None
        Order of its axes.
    scores : str or None
        What it holds.
    classes : tuple of ClassInfo
        By ascending id.
    channels : tuple of str
        Names of the channels of an image.
    objects : ObjectRule or None
        How to separate objects.
    after : tuple of Step
        What is done to its numbers.
    """

    output_name: str
    name: str = ""
    task: Task | None = None
    layout: Layout | None = None
    scores: ScoreKind | None = None
    classes: tuple[ClassInfo, ...] = ()
    channels: tuple[str, ...] = ()
    objects: ObjectRule | None = None
    after: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """What a card or another source says; None or empty where it says nothing.

    Parameters
    ----------
    name, title, description, licence, origin, sha256 : str
        As in the file.
    task : {"semantic", "matting", "image"} or None
        What the model does.
    tensors : TensorHints
        Names and layouts.
    colour_order : {"RGB", "BGR"} or None
        Order of colours.
    normalization : Normalization or None
        Intensities the network wants.
    scores : {"logits", "probabilities", "labels", "values"} or None
        What the output holds.
    classes : tuple of ClassInfo
        By ascending id.
    head_name : str
        What the output is called for people.
    channels : tuple of str
        Names of the channels of an image output.
    after : tuple of Step
        What is done to the numbers of the output.
    others : tuple of HeadHints
        Further outputs that are meant.
    objects : ObjectRule or None
        How to separate objects.
    sizing : Sizing or None
        What a whole picture is brought to.
    pixel_size : tuple of float and str, or None
        Side of a pixel of the training images and its unit.
    suggested : Suggested or None
        Tile, halo and threshold of the author.
    metrics : mapping
        Free-form results of the author.
    extra : mapping of str to str
        Entries that no reader knows, kept for people.
    refusal : str
        A sentence, when this kind of model cannot be run; a source above that tells a task
        overrules it.
    notes : tuple of str
        Sentences for the user: entries left aside, conventions that differ.
    facts : mapping of str to Fact
        Where an entry came from, by its name; a card unless it is named here.
    """

    name: str = ""
    title: str = ""
    description: str = ""
    licence: str = ""
    origin: str = ""
    sha256: str = ""
    task: Task | None = None
    tensors: TensorHints = TensorHints()
    colour_order: ColourOrder | None = None
    normalization: Normalization | None = None
    scores: ScoreKind | None = None
    classes: tuple[ClassInfo, ...] = ()
    head_name: str = ""
    channels: tuple[str, ...] = ()
    after: tuple[Step, ...] = ()
    others: tuple[HeadHints, ...] = ()
    objects: ObjectRule | None = None
    sizing: Sizing | None = None
    pixel_size: tuple[float, str] | None = None
    suggested: Suggested | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def fact(self, name: str) -> Fact:
        """Return where an entry came from."""
        return self.facts.get(name, "card")

    def known_from(self, fact: Fact) -> Description:
        """Return the same, with one origin for every entry.

        Parameters
        ----------
        fact : Fact
            Where it all came from.

        Returns
        -------
        Description
            A copy.
        """
        return replace(self, facts={entry.name: fact for entry in fields(self)} | {"input": fact})
