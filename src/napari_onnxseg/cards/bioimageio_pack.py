"""A bioimage.io model that lies in a folder, as one zip file that can be kept under a name."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

from napari_onnxseg.cards.bioimageio import package_name, read_rdf, weights_file
from napari_onnxseg.cards.bioimageio_rdf import Rdf
from napari_onnxseg.cards.bioimageio_sources import File, local_file
from napari_onnxseg.cards.bioimageio_zoo import fetched, is_available, is_name
from napari_onnxseg.cards.packages import CACHE_VARIABLE, cache_folder
from napari_onnxseg.errors import ModelError, OnnxSegError

_LICENCES = "LICEN[CS]E*"


def packed(path: Path) -> Path:
    """Return a model as one file.

    Parameters
    ----------
    path : Path
        Any model; where ``bioimageio.spec`` is installed, also the name of one in the zoo.

    Returns
    -------
    Path
        The same, or for the folder or description of a bioimage.io model a zip file under
        `cache_folder`, named as the zoo calls it, with a card beside it where there is one.
        Weights in other formats are left out.

    Raises
    ------
    ModelError
        When something that is needed is missing, or the zip file cannot be written.
    DownloadError
        When a model of the zoo cannot be brought.
    """
    if not path.exists() and is_available() and is_name(path.as_posix()):
        return fetched(path.as_posix())
    if not path.is_dir() and path.suffix.lower() not in (".yaml", ".yml"):
        return path
    rdf = read_rdf(path)
    files = dict(_files(rdf))
    key = hashlib.sha256("".join(map(_state, files.values())).encode()).hexdigest()[:32]
    place = cache_folder() / "packed" / key / f"{package_name(rdf)}.zip"
    try:
        if not place.is_file():
            _write(place, files)
        card = rdf.path.with_suffix(".json")
        if card.is_file():
            shutil.copyfile(card, place.with_suffix(".json"))
    except OSError as fault:
        raise ModelError(
            f"The package of '{path}' cannot be written to '{place.parent}' "
            f"({fault.strerror or fault}); make room there, or name another folder in "
            f"{CACHE_VARIABLE}."
        ) from None
    return place


def _files(rdf: Rdf) -> Iterator[tuple[str, Path]]:
    """Yield each file by its place in the package."""
    folder = rdf.path.parent
    yield rdf.path.name, rdf.path
    weights = weights_file(rdf)
    yield _name(weights, folder), weights
    if rdf.external is not None:
        beside = local_file(rdf.external, folder, "external weights")
        yield _name(beside, folder), beside
    wanted = [tensor.test for tensor in (*rdf.inputs, *rdf.outputs)]
    for file in [*wanted, File(rdf.documentation) if rdf.documentation else None]:
        if file is not None and (found := _optional(file, folder)):
            yield _name(found, folder), found
    for found in sorted(folder.glob(_LICENCES)):
        if found.is_file() and not found.is_symlink():
            yield found.name, found


def _optional(file: File, folder: Path) -> Path | None:
    """Return a file, or None when it is not there or is not the one that is meant."""
    try:
        return local_file(file, folder, "files")
    except OnnxSegError:
        return None


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _state(path: Path) -> str:
    status = path.stat()
    return f"{path.absolute()}\n{status.st_mtime_ns}\n{status.st_size}\n"


def _write(place: Path, files: dict[str, Path]) -> None:
    """Write the zip file beside its place, and give it its name once it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{secrets.token_hex(4)}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, path in files.items():
                archive.write(path, name)
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)
