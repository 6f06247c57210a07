"""``onnxseg models describe``: a first card for a model, and what it leaves open."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.catalog import bundled_folder
from napari_onnxseg.cards.sources import locate
from napari_onnxseg.cards.starting import (
    OpenEntry,
    open_entries,
    starting_content,
    write_starting,
    write_to,
)
from napari_onnxseg.cards.words import ORIGINS
from napari_onnxseg.cards.write import as_text
from napari_onnxseg.cli.screen import print_json, say, say_table, show
from napari_onnxseg.cli.showing import card_rows
from napari_onnxseg.pipeline.known import known_model


def describe_one(model: str, out: Path | None, *, write: bool, force: bool, as_json: bool) -> None:
    """Print a first card, and say what is known from where and what is not known.

    Parameters
    ----------
    model : str
        Name in the catalogue, or a file.
    out : Path or None
        File to write the card to.
    write : bool
        Keep the card where the model finds it.
    force : bool
        Replace a card that is there.
    as_json : bool
        As one JSON object, with the origins and the open questions.
    """
    card, given = known_model(model), locate(model).given
    content, asked = starting_content(card, given), open_entries(card, given)
    place = _written(content, card, given, (out, write, force))
    if as_json:
        print_json(_as_json(card, content, asked, place))
        return
    if place is None:
        show(as_text(content).removesuffix("\n"))
    say_table(("", "", "from"), card_rows(card))
    for line in question_lines(asked, model):
        say("", line)
    if place is not None:
        say("", f"The card was written to {place}{_why(place, given, out)}.")


def question_lines(asked: Sequence[OpenEntry], model: str) -> list[str]:
    """Return what nobody has stated, and how to state it.

    Parameters
    ----------
    asked : sequence of OpenEntry
        Open questions.
    model : str
        The model as it was named.

    Returns
    -------
    list of str
        Nothing where all is known.
    """
    if not asked:
        return []
    lines = ["", "Nobody has stated these; state what is right with"]
    for question in asked:
        entry = shlex.quote(f"{question.entry}={_short(question.assumed)}")
        lines.append(f"  onnxseg models edit {shlex.quote(model)} {entry}")
    return [*lines, "which are what a run assumes now."]


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _written(
    content: dict[str, Any], card: ModelCard, given: Path, how: tuple[Path | None, bool, bool]
) -> Path | None:
    """Write the card where that was asked for."""
    out, write, force = how
    if out is not None:
        return write_to(content, out, force=force)
    return write_starting(content, card, given, force=force) if write else None


def _why(place: Path, given: Path, out: Path | None) -> str:
    """Say why a card does not lie beside its model."""
    if out is not None or place.parent == given.parent:
        return ""
    if given.parent == bundled_folder():
        return ", in your own folder, because the model came with the package"
    return f", in your own folder, because none can be kept beside '{given.name}'"


def _as_json(
    card: ModelCard, content: dict[str, Any], asked: Sequence[OpenEntry], place: Path | None
) -> dict[str, Any]:
    return {
        "card": content,
        "facts": dict(card.facts),
        "questions": [
            {"entry": q.entry, "assumed": q.assumed, "because": ORIGINS[q.fact]} for q in asked
        ],
        "written": place,
        "notes": list(card.notes),
    }
