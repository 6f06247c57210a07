"""Where models are kept: those that come with the package, and the user's folder."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from napari_onnxseg.cards.card import Task
from napari_onnxseg.cards.native import Description, is_card, read_description
from napari_onnxseg.errors import ModelError, ModelNotFoundError

FOLDER_VARIABLE = "ONNXSEG_MODELS"


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """A model of the catalogue, as its card describes it; the file is not opened.

    Parameters
    ----------
    name, title, description : str
        As on the card.
    task : {"semantic", "matting"}
        What it does.
    path : Path
        The ``.onnx`` file.
    size_bytes : int
        Its size.
    licence : str
        Its terms.
    source : {"bundled", "user"}
        Whether it came with the package.
    """

    name: str
    title: str
    description: str
    task: Task
    path: Path
    size_bytes: int
    licence: str
    source: Literal["bundled", "user"]


def bundled_folder() -> Path:
    """Return the folder of the models that come with the package.

    Returns
    -------
    Path
        ``napari_onnxseg/models`` in a wheel, ``models`` of the checkout otherwise.
    """
    package = Path(__file__).resolve().parent.parent
    installed = package / "models"
    return installed if installed.is_dir() else package.parent.parent / "models"


def user_folder() -> Path:
    """Return the folder of the user's own models; it may not exist.

    Returns
    -------
    Path
        ``$ONNXSEG_MODELS``, else the place for program data of this system.
    """
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        data = home / "Library" / "Application Support"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return data / "napari-onnxseg" / "models"


def list_models() -> tuple[ModelSummary, ...]:
    """List the models that can be used by name.

    Returns
    -------
    tuple of ModelSummary
        By name; a model of the user hides a bundled one of the same name. Models whose
        card is broken are left out, `load_card` says why.
    """
    found = {
        path.stem: _summary(path, source)
        for folder, source in _folders()
        for path in sorted(folder.glob("*.onnx"))
    }
    return tuple(summary for _, summary in sorted(found.items()) if summary is not None)


def find(name: str) -> Path:
    """Return the ``.onnx`` file of a model of the catalogue.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelNotFoundError
        When there is none, with the names there are.
    """
    for folder, _ in reversed(_folders()):
        if (folder / f"{name}.onnx").is_file():
            return folder / f"{name}.onnx"
    names = ", ".join(summary.name for summary in list_models()) or "none"
    raise ModelNotFoundError(
        f"There is no model '{name}'; known are {names}; or give the path of an .onnx file."
    )


def _folders() -> tuple[tuple[Path, Literal["bundled", "user"]], ...]:
    return (bundled_folder(), "bundled"), (user_folder(), "user")


def _summary(path: Path, source: Literal["bundled", "user"]) -> ModelSummary | None:
    card = path.with_suffix(".json")
    try:
        told = read_description(card) if is_card(card) else Description()
    except ModelError:
        return None
    return ModelSummary(
        name=path.stem,
        title=told.title or path.stem,
        description=told.description,
        task=told.task or "semantic",
        path=path,
        size_bytes=path.stat().st_size,
        licence=told.licence,
        source=source,
    )
