"""TIFF files of any size: only the tiles or strips that a region needs are decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.chunks import blocks_of
from napari_onnxseg.arrays.recent import Recent
from napari_onnxseg.arrays.turned import full_index
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray

KEPT_BYTES = 64 * 2**20
"""Decoded tiles and strips that each image keeps, for the next tile beside."""

_JPEG = (6, 7, 33007, 34892)  # values of the tag Compression that need tables from another tag


@dataclass(frozen=True, slots=True)
class _Page:
    """Where the pieces of one page lie."""

    path: Path
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


class TiffArray:
    """One level of a TIFF series, read region by region from any number of threads.

    Parameters
    ----------
    path : Path
        The file.
    series : tifffile.TiffPageSeries
        Of an open file, which may be closed afterwards.

    Raises
    ------
    ValueError
        When the pages do not make up the series as `can_read` demands.
    """

    def __init__(self, path: Path, series: Any) -> None:
        page = series.keyframe
        self.shape: tuple[int, ...] = tuple(int(n) for n in series.shape)
        self.dtype: np.dtype[Any] = np.dtype(series.dtype)
        self._page_shape = tuple(int(n) for n in page.shape)
        if not can_read(series):
            raise ValueError("pages that do not make up the image are not read by region")
        self._pages = [_located(path, one) for one in series.pages]
        self._decode: Callable[..., Any] = page.decode
        jpeg = page.compression in _JPEG
        self._tables = (
            {"jpegtables": page.jpegtables, "jpegheader": page.jpegheader} if jpeg else {}
        )
        self._grid = tuple(int(n) for n in page.chunked)
        planes = len(self._page_shape) - len(page.chunks)  # colours stored one after the other
        self._sides = (1,) * planes + tuple(int(n) for n in page.chunks)
        self._samples_last = page.planarconfig == 1 and page.samplesperpixel > 1
        self._empty = page.nodata
        self._kept = Recent(KEPT_BYTES)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a tile or strip."""
        return (1,) * (self.ndim - len(self._sides)) + self._sides

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> AnyArray:
        """Read a part: ints and slices, and an ellipsis."""
        picks = full_index(index, self.ndim)
        ranges = [_range(pick, n) for pick, n in zip(picks, self.shape, strict=True)]
        leading = self.ndim - len(self._page_shape)
        inside = [(min(r), max(r) + 1) if len(r) else (0, 0) for r in ranges[leading:]]
        region = Region(*(tuple(ends) for ends in zip(*inside, strict=True)))
        block = np.empty((*map(len, ranges[:leading]), *region.shape), self.dtype)
        for place in np.ndindex(*map(len, ranges[:leading])) if block.size else ():
            picked = [r[n] for r, n in zip(ranges, place, strict=False)]
            number = int(np.ravel_multi_index(picked, self.shape[:leading])) if picked else 0
            self._fill(number, region, block[place])
        steps = tuple(slice(None, None, r.step) for r in ranges[leading:])
        gone = tuple(slice(None) if isinstance(pick, slice) else 0 for pick in picks)
        stepped: AnyArray = block[(slice(None),) * leading + steps]
        return stepped[gone]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Read the whole array."""
        return np.asarray(self[...], dtype=dtype)

    def _fill(self, number: int, region: Region, out: AnyArray) -> None:
        """Read a part of one page."""
        page = self._pages[number]
        for part in blocks_of(region, self._sides):
            place = [a // side for a, side in zip(part.start, self._sides, strict=True)]
            piece = None
            if page is not None:
                piece = self._segment(number, page, int(np.ravel_multi_index(place, self._grid)))
            first = [-n * side for n, side in zip(place, self._sides, strict=True)]
            target = out[part.relative_to(region).slices]
            target[...] = self._empty if piece is None else piece[part.shift(first).slices]

    def _segment(self, number: int, page: _Page, segment: int) -> AnyArray | None:
        """Return one decoded tile or strip, or None for one that the file leaves out."""
        if not page.sizes[segment]:
            return None
        return self._kept.get((number, segment), lambda: self._decoded(page, segment))

    def _decoded(self, page: _Page, segment: int) -> AnyArray:
        """Read and decode one tile or strip, with the axes of the page."""
        with open(page.path, "rb") as file:
            file.seek(page.offsets[segment])
            data = file.read(page.sizes[segment])
        decoded, _, _ = self._decode(data, segment, **self._tables)
        return self._shaped(decoded)

    def _shaped(self, decoded: AnyArray) -> AnyArray:
        """Return (depth, length, width, samples) with the axes of the page."""
        flat: AnyArray = decoded[0]
        if self._samples_last:
            return flat
        return flat[..., 0].reshape((1,) * (len(self._sides) - 2) + flat.shape[:2])


def can_read(series: Any) -> bool:
    """Tell whether the pages of a series are the last axes of its shape.

    Parameters
    ----------
    series : tifffile.TiffPageSeries
        Of an open file.

    Returns
    -------
    bool
        False for volumes in one page and other rarities, which are read as a whole.
    """
    page = series.keyframe
    ndim = len(page.shape)
    pages = prod(series.shape[: len(series.shape) - ndim])
    return (
        series.shape[len(series.shape) - ndim :] == page.shape
        and pages == len(series.pages)
        and page.imagedepth == 1
        and len(page.chunked) == ndim
        and page.dtype == series.dtype
    )


def _located(path: Path, page: Any) -> _Page | None:
    """Return where a page lies; None for one that the series lacks."""
    if page is None:
        return None
    own = getattr(page.parent.filehandle, "path", "") or str(path)
    return _Page(Path(own), tuple(page.dataoffsets), tuple(page.databytecounts))


def _range(pick: Any, length: int) -> range:
    """Return the positions that one entry of an index picks."""
    if isinstance(pick, slice):
        return range(*pick.indices(length))
    if not -length <= pick < length:
        raise IndexError(f"There is no position {pick} on an axis of length {length}.")
    return range(int(pick) % length, int(pick) % length + 1)
