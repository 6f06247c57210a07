"""Change single entries of a card, named as they stand in its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.catalog import user_folder
from napari_onnxseg.cards.native import parse_description
from napari_onnxseg.cards.own import own_card_path
from napari_onnxseg.cards.places import put, value_at
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.save import FREE, GUESSES, KNOWN, content_of, keep, known, stored
from napari_onnxseg.cards.sources import locate
from napari_onnxseg.cards.write import as_json, described

ROOTS: Mapping[str, str] = {
    "task": "task",
    "classes": "classes",
    "objects": "objects",
    "pixel_size": "pixel_size",
    "suggested": "suggested",
    "outputs": "others",
    "metrics": "",
    "input.normalization": "normalization",
    "input.colour_order": "colour_order",
    "input.sizing": "sizing",
    "input.layout": "input",
    "output.scores": "scores",
    "output.after": "after",
    "output.channels": "channels",
}
"""Entries that are stated as a whole, and the fact of a card that each stands for."""

_METHOD = "input.normalization.method"


@dataclass(frozen=True, slots=True)
class Change:
    """An entry that was changed.

    Parameters
    ----------
    entry : str
        Its place in the JSON, such as ``"classes.1.name"``.
    before, after : object
        As JSON; None where it is not there.
    guess : bool
        Whether nobody had stated it before.
    """

    entry: str
    before: Any
    after: Any
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """A card that was edited.

    Parameters
    ----------
    path : Path
        Its JSON file.
    changes : tuple of Change
        What differs.
    notes : tuple of str
        What the model now contradicts, and did not before.
    """

    path: Path
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


def edit(model: str | Path, wanted: Mapping[str, Any]) -> Edited:
    """Change entries of the card of a model, and keep it where the model finds it.

    A part of a list or of an object that was not stated so far, such as the name of one
    class, states all of it, the rest as it was assumed. Another method of normalization
    drops the numbers of the one before.

    Parameters
    ----------
    model : str or Path
        Name in the catalogue, or path, as for `load_card`.
    wanted : mapping of str to object
        New values, as JSON, by the place of the entry; None takes an entry away. Classes
        are named by their id, outputs by number or name, other lists by number.

    Returns
    -------
    Edited
        Where the card is, and what changed.

    Raises
    ------
    ModelError
        When an entry is unknown or not allowed, or the model cannot be used with it;
        nothing is changed then.
    FileFormatError
        When the card cannot be written anywhere.
    """
    card, given = load_card(model), locate(model).given
    everything = complete(card, given)
    content = content_of(card)
    for entry in sorted(wanted, key=_rank):
        _seed(content, entry, everything, card)
        if entry == _METHOD and value_at(content, entry) != wanted[entry]:
            content["input"]["normalization"] = {}
        put(content, entry, wanted[entry])
    free = {entry: wanted[entry] for entry in FREE if entry in wanted}
    content = as_json(parse_description(content)) | free
    with _kept_unless_it_fails(given):
        place = keep(content, given, card.sha256)
        heard = load_card(model).notes
    changes = (_change(entry, everything, content, card) for entry in wanted)
    return Edited(place, tuple(changes), tuple(note for note in heard if note not in card.notes))


def complete(card: ModelCard, given: Path) -> dict[str, Any]:
    """Return everything known or assumed of a model, in the form of a card.

    Parameters
    ----------
    card : ModelCard
        The model.
    given : Path
        The file that the user named.

    Returns
    -------
    dict of str to object
        JSON; several outputs stand in ``outputs``, and the first of them also in ``output``
        and ``classes``.
    """
    told = replace(described(card), metrics=stored(given).get("metrics") or {})
    content = as_json(replace(told, others=()))
    return content | ({"outputs": as_json(told)["outputs"]} if told.others else {})


def fact_of(card: ModelCard, entry: str) -> str:
    """Return where an entry of a card came from; nothing where that is not known.

    Parameters
    ----------
    card : ModelCard
        The model.
    entry : str
        Its place in the JSON.

    Returns
    -------
    str
        One of the origins.
    """
    root = root_of(entry)
    return card.facts.get(ROOTS.get(root, ""), "")


def root_of(entry: str) -> str:
    """Return the entry that is stated as a whole with this one; itself where it stands alone."""
    parts = entry.split(".")
    heads = (".".join(parts[:count]) for count in (2, 1))
    return next((head for head in heads if head in ROOTS), entry)


def _rank(entry: str) -> tuple[int, bool]:
    """Put wholes before their parts, and a method before its numbers."""
    return entry.count("."), entry != _METHOD


def _seed(
    content: dict[str, Any], entry: str, everything: Mapping[str, Any], card: ModelCard
) -> None:
    """State what an entry is a part of, as it was assumed, when nobody has stated it."""
    root = root_of(entry)
    if root == "outputs":
        _seed_outputs(content, card)
        root = ".".join(entry.split(".")[:3])
        if root == entry:
            return
    if value_at(content, root) is None and (whole := value_at(everything, root)) is not None:
        put(content, root, deepcopy(whole))


def _seed_outputs(content: dict[str, Any], card: ModelCard) -> None:
    """Name every output, with what is known of it, in place of what is said of the main one."""
    if "outputs" in content or not card.others:
        return
    for key in ("output", "classes", "objects"):
        content.pop(key, None)
    content["outputs"] = as_json(known(card, KNOWN))["outputs"]


def _change(
    entry: str, everything: Mapping[str, Any], content: Mapping[str, Any], card: ModelCard
) -> Change:
    before, after = value_at(everything, entry), value_at(content, entry)
    return Change(entry, before, after, before is not None and fact_of(card, entry) in GUESSES)


@contextmanager
def _kept_unless_it_fails(given: Path) -> Any:
    """Put the cards of a model back as they were when something raises inside."""
    paths = given.with_suffix(".json"), own_card_path(user_folder(), given)
    before = {path: path.read_bytes() if path.is_file() else None for path in paths}
    try:
        yield
    except BaseException:
        for path, content in before.items():
            if content is None:
                path.unlink(missing_ok=True)
            elif path.read_bytes() != content:
                path.write_bytes(content)
        raise
