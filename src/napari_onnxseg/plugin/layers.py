"""What an Image layer means, and where a result made from it belongs."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from napari.layers import Image, Layer
from numpy.typing import NDArray

CHANNEL_LABELS = frozenset({"c", "ch", "channel", "channels"})
"""Axis labels that name a channel axis."""

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

    def at(self, offset: Sequence[float], step: Sequence[float] | None = None) -> Transform:
        """Transform of an array cut out at ``offset`` and thinned by ``step``.

        Parameters
        ----------
        offset : sequence of float
            First pixel of the part, one entry per axis, in pixels.
        step : sequence of float, optional
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

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for a new layer.

        Returns
        -------
        dict
            As `napari.layers.Layer` takes them.
        """
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Source:
    """An Image layer as it was when a run was asked for.

    Parameters
    ----------
    layer : weakref.ref
        The layer; dead or outside the viewer once the user removed it.
    name : str
        Its name.
    data : array-like
        Full resolution: level 0 of a pyramid.
    rgb : bool
        Whether the last axis of ``data`` holds colours.
    transform : Transform
        Where it lies.
    """

    layer: weakref.ref[Image]
    name: str
    data: Any
    rgb: bool
    transform: Transform


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a result made from a source belongs.

    Parameters
    ----------
    source : Source
        What it was made from.
    axes : tuple of int
        Axes of the source that remain in the result.
    picked : tuple of (int or None)
        For each of these axes the one index that was worked on; None where all were.
    """

    source: Source
    axes: tuple[int, ...]
    picked: tuple[int | None, ...]

    def transform(self) -> Transform:
        """Where the result lies, picked indices at their place.

        Returns
        -------
        Transform
            One entry per axis of the result.
        """
        offset = np.zeros(len(self.source.transform.scale))
        for axis, index in zip(self.axes, self.picked, strict=True):
            offset[axis] = index or 0
        return self.source.transform.at(offset).kept(self.axes)

    def fit(self, array: NDArray[Any], trailing: int = 0) -> NDArray[Any]:
        """Give a result one axis per axis of the layer, of length one where picked.

        Parameters
        ----------
        array : numpy.ndarray
            Result of a run, picked axes present or dropped.
        trailing : int
            Axes at the end that are no axes of the layer (1 for colours).

        Returns
        -------
        numpy.ndarray
            A view of ``array``.
        """
        shape = self.source.data.shape
        sides = [
            shape[axis] if index is None else 1
            for axis, index in zip(self.axes, self.picked, strict=True)
        ]
        return array.reshape(*sides, *array.shape[array.ndim - trailing :])

    def name(self, word: str) -> str:
        """Name of a result layer.

        Parameters
        ----------
        word : str
            What it shows, such as ``"classes"``.

        Returns
        -------
        str
            The source's name, the word, and the slice when only one was worked on.
        """
        indices = [str(index) for index in self.picked if index is not None]
        where = f" (slice {', '.join(indices)})" if indices else ""
        return f"{self.source.name} · {word}{where}"


def capture(layer: Image) -> Source:
    """Take down what an Image layer is now.

    Parameters
    ----------
    layer : napari.layers.Image
        Single or multiscale.

    Returns
    -------
    Source
        Independent of what the user does to the layer later, but for its pixels.
    """
    return Source(
        layer=weakref.ref(layer),
        name=layer.name,
        data=layer.data[0] if layer.multiscale else layer.data,
        rgb=bool(layer.rgb),
        transform=Transform.of(layer),
    )


def channel_axes(layer: Image) -> tuple[int, ...]:
    """Axes that a user may call the channel axis.

    Parameters
    ----------
    layer : napari.layers.Image
        Any image.

    Returns
    -------
    tuple of int
        All axes of an image of more than two that is not RGB; none otherwise.
    """
    return () if layer.rgb or layer.ndim <= 2 else tuple(range(layer.ndim))


def named_channel_axis(layer: Image) -> int | None:
    """Channel axis according to the layer's axis labels.

    Parameters
    ----------
    layer : napari.layers.Image
        Any image.

    Returns
    -------
    int or None
        The one axis labelled ``c`` or ``channel``; the shape is never consulted.
    """
    labels = tuple(layer.axis_labels)
    named = [axis for axis in channel_axes(layer) if labels[axis].lower() in CHANNEL_LABELS]
    return named[0] if len(named) == 1 else None


def axis_words(layer: Image, axis: int) -> str:
    """Name an axis for people.

    Parameters
    ----------
    layer : napari.layers.Image
        Any image.
    axis : int
        Axis of it.

    Returns
    -------
    str
        Such as ``"axis 0 · z (12)"``.
    """
    length = capture(layer).data.shape[axis]
    label = layer.axis_labels[axis]
    known = label != str(axis - layer.ndim)
    return f"axis {axis} · {label} ({length})" if known else f"axis {axis} ({length})"


def index_shown(layer: Layer, viewer: Any) -> tuple[int, ...]:
    """Index into the data of a layer at the sliders of the viewer.

    Parameters
    ----------
    layer : napari.layers.Layer
        A layer of that viewer.
    viewer : napari.components.ViewerModel
        Gives the point looked at.

    Returns
    -------
    tuple of int
        One entry per axis of the layer, inside its shape.
    """
    point = np.asarray(viewer.dims.point, float)[-layer.ndim :]
    index = np.round(layer.world_to_data(point / _unit_factors(layer, viewer))).astype(int)
    shape = (layer.data[0] if layer.multiscale else layer.data).shape[: layer.ndim]
    return tuple(int(i) for i in np.clip(index, 0, np.array(shape) - 1))


def distinct_names(names: Sequence[str]) -> list[str]:
    """Tell equal names apart by a number.

    Parameters
    ----------
    names : sequence of str
        Names of layers.

    Returns
    -------
    list of str
        The same, the second of a kind followed by ``(2)`` and so on.
    """
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def run_record(record: Mapping[str, Any], placement: Placement, word: str) -> dict[str, Any]:
    """Return what goes into the metadata of a result layer.

    Parameters
    ----------
    record : mapping
        The run, JSON-able.
    placement : Placement
        Where it came from.
    word : str
        What the layer shows.

    Returns
    -------
    dict
        ``{"onnxseg": ...}``, JSON-able.
    """
    where = {"source": placement.source.name, "shows": word, "index": list(placement.picked)}
    return {"onnxseg": {**record, "layer": where}}


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


def _unit_factors(layer: Layer, viewer: Any) -> Matrix:
    """Viewer units per layer unit, for each axis of the layer."""
    units = viewer.layers.units
    if units is None:
        return np.ones(layer.ndim)
    pairs = zip(layer.units, tuple(units)[-layer.ndim :], strict=True)
    return np.array([(1 * own).to(shown).magnitude for own, shown in pairs], float)
