"""``onnxseg models show``: everything known about a model, and from where."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.save import GUESSES
from napari_onnxseg.cards.values import shortened
from napari_onnxseg.cards.words import (
    ORIGINS,
    after_words,
    class_words,
    head_words,
    object_words,
    pixel_words,
    px,
    ratio_words,
    sizing_words,
    suggested_words,
    tensor_words,
    tiles_words,
)
from napari_onnxseg.cli.screen import print_json, say, show_table, typed
from napari_onnxseg.pipeline.known import known_model


def show_one(model: str, as_json: bool) -> None:
    """Print everything a run knows about a model, and where each fact came from.

    Parameters
    ----------
    model : str
        Name in the catalogue, or an ``.onnx`` file.
    as_json : bool
        As one JSON object instead of a table.
    """
    card = known_model(model)
    if as_json:
        print_json(card_json(card))
        return
    rows = card_rows(card)
    show_table(("", "", "from"), rows)
    for note in card.notes:
        say("[yellow]note[/yellow] ", note)
    if {origin for *_, origin in rows} & {ORIGINS[fact] for fact in GUESSES}:
        say(
            "",
            f"State what is guessed with 'onnxseg models edit {typed(model)} ENTRY=VALUE'; "
            f"'onnxseg models describe {typed(model)}' lists the entries.",
        )


def card_json(card: ModelCard) -> dict[str, Any]:
    """Return a card in JSON-able form.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    dict of str to object
        Every field by its name.
    """
    geometry = asdict(card.geometry)
    return {
        **{name: value for name, value in asdict(card).items() if name != "facts"},
        "path": str(card.path),
        "geometry": {**geometry, "ratio": [str(r) for r in card.geometry.ratio]},
        "normalization": card.normalization.to_json(),
        "facts": dict(card.facts),
    }


def card_rows(card: ModelCard) -> list[tuple[str, str, str]]:
    """Return a card as rows for people.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    list of (str, str, str)
        Name, text and origin; without those that have nothing to say.
    """
    lines = {
        "name": card.name,
        "title": card.title,
        "description": card.description,
        "task": card.task,
        "file": str(card.path),
        "sha256": card.sha256,
        "licence": card.licence,
        "origin": card.origin,
        "input": tensor_words(card.input),
        "normalization": card.normalization.words(),
        "colour_order": card.colour_order if card.input.channels in (3, 4, None) else "",
        "sizing": sizing_words(card.sizing),
        "pixel_size": pixel_words(card.pixel_size),
        "suggested": suggested_words(card.suggested),
        **_output_lines(card),
        **_tile_lines(card),
        **{f"in the file: {key}": shortened(text, 120) for key, text in card.extra.items()},
    }
    facts: dict[str, str] = {"tiles": "graph", **card.facts}
    facts |= {name: facts.get("others", "assumed") for name in lines if name.startswith("output ")}
    return [
        (name, text, ORIGINS.get(facts.get(name, ""), "")) for name, text in lines.items() if text
    ]


def _output_lines(card: ModelCard) -> dict[str, str]:
    """Return what the outputs mean, the main one entry by entry."""
    title = f"{card.head_name}: " if card.head_name else ""
    further = {
        f"output {n}: {head.name}": head_words(head) for n, head in enumerate(card.others, 2)
    }
    return {
        "output": title + tensor_words(card.output),
        "scores": card.scores,
        "channels": ", ".join(card.channels),
        "classes": ", ".join(map(class_words, card.classes)),
        "after": after_words(card.heads[0]),
        "objects": object_words(card.objects),
        **further,
    }


def _tile_lines(card: ModelCard) -> dict[str, str]:
    """Return what the graph says of tiles."""
    geometry = card.geometry
    return {
        "multiple": px(geometry.multiple),
        "halo": px(geometry.halo) if geometry.exact else "",
        "receptive radius": px(geometry.radius) if geometry.exact else "",
        "output per input": ratio_words(geometry),
        "tiles": tiles_words(card),
    }
