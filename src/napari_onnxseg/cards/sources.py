"""Which file is meant by a model, and who says what about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from napari_onnxseg.cards import bioimageio, bioimageio_files, czann, czseg, embedded, sidecars
from napari_onnxseg.cards.catalog import find
from napari_onnxseg.cards.czann import Package
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.layers import layered
from napari_onnxseg.cards.native import is_card, read_description
from napari_onnxseg.errors import ModelError, ModelNotFoundError
from napari_onnxseg.graph.inspect import GraphFacts

_READERS: Mapping[str, Callable[[Path], Package]] = {
    czann.SUFFIX: czann.read_czann,
    **dict.fromkeys(czseg.SUFFIXES, czseg.read_czseg),
    **dict.fromkeys(bioimageio_files.SUFFIXES, bioimageio.read_bioimageio),
}

DESCRIPTIONS = (".yaml", ".yml")
"""Suffixes of files beside which a model lies."""

PACKAGES = tuple(suffix for suffix in _READERS if suffix not in DESCRIPTIONS)
"""Suffixes of packages that hold a model."""

SUFFIXES = (".onnx", *PACKAGES)
"""Suffixes of files that are models."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model that was asked for.

    Parameters
    ----------
    path : Path
        The ONNX file, absolute; of a package, its unpacked copy.
    given : Path
        The file that was named, beside which a card may lie.
    package : Description
        What the package says; empty for a bare file.
    """

    path: Path
    given: Path
    package: Description = field(default_factory=Description)


def locate(model: str | Path) -> Source:
    """Find the file of a model, and unpack it where it came in a package.

    Parameters
    ----------
    model : str or Path
        A name in the catalogue, or the path of an ONNX file, of its card, or of a package;
        of a bioimage.io model also its folder or its description.

    Returns
    -------
    Source
        Where it is.

    Raises
    ------
    ModelNotFoundError
        When there is no such model.
    ModelError
        When the package or the card cannot be used.
    """
    path = _named_file(model)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        return Source(path, path)
    package = reader(path)
    return Source(package.model, path, package.told)


def card_beside(source: Source) -> tuple[Description, str]:
    """Return the card beside a model, and a note when the file there is none.

    Parameters
    ----------
    source : Source
        The model.

    Returns
    -------
    tuple of Description and str
        What the card says, empty without one; a sentence or nothing.

    Raises
    ------
    ModelError
        When the card is broken.
    """
    card = source.given.with_suffix(".json")
    if not card.exists():
        return Description(), ""
    if not is_card(card):
        return Description(), f"'{card.name}' beside the model is not a card and was left aside."
    return read_description(card), ""


def all_told(source: Source, card: Description, facts: GraphFacts) -> Description:
    """Put together what card, package, files beside the model and metadata say.

    Parameters
    ----------
    source : Source
        The model.
    card : Description
        Its card.
    facts : GraphFacts
        Declarations of the file.

    Returns
    -------
    Description
        Each entry from the most trustworthy source that says it.

    Raises
    ------
    ModelError
        When the most trustworthy source that says what the model does says that it is of a
        kind that cannot be run.
    """
    around = sidecars.describe(source.path, facts) if source.path == source.given else Description()
    told = layered(card, source.package, around, embedded.describe(facts))
    if told.refusal:
        raise ModelError(told.refusal)
    return told


def _named_file(model: str | Path) -> Path:
    """Return the absolute path of the file that was named."""
    text = str(model)
    named = isinstance(model, str) and not any(mark in text for mark in ("/", "\\"))
    path = Path(model).expanduser().absolute()
    if named and Path(text).suffix.lower() not in (*SUFFIXES, *DESCRIPTIONS, ".json"):
        return bioimageio_files.find_description(path) if _is_package(path, text) else find(text)
    if path.is_dir():
        return bioimageio_files.find_description(path)
    if path.suffix == ".json":
        if path.exists():
            read_description(path)  # a card asked for by its own name must be one
        path = _of_card(path)
    if not path.exists():
        raise ModelNotFoundError(f"There is no model file '{path}'.")
    if not path.is_file():
        raise ModelError(f"'{path}' is a device or a pipe, not a file; give the path of a model.")
    return path


def _is_package(path: Path, name: str) -> bool:
    """Tell whether a bare word that is no name of the catalogue is a folder with a description."""
    if not name or not path.is_dir():
        return False
    try:
        find(name)
    except ModelNotFoundError:
        return any((path / known).is_file() for known in bioimageio_files.NAMES)
    return False


def _of_card(card: Path) -> Path:
    """Return the model that a card lies beside."""
    beside = (card.with_suffix(suffix) for suffix in (*SUFFIXES, *DESCRIPTIONS))
    return next((path for path in beside if path.exists()), card.with_suffix(".onnx"))
