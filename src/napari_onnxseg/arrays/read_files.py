"""Read image files, known by their content rather than by their name."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from napari_onnxseg.arrays import dicom, ngff_read, nifti, pictures, tiff_read
from napari_onnxseg.arrays.formats import READ, format_of
from napari_onnxseg.arrays.image_file import ImageFile
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.types import AnyArray


def is_image(path: str | Path) -> bool:
    """Tell by content whether `read_image` knows a file, or a folder that is one image.

    Parameters
    ----------
    path : str or Path
        Any path.

    Returns
    -------
    bool
        True for zarr stores too; False for other folders, and what cannot be opened.
    """
    try:
        return format_of(Path(path)) in _READERS
    except FileFormatError:
        return False


def read_image(path: str | Path) -> ImageFile:
    """Read or open a PNG, JPEG, TIFF, OME-TIFF, NPY, OME-Zarr, NIfTI or DICOM image.

    NIfTI and DICOM need the extra ``medical``; with the extra ``geo`` GDAL reads what else it
    knows.

    Parameters
    ----------
    path : str or Path
        The file or store; its content decides what it is, not its name.

    Returns
    -------
    ImageFile
        Values with their axes and pixel size. JPEG pictures are upright by their EXIF
        tag, palettes are resolved, CMYK is turned into RGB, 16 bits stay 16 bits. Large
        images are not read yet: their data reads what it is asked for.

    Raises
    ------
    FileFormatError
        When the file is missing, damaged, or of another kind.
    """
    path = Path(path)
    kind = format_of(path)
    return _reading(path, kind, _READERS.get(kind, _other))


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
    if format_of(path) != "PNG":
        return read_image(path)
    return _reading(path, "PNG", lambda file: _picture(file, indices=True))


def _reading(path: Path, kind: str, reader: Callable[[Path], ImageFile]) -> ImageFile:
    """Read a file and say in one sentence when it cannot be read."""
    try:
        return reader(path)
    except (MemoryError, FileFormatError):
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
    image = tiff_read.read_tiff(path)
    channel = tiff_read.channel_of(image.axes, rgb=image.rgb)
    colours = len(image.axes) - 1 if image.rgb else channel
    kept = "".join(a for i, a in enumerate(image.axes) if i != colours)
    placed = [image.sizes.get(letter, (1.0, "pixel")) for letter in kept]
    return ImageFile(
        image.values,
        image.axes,
        rgb=image.rgb,
        channel_axis=channel,
        scale=tuple(size for size, _ in placed) if image.sizes else None,
        units=tuple(unit for _, unit in placed) if image.sizes else None,
        notes=image.notes,
        levels=image.levels,
        nodata=image.nodata,
        world=image.world,
    )


def _npy(path: Path) -> ImageFile:
    """Map a numpy array, never running code from the file."""
    values: AnyArray = np.load(path, mmap_mode="r", allow_pickle=False)
    return ImageFile(values, "YX"[-values.ndim :].rjust(values.ndim, "Q") if values.ndim else "")


def _other(path: Path) -> ImageFile:
    """Let GDAL try what nobody else knows, where it is installed."""
    if find_spec("rasterio") is None:
        raise FileFormatError(
            f"'{path}' is no {READ} image, whatever its name says; save it in one of these, or "
            "install what reads other maps: pip install 'napari-onnxseg[geo]'."
        )
    from napari_onnxseg.arrays.rasters import read_raster

    return read_raster(path)


_READERS: dict[str, Callable[[Path], ImageFile]] = {
    "PNG": _picture,
    "JPEG": _picture,
    "TIFF": _tiff,
    "NPY": _npy,
    "ZARR": ngff_read.read_zarr,
    "NIFTI": nifti.read_nifti,
    "DICOM": dicom.read_dicom,
}
