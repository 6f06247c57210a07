"""Pictures that only GDAL reads, by window; needs the extra ``geo``."""

from __future__ import annotations

from io import BytesIO
from math import prod
from pathlib import Path
from threading import local
from typing import Any

import numpy as np

from napari_onnxseg.arrays.extras import need
from napari_onnxseg.arrays.formats import READ
from napari_onnxseg.arrays.geotiff import georeference, metres_per_pixel
from napari_onnxseg.arrays.image_file import ImageFile
from napari_onnxseg.arrays.pyramid import as_levels
from napari_onnxseg.arrays.turned import TurnedArray, full_index
from napari_onnxseg.arrays.world import Georeference
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.types import AnyArray


class RasterArray:
    """The bands of a raster at one resolution, (C, Y, X); each thread has its own handle.

    Parameters
    ----------
    path : Path
        The file.
    dataset : rasterio.DatasetReader
        Open, for shape and dtype.
    overview : int or None
        Number of the coarser level, from 0; None for full resolution.
    """

    def __init__(self, path: Path, dataset: Any, overview: int | None = None) -> None:
        self.shape: tuple[int, ...] = (dataset.count, dataset.height, dataset.width)
        self.dtype: np.dtype[Any] = np.dtype(dataset.dtypes[0])
        self._path, self._overview = path, overview
        self._own = local()

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> AnyArray:
        """Read a part: ints and slices, and an ellipsis."""
        from rasterio.windows import Window

        picks = full_index(index, self.ndim)
        bands, rows, columns = (
            range(n)[p] if isinstance(p, slice) else range(n)[range(n)[p] :][:1]
            for p, n in zip(picks, self.shape, strict=True)
        )
        sides = tuple(len(r) for r in (bands, rows, columns))
        block: AnyArray = np.empty(sides, self.dtype)
        if prod(sides):
            top, left = min(rows), min(columns)
            window = Window(left, top, max(columns) + 1 - left, max(rows) + 1 - top)
            whole = self._dataset().read([band + 1 for band in bands], window=window)
            block = whole[:, :: rows.step, :: columns.step]
        return block[tuple(slice(None) if isinstance(p, slice) else 0 for p in picks)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Read the whole raster."""
        return np.asarray(self[...], dtype=dtype)

    def _dataset(self) -> Any:
        """Return this thread's handle."""
        if not hasattr(self._own, "dataset"):
            self._own.dataset = _open(self._path, self._overview)
        return self._own.dataset


def read_raster(path: Path) -> ImageFile:
    """Open a raster that is no TIFF, such as JPEG 2000, ERDAS Imagine or a VRT.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    ImageFile
        (Y, X), or (C, Y, X), or colours on the last axis where the file says so.

    Raises
    ------
    FileFormatError
        Without rasterio, or when GDAL does not know the file either.
    """
    rasterio = need("rasterio", "geo", f"Reading '{path.name}', which GDAL may know,")
    try:
        dataset = _open(path, None)
    except rasterio.errors.RasterioIOError as fault:
        raise FileFormatError(
            f"'{path}' is no {READ} image, nor does GDAL read it "
            f"({' '.join(str(fault).split()).rstrip('.')}); save it in one of these formats."
        ) from fault
    with dataset:
        if not dataset.count:
            inside = ", ".join(dataset.subdatasets[:4]) or "nothing"
            raise FileFormatError(f"'{path}' holds several rasters ({inside}); give one of them.")
        bands = [RasterArray(path, dataset)]
        for number in range(len(dataset.overviews(1))):
            with _open(path, number) as coarser:
                bands.append(RasterArray(path, coarser, number))
        return _described(bands, dataset)


def _open(path: Path, overview: int | None) -> Any:
    """Open a raster at full resolution or a coarser one, quietly when it has no place."""
    import warnings

    import rasterio

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        return rasterio.open(path, **({} if overview is None else {"OVERVIEW_LEVEL": overview}))


def _described(bands: list[RasterArray], dataset: Any) -> ImageFile:
    """Return the bands with what the file says of them."""
    meant = [str(band.name) for band in dataset.colorinterp]
    rgb = meant in (["red", "green", "blue"], ["red", "green", "blue", "alpha"])
    arrays: list[Any] = list(bands)
    axes = "CYX"
    if rgb:
        arrays, axes = [TurnedArray(array, (1, 2, 0)) for array in arrays], "YXS"
    channel = None if rgb else 0
    place = _place(dataset)
    metres = None if place is None else metres_per_pixel(place)
    levels = as_levels(arrays, channel_axis=channel, rgb=rgb) if len(arrays) > 1 else None
    return ImageFile(
        arrays[0],
        axes,
        rgb=rgb,
        channel_axis=channel,
        scale=metres,
        units=None if metres is None else ("meter", "meter"),
        levels=levels,
        nodata=None if dataset.nodata is None else float(dataset.nodata),
        world=place,
    )


def _place(dataset: Any) -> Georeference | None:
    """Return the georeference in the words of GeoTIFF, by letting GDAL write a tiny one."""
    import rasterio
    import tifffile

    if dataset.crs is None and dataset.transform.is_identity:
        return None
    kind = {"driver": "GTiff", "count": 1, "width": 1, "height": 1, "dtype": "uint8"}
    with rasterio.MemoryFile() as held:
        with held.open(**kind, crs=dataset.crs, transform=dataset.transform) as tiny:
            tiny.write(np.zeros((1, 1, 1), np.uint8))
        with tifffile.TiffFile(BytesIO(held.read())) as tif:
            return georeference(tif.pages[0])
