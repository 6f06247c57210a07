"""PNG and JPEG."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, PngImagePlugin

from napari_onnxseg.arrays.colours import class_rgb
from napari_onnxseg.errors import ImageError
from napari_onnxseg.types import AnyArray, Rgba

TEXT_KEY = "onnxseg"
"""Keyword of the PNG text that keeps class names and pixel size, as JSON."""

_FORMATS = ("PNG", "JPEG", "TIFF")
_OPENING = Lock()  # Pillow keeps its limit of pixels for the whole process


def open_picture(path: Path) -> Image.Image:
    """Open a picture of any size: it is the user's own, and may be large.

    Parameters
    ----------
    path : Path
        PNG, JPEG or TIFF.

    Returns
    -------
    PIL.Image.Image
        Not decoded yet; close it, or use it as a context.

    Raises
    ------
    OSError, SyntaxError, ValueError
        As Pillow raises them for a damaged file.
    """
    with _OPENING:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            return Image.open(path, formats=_FORMATS)
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def read_picture(path: Path, *, indices: bool = False) -> tuple[AnyArray, dict[str, Any]]:
    """Read a PNG or JPEG, upright by its EXIF tag.

    Parameters
    ----------
    path : Path
        The file.
    indices : bool, optional
        Give the numbers of an indexed-colour picture rather than its colours.

    Returns
    -------
    pixels : numpy.ndarray
        (Y, X) uint8 or uint16, or (Y, X, 3 or 4) uint8; black and white is 0 and 255.
    about : dict
        What this package wrote beside the pixels (``"scale"``, ``"units"``), and
        ``"notes"``, sentences for the user.

    Raises
    ------
    OSError, SyntaxError, ValueError
        As Pillow raises them for a damaged file.
    """
    with open_picture(path) as image:
        notes = _notes(path, image)
        image.load()
        ImageOps.exif_transpose(image, in_place=True)
        about = _own_text(image)
        return _pixels(image, indices), {**about, "notes": notes}


def write_indexed(
    file: BinaryIO,
    labels: NDArray[np.uint8],
    colours: Mapping[int, str | None],
    about: Mapping[str, Any],
) -> None:
    """Write labels as an indexed-colour PNG.

    Parameters
    ----------
    file : file
        Open for writing.
    labels : numpy.ndarray
        (Y, X) uint8.
    colours : mapping of int to (str or None)
        ``#rrggbb`` of each class, None for a transparent one. Others get a colour of
        their own; class 0 is transparent unless it has one.
    about : mapping
        JSON-able, kept as text in the file.

    Raises
    ------
    ChoiceError
        When a colour is none.
    """
    palette, opacity = _palette(colours)
    image = Image.fromarray(np.ascontiguousarray(labels))
    image.putpalette(palette)
    image.save(file, "PNG", transparency=opacity, pnginfo=_text(about))


def write_png(
    file: BinaryIO,
    pixels: NDArray[np.uint8] | NDArray[np.uint16] | Rgba,
    about: Mapping[str, Any],
    compression: int = 6,
) -> None:
    """Write grey, colour or RGBA pixels as a PNG.

    Parameters
    ----------
    file : file
        Open for writing.
    pixels : numpy.ndarray
        (Y, X) uint8 or uint16, or (Y, X, 3 or 4) uint8.
    about : mapping
        JSON-able, kept as text in the file.
    compression : int, optional
        0 (fast) to 9 (small).
    """
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.save(file, "PNG", compress_level=compression, pnginfo=_text(about))


def plane_of(array: AnyArray, ndim: int, path: Path) -> AnyArray:
    """Return the only plane of a stack, for a format that holds one.

    Parameters
    ----------
    array : numpy.ndarray
        (..., Y, X) or (..., Y, X, 4).
    ndim : int
        Axes of a plane, 2 or 3.
    path : Path
        The file it is for.

    Returns
    -------
    numpy.ndarray
        (Y, X) or (Y, X, 4).

    Raises
    ------
    ImageError
        When there is more than one plane.
    """
    leading = array.shape[: array.ndim - ndim]
    if any(length != 1 for length in leading):
        raise ImageError(
            f"A PNG file holds one plane, but the result for '{path.name}' is a stack of "
            f"{leading} planes; write .tif or .npy."
        )
    return array.reshape(array.shape[len(leading) :])


def _pixels(image: Image.Image, indices: bool) -> AnyArray:
    """Return the pixels in a mode that says what they are."""
    if image.mode == "P" and indices:
        return np.asarray(image)
    if image.mode.startswith("I"):  # 16 bits of grey, whatever older Pillow calls them
        return np.asarray(image).astype(np.uint16)
    if image.mode in ("L", "RGB", "RGBA", "F") and "transparency" not in image.info:
        return np.asarray(image)
    if image.mode == "1" and "transparency" not in image.info:
        return np.asarray(image.convert("L"))
    opaque = "A" not in image.mode and "transparency" not in image.info
    return np.asarray(image.convert("RGB" if opaque else "RGBA"))


def _notes(path: Path, image: Image.Image) -> list[str]:
    """Say what of the file is not read."""
    notes = []
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        notes.append(f"'{path.name}' holds {frames} pictures; only the first is read.")
    with open(path, "rb") as file:
        header = file.read(26)
    if header.startswith(b"\x89PNG") and header[24] == 16 and header[25] != 0:
        notes.append(
            f"'{path.name}' holds colours of 16 bits; only the upper 8 are read, "
            "save it as TIFF to keep all."
        )
    return notes


def _own_text(image: Image.Image) -> dict[str, Any]:
    """Return what this package wrote beside the pixels, if it did."""
    try:
        about = json.loads(image.info.get(TEXT_KEY, ""))
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}


def _text(about: Mapping[str, Any]) -> PngImagePlugin.PngInfo:
    """Return a PNG text that holds a JSON record."""
    info = PngImagePlugin.PngInfo()
    info.add_itxt(TEXT_KEY, json.dumps(about, ensure_ascii=False))
    return info


def _palette(colours: Mapping[int, str | None]) -> tuple[bytes, bytes]:
    """Return 256 colours and their opacity."""
    known: dict[int, str | None] = {0: None, **colours}
    palette = b"".join(bytes(class_rgb(number, known)) for number in range(256))
    opacity = bytes(0 if known.get(number, "") is None else 255 for number in range(256))
    return palette, opacity
