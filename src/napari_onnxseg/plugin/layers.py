"""What an Image layer means, and where a result made from it belongs."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.layers import Image, Layer
from numpy.typing import NDArray

from napari_onnxseg.plugin.transforms import Transform

CHANNEL_LABELS = frozenset({"c", "ch", "channel", "channels"})
"""Axis labels that name a channel axis."""


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


def is_result(layer: Layer) -> bool:
    """Tell whether a run of ours made a layer.

    Parameters
    ----------
    layer : napari.layers.Layer
        Any layer.

    Returns
    -------
    bool
        Whether it carries the record of a run.
    """
    return "onnxseg" in layer.metadata


def channel_axes(layer: Image) -> tuple[int, ...]:
    """Return the axes that a user may call the channel axis.

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
    index = np.round(layer.world_to_data(point / unit_factors(layer, viewer))).astype(int)
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


def unit_factors(layer: Layer, viewer: Any) -> NDArray[np.float64]:
    """Return viewer units per layer unit.

    Parameters
    ----------
    layer : napari.layers.Layer
        A layer of that viewer.
    viewer : napari.components.ViewerModel
        Gives the units that are shown.

    Returns
    -------
    numpy.ndarray
        (n,) float64, one factor for each axis of the layer.
    """
    units = getattr(viewer.layers, "units", None)  # napari 0.7 and later
    if units is None:
        return np.ones(layer.ndim)
    pairs = zip(layer.units, tuple(units)[-layer.ndim :], strict=True)
    return np.array([(1 * own).to(shown).magnitude for own, shown in pairs], float)
