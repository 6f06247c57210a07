"""Folders that are zarr stores: made, kept apart from others, removed; their attributes."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from napari_onnxseg.errors import ChoiceError, FileFormatError, RunError

MARKS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
"""Files that make a folder a zarr store."""

OWN_KEY = "onnxseg_store"
"""Attribute of the stores that this package writes; keeps what it needs to go on with one."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_store(path: str | Path) -> bool:
    """Tell whether a folder is a zarr store.

    Parameters
    ----------
    path : str or Path
        Any path.

    Returns
    -------
    bool
        True for arrays and groups of zarr 2 and 3.
    """
    return any((Path(path) / mark).is_file() for mark in MARKS)


def is_ours(path: str | Path) -> bool:
    """Tell whether a store was written by this package.

    Parameters
    ----------
    path : str or Path
        Any path.

    Returns
    -------
    bool
        True for what `ZarrSink` and `PyramidSink` make.
    """
    try:
        told = json.loads((Path(path) / "zarr.json").read_text(encoding="utf-8"))
        return OWN_KEY in told.get("attributes", {})
    except (OSError, ValueError, AttributeError):
        return False


def make_room(path: Path, *, replace: bool) -> None:
    """Make sure that a store can be made at a path; only our own stores are ever removed.

    Parameters
    ----------
    path : Path
        Folder of the store.
    replace : bool
        Whether an older store may go.

    Raises
    ------
    ChoiceError
        When something else is there, or a store that shall stay.
    """
    check_room(path, replace=replace)
    remove_store(path)


def check_room(path: Path, *, replace: bool) -> None:
    """Raise as `make_room` would, and change nothing.

    Parameters
    ----------
    path : Path
        Folder of the store.
    replace : bool
        Whether an older store may go.

    Raises
    ------
    ChoiceError
        When something else is there, or a store that shall stay.
    """
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not is_store(path):
        raise ChoiceError(f"'{path}' exists and is no zarr store; choose another name.")
    if not is_ours(path):
        raise ChoiceError(
            f"'{path}' holds a store that this package did not write, which is never replaced; "
            "choose another name."
        )
    if not replace:
        raise ChoiceError(
            f"'{path}' holds a result already; choose another name, or ask to replace it."
        )


def remove_store(path: str | Path) -> None:
    """Remove a store that this package wrote; anything else is left alone.

    Parameters
    ----------
    path : str or Path
        Folder of the store.
    """
    if is_ours(path):
        shutil.rmtree(path, ignore_errors=True)


def remove_unfinished(path: str | Path) -> int:
    """Remove the half-written files that a killed process left in a store.

    Whole chunks are never touched. Only call it while nobody else writes to the store.

    Parameters
    ----------
    path : str or Path
        Folder of an array or a group.

    Returns
    -------
    int
        How many there were.
    """
    left = list(Path(path).rglob("*.partial")) if is_store(path) else []
    for file in left:
        file.unlink(missing_ok=True)
    return len(left)


def write_attributes(path: str | Path, key: str, value: Mapping[str, Any]) -> None:
    """Keep a JSON record with a store, such as the record of the run.

    Parameters
    ----------
    path : str or Path
        Folder of an array or a group.
    key : str
        Name of the record; an older one is replaced.
    value : mapping
        JSON-able.

    Raises
    ------
    RunError
        When it cannot be written.
    """
    import zarr

    with writing(Path(path)):
        zarr.open(str(path), mode="r+").attrs[key] = dict(value)


def read_attributes(path: str | Path) -> dict[str, Any]:
    """Return the JSON records that a store keeps.

    Parameters
    ----------
    path : str or Path
        Folder of an array or a group.

    Returns
    -------
    dict of str to object
        All attributes.

    Raises
    ------
    FileFormatError
        When it is no store.
    """
    import zarr

    try:
        return dict(zarr.open(str(path), mode="r").attrs)
    except (OSError, ValueError, KeyError) as fault:
        raise FileFormatError(f"'{path}' is no zarr store that can be read.") from fault


def to_disk(file: Path) -> None:
    """Come back when a file and its name are on disk, not only in the memory of the system.

    Parameters
    ----------
    file : Path
        A complete file.
    """
    for place in (file, file.parent) if os.name == "posix" else (file,):
        handle = os.open(place, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what a disk answers into one sentence.

    Parameters
    ----------
    path : Path
        What is being written.

    Yields
    ------
    None
        While it is being written.

    Raises
    ------
    RunError
        When the disk is full or does not let us write.
    """
    try:
        yield
    except OSError as fault:
        if fault.errno in _FULL:
            raise RunError(
                f"There is no room left to write '{path}'; what is there is whole, so make room "
                "and continue, or choose another place."
            ) from fault
        raise RunError(
            f"'{path}' cannot be written: {fault.strerror or fault}; choose another place."
        ) from fault
