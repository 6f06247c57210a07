"""Fills network input from pixels, without a copy that is not needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.errors import ImageError
from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.mixing import mixed, working_dtype
from napari_onnxseg.prepare.normalize import Affine
from napari_onnxseg.prepare.stages import Stage, bounds_of, cut, row_blocks, straighten
from napari_onnxseg.prepare.validity import invalid_pixels
from napari_onnxseg.types import AnyArray, Mask, Pixels


@dataclass(frozen=True, slots=True)
class Feeder:
    """Turns raw pixels into network input.

    Parameters
    ----------
    channels : ChannelMap
        Image channels to model channels.
    affine : Affine
        The line of each model channel.
    nodata : float or None
        Value of pixels that are no data.
    dtype : str
        Numpy name of the element type that the model takes.
    stages : tuple of Stage
        What is done after the line, over all channels of the model.
    """

    channels: ChannelMap
    affine: Affine
    nodata: float | None
    dtype: str
    stages: tuple[Stage, ...] = ()

    def fill(self, pixels: Pixels, out: NDArray[Any]) -> Mask | None:
        """Write normalised pixels into network input.

        Pixels that are no data are fed as 0. 32-bit integers and wider, and float64, are
        worked on in float64, everything else in float32; integer model inputs are rounded
        and cut to their range.

        Parameters
        ----------
        pixels : numpy.ndarray
            (C, Y, X) or (C, Z, Y, X), any real dtype, byte order and strides; not changed.
        out : numpy.ndarray
            (model channels, Y, X) or (model channels, Z, Y, X), all of it overwritten.

        Returns
        -------
        numpy.ndarray or None
            (Y, X) or (Z, Y, X) bool, True where a pixel is no data; None when all are.

        Raises
        ------
        ImageError
            When ``out`` does not have the shape of the pixels.
        """
        expected = (self.channels.model_channels, *pixels.shape[1:])
        if out.shape != expected:
            raise ImageError(f"Pixels for input of shape {expected} were to fill {out.shape}.")
        invalid = self.invalid(pixels)
        with np.errstate(invalid="ignore", over="ignore"):
            fill = self._fill_stages if self.stages else self._fill_rows
            for rows in row_blocks(pixels.shape[1:]):
                fill(pixels[:, rows], out[:, rows])
        if invalid is not None:
            out[:, invalid] = 0
        return invalid

    def invalid(self, pixels: Pixels) -> Mask | None:
        """Tell which pixels are no data.

        Parameters
        ----------
        pixels : numpy.ndarray
            (C, Y, X) or (C, Z, Y, X), raw values.

        Returns
        -------
        numpy.ndarray or None
            (Y, X) or (Z, Y, X) bool, True where NaN, infinite, ``nodata`` in every channel
            that the network sees, or fully transparent; None when no pixel is.
        """
        return invalid_pixels(pixels, self.channels, self.nodata)

    def _fill_rows(self, pixels: Pixels, out: NDArray[Any]) -> None:
        """Fill some rows of all model channels."""
        if self.channels.weights is not None:
            self._write(mixed(pixels, self.channels), out[0], 0)
            return
        done: dict[tuple[int, float, float], int] = {}
        for number, pick in enumerate(self.channels.picks):
            line = (pick, self.affine.offset[number], self.affine.gain[number])
            if line in done:
                out[number] = out[done[line]]
            else:
                self._write(pixels[pick], out[number], number)
                done[line] = number

    def _fill_stages(self, pixels: Pixels, out: NDArray[Any]) -> None:
        """Fill some rows of all model channels by a chain, in place where the dtype allows."""
        kind = self._working(pixels.dtype)
        work = out if out.dtype == kind else np.empty(out.shape, kind)
        replace(self, dtype=kind.name, stages=())._fill_rows(pixels, work)
        for stage in self.stages:
            stage.apply(work)
        if work is not out:
            _narrow(work, out)

    def _write(self, plane: AnyArray, out: NDArray[Any], number: int) -> None:
        """Normalise one channel into ``out``, in place where its dtype allows."""
        kind = self._working(plane.dtype)
        work = out if out.dtype == kind else np.empty(out.shape, kind)
        work[...] = plane
        straighten(work, self.affine.offset[number], self.affine.gain[number])
        if self.affine.clip:
            cut(work, 0.0, 1.0)
        if work is not out:
            _narrow(work, out)

    def _working(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the float to work in; float64 also for slopes at the ends of float32."""
        steep = any(g and not 1e-30 < abs(g) < 1e30 for g in self.affine.gain)
        return np.dtype(np.float64) if steep else working_dtype(dtype)


def _narrow(work: NDArray[Any], out: NDArray[Any]) -> None:
    """Bring the result to the model's dtype without wrapping round or becoming infinite."""
    if out.dtype.kind in "iu":
        np.rint(work, out=work)
    if out.dtype.kind in "iu" or out.dtype.itemsize < work.dtype.itemsize:
        cut(work, *bounds_of(out.dtype, work.dtype))
    np.copyto(out, work, casting="unsafe")
