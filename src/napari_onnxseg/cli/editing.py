"""``onnxseg models edit``: change entries of a card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from napari_onnxseg.cards.edit import Change, Edited, edit
from napari_onnxseg.cards.section import shown
from napari_onnxseg.cards.values import named_classes
from napari_onnxseg.cards.write import class_json
from napari_onnxseg.cli.screen import print_json, say, show
from napari_onnxseg.cli.texts import read_normalization
from napari_onnxseg.errors import ChoiceError


def edit_one(model: str, assignments: Iterable[str], as_json: bool) -> None:
    """Change entries of the card of a model, and show the change.

    Parameters
    ----------
    model : str
        Name in the catalogue, or a file.
    assignments : iterable of str
        Such as ``"classes.1.name=nucleus"``.
    as_json : bool
        As one JSON object instead of lines.
    """
    done = edit(model, read_assignments(assignments))
    if as_json:
        changes = [_change_json(one) for one in done.changes]
        print_json({"written": done.path, "changes": changes, "notes": done.notes})
        return
    show_changes(done)


def show_changes(done: Edited) -> None:
    """Print each change, and where the card is.

    Parameters
    ----------
    done : Edited
        What was changed.
    """
    show("\n".join(change_words(change) for change in done.changes))
    for note in done.notes:
        say("[yellow]note[/yellow] ", note)
    say("", f"The card is {done.path}.")


def change_words(change: Change) -> str:
    """Return a change as ``task: "semantic" (a guess) -> "matting"``."""
    before, after = (
        "nothing" if value is None else shown(value) for value in (change.before, change.after)
    )
    return f"{change.entry}: {before}{' (a guess)' if change.guess else ''} -> {after}"


def read_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """Read entries and their new values.

    Parameters
    ----------
    assignments : iterable of str
        ``ENTRY=VALUE``; a value is JSON where it can be read as such, else a text; an empty
        one or ``null`` takes the entry away.

    Returns
    -------
    dict of str to object
        Values by place.

    Raises
    ------
    ChoiceError
        When there is no ``=`` in one of them.
    """
    wanted: dict[str, Any] = {}
    for assignment in assignments:
        entry, mark, text = assignment.partition("=")
        if not mark or not entry.strip():
            raise ChoiceError(
                f"{assignment!r} changes nothing; write an entry and its value, such as "
                "classes.1.name=nucleus or input.colour_order=BGR."
            )
        wanted[entry.strip()] = _read(entry.strip(), text.strip())
    return wanted


def _read(entry: str, text: str) -> Any:
    """Return a value as JSON; short texts stand for normalizations and classes."""
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if entry == "input.normalization":
        return read_normalization(text).to_json()
    return read_classes(text) if entry.rpartition(".")[2] == "classes" else text


def read_classes(text: str) -> list[dict[str, Any]]:
    """Read names of classes by ascending id.

    Parameters
    ----------
    text : str
        Names parted by commas, the background first.

    Returns
    -------
    list of dict
        As on a card, with colours.
    """
    names = [name.strip() for name in text.split(",")]
    return [class_json(entry) for entry in named_classes(names)]


def _change_json(change: Change) -> Mapping[str, Any]:
    return {
        "entry": change.entry,
        "before": change.before,
        "after": change.after,
        "guess": change.guess,
    }
