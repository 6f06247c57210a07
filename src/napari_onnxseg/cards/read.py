"""Make a card of whatever names a model: the catalogue, an ONNX file, a card file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import Fact, Layout, ModelCard, TensorSpec
from napari_onnxseg.cards.catalog import list_models, user_folder
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.heads import distinct, geometry_of, meaning_of, other_heads
from napari_onnxseg.cards.layers import layered
from napari_onnxseg.cards.meaning import Finding, normalization_of
from napari_onnxseg.cards.offers import known_by_name
from napari_onnxseg.cards.outputs import Found, Wish, several_alike, used_outputs
from napari_onnxseg.cards.own import own_description
from napari_onnxseg.cards.pins import require_pinned
from napari_onnxseg.cards.rembg import fits
from napari_onnxseg.cards.sources import all_told, card_beside, locate
from napari_onnxseg.cards.tensors import choose_input, input_spec, output_spec
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import GraphFacts, TensorFacts, inspect
from napari_onnxseg.graph.layout import convolution_evidence
from napari_onnxseg.graph.load import followed, read_model, refuse_others, require_side_files
from napari_onnxseg.graph.probe import Probe
from napari_onnxseg.graph.receptive import Receptive, analyse

__all__ = ["Reading", "list_models", "load_card"]

REMEMBERED = 16
"""Models whose analysis is kept in memory."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the graph says, once it is known which of its tensors are used.

    Parameters
    ----------
    facts : GraphFacts
        Declarations of the file.
    input : TensorSpec
        What takes the picture.
    outputs : tuple of Found
        The outputs used, the main one first.
    layout_fact : str
        Where the layout of the input came from.
    notes : tuple of str
        Choices and contradictions.
    """

    facts: GraphFacts
    input: TensorSpec
    outputs: tuple[Found, ...]
    layout_fact: Fact
    notes: tuple[str, ...]

    @property
    def main(self) -> Found:
        """The main output."""
        return self.outputs[0]


def load_card(model: str | Path) -> ModelCard:
    """Describe a model: read its card where it has one, and its graph in any case.

    Parameters
    ----------
    model : str or Path
        A name in the catalogue, or the path of an ``.onnx`` file, of a package
        (``.czann``, ``.czseg``, ``.czmodel``) or of its card (``.json``). A card beside the
        file, of the same name, is used.

    Returns
    -------
    ModelCard
        Every fact a run needs. A card is believed before the package, files of other tools
        before the metadata, and for tensors the graph before all. Contradictions and guesses
        are in ``notes``, the source of each fact is in ``facts``.

    Raises
    ------
    ModelNotFoundError
        When there is no such model.
    ModelError
        When the file or its card cannot be used.
    """
    source = locate(model)
    path = source.path
    card, note = card_beside(source)
    refuse_others(path)
    sha256 = _checked_hash(path, card)
    require_pinned(path, sha256)
    own, aside = own_description(user_folder(), source.given, sha256)
    told = all_told(source, layered(own, card), _declared(path, sha256))
    told, reading = _with_name(path, sha256, told)
    require_side_files(reading.facts.external_data, path)
    return _assemble(path, sha256, told, reading, f"{note} {aside}".strip())


@lru_cache(maxsize=REMEMBERED)
def _declared(path: Path, sha256: str) -> GraphFacts:
    """Return what a file declares; remembered by content."""
    with followed(path):
        return inspect(path)


def _with_name(path: Path, sha256: str, told: Description) -> tuple[Description, Reading]:
    """Read the graph, and add what the model's name tells where the graph can be that."""
    named = known_by_name(path)
    both = layered(told, named)
    reading = _reading(path, sha256, Wish.of(both))
    if fits(named, reading.input, reading.main.spec):
        return both, reading
    return told, _reading(path, sha256, Wish.of(told))


def _checked_hash(path: Path, told: Description) -> str:
    status = path.stat()
    sha256 = _hash(path, status.st_mtime_ns, status.st_size)
    if told.sha256 and told.sha256.lower() != sha256:
        raise ModelError(
            f"'{path}' is not the file its card describes (SHA-256 {sha256[:12]}…, the card says "
            f"{told.sha256[:12]}…); get the matching pair, or remove the card."
        )
    return sha256


