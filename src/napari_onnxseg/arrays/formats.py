"""Which format a file has, by its content rather than by its name."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from itertools import islice
from pathlib import Path

from napari_onnxseg.arrays.store_folders import MARKS, is_store
from napari_onnxseg.errors import FileFormatError

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"II+\0": "TIFF",
    b"MM\0+": "TIFF",
    b"\x93NUMPY": "NPY",
}

_LOOKED_INTO = 16
"""Files of a folder that are looked into for DICOM."""

_NIFTI = (b"n+1\0", b"n+2\0")

READ = "PNG, JPEG, TIFF, NPY, OME-Zarr, NIfTI or DICOM"
"""What is read without GDAL."""


def format_of(path: Path) -> str:
    """Return the format that the first bytes of a file, or the files of a folder, tell.

    Parameters
    ----------
    path : Path
        A file, or a folder that is one image.

    Returns
    -------
    str
        ``"PNG"``, ``"JPEG"``, ``"TIFF"``, ``"NPY"``, ``"ZARR"``, ``"NIFTI"``, ``"DICOM"``, or
        ``"other"`` for a file that only GDAL may know.

    Raises
    ------
    FileFormatError
        When there is nothing, or nothing in it.
    """
    try:
        if path.is_dir():
            return _folder(path)
        with open(path, "rb") as file:
            start = file.read(352)
    except FileFormatError:
        raise
    except OSError as fault:
        raise FileFormatError(f"'{path}' cannot be opened: {fault.strerror or fault}.") from fault
    if not start:
        raise FileFormatError(f"'{path}' is empty; get it again.")
    known = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    if known is not None:
        return known
    if start[128:132] == b"DICM":
        return "DICOM"
    if start.startswith(b"PK\3\4") and _is_zipped_store(path):
        return "ZARR"
    return "NIFTI" if _is_nifti(path, start) else "other"


def _folder(path: Path) -> str:
    """Return what a folder is as one image."""
    if is_store(path):
        return "ZARR"
    visible = (p for p in sorted(path.iterdir()) if p.is_file() and not p.name.startswith("."))
    for entry in islice(visible, _LOOKED_INTO):
        with open(entry, "rb") as file:
            if file.read(132)[128:] == b"DICM":
                return "DICOM"
    raise FileFormatError(
        f"'{path}' is a folder, no image: neither an OME-Zarr store nor a DICOM series; name the "
        "files in it."
    )


def _is_zipped_store(path: Path) -> bool:
    """Tell whether a zip file has a zarr store at its root."""
    try:
        with zipfile.ZipFile(path) as archive:
            return bool({*MARKS} & {*archive.namelist()})
    except (OSError, zipfile.BadZipFile):
        return False


def _is_nifti(path: Path, start: bytes) -> bool:
    """Tell whether a file, perhaps compressed, is one NIfTI volume."""
    if start.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(path, "rb") as file:
                start = file.read(352)
        except (OSError, EOFError, zlib.error):
            return False
    return start[344:348] in _NIFTI or start[4:8] in _NIFTI
