"""A plane at the resolution of a model, read region by region from the image itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_onnxseg.arrays.source import ImageSource
from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.mixing import working_dtype
from napari_onnxseg.prepare.regrid import Regrid, row_bands
from napari_onnxseg.prepare.stages import bounds_of
from napari_onnxseg.prepare.validity import invalid_pixels
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask, Pixels

BAND_VALUES = 4_000_000
"""Values of the image that are worked on at once."""

MOST = 0.5
"""Share of no data above which a resampled pixel is no data."""


@dataclass(frozen=True, slots=True)
class ResampledSource:
    """An `ImageSource` over another one, with larger or smaller pixels.

    Any region equals that region of the whole, bit for bit. Integers stay integers, rounded
    as image libraries do, so that what a value means does not change. Pixels that are no
    data do not spread: the others count alone, and a pixel that is mostly no data is none.

    Parameters
    ----------
    source : ImageSource
        The image.
    shape : tuple of int
        Pixels wanted on each axis.
    seen : ChannelMap
        Which channels the network sees, and which one is opacity.
    nodata : float or None
        Value of pixels that are no data.
    """

    source: ImageSource
    shape: tuple[int, ...]
    seen: ChannelMap
    nodata: float | None

    @property
    def channels(self) -> int:
        """Number of channels."""
        return self.source.channels

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the image; float32 for truth values, which have means now."""
        dtype = self.source.dtype.newbyteorder("=")
        return np.dtype(np.float32) if dtype.kind == "b" else dtype

    def read(self, region: Region) -> Pixels:
        """Return the values of a region.

        Parameters
        ----------
        region : Region
            Inside the resampled image.

        Returns
        -------
        numpy.ndarray
            (C, *region.shape), in memory that does not grow with the ratio.
        """
        out = np.empty((self.channels, *region.shape), self.dtype)
        if region.size:
            regrid = Regrid(self.source.shape, self.shape)
            wide = regrid.needs(region)
            per_row = self.channels * max(wide.size, region.size) // region.shape[0]
            for band in row_bands(region, per_row, BAND_VALUES):
                out[(slice(None), *band.relative_to(region).slices)] = self._part(regrid, band)
        return out

    def _part(self, regrid: Regrid, region: Region) -> Pixels:
        """Resample a part that is small enough."""
        needed = regrid.needs(region)
        pixels = self.source.read(needed)
        kind = working_dtype(pixels.dtype)
        invalid = None
        if can_lack(self.source, self.seen, self.nodata):
            invalid = invalid_pixels(pixels, self.seen, self.nodata)
        with np.errstate(invalid="ignore", over="ignore"):
            if invalid is None:
                return self._rounded(regrid.filtered(pixels, needed.start, region, kind))
            clean = np.where(invalid, pixels.dtype.type(0), pixels)
            sums = regrid.filtered(clean, needed.start, region, kind)
            gone = regrid.filtered(invalid[np.newaxis], needed.start, region, kind)
            np.divide(sums, 1 - gone, out=sums, where=(gone > 0) & (gone <= MOST))
            return self._marked(self._rounded(sums), gone[0] > MOST)

    def _rounded(self, values: AnyArray) -> Pixels:
        """Bring sums to the dtype of the image."""
        if self.dtype.kind in "iu":
            np.rint(values, out=values)
            np.clip(values, *bounds_of(self.dtype, values.dtype), out=values)
        return values.astype(self.dtype, copy=False)

    def _marked(self, values: Pixels, gone: Mask) -> Pixels:
        """Write into pixels that are no data what says so."""
        if self.dtype.kind == "f":
            values[:, gone] = np.nan
        elif self.seen.alpha is not None:
            values[self.seen.alpha, gone] = 0
        else:
            for channel in self.seen.used:
                values[channel, gone] = self.nodata
        return values


def can_lack(source: ImageSource, seen: ChannelMap, nodata: float | None) -> bool:
    """Tell whether some pixel could be no data, without looking at any.

    Parameters
    ----------
    source : ImageSource
        The image.
    seen : ChannelMap
        Which channels the network sees, and which one is opacity.
    nodata : float or None
        Value of pixels that are no data.

    Returns
    -------
    bool
        False for whole numbers without opacity and without a value that means no data.
    """
    return source.dtype.kind == "f" or seen.alpha is not None or nodata is not None
