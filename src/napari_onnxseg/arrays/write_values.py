"""Write images of measured values: floats, one channel or several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.arrays.placing import METRES, SYMBOLS, Placing
from napari_onnxseg.arrays.write_files import check_output, write_image
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.types import AnyArray


def check_values(path: str | Path, *, planes: int = 1) -> None:
    """Refuse a file that cannot hold floats, before anything is computed.

    Parameters
    ----------
    path : str or Path
        Where the values shall go.
    planes : int, optional
        Planes of the result.

    Raises
    ------
    ChoiceError
        When the suffix stands for a format that holds no floats, or for none.
    FileFormatError
        When the path is a folder.
    """
    name = Path(path)
    if name.suffix.lower() == ".png":
        raise ChoiceError(
            f"'{name.name}' cannot hold measured values, because PNG holds whole numbers only; "
            "use a name that ends in .tif or .npy."
        )
    check_output(path, "image", planes=planes)


def write_values(
    path: str | Path,
    values: AnyArray,
    *,
    channels: Sequence[str] = (),
    scale: Sequence[float] | None = None,
    units: Sequence[str] | None = None,
) -> None:
    """Write measured values without loss.

    Parameters
    ----------
    path : str or Path
        File that ends in .tif, .tiff or .npy; replaced only once complete.
    values : numpy.ndarray
        (..., Y, X) float32, or (..., C, Y, X) with names of channels.
    channels : sequence of str, optional
        Names of the channels; without them there is no channel axis.
    scale, units : sequence, optional
        World units per pixel and their names, per axis, channels apart.

    Raises
    ------
    ChoiceError
        When the suffix stands for no format that holds floats.
    FileFormatError
        When the file cannot be written.
    """
    path = Path(path)
    check_values(path)
    if not channels or path.suffix.lower() == ".npy" or values.ndim > 4:
        write_image(path, values, scale=scale, units=units)
        return
    placing = Placing.of(scale, units, 2)
    with atomic(path) as file:
        tifffile.imwrite(
            file,
            np.asarray(values, np.float32),
            ome=True,
            bigtiff=values.nbytes > 2**31,
            compression="zlib",
            photometric="minisblack",
            metadata={
                "axes": "CYX" if values.ndim == 3 else "ZCYX",
                "Channel": {"Name": list(channels)},
                **_sizes(placing),
            },
        )


def _sizes(placing: Placing | None) -> dict[str, Any]:
    """Return the pixel size of rows and columns as OME names it."""
    found: dict[str, Any] = {}
    for letter, size, unit in zip("YX", *(_both(placing)), strict=True):
        if size > 0:
            symbol = SYMBOLS[unit] if unit in METRES else "pixel"
            found |= {f"PhysicalSize{letter}": size, f"PhysicalSize{letter}Unit": symbol}
    return found


def _both(placing: Placing | None) -> tuple[tuple[float, ...], tuple[str, ...]]:
    return (placing.scale, placing.units) if placing else ((0.0, 0.0), ("pixel", "pixel"))
