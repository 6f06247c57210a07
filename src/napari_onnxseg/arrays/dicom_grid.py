"""Where the slices of a DICOM series lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from napari_onnxseg.arrays.world import Matrix, VoxelGrid
from napari_onnxseg.types import AnyArray

_UNEVEN = 0.01  # of the distance between slices


def grid_of(
    headers: Sequence[Any],
) -> tuple[VoxelGrid | None, tuple[float, float, float], list[str]]:
    """Return the place of a volume, its spacing, and what is uneven in it.

    Parameters
    ----------
    headers : sequence of pydicom.Dataset
        Of the files, in order.

    Returns
    -------
    grid : VoxelGrid or None
        None where the files do not say where their slices lie.
    spacing : tuple of float
        (Z, Y, X) in millimetres.
    notes : list of str
        Sentences for the user.
    """
    first = headers[0]
    notes: list[str] = []
    rows, columns = (float(v) for v in _measure(first, "PixelSpacing") or (1.0, 1.0))
    between = float(
        first.get("SpacingBetweenSlices", 0) or _measure(first, "SliceThickness") or 1.0
    )
    if not ("ImagePositionPatient" in first and "ImageOrientationPatient" in first):
        return None, (between, rows, columns), notes
    start = vector_of(first.ImagePositionPatient)
    step = normal_of(first) * between
    if len(headers) > 1:
        places = np.array([vector_of(header.ImagePositionPatient) for header in headers])
        step = (places[-1] - places[0]) / (len(headers) - 1)
        between = float(np.linalg.norm(step)) or between
        gaps = np.linalg.norm(np.diff(places, axis=0), axis=1)
        if np.abs(gaps - between).max() > _UNEVEN * between:
            notes.append(
                f"The slices are not evenly spaced ({gaps.min():.3g} to {gaps.max():.3g} mm); "
                "their mean distance is used."
            )
    along, down = np.split(vector_of(first.ImageOrientationPatient), 2)
    lps = np.stack([along * columns, down * rows, step, start], axis=1)
    ras = lps * np.array([[-1.0], [-1.0], [1.0]])
    affine: Matrix = (*(tuple(map(float, row)) for row in ras), (0.0, 0.0, 0.0, 1.0))
    return VoxelGrid(affine, (1, 1)), (between, rows, columns), notes


def _measure(header: Any, name: str) -> Any:
    """Return a spacing, from the header or from what frames of one file share."""
    if header.get(name) is not None:
        return header[name].value
    shared = header.get("SharedFunctionalGroupsSequence")
    measures = shared[0].get("PixelMeasuresSequence") if shared else None
    return measures[0].get(name) if measures else None


def vector_of(values: Any) -> AnyArray:
    """Return decimal strings as numbers.

    Parameters
    ----------
    values : sequence
        Of a DICOM element.

    Returns
    -------
    numpy.ndarray
        Of dtype float64.
    """
    return np.array([float(value) for value in values])


def normal_of(header: Any) -> AnyArray:
    """Return the direction through the slices.

    Parameters
    ----------
    header : pydicom.Dataset
        Of one slice.

    Returns
    -------
    numpy.ndarray
        (3,) unit vector in the coordinates of DICOM: to the left, to the back, upwards.
    """
    if "ImageOrientationPatient" not in header:
        return np.array([0.0, 0.0, 1.0])
    along, down = np.split(vector_of(header.ImageOrientationPatient), 2)
    return np.cross(along, down)
