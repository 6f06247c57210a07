"""Where the result of each image goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.folder_find import Found
from napari_onnxseg.pipeline.folder_job import DEFAULT_NAME, FolderJob
from napari_onnxseg.pipeline.folder_names import REFUSED, SUFFIXES, NamePattern, stem_of

_STACKS = (".tif", ".tiff", ".zarr", ".nii", ".gz", ".dcm")


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
        When a file name is given for several images, a format beside a file name, or a store.
    """
    if out.suffix.lower() == ".zarr":
        raise ChoiceError(
            f"'{out}' would be an OME-Zarr store, which only Python writes so far "
            "(segment_image(..., store=...)); name a .tif file, or a folder."
        )
    looks_like_file = not out.is_dir() and out.suffix.lower() in (*SUFFIXES, *REFUSED)
    single = len(inputs) == 1 and (not inputs[0].is_dir() or inputs[0].suffix == ".zarr")
    if looks_like_file and not single:
        raise ChoiceError(f"'{out}' is one file, but several images go in; name a folder.")
    if looks_like_file and suffix:
        raise ChoiceError(
            f"The suffix of '{out}' already chooses the format; leave --format away,"
            " or name a folder."
        )
    return looks_like_file


def place_results(
    images: Sequence[Found], job: FolderJob, *, model: str = "", floats: bool = False
) -> list[Place]:
    """Give each image a file in the folder of results.

    Parameters
    ----------
    images : sequence of Found
        The images.
    job : FolderJob
        Folder, pattern of names and format; a format that is left open follows the image
        (TIFF to TIFF, NPY to NPY, stacks to TIFF, everything else to PNG).
    model : str, optional
        Name of the model.
    floats : bool, optional
        Whether results hold floats, for which TIFF takes the place of PNG.

    Returns
    -------
    list of Place
        Named after the pattern; without one after the image's stem, or after its full name
        where stems repeat in a folder.

    Raises
    ------
    ChoiceError
        When the pattern cannot be used.
    """
    pattern, full = NamePattern(job.name), NamePattern("{name}{suffix}")
    stems = Counter((found.below, stem_of(found.path)) for found in images)
    unnamed = job.name == DEFAULT_NAME
    places = []
    for index, found in enumerate(images, start=1):
        suffix = f".{job.format or _follow(found.path, floats)}"
        repeats = unnamed and stems[found.below, stem_of(found.path)] > 1
        named = (full if repeats else pattern).path(found, model=model, index=index, suffix=suffix)
        places.append(Place(found.path, job.out / named))
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
    folder_of = cache(Path.resolve)  # many files share a folder

    def real(path: Path) -> Path:
        return path.resolve() if path.is_symlink() else folder_of(path.parent) / path.name

    sources = {real(place.source) for place in places}
    owners: dict[Path, Path] = {}
    for place, target in targets(places, extras):
        if real(target) in sources:
            raise ChoiceError(
                f"The result for '{place.source}' would overwrite the image '{target}';"
                " choose another folder, name or format."
            )
        owner = owners.setdefault(real(target), place.source)
        if owner != place.source:
            raise ChoiceError(
                f"'{owner}' and '{place.source}' would both be written to '{target}';"
                " run them into different folders, or choose names that differ, such as"
                " {parent}-{stem} or {index}."
            )


def refuse_existing(
    places: Sequence[Place], extras: Sequence[str] = (), *, resume: bool = False
) -> None:
    """Raise when results are there already, which nobody asked to keep or to replace.

    Parameters
    ----------
    places : sequence of Place
        All images of the run.
    extras : sequence of str
        Other results of each image, as `Place.beside` names them.
    resume : bool, optional
        Whether the user wanted to go on with a run, of which there is no trace.

    Raises
    ------
    ChoiceError
        Naming the first, and the ways out.
    """
    there = [target for _, target in targets(places, extras) if target.exists()]
    if there:
        more = f" and {len(there) - 1:,} more" if there[1:] else ""
        if resume:
            raise ChoiceError(
                f"'{there[0]}'{more} exists already, but no run is remembered there that could go "
                "on: choose overwrite (--overwrite) to make it anew, or another folder."
            )
        raise ChoiceError(
            f"'{there[0]}'{more} exists already: choose resume (--resume) to keep what is "
            "finished, overwrite (--overwrite) to make it anew, or another folder."
        )


def targets(places: Sequence[Place], extras: Sequence[str]) -> Iterator[tuple[Place, Path]]:
    """Yield every file that a run would write, with its image.

    Parameters
    ----------
    places : sequence of Place
        All images of the run.
    extras : sequence of str
        Other results of each image, as `Place.beside` names them.

    Yields
    ------
    tuple of Place and Path
        The image, and one of its results.
    """
    for place in places:
        yield place, place.target
        for extra in extras:
            yield place, place.beside(extra)


def _follow(path: Path, floats: bool) -> str:
    """Return the format of the result for an image that the user left open."""
    suffix = path.suffix.lower()
    is_tiff = floats or suffix in _STACKS or path.is_dir()
    return "npy" if suffix == ".npy" else "tif" if is_tiff else "png"
