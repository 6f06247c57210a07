"""Which outputs of a graph are used: those a description names, or every map of the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from napari_onnxseg.cards.card import Layout, TensorSpec
from napari_onnxseg.cards.description import Description, TensorHints
from napari_onnxseg.cards.tensors import named
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import GraphFacts, TensorFacts
from napari_onnxseg.graph.receptive import Receptive


@dataclass(frozen=True, slots=True)
class Wish:
    """What descriptions say of the outputs; it decides how the graph is read.

    Parameters
    ----------
    tensors : TensorHints
        Of the input and the main output.
    others : tuple of (str, str or None)
        Names and layouts of further outputs.
    """

    tensors: TensorHints = field(default_factory=TensorHints)
    others: tuple[tuple[str, Layout | None], ...] = ()

    @classmethod
    def of(cls, told: Description) -> Wish:
        """Return what a description says.

        Parameters
        ----------
        told : Description
            All sources, on top of each other.

        Returns
        -------
        Wish
            The outputs it means.
        """
        main = told.tensors.output_name
        others = ((hint.output_name, hint.layout) for hint in told.others)
        return cls(told.tensors, tuple(entry for entry in others if entry[0] != main))


@dataclass(frozen=True, slots=True)
class Found:
    """One output that is a map of the picture.

    Parameters
    ----------
    spec : TensorSpec
        The tensor.
    view : Receptive
        Tiling facts.
    note : str
        A contradiction, or nothing.
    """

    spec: TensorSpec
    view: Receptive
    note: str


Look = Callable[[TensorFacts, Layout | None], Found]
"""Follows the picture to an output; raises `ModelError` when it does not get there."""


def used_outputs(
    facts: GraphFacts, wish: Wish, channels: int | None, rank: int, look: Look
) -> tuple[tuple[Found, ...], tuple[str, ...]]:
    """Return the outputs that are used, the main one first.

    Parameters
    ----------
    facts : GraphFacts
        The declarations of the file.
    wish : Wish
        What descriptions say.
    channels, rank : int
        Channels (None when open) and number of axes of the input.
    look : callable
        Follows the picture to an output.

    Returns
    -------
    found : tuple of Found
        At least one.
    notes : tuple of str
        Sentences for the user on what was chosen.

    Raises
    ------
    ModelError
        When an output that is named is missing or no map, or when none is a map.
    """
    given = wish.tensors
    maps = [tensor for tensor in facts.outputs if len(tensor.dims) in (rank, rank - 1, 0)]
    if given.output_name or wish.others:
        main = named(facts.outputs, given.output_name, "output") if given.output_name else None
        others = [(named(facts.outputs, name, "output"), layout) for name, layout in wish.others]
        first = main or _first_beside(facts, others)
        return (look(first, given.output_layout), *(look(*other) for other in others)), ()
    if not maps:
        raise _no_map(facts.outputs, rank)
    if len(facts.outputs) == 1 or given.first_output:
        return (look(maps[0], given.output_layout),), _first_note(facts, maps)
    found, aside = _mapped(maps, given.output_layout, look)
    one = found[0].spec
    if channels == 3 and one.planes == 1 and all(_alike(maps[0], other) for other in maps):
        return found[:1], _first_note(facts, maps)
    missing = [tensor for tensor in facts.outputs if tensor not in maps] + aside
    return found, _several_notes(found, missing)


def several_alike(facts: GraphFacts) -> bool:
    """Tell whether the model gives several maps of one shape, as saliency networks do."""
    first, *others = facts.outputs
    return bool(others) and all(_alike(first, other) for other in others)


def _first_beside(
    facts: GraphFacts, others: Sequence[tuple[TensorFacts, Layout | None]]
) -> TensorFacts:
    """Return the first output that is not among those named."""
    names = {tensor.name for tensor, _ in others}
    return next((t for t in facts.outputs if t.name not in names), facts.outputs[0])


def _mapped(
    maps: Sequence[TensorFacts], layout: Layout | None, look: Look
) -> tuple[tuple[Found, ...], list[TensorFacts]]:
    """Return the outputs that the picture can be followed to, and the others."""
    found: list[Found] = []
    aside: list[TensorFacts] = []
    faults: list[ModelError] = []
    for tensor in maps:
        try:
            found.append(look(tensor, layout if not found else None))
        except ModelError as fault:
            aside.append(tensor)
            faults.append(fault)
    if not found:
        raise faults[0]
    return tuple(found), aside


def _first_note(facts: GraphFacts, maps: Sequence[TensorFacts]) -> tuple[str, ...]:
    count = len(facts.outputs)
    if count == 1:
        return ()
    return (f"The model has {count} outputs; the first map, '{maps[0].name}', is used.",)


def _several_notes(found: Sequence[Found], aside: Sequence[TensorFacts]) -> tuple[str, ...]:
    notes = []
    if len(found) > 1:
        names = ", ".join(f"'{entry.spec.name}'" for entry in found)
        notes.append(f"The model gives {len(found)} maps, each of which is a result: {names}.")
    if aside:
        names = ", ".join(_words(tensor) for tensor in aside)
        notes.append(f"Left aside, because they are no maps of the picture: {names}.")
    return tuple(notes)


def _no_map(outputs: Sequence[TensorFacts], rank: int) -> ModelError:
    """Say what a network gives that gives nothing for each pixel."""
    first = outputs[0]
    what = (
        f"{first.dims[-1]} numbers for the whole picture, as classifiers give"
        if len(first.dims) <= 2 and isinstance((0, *first.dims)[-1], int)
        else f"of {len(first.dims)} axes where the input has {rank}"
        + (", as detectors give" if len(first.dims) > 2 else "")
    )
    return ModelError(
        f"The model gives no map of the picture: its output {_words(first)} is {what}; only "
        "networks that give classes or values for each pixel can be run."
    )


def _words(tensor: TensorFacts) -> str:
    return f"'{tensor.name}' ({' × '.join(str(dim or '?') for dim in tensor.dims) or 'one number'})"


def _alike(one: TensorFacts, other: TensorFacts) -> bool:
    """Tell whether two tensors can have one shape, as far as they declare it."""
    pairs = zip(one.dims, other.dims, strict=False)
    numbers = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
    return len(one.dims) == len(other.dims) and all(a == b for a, b in numbers)
