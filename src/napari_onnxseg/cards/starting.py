"""A first card for a model: what is known of it, and what somebody has to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.catalog import bundled_folder, user_folder
from napari_onnxseg.cards.edit import ROOTS, complete
from napari_onnxseg.cards.own import own_card_path
from napari_onnxseg.cards.places import value_at
from napari_onnxseg.cards.save import GUESSES, KNOWN, keep, known, stored
from napari_onnxseg.cards.write import as_json, as_text
from napari_onnxseg.errors import ChoiceError

SCHEMA = (
    "https://raw.githubusercontent.com/napari-onnxseg/napari-onnxseg/main/models/card.schema.json"
)
"""Address of the published schema."""

_TO_FILL = ("description", "licence", "origin")


@dataclass(frozen=True, slots=True)
class OpenEntry:
    """What nobody has stated of a model.

    Parameters
    ----------
    entry : str
        Its place on a card, such as ``"input.normalization"``.
    assumed : object
        What is assumed, as JSON.
    fact : str
        What the assumption rests on: ``"assumed"`` or ``"file name"``.
    """

    entry: str
    assumed: Any
    fact: str


def starting_content(card: ModelCard, given: Path) -> dict[str, Any]:
    """Return a card with everything that is known, as JSON.

    Parameters
    ----------
    card : ModelCard
        The model.
    given : Path
        The file that the user named.

    Returns
    -------
    dict of str to object
        Without guesses; texts for people that nobody has written are empty.
    """
    content = as_json(known(card, KNOWN))
    told = {"$schema": SCHEMA, **content}
    empty = {key: "" for key in _TO_FILL if key not in content}
    metrics = stored(given).get("metrics")
    return {**told, **empty, **({"metrics": metrics} if metrics else {})}


def open_entries(card: ModelCard, given: Path) -> tuple[OpenEntry, ...]:
    """List what a run has to assume.

    Parameters
    ----------
    card : ModelCard
        The model.
    given : Path
        The file that the user named.

    Returns
    -------
    tuple of OpenEntry
        Only what makes a difference for this model.
    """
    everything = complete(card, given)
    return tuple(
        OpenEntry(entry, value, fact)
        for entry, fact in _open(card)
        if (value := value_at(everything, entry)) is not None
    )


def write_starting(content: dict[str, Any], card: ModelCard, given: Path, *, force: bool) -> Path:
    """Keep a first card beside its model, or in the user's folder where that is read-only.

    Parameters
    ----------
    content : dict
        JSON.
    card : ModelCard
        The model.
    given : Path
        The file that the user named.
    force : bool
        Replace a card that is there.

    Returns
    -------
    Path
        The JSON file.

    Raises
    ------
    ChoiceError
        When there is a card already.
    FileFormatError
        When it cannot be written anywhere.
    """
    _refuse_to_replace(own_card_path(user_folder(), given), force)
    if given.parent != bundled_folder():
        _refuse_to_replace(given.with_suffix(".json"), force)
    return keep(content, given, card.sha256)


def write_to(content: dict[str, Any], path: Path, *, force: bool) -> Path:
    """Write a card to a file of the user's choice; errors as for `write_starting`."""
    _refuse_to_replace(path, force)
    with atomic(path) as file:
        file.write(as_text(content).encode())
    return path


def _open(card: ModelCard) -> Iterator[tuple[str, str]]:
    """Yield the entries that are guessed and matter, and what each guess rests on."""
    coloured = card.input.channels in (3, 4, None)
    for entry, name in ROOTS.items():
        fact = card.facts.get(name, "")
        if fact in GUESSES and (name != "colour_order" or coloured):
            yield (f"outputs.0.{entry}" if card.others and name == "classes" else entry), fact
    for number, head in enumerate(card.others if "others" not in card.facts else (), 1):
        yield f"outputs.{number}.task", "assumed"
        if head.classes:
            yield f"outputs.{number}.classes", "assumed"


def _refuse_to_replace(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise ChoiceError(
            f"'{path}' exists already; change it with 'onnxseg models edit', or replace it with "
            "--force."
        )
