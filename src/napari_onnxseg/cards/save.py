"""Keep a card that the user edited: beside its model, or in the user's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.cards.card import Fact, ModelCard
from napari_onnxseg.cards.catalog import bundled_folder, user_folder
from napari_onnxseg.cards.description import Description, HeadHints, TensorHints
from napari_onnxseg.cards.native import is_card
from napari_onnxseg.cards.own import own_card_path
from napari_onnxseg.cards.write import as_json, as_text, described
from napari_onnxseg.errors import FileFormatError

GUESSES = frozenset({"assumed", "file name"})
"""Origins of facts that nobody has stated."""

KNOWN = frozenset(get_args(Fact)) - GUESSES
"""Origins of facts that are no guesses."""

STATED = frozenset({"user", "card"})
"""Origins of facts that belong on a card; the others are found again where they are."""

FREE = ("$schema", "metrics", "sha256")
"""Entries of a card that say nothing of a run."""


def save_card(card: ModelCard, model: Path) -> Path:
    """Write a card that was edited where `load_card` finds it.

    What is guessed or read from the model itself is left out, so that it does not pass for
    known. An earlier card is replaced, but for its metrics. The card of a bundled model, or
    of one in a folder that cannot be written to, goes to the user's folder.

    Parameters
    ----------
    card : ModelCard
        The model; its ``facts`` say ``"user"`` for what was edited.
    model : Path
        The file that the user named, absolute: an ``.onnx`` file or a package.

    Returns
    -------
    Path
        The JSON file.

    Raises
    ------
    FileFormatError
        When it cannot be written anywhere.
    ModelError
        When something in it cannot stand on a card.
    """
    return keep(content_of(card), model, card.sha256)


def content_of(card: ModelCard) -> dict[str, Any]:
    """Return what somebody has stated of a model, as the JSON of a card.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    dict of str to object
        Without what is guessed, or found again where it is.
    """
    return as_json(known(card, STATED))


def known(card: ModelCard, origins: frozenset[str]) -> Description:
    """Return what is known of a model from some of the origins of facts.

    Parameters
    ----------
    card : ModelCard
        The model.
    origins : frozenset of str
        Of the facts that are meant; entries without an origin count as those of a card.

    Returns
    -------
    Description
        Without the other facts, and without the hash of the file.
    """
    facts = {"others": "graph", **card.facts}
    empty = Description()
    gone = {
        name: getattr(empty, name)
        for name, fact in facts.items()
        if fact not in origins and hasattr(empty, name)
    }
    told = replace(described(card), sha256="", **gone)
    if told.others and "others" not in card.facts:
        told = replace(told, others=tuple(map(_named, told.others)))
    return replace(told, tensors=_tensors(card, told, origins))


def keep(content: Mapping[str, Any], model: Path, sha256: str) -> Path:
    """Write the content of a card where `load_card` finds it for a model.

    Parameters
    ----------
    content : mapping
        JSON; what of the card that is replaced no run uses, and its hash, are added unless
        ``content`` names them, as None to drop them.
    model : Path
        The file that the user named, absolute.
    sha256 : str
        Hash of the ``.onnx`` file, which a card in the user's folder is bound to.

    Returns
    -------
    Path
        The JSON file.

    Raises
    ------
    FileFormatError
        When it cannot be written anywhere.
    """
    beside, own = model.with_suffix(".json"), own_card_path(user_folder(), model)
    if model.parent != bundled_folder() and _may_replace(beside):
        with suppress(FileFormatError):
            _write(_with_earlier(content, beside, pinned=_read(beside).get("sha256")), beside)
            own.unlink(missing_ok=True)
            return beside
    _make_folder(own.parent)
    unbound = {key: value for key, value in content.items() if key != "sha256"}
    _write(_with_earlier(unbound, own, pinned=sha256), own)
    return own


def _tensors(card: ModelCard, told: Description, origins: frozenset[str]) -> TensorHints:
    """Keep names and layouts of known tensors; those of several outputs are always told."""
    tensors = told.tensors
    if card.facts.get("input", "card") not in origins:
        tensors = replace(tensors, input_name="", input_layout=None, channels=None)
    if card.facts.get("output", "card") not in origins and not told.others:
        tensors = replace(tensors, output_name="", output_layout=None)
    return tensors


def _named(head: HeadHints) -> HeadHints:
    """Return an output that nobody describes: what the graph says of it."""
    return HeadHints(head.output_name, layout=head.layout)


def _may_replace(path: Path) -> bool:
    """Tell whether a file is absent or is a card of ours."""
    return not path.exists() or is_card(path)


def _with_earlier(
    content: Mapping[str, Any], earlier: Path, *, pinned: str | None
) -> dict[str, Any]:
    """Add the hash, and what of the card before no run uses."""
    before = _read(earlier)
    free = {key: before[key] for key in FREE[:2] if before.get(key) and key not in content}
    schema = {key: free.pop(key) for key in ("$schema",) if key in free}
    hashed = {"sha256": pinned} if pinned and "sha256" not in content else {}
    told = {**schema, **content, **hashed, **free}
    return {key: value for key, value in told.items() if value is not None}


def stored(model: Path) -> dict[str, Any]:
    """Return the card that is kept for a model, as JSON; nothing where there is none.

    Parameters
    ----------
    model : Path
        The file that the user named, absolute.

    Returns
    -------
    dict of str to object
        That of the user's folder, else that beside the model.
    """
    return _read(own_card_path(user_folder(), model)) or _read(model.with_suffix(".json"))


def _read(path: Path) -> dict[str, Any]:
    """Return a card as JSON; nothing where there is none."""
    if not path.exists() or not is_card(path):
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    return content


def _write(content: Mapping[str, Any], path: Path) -> None:
    with atomic(path) as file:
        file.write(as_text(content).encode())


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise FileFormatError(
            f"'{folder}' cannot be made: {fault.strerror or fault}; set ONNXSEG_MODELS to a "
            "folder that you may write to."
        ) from fault