@lru_cache(maxsize=REMEMBERED)
def _hash(path: Path, modified_ns: int, size: int) -> str:
    """Return the SHA-256 of a file; the other arguments make a change known."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=REMEMBERED)
def _reading(path: Path, sha256: str, wish: Wish) -> Reading:
    """Read the graph; remembered by content."""
    with followed(path):
        return _followed(path, wish)


def _followed(path: Path, wish: Wish) -> Reading:
    """Follow the graph from its input to its outputs."""
    model = read_model(path)
    facts = inspect(model)
    source = choose_input(facts, wish.tensors)
    seen = convolution_evidence(model.graph, source.name, len(source.dims))
    spec, layout_fact, layout_note = input_spec(source, wish.tensors, seen)
    dims = [dim if isinstance(dim, int) else None for dim in source.dims]
    dims[spec.layout.index("C")] = spec.channels

    def look(target: TensorFacts, layout: Layout | None) -> Found:
        probe = Probe(source.name, target.name, spec.layout, tuple(dims))
        view = analyse(model, probe, path.parent)
        return Found(*_spec_and_note(target, view, layout, spec.channels is not None))

    outputs, chosen = used_outputs(facts, wish, spec.channels, len(source.dims), look)
    main = outputs[0]
    spec = replace(spec, sides=tuple(map(_first, spec.sides, main.view.sides)))
    notes = (layout_note, *chosen, main.note, _fit_note(main.view))
    return Reading(facts, spec, outputs, layout_fact, tuple(note for note in notes if note))


def _spec_and_note(
    target: TensorFacts, view: Receptive, layout: Layout | None, channels_known: bool
) -> tuple[TensorSpec, Receptive, str]:
    spec, note = output_spec(target, view, layout, channels_known)
    return spec, view, note


def _assemble(path: Path, sha256: str, told: Description, reading: Reading, note: str) -> ModelCard:
    """Put the card together and say where each fact came from."""
    graph, source, main = reading.facts, reading.input, reading.main
    meaning = meaning_of(graph, source, main, told, several=several_alike(graph))
    task = meaning.task.value
    normalization = normalization_of(source, task, told)
    found = {**meaning.findings, "normalization": normalization}
    others, other_notes = other_heads(graph, source, reading.outputs[1:], told)
    head_name = told.head_name or main.spec.name
    sizing = told.sizing if task != "matting" or None in source.sides else None
    facts = _facts(found, reading, told) | ({"sizing": told.fact("sizing")} if sizing else {})
    heard = (finding.note for finding in found.values())
    return ModelCard(
        name=told.name or path.stem,
        title=told.title or path.stem,
        description=told.description,
        task=task,
        path=path,
        sha256=sha256,
        input=source,
        output=main.spec,
        geometry=geometry_of(main.view),
        normalization=normalization.value,
        colour_order=told.colour_order or "RGB",
        scores=meaning.scores.value,
        classes=meaning.classes.value,
        objects=told.objects if task == "semantic" else None,
        sizing=sizing,
        pixel_size=told.pixel_size,
        suggested=told.suggested,
        licence=told.licence,
        origin=told.origin,
        extra=told.extra,
        facts=facts,
        side_files=graph.external_data,
        head_name=told.head_name,
        channels=told.channels if task == "image" else (),
        after=told.after,
        others=distinct(head_name, others),
        notes=tuple(
            n
            for n in (
                *(note, *told.notes, *reading.notes, *heard, *other_notes),
                _name_note(facts),
            )
            if n
        ),
    )


def _facts(
    found: Mapping[str, Finding[Any]], reading: Reading, told: Description
) -> dict[str, Fact]:
    """Say where each field came from."""
    stated = (name for name in _STATED if getattr(told, name))
    facts = {name: finding.fact for name, finding in found.items()}
    return {
        **facts,
        **{name: told.fact(name) for name in stated},
        "input": told.fact("input") if reading.layout_fact == "card" else reading.layout_fact,
        "output": "graph",
        "geometry": "graph",
        "colour_order": told.fact("colour_order") if told.colour_order else "assumed",
    }


_STATED = ("pixel_size", "suggested", "channels", "after", "others", "head_name")
"""Fields that are only there when a source states them."""


def _name_note(facts: Mapping[str, Fact]) -> str:
    """Say which facts rest on the name of the file alone."""
    guessed = [name for name, fact in facts.items() if fact == "file name"]
    if not guessed:
        return ""
    return (
        f"Guessed from the name of the file, because published models are called so: "
        f"{', '.join(guessed)}. If the result looks wrong, state them in a card beside the model."
    )


def _fit_note(view: Receptive) -> str:
    if all(side is None for side in view.sides):
        return ""
    sides = " × ".join(str(side) for side in view.sides)
    return f"The model has no padding and divides only some sizes evenly; it is fed {sides} px."


def _first(declared: int | None, fitting: int | None) -> int | None:
    return declared or fitting
