"""Zip packages of models, unpacked where nothing in them can do harm."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
import struct
import sys
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO

from napari_onnxseg.errors import ModelError, ModelNotFoundError

CACHE_VARIABLE = "ONNXSEG_CACHE"

MOST_FILES = 2_000
"""Files in a package."""

MOST_BYTES = 16 << 30
"""Size of a package once unpacked."""

HARMLESS_BYTES = 64 << 20
"""Size up to which a package may have been compressed to any extent."""

MOST_RATIO = 100
"""How many times its size a larger package may unpack to."""

CHUNK_BYTES = 1 << 20

_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)
"""What reading a damaged archive raises."""


def cache_folder() -> Path:
    """Return the folder of what can be made again; it may not exist.

    Returns
    -------
    Path
        ``$ONNXSEG_CACHE``, else the place for caches of this system.
    """
    if given := os.environ.get(CACHE_VARIABLE):
        return Path(given).expanduser().absolute()
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / _NAME / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / _NAME
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / _NAME


_NAME = "napari-onnxseg"


def unpack(package: Path) -> Path:
    """Unpack a package, once for each content.

    Parameters
    ----------
    package : Path
        A zip file, whatever it is called.

    Returns
    -------
    Path
        Folder with its files, under `cache_folder`, named by the SHA-256 of the package. An
        earlier copy is used when it is still what the package holds.

    Raises
    ------
    ModelNotFoundError
        When there is no such file.
    ModelError
        When it is no zip file, is damaged or encrypted, or holds what a model has no need of:
        paths that lead outside, links, a name twice, far more than its size lets expect.
        Nothing is left half unpacked.
    """
    if not package.is_file():
        raise ModelNotFoundError(f"There is no model package '{package}'.")
    try:
        status = package.stat()
        return _unpacked(package, status.st_mtime_ns, status.st_size, cache_folder())
    except _FAULTS as fault:
        if isinstance(fault, ModelError):
            raise
        raise ModelError(f"The package '{package}' is damaged ({fault}); get it again.") from None
    except OSError as fault:
        raise ModelError(
            f"The package '{package}' cannot be unpacked into '{cache_folder()}' "
            f"({fault.strerror or fault}); make room there, or name another folder in "
            f"{CACHE_VARIABLE}."
        ) from None


def _unpacked(package: Path, modified_ns: int, size: int, cache: Path) -> Path:
    """Return the folder of a package; the numbers make a change of the file known."""
    folder = cache / "packages" / _hash(package, modified_ns, size)
    with _open(package) as archive:
        members = _members(archive, package)
        if not _is_intact(folder, members):
            _write(archive, members, folder, package)
    return folder


@lru_cache(maxsize=64)
def _hash(package: Path, modified_ns: int, size: int) -> str:
    """Return the SHA-256 of a file; the other arguments make a change known."""
    with package.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open(package: Path) -> zipfile.ZipFile:
    if not zipfile.is_zipfile(package):
        raise ModelError(
            f"'{package}' is not a zip file, or it is cut short; get the package again."
        )
    return zipfile.ZipFile(package)


def _members(archive: zipfile.ZipFile, package: Path) -> list[zipfile.ZipInfo]:
    """Return the files of a package, once all that the package declares is harmless."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise _refused(package, f"holds {len(entries)} files, more than {MOST_FILES}")
    for entry in entries:
        if fault := _fault(entry):
            raise _refused(package, fault)
    members = [entry for entry in entries if not entry.is_dir()]
    _refuse_clashes(members, package)
    total = sum(member.file_size for member in members)
    allowed = min(MOST_BYTES, max(HARMLESS_BYTES, MOST_RATIO * package.stat().st_size))
    if total > allowed:
        raise _refused(package, f"would unpack to {total:,} bytes, more than {allowed:,}")
    return members


def _fault(entry: zipfile.ZipInfo) -> str:
    """Name what is wrong with one entry, or nothing."""
    name, kind = entry.orig_filename, stat.S_IFMT(entry.external_attr >> 16)
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts:
        return f"holds a file that would lie outside its folder ({name!r})"
    if any(letter in name for letter in '\\:<>"|?*') or not name.isprintable():
        return f"holds a file whose name no system can be trusted with ({name!r})"
    if any(part != part.rstrip(". ") for part in path.parts if part != "."):
        return f"holds a file whose name ends in a dot or a space ({name!r})"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return f"holds a link or a device ({name!r})"
    if entry.flag_bits & 0x1:
        return f"is encrypted ({name!r})"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed in an unusual way ({name!r})"
    return ""


def _refuse_clashes(members: list[zipfile.ZipInfo], package: Path) -> None:
    """Raise for a name that is there twice on some system, or is a file and a folder."""
    seen: set[str] = set()
    for member in members:
        key = _folded(member.filename)
        if key in seen:
            raise _refused(package, f"holds {member.filename!r} twice")
        seen.add(key)
    for member in members:
        for parent in PurePosixPath(_folded(member.filename)).parents:
            if str(parent) in seen:
                raise _refused(package, f"holds {str(parent)!r} as a file and as a folder")


def _folded(name: str) -> str:
    """Return a name as systems see it that know neither case nor composed letters."""
    return str(PurePosixPath(unicodedata.normalize("NFC", name).casefold()))


def _refused(package: Path, fault: str) -> ModelError:
    return ModelError(f"The package '{package}' {fault}; it is not unpacked.")


def _is_intact(folder: Path, members: list[zipfile.ZipInfo]) -> bool:
    """Tell whether an earlier copy still holds what the package does."""
    return folder.is_dir() and all(
        path.is_file()
        and not path.is_symlink()
        and path.stat().st_size == member.file_size
        and _crc(path) == member.CRC
        for member in members
        for path in [folder / member.filename]
    )


def _crc(path: Path) -> int:
    with path.open("rb") as file:
        value = 0
        for chunk in _chunks(file):
            value = zlib.crc32(chunk, value)
    return value


def _write(
    archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], folder: Path, package: Path
) -> None:
    """Unpack beside the folder, and give the copy its name once it is complete."""
    unfinished = folder.with_name(f".{folder.name[:16]}.{secrets.token_hex(4)}.part")
    unfinished.mkdir(parents=True)
    try:
        for member in members:
            _write_member(archive, member, unfinished / member.filename, package)
        _take_place(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, package: Path
) -> None:
    """Unpack one file, and stop when there is more of it than was declared."""
    target.parent.mkdir(parents=True, exist_ok=True)
    left = member.file_size
    with archive.open(member) as packed, target.open("xb") as file:
        for chunk in _chunks(packed):
            left -= len(chunk)
            if left < 0:
                raise _refused(package, f"holds more of {member.filename!r} than it declares")
            file.write(chunk)
    if left:
        raise _refused(package, f"holds less of {member.filename!r} than it declares")


def _take_place(unfinished: Path, folder: Path) -> None:
    """Rename a complete copy; an older, damaged one goes, one that just appeared stays."""
    if folder.exists():
        shutil.rmtree(folder)
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():  # another run was not faster, so this is a real fault
            raise


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
