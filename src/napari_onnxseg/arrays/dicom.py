"""DICOM files and series, with spacing, orientation and rescaling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.dicom_grid import grid_of, normal_of, vector_of
from napari_onnxseg.arrays.extras import need
from napari_onnxseg.arrays.image_file import ImageFile
from napari_onnxseg.arrays.recent import Recent
from napari_onnxseg.arrays.turned import full_index
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.types import AnyArray

KEPT_BYTES = 64 * 2**20
"""Decoded slices that a series keeps, for the next tile beside."""


@dataclass(frozen=True, slots=True)
class _Slice:
    """One frame of one file."""

    path: Path
    frame: int
    slope: float
    intercept: float


class DicomArray:
    """A stack of DICOM frames, each decoded when it is needed.

    Parameters
    ----------
    slices : sequence of _Slice
        In order.
    shape : tuple of int
        Of one frame: rows, columns, and 3 where it has colours.
    dtype : numpy.dtype
        Of the rescaled values.
    """

    def __init__(
        self, slices: Sequence[_Slice], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.shape: tuple[int, ...] = (len(slices), *shape)
        self.dtype = dtype
        self._slices = tuple(slices)
        self._kept = Recent(KEPT_BYTES)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> AnyArray:
        """Read a part: ints and slices, and an ellipsis."""
        first, *rest = full_index(index, self.ndim)
        if not isinstance(first, slice):
            frame: AnyArray = self._frame(range(len(self))[first])[tuple(rest)]
            return frame
        parts = [self._frame(n)[tuple(rest)] for n in range(len(self))[first]]
        if parts:
            return np.stack(parts)
        return np.empty((0, *self._frame(0)[tuple(rest)].shape), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Read the whole series."""
        return np.asarray(self[...], dtype=dtype)

    def _frame(self, number: int) -> AnyArray:
        """Return one frame, rescaled."""
        return self._kept.get(number, lambda: self._decoded(self._slices[number]))

    def _decoded(self, one: _Slice) -> AnyArray:
        """Decode and rescale one frame."""
        from pydicom.pixels import pixel_array

        stored = np.asarray(pixel_array(one.path, index=one.frame))
        if (one.slope, one.intercept) == (1.0, 0.0):
            return stored.astype(self.dtype, copy=False)
        scaled: AnyArray = (stored * one.slope + one.intercept).astype(self.dtype)
        return scaled


def read_dicom(path: Path) -> ImageFile:
    """Open a DICOM file, or the largest series of a folder; values are rescaled as it says.

    Parameters
    ----------
    path : Path
        A file, or a folder of files.

    Returns
    -------
    ImageFile
        (Z, Y, X) in the order of the slices' positions, or (Y, X). Whole numbers stay so where
        slope and intercept are; others become float32.

    Raises
    ------
    FileFormatError
        Without pydicom, and when there are no pixels or the frames differ in size.
    """
    pydicom = need("pydicom", "medical", f"Reading '{path.name}' (DICOM)")
    files = _series(pydicom, path)
    if not files:
        raise FileFormatError(f"'{path}' holds no DICOM image; give a file or folder with pixels.")
    ordered = _in_order(files[0])
    first = ordered[0][1]
    sizes = {(d.Rows, d.Columns, d.get("SamplesPerPixel", 1)) for _, d in ordered}
    if len(sizes) > 1:
        raise FileFormatError(
            f"The series in '{path}' has frames of different sizes, {sorted(sizes)}; sort them "
            "into folders."
        )
    colour = first.get("SamplesPerPixel", 1) == 3
    slices = [part for file, header in ordered for part in _slices(file, header)]
    shape = (int(first.Rows), int(first.Columns), *((3,) if colour else ()))
    data: Any = DicomArray(slices, shape, _dtype(first, slices))
    grid, spacing, notes = grid_of([header for _, header in ordered])
    axes = "ZYX"
    if len(slices) == 1:
        data, axes = data[0], "YX"
    return ImageFile(
        data,
        axes + "S" * colour,
        rgb=colour,
        scale=spacing[-len(axes) :],
        units=("millimeter",) * len(axes),
        notes=(*_notes(path, files, first), *notes),
        world=grid,
    )


def _series(pydicom: Any, path: Path) -> list[list[tuple[Path, Any]]]:
    """Return files with their headers, by series, the largest first."""
    found: dict[str, list[tuple[Path, Any]]] = {}
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.is_file() and pydicom.misc.is_dicom(file):
            header = pydicom.dcmread(file, stop_before_pixels=True)
            if "Rows" in header:
                found.setdefault(str(header.get("SeriesInstanceUID", "")), []).append(
                    (file, header)
                )
    return sorted(found.values(), key=len, reverse=True)


def _in_order(files: list[tuple[Path, Any]]) -> list[tuple[Path, Any]]:
    """Sort slices along the axis through them, or by their number."""
    if len(files) > 1 and all("ImagePositionPatient" in header for _, header in files):
        normal = normal_of(files[0][1])
        return sorted(files, key=lambda f: float(normal @ vector_of(f[1].ImagePositionPatient)))
    return sorted(files, key=lambda f: (int(f[1].get("InstanceNumber", 0) or 0), f[0].name))


def _slices(path: Path, header: Any) -> list[_Slice]:
    """Return the frames of a file."""
    slope = float(header.get("RescaleSlope", 1) or 1)
    intercept = float(header.get("RescaleIntercept", 0) or 0)
    frames = int(header.get("NumberOfFrames", 1) or 1)
    return [_Slice(path, frame, slope, intercept) for frame in range(frames)]


def _dtype(header: Any, slices: Sequence[_Slice]) -> np.dtype[Any]:
    """Return the dtype of the rescaled values: whole numbers where they can be."""
    signed = bool(header.get("PixelRepresentation", 0))
    stored = np.dtype(f"{'i' if signed else 'u'}{max(1, int(header.BitsAllocated) // 8)}")
    factors = {(one.slope, one.intercept) for one in slices}
    if factors == {(1.0, 0.0)}:
        return stored
    if not all(slope.is_integer() and start.is_integer() for slope, start in factors):
        return np.dtype(np.float32)
    bits = int(header.get("BitsStored", stored.itemsize * 8))
    ends = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    reached = [slope * end + start for slope, start in factors for end in ends]
    fitting = (t for t in (np.int16, np.int32) if np.iinfo(t).min <= min(reached))
    return np.dtype(next((t for t in fitting if max(reached) <= np.iinfo(t).max), np.float32))


def _notes(path: Path, series: Sequence[Sequence[Any]], header: Any) -> list[str]:
    """Say what of the files is not read."""
    notes = []
    if len(series) > 1:
        sizes = Counter(len(files) for files in series)
        notes.append(
            f"'{path.name}' holds {sum(sizes.values())} series; only the largest, of "
            f"{len(series[0])} files, is read."
        )
    if header.get("PhotometricInterpretation") == "MONOCHROME1":
        notes.append(f"'{path.name}' stores black as its largest value; it is read as stored.")
    return notes
