"""Keep a card that the user edited: beside its model, or in the user's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.catalog import bundled_folder, user_folder
from napari_onnxseg.cards.native import is_card
from napari_onnxseg.cards.own import own_card_path
from napari_onnxseg.cards.write import write_card
from napari_onnxseg.errors import FileFormatError

GUESSES = frozenset({"assumed", "file name"})
"""Origins of facts that nobody has stated."""

_KEPT = frozenset({"user", "card"})
"""Origins of facts that belong on a card; the others are found again where they are."""

_ENTRIES: Mapping[str, tuple[str, ...]] = {
    "task": ("task",),
    "classes": ("classes",),
    "normalization": ("input.normalization",),
    "colour_order": ("input.colour_order",),
    "sizing": ("input.sizing",),
    "scores": ("output.scores",),
    "input": ("input.name", "input.layout", "input.channels"),
    "output": ("output.name", "output.layout"),
}
"""Entries of the JSON file that each fact of a card stands for."""


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
    """
    beside, own = model.with_suffix(".json"), own_card_path(user_folder(), model)
    if model.parent != bundled_folder() and _may_replace(beside):
        with suppress(FileFormatError):
            _write(_content(card, beside, pinned=_read(beside).get("sha256")), beside)
            own.unlink(missing_ok=True)
            return beside
    _make_folder(own.parent)
    _write(_content(card, own, pinned=card.sha256), own)
    return own


def _may_replace(path: Path) -> bool:
    """Tell whether a file is absent or is a card of ours."""
    return not path.exists() or is_card(path)


def _content(card: ModelCard, earlier: Path, *, pinned: str | None) -> dict[str, Any]:
    """Return what is known as JSON, with the metrics of the card before."""
    content = _complete(card)
    for name, entries in _ENTRIES.items():
        if card.facts.get(name, "card") not in _KEPT:
            for entry in entries:
                _drop(content, entry.split("."))
    metrics = _read(earlier).get("metrics")
    kept = {"sha256": pinned, "metrics": metrics}
    content.pop("sha256", None)
    content |= {key: value for key, value in kept.items() if value}
    return {key: value for key, value in content.items() if value not in ({}, None, "", [])}


def _complete(card: ModelCard) -> dict[str, Any]:
    """Return everything on a card as JSON."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "card.json")
        write_card(card, path)
        return _read(path)


def _drop(content: dict[str, Any], entry: list[str]) -> None:
    section = content if len(entry) == 1 else content.get(entry[0], {})
    section.pop(entry[-1], None)


def _read(path: Path) -> dict[str, Any]:
    """Return a card as JSON; nothing where there is none."""
    if not path.exists() or not is_card(path):
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    return content


def _write(content: Mapping[str, Any], path: Path) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False)
    with atomic(path) as file:
        file.write(f"{text}\n".encode())


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise FileFormatError(
            f"'{folder}' cannot be made: {fault.strerror or fault}; set ONNXSEG_MODELS to a "
            "folder that you may write to."
        ) from fault
