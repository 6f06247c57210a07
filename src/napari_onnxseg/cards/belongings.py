"""Take a model of the user's folder away, with everything that belongs to it alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from napari_onnxseg.cards.catalog import SUFFIXES, bundled_folder, user_folder
from napari_onnxseg.cards.own import own_card_path
from napari_onnxseg.cards.pins import pin_path
from napari_onnxseg.errors import ChoiceError, ModelNotFoundError, OnnxSegError
from napari_onnxseg.graph.inspect import inspect


def remove(name: str) -> tuple[Path, ...]:
    """Delete a model of the user's folder, with what belongs to it.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    tuple of Path
        The files that were deleted.

    Raises
    ------
    ChoiceError
        For a model that came with the package.
    ModelNotFoundError
        When the user's folder holds no such model.
    """
    found = belongings(name)
    for path in found:
        path.unlink()
    return found


def belongings(name: str) -> tuple[Path, ...]:
    """List what `remove` would delete.

    Parameters
    ----------
    name : str
        Name of a model.

    Returns
    -------
    tuple of Path
        The model, its card, the user's card of it, its recorded hash, an unfinished
        download, and its weight files, where they exist; weights that another model of the
        folder uses too are left out.

    Raises
    ------
    ChoiceError, ModelNotFoundError
        As for `remove`.
    """
    if Path(name).name != name:
        raise ChoiceError(f"'{name}' is not the name of a model; give it as the list shows it.")
    folder = user_folder().absolute()
    models = [folder / f"{name}{suffix}" for suffix in SUFFIXES]
    unfinished = part_path(models[0])
    here = [path for path in models if path.is_file()]
    if not here and not unfinished.is_file():
        if (bundled_folder() / models[0].name).is_file():
            raise ChoiceError(f"'{name}' came with the package and cannot be removed.")
        raise ModelNotFoundError(f"There is no model '{name}' in {folder}.")
    cards = (models[0].with_suffix(".json"), *(own_card_path(folder, path) for path in here))
    rest = (*cards, pin_path(models[0]), unfinished, *_weights(here, folder))
    return (*here, *dict.fromkeys(path for path in rest if path.is_file()))


def part_path(path: Path) -> Path:
    """Return where an unfinished download of a model is kept."""
    return path.with_name(f"{path.name}.part")


def _weights(models: list[Path], folder: Path) -> Iterator[Path]:
    """Yield the weight files of models that no other model of the folder uses."""
    own = {path for model in models for path in _side_files(model)}
    if own:
        others = (path for path in folder.glob("*.onnx") if path not in models)
        yield from sorted(own - {path for other in others for path in _side_files(other)})


def _side_files(model: Path) -> set[Path]:
    """Return the weight files inside the folder of a model; none for what is no ONNX file."""
    if model.suffix.lower() != ".onnx":
        return set()
    with suppress(OnnxSegError, OSError):
        folder = model.parent.resolve()
        named = ((folder / name).resolve() for name in inspect(model).external_data)
        return {path for path in named if path.is_relative_to(folder) and _may_be_weights(path)}
    return set()


def _may_be_weights(path: Path) -> bool:
    """Tell whether a file that a model names is no model or card, whatever the model says."""
    return path.suffix.lower() not in (*SUFFIXES, ".json", pin_path(path).suffix)
