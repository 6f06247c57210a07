"""Write results, by the suffix of the file: without loss or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from napari_onnxseg.arrays import pictures, tiffs
from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.arrays.placing import Placing
from napari_onnxseg.errors import ChoiceError, FileFormatError, ImageError
from napari_onnxseg.types import AnyArray, Rgba

ResultKind = Literal["labels", "rgba", "objects", "image"]
Colours = Mapping[int, str | None]

_SUFFIXES = (".png", ".tif", ".tiff", ".npy")
_HOLDS = {
    "labels": "loses class numbers",
    "objects": "loses object numbers",
    "rgba": "holds no opacity",
    "image": "loses detail",
}


def check_output(path: str | Path, kind: ResultKind, *, planes: int = 1) -> None:
    """Refuse a file that cannot hold a result, before anything is computed.

    Parameters
    ----------
    path : str or Path
        Where the result shall go.
    kind : {"labels", "rgba", "objects", "image"}
        What it is.
    planes : int, optional
        Planes of the result; PNG holds one.

    Raises
    ------
    ChoiceError
        When the suffix is missing or stands for a format that would lose something.
    FileFormatError
        When the path is a folder.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        why = f"{suffix} {_HOLDS[kind]}" if suffix in (".jpg", ".jpeg") else "no format of ours"
        raise ChoiceError(
            f"'{path.name}' cannot hold the result, {why}; use a name that ends in "
            ".png, .tif or .npy."
        )
    if suffix == ".png" and planes > 1:
        raise ChoiceError(
            f"A PNG file holds one plane, but '{path.name}' would get {planes}; write .tif or .npy."
        )
    if path.is_dir():
        raise FileFormatError(f"'{path}' is a folder; name a file in it.")


def write_labels(
    path: str | Path,
    labels: AnyArray,
    *,
    colours: Colours | None = None,
    names: Mapping[int, str] | None = None,
    scale: Sequence[float] | None = None,
    units: Sequence[str] | None = None,
) -> None:
    """Write class or object labels, without loss or not at all.

    PNG: indexed colours up to id 255, else 16-bit grey. TIFF: OME-TIFF, zlib. NPY: as is.

    Parameters
    ----------
    path : str or Path
        File that ends in .png, .tif, .tiff or .npy; replaced only once complete.
    labels : numpy.ndarray
        (..., Y, X) integers from 0.
    colours : mapping of int to (str or None), optional
        ``#rrggbb`` by class, None for transparent; for PNG and kept beside it in TIFF.
    names : mapping of int to str, optional
        Names by class.
    scale, units : sequence, optional
        World units per pixel and their names, per axis.

    Raises
    ------
    ChoiceError
        When the suffix stands for no format that holds labels.
    ImageError
        When an id does not fit the format, or a stack goes to PNG.
    FileFormatError
        When the file cannot be written.
    """
    path = Path(path)
    check_output(path, "labels")
    fitting = _fitting(path, labels, narrow=True)
    placing = Placing.of(scale, units, fitting.ndim)
    about = about_of(placing, colours or {}, names or {})
    with atomic(path) as file:
        if path.suffix.lower() == ".png" and fitting.dtype == np.uint8:
            pictures.write_indexed(file, fitting, colours or {}, about)
        else:
            _write(path, file, fitting, placing, about)


def write_rgba(
    path: str | Path,
    rgba: Rgba,
    *,
    compression: int = 6,
    scale: Sequence[float] | None = None,
    units: Sequence[str] | None = None,
) -> None:
    """Write a cut-out with straight alpha.

    Parameters
    ----------
    path : str or Path
        File that ends in .png, .tif, .tiff or .npy; replaced only once complete.
    rgba : numpy.ndarray
        (..., Y, X, 4) uint8.
    compression : int, optional
        Level of PNG compression, 0 (fast) to 9 (small).
    scale, units : sequence, optional
        World units per pixel and their names, per axis, colours apart.

    Raises
    ------
    ChoiceError
        When the suffix stands for no format that holds alpha, or the level is not 0 to 9.
    ImageError
        When a stack goes to PNG.
    FileFormatError
        When the file cannot be written.
    """
    path = Path(path)
    check_output(path, "rgba")
    if not 0 <= compression <= 9:
        raise ChoiceError(f"The compression is a level from 0 to 9, got {compression}.")
    is_png = path.suffix.lower() == ".png"
    values = pictures.plane_of(rgba, 3, path) if is_png else rgba
    placing = Placing.of(scale, units, values.ndim - 1)
    with atomic(path) as file:
        if is_png:
            pictures.write_png(file, values, about_of(placing), compression)
        elif path.suffix.lower() == ".npy":
            np.save(file, values)
        else:
            tiffs.write_tiff(file, values, placing, rgba=True)


