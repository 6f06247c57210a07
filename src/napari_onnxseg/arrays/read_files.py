"""Read image files, known by their content rather than by their name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from napari_onnxseg.arrays import pictures, tiffs
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.types import AnyArray

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"II+\0": "TIFF",
    b"MM\0+": "TIFF",
    b"\x93NUMPY": "NPY",
}


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image as its file describes it.

    Parameters
    ----------
    data : numpy.ndarray
        The values, colours on the last axis; may be mapped from the file, read-only.
    axes : str
        One letter an axis of ``data``: T, Z, C, Y, X, S for colours, Q for unknown ones.
    rgb : bool
        Whether the last axis is red, green, blue (and alpha).
    channel_axis : int or None
        Axis of channels that are no colours.
    scale : tuple of float or None
        World units per pixel, one entry per axis that is no channel; None when unknown.
    units : tuple of str or None
        Such as ``"micrometer"``, one per entry of ``scale``.
    notes : tuple of str
        Sentences for the user: what of the file was not read.
    """

    data: AnyArray
    axes: str
    rgb: bool = False
    channel_axis: int | None = None
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


def is_image(path: str | Path) -> bool:
    """Tell by its first bytes whether a file is one that `read_image` knows.

    Parameters
    ----------
    path : str or Path
        Any path.

    Returns
    -------
    bool
        False for other files, folders, and what cannot be opened.
    """
    try:
        _format_of(Path(path))
    except FileFormatError:
        return False
    return True


def read_image(path: str | Path) -> ImageFile:
    """Read a PNG, JPEG, TIFF, OME-TIFF or NPY file.

    Parameters
    ----------
    path : str or Path
        The file; its content decides what it is, not its name.

    Returns
    -------
    ImageFile
        Values with their axes and pixel size. JPEG pictures are upright by their EXIF
        tag, palettes are resolved, CMYK is turned into RGB, 16 bits stay 16 bits.

    Raises
    ------
    FileFormatError
        When the file is missing, damaged, or of another kind.
    """
    path = Path(path)
    kind = _format_of(path)
    return _reading(path, kind, {"TIFF": _tiff, "NPY": _npy}.get(kind, _picture))


def read_labels(path: str | Path) -> ImageFile:
    """Read a label image; of an indexed-colour PNG the class ids, not the colours.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    ImageFile
        As `read_image` gives it for other files.

    Raises
    ------
    FileFormatError
        When the file is missing, damaged, or of another kind.
    """
    path = Path(path)
    if _format_of(path) != "PNG":
        return read_image(path)
    return _reading(path, "PNG", lambda file: _picture(file, indices=True))


def _format_of(path: Path) -> str:
    """Return the format that a file's first bytes tell."""
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError as fault:
        raise FileFormatError(f"'{path}' cannot be opened: {fault.strerror or fault}.") from fault
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    raise FileFormatError(
        f"'{path}' is {'empty' if not start else 'no PNG, JPEG, TIFF or NPY file'}, whatever its "
        "name says; save the image in one of these four formats."
    )


def _reading(path: Path, kind: str, reader: Callable[[Path], ImageFile]) -> ImageFile:
    """Read a file and say in one sentence when it cannot be read."""
    try:
        return reader(path)
    except MemoryError:
        raise
    except Exception as fault:  # decoders raise whatever a damaged file leads them to
        reason = " ".join(str(fault).split()).rstrip(".") or type(fault).__name__
        remedy = "it may be damaged or incomplete; get it again, or save it anew"
        if "imagecodecs" in reason:
            remedy = "install that package (pip install imagecodecs), or save the file uncompressed"
        raise FileFormatError(f"'{path}' cannot be read as {kind} ({reason}): {remedy}.") from fault


def _picture(path: Path, indices: bool = False) -> ImageFile:
    """Read a PNG or JPEG."""
    pixels, about = pictures.read_picture(path, indices=indices)
    rgb = pixels.ndim == 3
    known = len(about.get("scale", ())) == 2
    return ImageFile(
        pixels,
        "YXS" if rgb else "YX",
        rgb=rgb,
        scale=tuple(about["scale"]) if known else None,
        units=tuple(about["units"]) if known else None,
        notes=tuple(about["notes"]),
    )


def _tiff(path: Path) -> ImageFile:
    """Read a TIFF."""
    values, axes, about = tiffs.read_tiff(path)
    rgb, sizes = about["rgb"], about["sizes"]
    channel = None if rgb else next((axes.index(a) for a in "SC" if a in axes), None)
    kept = axes[:-1] if rgb else "".join(a for i, a in enumerate(axes) if i != channel)
    placed = [sizes.get(letter, (1.0, "pixel")) for letter in kept]
    return ImageFile(
        values,
        axes,
        rgb=rgb,
        channel_axis=channel,
        scale=tuple(size for size, _ in placed) if sizes else None,
        units=tuple(unit for _, unit in placed) if sizes else None,
        notes=tuple(about["notes"]),
    )


def _npy(path: Path) -> ImageFile:
    """Map a numpy array, never running code from the file."""
    values: AnyArray = np.load(path, mmap_mode="r", allow_pickle=False)
    return ImageFile(values, "YX"[-values.ndim :].rjust(values.ndim, "Q") if values.ndim else "")
