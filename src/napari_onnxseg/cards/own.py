"""Cards that the user wrote for models whose own folder must not be written to."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from pathlib import Path

from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.native import read_description

FOLDER = "cards"
"""Folder of these cards inside the user's folder of models."""


def own_card_path(folder: Path, model: Path) -> Path:
    """Return where the user's card of a model is kept.

    Parameters
    ----------
    folder : Path
        The user's folder of models.
    model : Path
        The file that the user named, absolute: an ``.onnx`` file or a package.

    Returns
    -------
    Path
        A JSON file, another one for each place of a model; it may not exist.
    """
    place = hashlib.sha256(str(model).encode()).hexdigest()[:8]
    return folder / FOLDER / f"{model.stem}-{place}.json"


def own_description(folder: Path, model: Path, sha256: str) -> tuple[Description, str]:
    """Read the user's card of a model.

    Parameters
    ----------
    folder : Path
        The user's folder of models.
    model : Path
        The file that the user named, absolute: an ``.onnx`` file or a package.
    sha256 : str
        What the ONNX file hashes to; empty to read the card whatever it was written for.

    Returns
    -------
    Description
        What the user said; empty without a card.
    str
        A sentence when there is a card for an earlier file, otherwise nothing.

    Raises
    ------
    ModelError
        When the card is broken.
    """
    path = own_card_path(folder, model)
    if not path.exists():
        return Description(), ""
    told = read_description(path)
    if sha256 and told.sha256 != sha256:
        return Description(), (
            f"Your card '{path}' was written for an earlier '{model.name}' and was left aside."
        )
    names = (*(field.name for field in fields(Description)), "input")
    return replace(told, facts=dict.fromkeys(names, "user")), ""
