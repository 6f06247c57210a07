"""Which images come in, and where each result goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from napari_onnxseg.errors import ChoiceError

FORMATS = ("png", "tif", "npy")
"""Formats of results, by suffix."""

_SUFFIXES = frozenset({".png", ".tif", ".tiff", ".npy"})
_REFUSED = frozenset({".jpg", ".jpeg", ".bmp", ".gif", ".webp"})


@dataclass(frozen=True, slots=True)
class Place:
    """One image and the file its result goes to.

    Parameters
    ----------
    source : Path
        The image.
    target : Path
        The result.
    """

    source: Path
    target: Path

    def beside(self, what: str) -> Path:
        """Return the file of another result of the image, such as ``a-objects.png``."""
        return self.target.with_stem(f"{self.target.stem}-{what}")


def find_files(inputs: Sequence[Path]) -> dict[Path, bool]:
    """List files: those named, and those directly inside the folders named.

    Parameters
    ----------
    inputs : sequence of Path
        Files and folders.

    Returns
    -------
    dict of Path to bool
        Each file once, folders sorted by name, and whether the user named it.

    Raises
    ------
    ChoiceError
        When an input does not exist.
    """
    found: dict[Path, bool] = {}
    for given in inputs:
        if not given.exists():
            raise ChoiceError(f"There is no file or folder '{given}'.")
        if not given.is_dir():
            found[given] = True
            continue
        for path in sorted(path for path in given.iterdir() if path.is_file()):
            found.setdefault(path, False)
    return found


def is_one_file(inputs: Sequence[Path], out: Path, suffix: str | None) -> bool:
    """Tell whether ``out`` names the file of a single result rather than a folder.

    Parameters
    ----------
    inputs : sequence of Path
        What the user gave.
    out : Path
        Where results go.
    suffix : str or None
        The format asked for, which only folders take.

    Returns
    -------
    bool
        True for a file.

    Raises
    ------
    ChoiceError
        When a file name is given for several images, or a format beside a file name.
    """
    looks_like_file = not out.is_dir() and out.suffix.lower() in _SUFFIXES | _REFUSED
    single = len(inputs) == 1 and not inputs[0].is_dir()
    if looks_like_file and not single:
        raise ChoiceError(f"'{out}' is one file, but several images go in; name a folder.")
    if looks_like_file and suffix:
        raise ChoiceError(
            f"The suffix of '{out}' already chooses the format; leave --format away,"
            " or name a folder."
        )
    return looks_like_file


def place_results(
    images: Sequence[Path], out: Path, suffix: str | None, *, floats: bool = False
) -> list[Place]:
    """Give each image a file in the folder ``out``.

    Parameters
    ----------
    images : sequence of Path
        The images.
    out : Path
        Folder; need not exist yet.
    suffix : str or None
        ``"png"``, ``"tif"`` or ``"npy"``; None follows the image (TIFF to TIFF, NPY to NPY,
        everything else to PNG).
    floats : bool, optional
        Whether results hold floats, for which TIFF takes the place of PNG.

    Returns
    -------
    list of Place
        Named after the image's stem, or after its full name where stems repeat.
    """
    stems = Counter(path.stem for path in images)
    places = []
    for path in images:
        stem = path.stem if stems[path.stem] == 1 else path.name
        places.append(Place(path, out / f"{stem}.{suffix or _follow(path, floats)}"))
    return places


def refuse_collisions(places: Sequence[Place], extras: Sequence[str] = ()) -> None:
    """Raise when a result would overwrite an image or another result.

    Parameters
    ----------
    places : sequence of Place
        All images of the run.
    extras : sequence of str
        Other results of each image, as `Place.beside` names them.

    Raises
    ------
    ChoiceError
        Naming the files.
    """
    sources = {place.source.resolve() for place in places}
    owners: dict[Path, Path] = {}
    for place, target in _targets(places, extras):
        if target.resolve() in sources:
            raise ChoiceError(
                f"The result for '{place.source}' would overwrite the image '{target}';"
                " choose another folder or format."
            )
        owner = owners.setdefault(target.resolve(), place.source)
        if owner != place.source:
            raise ChoiceError(
                f"'{owner}' and '{place.source}' would both be written to '{target}';"
                " run them into different folders."
            )


def _targets(places: Sequence[Place], extras: Sequence[str]) -> Iterator[tuple[Place, Path]]:
    """Yield every file that a run would write, with its image."""
    for place in places:
        yield place, place.target
        for extra in extras:
            yield place, place.beside(extra)


def _follow(path: Path, floats: bool) -> str:
    """Return the format of the result for an image that the user left open."""
    suffix = path.suffix.lower()
    is_tiff = floats or suffix in (".tif", ".tiff")
    return "npy" if suffix == ".npy" else "tif" if is_tiff else "png"
