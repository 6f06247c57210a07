"""Files that a bioimage.io description names, inside its own folder and with its hashes."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import urlsplit

from napari_onnxseg.errors import ModelError


@dataclass(frozen=True, slots=True)
class File:
    """A file that a description names.

    Parameters
    ----------
    source : str
        Path relative to the description, or an address.
    sha256 : str
        Its hash, hexadecimal, or nothing.
    """

    source: str
    sha256: str = ""

    @property
    def is_address(self) -> bool:
        """Whether it has to be fetched."""
        return urlsplit(self.source).scheme in ("http", "https")

    @property
    def name(self) -> str:
        """Name without folders."""
        place = urlsplit(self.source).path if self.is_address else self.source
        return PurePosixPath(place.removesuffix("/content")).name


def local_file(file: File, folder: Path, kind: str) -> Path:
    """Return a file of a package, once it is known to be the one that is meant.

    Parameters
    ----------
    file : File
        What the description names.
    folder : Path
        Folder of the description.
    kind : str
        What it is, for the message, such as ``"weights"``.

    Returns
    -------
    Path
        The file, inside the folder.

    Raises
    ------
    ModelError
        When it is not there, lies outside, or has another hash.
    """
    path = folder / (file.name if file.is_address else file.source)
    if not file.is_address:
        _refuse_escape(file.source, folder)
    if not os.path.isfile(path):  # names may be too long for this system
        raise _missing(file, folder, kind)
    _require_hash(path, file, kind)
    return path


def _refuse_escape(source: str, folder: Path) -> None:
    pure = PurePosixPath(source)
    outside = pure.is_absolute() or PureWindowsPath(source).is_absolute() or ".." in pure.parts
    if (
        outside
        or "\0" in source
        or not (folder / source).resolve().is_relative_to(folder.resolve())
    ):
        raise ModelError(
            f"The description names the file '{source}', which lies outside its own folder "
            f"'{folder}'; only files of the package are read."
        )


def _missing(file: File, folder: Path, kind: str) -> ModelError:
    if file.is_address:
        return ModelError(
            f"The {kind} of this model are not in the package but at {file.source}; download "
            f"them and put them into '{folder}' as '{file.name}'."
        )
    return ModelError(
        f"The {kind} '{file.source}' that the description names are not in '{folder}'; get the "
        "whole package again."
    )


def _require_hash(path: Path, file: File, kind: str) -> None:
    if not file.sha256 and not file.is_address:
        return
    status = path.stat()
    found = _hash(path, status.st_mtime_ns, status.st_size)
    if not file.sha256:
        raise ModelError(
            f"The description names the {kind} by an address without a hash, so that '{path}' "
            f"cannot be known for them; when they are, add 'sha256: {found}' to it."
        )
    if found != file.sha256.lower():
        raise ModelError(
            f"The {kind} '{path}' are not those that the description names (SHA-256 "
            f"{found[:12]}…, it says {file.sha256[:12]}…); get the package again."
        )


@lru_cache(maxsize=64)
def _hash(path: Path, modified_ns: int, size: int) -> str:
    """Return the SHA-256 of a file; the other arguments make a change known."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
