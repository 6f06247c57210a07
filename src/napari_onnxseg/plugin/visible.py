"""Which part of a layer is on the canvas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from napari.layers import Image
from numpy.typing import NDArray

from napari_onnxseg.errors import ImageError
from napari_onnxseg.plugin.layers import Source, capture, index_shown, unit_factors

Box = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an Image layer, not read yet.

    Parameters
    ----------
    source : Source
        The layer, with the transform of the part in place of its own.
    box : tuple of slice
        Where the part is, one slice for each axis of the layer.
    """

    source: Source
    box: Box

    def read(self) -> Part:
        """Read the pixels; may be slow, and needs no main thread.

        Returns
        -------
        Part
            The same, with the pixels of the part as data.
        """
        pixels = np.asarray(self.source.data[self.box])
        return replace(self, source=replace(self.source, data=pixels))


def visible_part(layer: Image, viewer: Any, *, channel_axis: int | None, limit_px: int) -> Part:
    """Take the part of a layer that the canvas shows.

    Parameters
    ----------
    layer : napari.layers.Image
        A layer of that viewer; of a pyramid the full resolution counts.
    viewer : napari.components.ViewerModel
        Says what is looked at.
    channel_axis : int or None
        Axis that is taken whole.
    limit_px : int
        Most pixels of a plane; of a larger part the middle is taken.

    Returns
    -------
    Part
        One slice of the layer, its pixels at their place in the world.

    Raises
    ------
    ImageError
        When nothing of the layer is in view, the view is 3-D, or it shows other axes than
        the last two.
    """
    source = capture(layer)
    shown = _shown_axes(layer, viewer, channel_axis)
    box = [slice(index, index + 1) for index in index_shown(layer, viewer)]
    if channel_axis is not None:
        box[channel_axis] = slice(0, source.data.shape[channel_axis])
    sides = _in_view(layer, viewer, shown)
    for axis, side in zip(shown, _middle(sides, limit_px), strict=True):
        box[axis] = side
    offset = [side.start for side in box]
    return Part(replace(source, transform=source.transform.at(offset)), tuple(box))


def _shown_axes(layer: Image, viewer: Any, channel_axis: int | None) -> tuple[int, int]:
    """Return the two axes of the layer on the canvas, which must be its last."""
    if viewer.dims.ndisplay != 2:
        raise ImageError("The view is 3-D; switch it to 2-D to try a model on what it shows.")
    missing = viewer.dims.ndim - layer.ndim
    shown = tuple(sorted(int(axis) - missing for axis in viewer.dims.displayed))
    *_, row, column = (axis for axis in range(layer.ndim) if axis != channel_axis)
    if shown != (row, column):
        raise ImageError(
            f"The view shows the axes {shown} of '{layer.name}', and models work on "
            f"{(row, column)}; change the order of the axes back."
        )
    return row, column


def _in_view(layer: Image, viewer: Any, shown: tuple[int, int]) -> list[slice]:
    """Return the range of each axis shown that lies on the canvas and in the layer."""
    corners = np.array([_to_pixels(layer, viewer, corner) for corner in _canvas_corners(viewer)])
    low, high = corners.min(axis=0), corners.max(axis=0)
    shape = (layer.data[0] if layer.multiscale else layer.data).shape
    sides = [
        slice(max(int(np.floor(low[axis] + 0.5)), 0), min(int(np.ceil(high[axis] + 0.5)), side))
        for axis, side in ((axis, shape[axis]) for axis in shown)
    ]
    if any(side.stop <= side.start for side in sides):
        raise ImageError(f"Nothing of '{layer.name}' is in view; move it there, or reset the view.")
    return sides


def _canvas_corners(viewer: Any) -> list[NDArray[np.float64]]:
    """Return the corners of the canvas as points of the viewer."""
    camera = viewer.scene.camera if hasattr(viewer, "scene") else viewer.camera
    canvas = viewer.canvas.size if hasattr(viewer, "canvas") else viewer._canvas_size
    centre = np.asarray(camera.center, float)[-2:]
    half = np.asarray(canvas, float) / (2 * camera.zoom)
    corners = []
    for signs in product((-1, 1), repeat=2):
        point = np.array(viewer.dims.point, float)
        point[list(viewer.dims.displayed)] = centre + np.array(signs) * half
        corners.append(point)
    return corners


def _to_pixels(layer: Image, viewer: Any, point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where a point of the viewer lies in the data of a layer."""
    own = point[-layer.ndim :] / unit_factors(layer, viewer)
    return np.asarray(layer.world_to_data(own), float)


def _middle(sides: list[slice], limit_px: int) -> list[slice]:
    """Shrink a part about its middle until it is no larger than allowed."""
    lengths = [side.stop - side.start for side in sides]
    factor = sqrt(limit_px / (lengths[0] * lengths[1]))
    if factor >= 1:
        return sides
    kept = [max(int(length * factor), 1) for length in lengths]
    starts = [
        side.start + (length - keep) // 2
        for side, length, keep in zip(sides, lengths, kept, strict=True)
    ]
    return [slice(start, start + keep) for start, keep in zip(starts, kept, strict=True)]