def write_image(
    path: str | Path,
    values: AnyArray,
    *,
    scale: Sequence[float] | None = None,
    units: Sequence[str] | None = None,
) -> None:
    """Write grey values, such as confidence or the numbers of objects.

    Parameters
    ----------
    path : str or Path
        File that ends in .png, .tif, .tiff or .npy; replaced only once complete.
    values : numpy.ndarray
        (..., Y, X) numbers; in PNG uint8, or others from 0 to 65535 in 16 bits.
    scale, units : sequence, optional
        World units per pixel and their names, per axis.

    Raises
    ------
    ChoiceError
        When the suffix stands for no format that holds the values.
    ImageError
        When a value does not fit the format, or a stack goes to PNG.
    FileFormatError
        When the file cannot be written.
    """
    path = Path(path)
    check_output(path, "image")
    if values.dtype.kind != "f" or path.suffix.lower() == ".png":
        values = _fitting(path, values, narrow=False)
    placing = Placing.of(scale, units, values.ndim)
    with atomic(path) as file:
        _write(path, file, values, placing, about_of(placing))


def _write(
    path: Path,
    file: BinaryIO,
    values: AnyArray,
    placing: Placing | None,
    about: Mapping[str, Any],
) -> None:
    """Write grey values in the format of the suffix."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        np.save(file, values)
    elif suffix == ".png":
        pictures.write_png(file, values, about)
    else:
        tiffs.write_tiff(file, values, placing, about)


def _fitting(path: Path, values: AnyArray, *, narrow: bool) -> AnyArray:
    """Return whole numbers in a dtype that the format holds, or refuse them."""
    if values.dtype.kind not in "bui":
        raise ImageError(f"'{path.name}' holds whole numbers only, got {values.dtype}; use .npy.")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return values
    low, high = int(values.min()), int(values.max())
    limit = 65_535 if suffix == ".png" else 2**32 - 1
    if low < 0 or high > limit:
        raise ImageError(
            f"'{path.name}' holds numbers from 0 to {limit}, got {low} to {high}; "
            f"use {'.tif or .npy' if suffix == '.png' else '.npy'}."
        )
    if suffix == ".png":
        byte = values.dtype.itemsize == 1 or (narrow and high <= 255)
        return pictures.plane_of(values, 2, path).astype(np.uint8 if byte else np.uint16)
    if values.dtype.kind == "b" or values.dtype.itemsize == 8:
        return values.astype(np.min_scalar_type(high))
    return values


def about_of(
    placing: Placing | None,
    colours: Colours | None = None,
    names: Mapping[int, str] | None = None,
) -> dict[str, Any]:
    """Return what is kept beside the pixels: pixel size and classes.

    Parameters
    ----------
    placing : Placing or None
        Pixel size.
    colours : mapping of int to (str or None), optional
        ``#rrggbb`` by class, None for transparent.
    names : mapping of int to str, optional
        Names by class.

    Returns
    -------
    dict of str to object
        JSON-able.
    """
    about: dict[str, Any] = {}
    if placing is not None:
        about = {"scale": placing.scale, "units": placing.units}
    colours, names = colours or {}, names or {}
    if colours or names:
        about["classes"] = [
            {"id": number, "name": names.get(number, ""), "colour": colours.get(number)}
            for number in sorted({*colours, *names})
        ]
    return about
