"""``onnxseg models add``: a model of one's own, copied so that it can be used by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.add import add
from napari_onnxseg.cards.edit import Edited, edit
from napari_onnxseg.cards.native import FORMAT, parse_description
from napari_onnxseg.cards.places import put
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cli.asked import AddAsked
from napari_onnxseg.cli.downloads import follow
from napari_onnxseg.cli.editing import read_classes, show_changes
from napari_onnxseg.cli.guesses import guess_words
from napari_onnxseg.cli.screen import print_json, say, typed
from napari_onnxseg.cli.texts import read_normalization
from napari_onnxseg.errors import ModelError


def add_one(asked: AddAsked) -> None:
    """Copy a model into the user's folder, and state on its card what was said of it.

    Parameters
    ----------
    asked : AddAsked
        The file, and what is known of it.
    """
    wanted = _wanted(asked)
    place = follow(asked.model.name, add(asked.model))
    done = _stated(place, wanted)
    card = load_card(place)
    if asked.as_json:
        print_json({"model": place.stem, "path": place, "facts": dict(card.facts)})
        return
    if done:
        show_changes(done)
    say("", f"'{place.stem}' is ready: {place}")
    if words := guess_words(card, _OPTIONS):
        say(
            "[yellow]note[/yellow] ",
            f"{words} Add the model again with them, or use 'onnxseg models edit "
            f"{typed(place.stem)}'.",
        )


_OPTIONS: Mapping[str, str] = {
    "task": "--task",
    "normalization": "--normalization",
    "colour_order": "--colour-order",
    "classes": "--classes",
}
"""The option that states each fact."""


def _wanted(asked: AddAsked) -> dict[str, Any]:
    """Return what was said, by the entry of the card, once it is known to be allowed."""
    said = {
        "title": asked.title,
        "task": asked.task,
        "input.normalization": read_normalization(asked.normalization).to_json()
        if asked.normalization
        else None,
        "input.colour_order": asked.colour_order.upper(),
        "classes": read_classes(asked.classes) if asked.classes else None,
    }
    wanted = {entry: value for entry, value in said.items() if value}
    card: dict[str, Any] = {"format": FORMAT}
    for entry, value in wanted.items():
        put(card, entry, value)
    parse_description(card)
    return wanted


def _stated(place: Path, wanted: Mapping[str, Any]) -> Edited | None:
    """Write what was said; a copy stays, and the error says so, when it cannot be meant."""
    if not wanted:
        return None
    try:
        return edit(place, wanted)
    except ModelError as error:
        raise ModelError(f"The model was copied to '{place}', but not described: {error}") from None
