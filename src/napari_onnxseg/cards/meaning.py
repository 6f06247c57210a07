"""What the scores of a model mean: kind, classes, task and intensities."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from napari_onnxseg.cards.card import ClassInfo, Fact, ScoreKind, Task, TensorSpec
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.rembg import IMAGENET
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import GraphFacts
from napari_onnxseg.graph.receptive import Receptive
from napari_onnxseg.prepare.convention import BYTES
from napari_onnxseg.prepare.normalize import Normalization

T = TypeVar("T")

GOLDEN_TURN = 0.381966
"""Part of the colour circle between two classes; spreads any number of hues evenly."""

MOST_PLANES = 1000
"""Classes of a label image, or channels of an image, that one output may have."""


@dataclass(frozen=True, slots=True)
class Finding(Generic[T]):
    """One fact, where it came from, and a sentence for the user or nothing."""

    value: T
    fact: Fact
    note: str = ""


def scores_of(
    facts: GraphFacts, output: TensorSpec, task: Task, told: Description
) -> Finding[ScoreKind]:
    """Tell whether the output holds logits, probabilities, class ids or values."""
    if task == "image":
        return Finding("values", told.fact("task" if told.task else "scores"))
    if told.scores == "values":
        told = replace(told, scores=None)
    activation = facts.activations.get(output.name)
    whole = output.dtype.startswith(("int", "uint", "bool"))
    if activation == "argmax" or whole:
        return _settled("labels", told)
    if activation is not None:
        return _settled("probabilities", told)
    if told.scores == "labels" and (output.planes or 1) > 1:
        note = (
            f"{_speaker(told, 'scores')} says that the model gives class ids, but it gives "
            f"{output.planes} numbers for each pixel, which are taken for logits."
        )
        return Finding("logits", "graph", note)
    return Finding(told.scores, told.fact("scores")) if told.scores else Finding("logits", "graph")


def classes_of(count: int | None, task: Task, told: Description) -> Finding[tuple[ClassInfo, ...]]:
    """Name the classes; ``count`` is what the graph tells."""
    if task != "semantic":
        return Finding((), "graph")
    if not told.classes:
        return Finding(_default_classes(count or 0), "assumed")
    if count is None:
        return Finding(told.classes, told.fact("classes"))
    known = {entry.id: entry for entry in told.classes}
    classes = tuple(known.get(i) or default_class(i) for i in range(count))
    note = f"{_speaker(told, 'classes')} names {len(known)} classes, the model gives {count}."
    return Finding(classes, told.fact("classes"), "" if set(known) == set(range(count)) else note)


def count_of(output: TensorSpec, scores: ScoreKind, view: Receptive) -> int | None:
    """Return the number of classes, one channel being two; None when the graph leaves it open."""
    if scores == "labels":
        return view.label_count
    return 2 if output.planes == 1 else output.planes


def refuse_many(output: TensorSpec, count: int | None) -> None:
    """Raise for an output of more classes or channels than can be shown."""
    planes = max(count or 0, output.planes or 0)
    if planes > MOST_PLANES:
        raise ModelError(
            f"The output '{output.name}' gives {planes} numbers for each pixel, as networks give "
            f"that describe pixels for others; at most {MOST_PLANES} classes or channels can be "
            "shown, so choose another output or model."
        )


def task_of(
    tensors: tuple[TensorSpec, TensorSpec],
    view: Receptive,
    told: Description,
    *,
    several: bool = False,
    ended: bool = True,
) -> Finding[Task]:
    """Tell a saliency network from a segmentation network.

    Parameters
    ----------
    tensors : tuple of TensorSpec
        Input and output.
    view : Receptive
        Tiling facts.
    told : Description
        What is said of the output.
    several : bool
        Whether the model gives several outputs of one shape.
    ended : bool
        Whether the graph ends in something that says what it gives.

    Returns
    -------
    Finding
        The task; assumed where nothing is said of it.
    """
    if told.task:
        return Finding(told.task, told.fact("task"))
    if told.scores == "values":
        return Finding("image", told.fact("scores"))
    colour, single = tensors[0].channels == 3, tensors[1].channels == 1
    sees_all = all(
        side is not None and radius >= side
        for side, radius in zip(tensors[0].sides, view.radius, strict=True)
    )
    if colour and single and (several or sees_all):
        note = "Taken for a background-removal model, because it is built like a saliency network."
        return Finding("matting", "assumed", note)
    return Finding("semantic", "assumed", image_note(tensors, told) if not ended else "")


def image_note(tensors: tuple[TensorSpec, TensorSpec], told: Description) -> str:
    """Say that an output which nothing describes may be an image, when it is built like one."""
    source, output = tensors
    settled = told.scores or told.classes or output.dtype[0] in "iub"
    if settled or source.channels is None or source.channels != output.planes:
        return ""
    return (
        f"'{output.name}' has as many channels as the input and nothing says what it holds; it is "
        'taken for class scores. If it is an image, as of a denoiser, put {"task": "image"} into '
        "a card."
    )


def normalization_of(tensor: TensorSpec, task: Task, told: Description) -> Finding[Normalization]:
    """Say what intensities the model wants; without a card this is an assumption."""
    if told.normalization:
        return Finding(told.normalization, told.fact("normalization"))
    if tensor.dtype == "uint8":
        return Finding(BYTES, "graph")
    if not tensor.dtype.startswith("float"):
        note = (
            f"The model takes whole numbers ({tensor.dtype}) and nothing says of which range; they "
            "are fed as they are stored, rounded. If the result looks wrong, choose another "
            "normalization."
        )
        return Finding(Normalization("none"), "assumed", note)
    assumed = IMAGENET if task == "matting" else Normalization("unit")
    note = (
        f"Nothing says how the model wants its intensities; assumed: {assumed.words()}. "
        "If the result looks wrong, choose another normalization."
    )
    return Finding(assumed, "assumed", note)


def default_class(number: int) -> ClassInfo:
    """Return a class without a name of its own; 0 is the transparent background."""
    if number == 0:
        return ClassInfo(0, "background", None)
    hue = (number - 1) * GOLDEN_TURN % 1
    rgb = colorsys.hsv_to_rgb(hue, 0.75, 0.95)
    colour = "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
    return ClassInfo(number, f"class {number}", colour)


def _default_classes(count: int) -> tuple[ClassInfo, ...]:
    classes = tuple(default_class(number) for number in range(count))
    return (classes[0], replace(classes[1], name="foreground")) if count == 2 else classes


def _settled(kind: ScoreKind, told: Description) -> Finding[ScoreKind]:
    """Let the graph win over the card, and say so."""
    if told.scores in (None, kind) or told.fact("scores") == "file name":
        return Finding(kind, "graph")
    note = (
        f"{_speaker(told, 'scores')} says that the model gives {told.scores}, but its graph ends "
        f"in {kind}."
    )
    return Finding(kind, "graph", note)


def _speaker(told: Description, entry: str) -> str:
    """Name the source of an entry at the beginning of a sentence."""
    return _SPEAKERS.get(told.fact(entry), "The card")


_SPEAKERS = {
    "package": "The package",
    "metadata": "The metadata of the file",
    "file name": "The name of the file",
}
