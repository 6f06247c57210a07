"""Which images lie in folders: recursively, in a stable order, results left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from napari_onnxseg.arrays.files import is_image
from napari_onnxseg.arrays.store_folders import is_ours
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.folder_ledger import LEDGER, results_in

RESULT = "a result of an earlier run"
NO_IMAGE = "not an image"
HIDDEN = "hidden"
RESULTS = "the folder of results"
CLOSED = "cannot be opened"


@dataclass(frozen=True, slots=True)
class Found:
    """One thing in the inputs: an image, or what is left out and why.

    Parameters
    ----------
    path : Path
        The file, or the folder that is one image.
    below : Path
        Its folder, seen from the folder that was given; empty for what was named itself.
    why_not : str
        Why it is left out; empty for an image.
    """

    path: Path
    below: Path = Path()
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class _Walk:
    """One folder that was given, and what is left out of it."""

    root: Path
    out: Path
    wanted: Callable[[str], bool]
    results: frozenset[str]


def find_images(inputs: Sequence[Path], pattern: str | None, out: Path) -> list[Found]:
    """List images: those named, and those inside the folders named, at any depth.

    Parameters
    ----------
    inputs : sequence of Path
        Files and folders.
    pattern : str or None
        Which files of folders are taken; with a slash it is held against the path below the
        folder, otherwise against the name. Capitals do not matter.
    out : Path
        The folder of results, which is not looked into.

    Returns
    -------
    list of Found
        Each thing once: files of a folder sorted by name, then its folders. A folder that is
        one image (zarr, DICOM) counts as a file. What a user names is always taken.

    Raises
    ------
    ChoiceError
        When an input does not exist.
    """
    found: dict[Path, Found] = {}
    wanted = _matcher(pattern)
    for given in inputs:
        if not given.exists():
            raise ChoiceError(f"There is no file or folder '{given}'.")
        if not given.is_dir() or is_image(given):
            found[given] = Found(given)
            continue
        walk = _Walk(given, out.resolve(), wanted, _results_of(given))
        for thing in _walked(walk, given, (given.resolve(),)):
            found.setdefault(thing.path, thing)
    return list(found.values())


def _matcher(pattern: str | None) -> Callable[[str], bool]:
    """Return what tells whether a path below a folder is wanted."""
    if pattern is None:
        return lambda path: True
    small = pattern.lower()
    if "/" in small:
        return lambda path: fnmatchcase(path.lower(), small)
    return lambda path: fnmatchcase(path.lower().rpartition("/")[2], small)


def _results_of(root: Path) -> frozenset[str]:
    """Return the results in a folder that lie beside their own images."""
    return frozenset(
        file for file, source in results_in(root) if Path(source).is_relative_to(root.resolve())
    )


def _walked(walk: _Walk, folder: Path, above: tuple[Path, ...]) -> Iterator[Found]:
    """Give what is in a folder: its files, then what is in its folders."""
    below = folder.relative_to(walk.root)
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield Found(folder, below, CLOSED)
        return
    folders = []
    for entry in entries:
        path, is_folder = folder / entry.name, entry.is_dir()
        if entry.name == LEDGER:
            continue
        if is_folder and not entry.name.startswith(".") and not is_image(path):
            folders.append(path)
        elif (is_folder or entry.is_file()) and walk.wanted((below / entry.name).as_posix()):
            yield Found(path, below, _why_not(walk, path, below, is_folder))
    for path in folders:
        yield from _entered(walk, path, below, above)


def _entered(walk: _Walk, path: Path, below: Path, above: tuple[Path, ...]) -> Iterator[Found]:
    """Give what is in a folder inside another, unless it holds results or leads back."""
    real = path.resolve()
    if real == walk.out or (path / LEDGER).is_file():
        yield Found(path, below, RESULTS if real == walk.out else RESULT)
    elif real not in above:
        yield from _walked(walk, path, (*above, real))


def _why_not(walk: _Walk, path: Path, below: Path, is_folder: bool) -> str:
    """Return why a thing in a folder is left out; empty for an image."""
    if path.name.startswith("."):
        return HIDDEN
    if (below / path.name).as_posix() in walk.results or (is_folder and is_ours(path)):
        return RESULT
    return "" if is_folder or is_image(path) else NO_IMAGE
