"""Where the pixels of a layer lie, and where those of a part of it do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from napari.layers import Layer
from numpy.typing import ArrayLike, NDArray

from napari_onnxseg.pipeline.pixel_size import PixelSize, stated_pixel_size

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Transform:
    """Where the pixels of a layer lie in the world: ``affine · (R · S · Z · p + t)``.

    Parameters
    ----------
    scale, translate : numpy.ndarray
        (n,) float64, world units per pixel and world units.
    rotate, shear : numpy.ndarray
        (n, n) float64.
    affine : numpy.ndarray
        (n + 1, n + 1) float64, homogeneous.
    units : tuple
        One unit per axis.
    axis_labels : tuple of str
        One name per axis.
    """

    scale: Matrix
    translate: Matrix
    rotate: Matrix
    shear: Matrix
    affine: Matrix
    units: tuple[Any, ...]
    axis_labels: tuple[str, ...]

    @classmethod
    def of(cls, layer: Layer) -> Transform:
        """Read the transform of a layer.

        Parameters
        ----------
        layer : napari.layers.Layer
            Any layer; the axis of colours of an RGB image does not count.

        Returns
        -------
        Transform
            A copy, so that the layer may move on.
        """
        return cls(
            scale=np.array(layer.scale, float),
            translate=np.array(layer.translate, float),
            rotate=np.array(layer.rotate, float),
            shear=_shear_matrix(np.asarray(layer.shear, float), layer.ndim),
            affine=np.array(layer.affine.affine_matrix, float),
            units=tuple(layer.units),
            axis_labels=tuple(layer.axis_labels),
        )

    def at(self, offset: ArrayLike, step: ArrayLike | None = None) -> Transform:
        """Transform of an array cut out at ``offset`` and thinned by ``step``.

        Parameters
        ----------
        offset : array-like
            First pixel of the part, one entry per axis, in pixels.
        step : array-like, optional
            Pixels of the layer per pixel of the part; the part's pixel is the mean of
            that many.

        Returns
        -------
        Transform
            Its pixel 0 lies where the part's first pixel lies.
        """
        steps = np.ones(len(self.scale)) if step is None else np.asarray(step, float)
        shift = np.asarray(offset, float) + (steps - 1) / 2
        linear = self.rotate @ self.shear @ np.diag(self.scale)
        return replace(self, scale=self.scale * steps, translate=self.translate + linear @ shift)

    def kept(self, axes: Sequence[int]) -> Transform:
        """Transform of an array that has only some of the axes left.

        Parameters
        ----------
        axes : sequence of int
            Axes that remain, in order.

        Returns
        -------
        Transform
            One entry per remaining axis.
        """
        keep = list(axes)
        square = np.ix_(keep, keep)
        homogeneous = [*keep, len(self.scale)]
        return Transform(
            scale=self.scale[keep],
            translate=self.translate[keep],
            rotate=self.rotate[square],
            shear=self.shear[square],
            affine=self.affine[np.ix_(homogeneous, homogeneous)],
            units=tuple(self.units[axis] for axis in keep),
            axis_labels=_kept_labels(self.axis_labels, keep),
        )

    def pixel_size(self, axes: Sequence[int]) -> PixelSize | None:
        """Side of a pixel, as long as it is in the world.

        Parameters
        ----------
        axes : sequence of int
            Rows and columns.

        Returns
        -------
        tuple of (tuple of float) and str, or None
            One number an axis, and the unit; None when they have no unit of length.
        """
        picked = np.ix_(list(axes), list(axes))
        linear = self.affine[:-1, :-1] @ self.rotate @ self.shear @ np.diag(self.scale)
        sides = np.linalg.norm(linear[picked], axis=0)
        return stated_pixel_size(sides.tolist(), [str(self.units[axis]) for axis in axes])

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for a new layer.

        Returns
        -------
        dict
            As `napari.layers.Layer` takes them.
        """
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def _shear_matrix(shear: Matrix, ndim: int) -> Matrix:
    """Expand napari's vector of upper-triangular values to a matrix."""
    if shear.ndim == 2:
        return shear.copy()
    matrix = np.eye(ndim)
    matrix[np.triu_indices(ndim, 1)] = shear
    return matrix


def _kept_labels(labels: tuple[str, ...], keep: Sequence[int]) -> tuple[str, ...]:
    """Axis labels that remain; napari's numbers from the end are counted anew."""
    return tuple(
        str(new - len(keep)) if labels[old] == str(old - len(labels)) else labels[old]
        for new, old in enumerate(keep)
    )
