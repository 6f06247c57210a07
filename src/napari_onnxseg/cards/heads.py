"""What each output of a model means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from napari_onnxseg.cards.card import (
    ClassInfo,
    Geometry,
    Head,
    ScoreKind,
    Task,
    TensorSpec,
)
from napari_onnxseg.cards.description import Description, HeadHints
from napari_onnxseg.cards.meaning import (
    Finding,
    classes_of,
    count_of,
    refuse_many,
    scores_of,
    task_of,
)
from napari_onnxseg.cards.outputs import Found
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import GraphFacts
from napari_onnxseg.graph.receptive import Receptive


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one output is, with the source of each fact.

    Parameters
    ----------
    task : Finding
        Classes, opacity or values.
    scores : Finding
        What its numbers are.
    classes : Finding
        Their names.
    """

    task: Finding[Task]
    scores: Finding[ScoreKind]
    classes: Finding[tuple[ClassInfo, ...]]

    @property
    def findings(self) -> dict[str, Finding[Any]]:
        """All of them by the field of the card."""
        return {"task": self.task, "scores": self.scores, "classes": self.classes}


def meaning_of(
    facts: GraphFacts, source: TensorSpec, found: Found, told: Description, *, several: bool = False
) -> Meaning:
    """Say what an output means.

    Parameters
    ----------
    facts : GraphFacts
        The declarations of the file.
    source : TensorSpec
        The input.
    found : Found
        The output.
    told : Description
        What is said of it.
    several : bool
        Whether the model gives several outputs of one shape.

    Returns
    -------
    Meaning
        Task, scores and classes.

    Raises
    ------
    ModelError
        When it has more classes or channels than can be shown.
    """
    output, ended = found.spec, found.spec.name in facts.activations
    task = task_of((source, output), found.view, told, several=several, ended=ended)
    scores = scores_of(facts, output, task.value, told)
    count = count_of(output, scores.value, found.view)
    refuse_many(output, count)
    return Meaning(task, scores, classes_of(count, task.value, told))


def other_heads(
    facts: GraphFacts, source: TensorSpec, others: Sequence[Found], told: Description
) -> tuple[tuple[Head, ...], tuple[str, ...]]:
    """Return the outputs beside the main one, and what the user should know of them.

    Parameters
    ----------
    facts : GraphFacts
        The declarations of the file.
    source : TensorSpec
        The input.
    others : sequence of Found
        The outputs.
    told : Description
        All sources, on top of each other.

    Returns
    -------
    heads : tuple of Head
        With distinct names.
    notes : tuple of str
        Sentences for the user.

    Raises
    ------
    ModelError
        When an output that a description names has too many classes or channels.
    """
    hints = {hint.output_name: hint for hint in told.others}
    heads: list[Head] = []
    notes: list[str] = []
    for found in others:
        hint = hints.get(found.spec.name)
        try:
            head, heard = _head(facts, source, found, _as_description(hint, told))
        except ModelError as fault:
            if hint:
                raise
            notes.append(f"{fault} It is left aside.")
            continue
        heads.append(replace(head, name=hint.name) if hint and hint.name else head)
        notes += heard
    return tuple(heads), tuple(notes)


def distinct(main: str, heads: Sequence[Head]) -> tuple[Head, ...]:
    """Return heads whose names differ from each other and from that of the main output."""
    taken = {main}
    named = []
    for head in heads:
        name = head.name
        number = 2
        while name in taken:
            name, number = f"{head.name} ({number})", number + 1
        taken.add(name)
        named.append(replace(head, name=name))
    return tuple(named)


def geometry_of(view: Receptive) -> Geometry:
    """Return the tiling facts of a card."""
    return Geometry(
        multiple=view.multiple,
        halo=view.halo,
        radius=view.radius,
        ratio=view.ratio,
        shrink=view.shrink,
        breakers=view.breakers,
        bytes_per_px=view.bytes_per_px,
    )


def _head(
    facts: GraphFacts, source: TensorSpec, found: Found, told: Description
) -> tuple[Head, tuple[str, ...]]:
    """Return one output, named as its tensor, and notes on it."""
    meaning = meaning_of(facts, source, found, told)
    heard = [finding.note for finding in meaning.findings.values() if finding.note]
    notes = [f"Output '{found.spec.name}': {note}" for note in heard]
    head = Head(
        name=found.spec.name,
        task=meaning.task.value,
        output=found.spec,
        geometry=geometry_of(found.view),
        scores=meaning.scores.value,
        classes=meaning.classes.value,
        channels=told.channels,
        objects=told.objects,
        after=told.after,
    )
    return head, tuple([found.note, *notes] if found.note else notes)


def _as_description(hint: HeadHints | None, told: Description) -> Description:
    """Return what is said of one further output as if it were the only one."""
    if hint is None:
        return Description()
    said = Description(
        task=hint.task,
        scores=hint.scores,
        classes=hint.classes,
        channels=hint.channels,
        objects=hint.objects,
        after=hint.after,
    )
    return said.known_from(told.fact("others"))
