"""Where models are kept: those that come with the package, and the user's folder."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from napari_onnxseg.cards.card import ClassInfo, Task
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.layers import layered
from napari_onnxseg.cards.native import is_card, read_description
from napari_onnxseg.cards.offers import OFFERS, Offer, known_by_name
from napari_onnxseg.cards.own import own_description
from napari_onnxseg.errors import ModelError, ModelNotFoundError

FOLDER_VARIABLE = "ONNXSEG_MODELS"

SUFFIXES = (".onnx", ".czann", ".czseg", ".czmodel", ".zip")
"""Files that are models; of several with one name the first counts."""

Source = Literal["bundled", "user", "downloadable"]


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
        The ``.onnx`` file or package, or where it will be after the download.
    size_bytes : int or None
        Its size; None when that is only known once it is downloaded.
    licence : str
        Its terms.
    source : {"bundled", "user", "downloadable"}
        Whether it came with the package, is in the user's folder, or can be brought there.
    classes : tuple of ClassInfo
        As on the card; empty without one.
    """

    name: str
    title: str
    description: str
    task: Task
    path: Path
    size_bytes: int | None
    licence: str
    source: Source
    classes: tuple[ClassInfo, ...] = ()


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


def list_models(*, downloadable: bool = False) -> tuple[ModelSummary, ...]:
    """List the models that can be used by name.

    Parameters
    ----------
    downloadable : bool
        Also list published models that are not on this computer yet, after the others.

    Returns
    -------
    tuple of ModelSummary
        By name; a model of the user hides a bundled one of the same name. One whose card is
        broken is listed without what that says; `load_card` says what is wrong.
    """
    found = {
        path.stem: _summary(path, source)
        for folder, source in _folders()
        for path in _files(folder)
    }
    here = tuple(summary for _, summary in sorted(found.items()))
    absent = (entry for name, entry in OFFERS.items() if name not in found)
    return here + (tuple(map(_offered, absent)) if downloadable else ())


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
        When there is none, with the names there are, or how to download it.
    """
    for folder, _ in reversed(_folders()):
        for suffix in SUFFIXES:
            if (folder / f"{name}{suffix}").is_file():
                return folder / f"{name}{suffix}"
    if name in OFFERS:
        raise ModelNotFoundError(
            f"'{name}' is not on this computer yet; get it with 'onnxseg models download {name}'."
        )
    names = ", ".join(summary.name for summary in list_models()) or "none"
    raise ModelNotFoundError(
        f"There is no model '{name}'; known are {names}; or give the path of an .onnx file."
    )


def _folders() -> tuple[tuple[Path, Source], ...]:
    return (bundled_folder(), "bundled"), (user_folder(), "user")


def _files(folder: Path) -> list[Path]:
    """Return the models of a folder, the file that counts last of those with one name."""
    files = (path for path in folder.glob("*") if path.suffix.lower() in SUFFIXES)
    found = [path for path in files if path.is_file()]
    return sorted(found, key=lambda path: (path.stem, -SUFFIXES.index(path.suffix.lower())))


def _offered(entry: Offer) -> ModelSummary:
    return ModelSummary(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        task=entry.task,
        path=user_folder() / f"{entry.name}.onnx",
        size_bytes=entry.size_bytes,
        licence=entry.licence,
        source="downloadable",
    )


def _summary(path: Path, source: Source) -> ModelSummary:
    told = layered(_cards_of(path), known_by_name(path))
    return ModelSummary(
        name=path.stem,
        title=told.title or path.stem,
        description=told.description,
        task=told.task or "semantic",
        path=path,
        size_bytes=path.stat().st_size,
        licence=told.licence,
        source=source,
        classes=told.classes,
    )


def _cards_of(path: Path) -> Description:
    """Return what the cards of a model say; nothing where one is broken, which reading it says."""
    card = path.with_suffix(".json")
    try:
        beside = read_description(card) if is_card(card) else Description()
        return layered(own_description(user_folder(), path, "")[0], beside)
    except ModelError:
        return Description()
