"""NIfTI volumes, with their grid."""

from __future__ import annotations

import gzip
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.arrays.converted import ConvertedArray
from napari_onnxseg.arrays.extras import need
from napari_onnxseg.arrays.image_file import ImageFile
from napari_onnxseg.arrays.turned import TurnedArray
from napari_onnxseg.arrays.world import VoxelGrid
from napari_onnxseg.errors import FileFormatError, ImageError
from napari_onnxseg.types import AnyArray

EAGER_BYTES = 2**30
"""Compressed volumes, which can only be read from their start, are held when no larger."""

_AXES = {2: "YX", 3: "ZYX", 4: "TZYX", 5: "CTZYX"}
_LENGTHS = {"mm": "millimeter", "meter": "meter", "micron": "micrometer"}
_TIMES = {"sec": "second", "msec": "millisecond", "usec": "microsecond"}
_DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")


def read_nifti(path: Path) -> ImageFile:
    """Open a NIfTI volume; its values are scaled as the file says.

    Parameters
    ----------
    path : Path
        .nii or .nii.gz.

    Returns
    -------
    ImageFile
        Axes (T, Z, Y, X), the reverse of the file's, so that X is the file's first axis. Values
        keep their dtype, or are float32 where the file has a slope or an intercept.

    Raises
    ------
    FileFormatError
        Without nibabel, and for colours and complex values.
    """
    nibabel = need("nibabel", "medical", f"Reading '{path.name}' (NIfTI)")
    image = nibabel.load(path)
    header, proxy = image.header, image.dataobj
    dtype = np.dtype(header.get_data_dtype())
    if dtype.kind not in "iuf" or len(proxy.shape) not in _AXES:
        raise FileFormatError(
            f"'{path}' holds {dtype} values of shape {proxy.shape}; grey volumes of 2 to 5 axes "
            "are read."
        )
    data: Any = TurnedArray(proxy, tuple(range(len(proxy.shape)))[::-1])
    if (proxy.slope, proxy.inter) != (1, 0):
        dtype = np.dtype(np.float32)
        convert = partial(np.asarray, dtype=dtype)
        data = ConvertedArray(data, convert, data.shape, dtype, colours=False)
    if path.name.lower().endswith(".gz") and prod(data.shape) * dtype.itemsize <= EAGER_BYTES:
        data = np.asarray(data)
    return _placed(data, image)


def write_nifti(path: Path, values: AnyArray, grid: VoxelGrid) -> None:
    """Write a volume on the grid of the image that it was made from.

    Parameters
    ----------
    path : Path
        .nii or .nii.gz; replaced only once complete.
    values : numpy.ndarray
        (Y, X), (Z, Y, X) or (T, Z, Y, X).
    grid : VoxelGrid
        As read, perhaps moved.

    Raises
    ------
    FileFormatError
        Without nibabel, or when the file cannot be written.
    ImageError
        When a value does not fit.
    """
    nibabel = need("nibabel", "medical", f"Writing '{path.name}' (NIfTI)")
    fitting = _fitting(path, np.asarray(values))
    volume = fitting.transpose()
    image = nibabel.Nifti1Image(volume, np.asarray(grid.affine, float), dtype=volume.dtype)
    image.set_sform(np.asarray(grid.affine, float), code=grid.codes[0])
    image.set_qform(np.asarray(grid.affine, float), code=grid.codes[1], strip_shears=True)
    image.header.set_xyzt_units("mm")
    content = image.to_bytes()
    packed = gzip.compress(content, 6, mtime=0) if path.name.lower().endswith(".gz") else content
    with atomic(path) as file:
        file.write(packed)


def grid_of_scale(scale: tuple[float, ...] | None) -> VoxelGrid:
    """Return a grid for a volume of which only the voxel size is known.

    Parameters
    ----------
    scale : tuple of float or None
        Millimetres per voxel; the last axes are (Z, Y, X).

    Returns
    -------
    VoxelGrid
        With the first voxel in the origin.
    """
    sides = ([1.0] * 3 + [abs(float(s)) for s in scale or ()])[-3:][::-1]
    rows = [tuple(side if n == m else 0.0 for m in range(4)) for n, side in enumerate(sides)]
    return VoxelGrid((*rows, (0.0, 0.0, 0.0, 1.0)))


def _placed(data: Any, image: Any) -> ImageFile:
    """Return the data with voxel size and grid."""
    header = image.header
    axes = _AXES[len(data.shape)]
    length, time = header.get_xyzt_units()
    zooms = [float(zoom) for zoom in header.get_zooms()]
    known = dict(zip("XYZT", zooms, strict=False))
    units = {
        "T": _TIMES.get(time, "pixel"),
        **dict.fromkeys("XYZ", _LENGTHS.get(length, "millimeter")),
    }
    kept = axes.replace("C", "")
    codes = (int(header["sform_code"]), int(header["qform_code"]))
    affine = tuple(tuple(float(value) for value in row) for row in image.affine)
    return ImageFile(
        data,
        axes,
        channel_axis=0 if "C" in axes else None,
        scale=tuple(known[letter] or 1.0 for letter in kept),
        units=tuple(units[letter] for letter in kept),
        world=VoxelGrid(affine, codes if any(codes) else (1, 0)),
    )


def _fitting(path: Path, values: AnyArray) -> AnyArray:
    """Return values in a dtype that the format holds, or refuse them."""
    if values.dtype.name in _DTYPES:
        return values
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    if (
        values.dtype.kind in "iu"
        and values.size
        and abs(int(values.max())) < 2**31 > -int(values.min())
    ):
        return values.astype(np.int32)
    raise ImageError(f"'{path.name}' cannot hold {values.dtype} values without loss; use .npy.")
