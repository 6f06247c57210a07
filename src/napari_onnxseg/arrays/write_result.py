"""Write any result, of any size, to the format that the name stands for."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays import nifti, polygons, tiffs, write_files
from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.arrays.chunks import blocks_of, chunk_sides
from napari_onnxseg.arrays.extras import need
from napari_onnxseg.arrays.ngff import PyramidSink
from napari_onnxseg.arrays.ngff_meaning import Kind, Meaning
from napari_onnxseg.arrays.placing import Placing
from napari_onnxseg.arrays.store import Form
from napari_onnxseg.arrays.store_folders import check_room
from napari_onnxseg.arrays.world import Georeference, VoxelGrid, World
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region

_PLAIN = (".png", ".tif", ".tiff", ".npy")
_EXTRAS = {
    ".nii": ("nibabel", "medical"),
    ".nii.gz": ("nibabel", "medical"),
    ".geojson": ("rasterio", "geo"),
    ".gpkg": ("rasterio", "geo"),
}
_HOLDS: dict[Kind, tuple[str, ...]] = {
    "labels": (*_PLAIN, ".zarr", *_EXTRAS),
    "image": (*_PLAIN, ".zarr", ".nii", ".nii.gz"),
    "rgba": (*_PLAIN, ".zarr"),
}
_ONE_PLANE = (".png", ".geojson", ".gpkg")
_STEP_PX = 512


def suffix_of(path: str | Path) -> str:
    """Return the part of a name that stands for a format.

    Parameters
    ----------
    path : str or Path
        Such as ``nuclei.ome.zarr`` or ``brain.nii.gz``.

    Returns
    -------
    str
        In small letters, such as ``".zarr"`` or ``".nii.gz"``.
    """
    name = Path(path).name.lower()
    return ".nii.gz" if name.endswith(".nii.gz") else Path(name).suffix


def check_result(path: str | Path, kind: Kind, *, planes: int = 1, replace: bool = False) -> None:
    """Refuse a file or store that cannot hold a result, before anything is computed.

    Parameters
    ----------
    path : str or Path
        Where the result shall go.
    kind : {"labels", "image", "rgba"}
        What it is; objects are labels.
    planes : int, optional
        Planes of the result; PNG and outlines hold one.
    replace : bool, optional
        Whether an older store may be replaced; files always are.

    Raises
    ------
    ChoiceError
        When the suffix is missing or stands for a format that would lose something, or there
        is a store already.
    FileFormatError
        When an extra is needed, or the path is a folder.
    """
    path, suffix = Path(path), suffix_of(path)
    if suffix in (*_PLAIN, ".jpg", ".jpeg"):
        write_files.check_output(path, kind, planes=planes)
    elif suffix not in _HOLDS[kind]:
        listed = ", ".join(_HOLDS[kind])
        raise ChoiceError(
            f"'{path.name}' cannot hold the result; use a name that ends in {listed}."
        )
    elif suffix in _ONE_PLANE and planes > 1:
        raise ChoiceError(
            f"Outlines are those of one plane, but '{path.name}' would get {planes}; write .tif "
            "or .zarr."
        )
    elif suffix == ".zarr":
        check_room(path, replace=replace)
    else:
        need(*_EXTRAS[suffix], f"Writing '{path.name}'")


def write_result(
    path: str | Path,
    values: Any,
    meaning: Meaning,
    *,
    world: World | None = None,
    replace: bool = False,
) -> None:
    """Write a result without loss, piece by piece where it is not in memory.

    Parameters
    ----------
    path : str or Path
        Ends in .png, .tif, .npy, .zarr (OME-Zarr), .nii, .nii.gz, .geojson or .gpkg.
    values : array-like
        The result, axes as in ``meaning``.
    meaning : Meaning
        Axes, kind, pixel size and classes.
    world : Georeference or VoxelGrid, optional
        As `ImageFile.world` gave it, moved to the part or level that was used.
    replace : bool, optional
        Whether an older store at the path may be replaced; files always are.

    Raises
    ------
    ChoiceError, FileFormatError
        As `check_result`.
    ImageError
        When a value does not fit the format.
    RunError
        When the disk is full.
    """
    path, suffix = Path(path), suffix_of(path)
    trailing = 2 + ("S" in meaning.axes)
    planes = prod(values.shape[: len(values.shape) - trailing])
    check_result(path, meaning.kind, planes=planes, replace=replace)
    if suffix == ".zarr":
        copy_to_store(path, values, meaning, replace=replace)
    elif suffix in (".nii", ".nii.gz"):
        grid = world if isinstance(world, VoxelGrid) else nifti.grid_of_scale(meaning.scale)
        nifti.write_nifti(path, np.asarray(values), grid)
    elif suffix in (".geojson", ".gpkg"):
        place = world if isinstance(world, Georeference) else None
        writer = polygons.write_geojson if suffix == ".geojson" else polygons.write_geopackage
        writer(path, np.asarray(values), meaning.names, place)
    elif suffix == ".npy" and not isinstance(values, np.ndarray):
        _stream_npy(path, values, trailing)
    elif suffix in (".tif", ".tiff") and (world or not isinstance(values, np.ndarray)):
        _write_tiff(path, values, meaning, world)
    else:
        _write_plain(path, np.asarray(values), meaning)


def copy_to_store(path: Path, values: Any, meaning: Meaning, *, replace: bool = False) -> None:
    """Copy an array into an OME-Zarr group, block by block, with all its levels.

    Parameters
    ----------
    path : Path
        Folder of the group.
    values : array-like
        Axes as in ``meaning``.
    meaning : Meaning
        Axes, kind, pixel size and classes.
    replace : bool, optional
        Whether an older store may be replaced.

    Raises
    ------
    ChoiceError
        When something is there already.
    RunError
        When the disk is full.
    """
    spatial = len(values.shape) - ("S" in meaning.axes)
    leading, plane = values.shape[: spatial - 2], values.shape[spatial - 2 : spatial]
    sides = chunk_sides(plane, (_STEP_PX, _STEP_PX))
    sink = PyramidSink.create(
        path, Form(tuple(values.shape), values.dtype, sides), meaning, replace=replace
    )
    for index in np.ndindex(*leading):
        for region in blocks_of(Region.of_shape(plane), sides):
            sink.write(index, region, np.asarray(values[(*index, *region.slices)]))
    sink.refresh()


def _write_plain(path: Path, values: Any, meaning: Meaning) -> None:
    """Write an array in memory as PNG, TIFF or NPY."""
    scale, units = meaning.scale, meaning.units
    if meaning.kind == "labels":
        write_files.write_labels(
            path, values, colours=meaning.colours, names=meaning.names, scale=scale, units=units
        )
    elif meaning.kind == "rgba":
        write_files.write_rgba(path, values, scale=scale, units=units)
    else:
        write_files.write_image(path, values, scale=scale, units=units)


def _write_tiff(path: Path, values: Any, meaning: Meaning, world: World | None) -> None:
    """Write a TIFF with its place on the map, or tile by tile."""
    rgba = "S" in meaning.axes
    placing = Placing.of(meaning.scale, meaning.units, len(values.shape) - rgba)
    about = write_files.about_of(placing, meaning.colours, meaning.names)
    with atomic(path) as file:
        tiffs.write_tiff(file, values, placing, about, rgba=rgba, world=world)


def _stream_npy(path: Path, values: Any, trailing: int) -> None:
    """Write a NPY file in bands of rows; the last axes are those of a plane."""
    head = {"descr": np.dtype(values.dtype).str, "fortran_order": False, "shape": values.shape}
    leading, rows = values.shape[:-trailing], values.shape[-trailing]
    with atomic(path) as file:
        np.lib.format.write_array_header_2_0(file, head)
        for index in np.ndindex(*leading):
            for top in range(0, rows, _STEP_PX):
                band = np.asarray(values[(*index, slice(top, top + _STEP_PX))])
                file.write(np.ascontiguousarray(band).tobytes())
