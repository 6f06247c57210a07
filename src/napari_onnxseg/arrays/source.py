"""Images as stacks of planes, read one region at a time from any kind of array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np

from napari_onnxseg.arrays.axes import dtype_of, find_channel_axis, shape_of
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.tiling.region import Region, reflected
from napari_onnxseg.types import Pixels


class ArrayLike(Protocol):
    """What an image must offer: numpy, memmap, zarr, dask and xarray arrays all do."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels on each axis."""
        ...

    @property
    def dtype(self) -> Any:
        """Numpy dtype of the values."""
        ...

    def __getitem__(self, index: Any, /) -> Any:
        """Return the part at a tuple of ints and slices."""
        ...


class ImageSource(Protocol):
    """One plane (or volume) that is read region by region."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels on each spatial axis."""
        ...

    @property
    def channels(self) -> int:
        """Number of channels, 1 for a grey image."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the values."""
        ...

    def read(self, region: Region) -> Pixels:
        """Return the values of a region.

        Parameters
        ----------
        region : Region
            Inside the image.

        Returns
        -------
        numpy.ndarray
            (C, *region.shape), dtype of the source.
        """
        ...


@dataclass(frozen=True, slots=True)
class ImageStack:
    """An array and the meaning of its axes; made by `as_stack`.

    Parameters
    ----------
    data : array-like
        Anything with ``shape``, ``dtype`` and ``__getitem__``.
    channel_axis : int or None
        Axis of ``data`` that holds channels, not negative; None for a grey image.
    rgb : bool
        Whether the channels are red, green, blue (and alpha).
    spatial_ndim : int
        How many of the last axes (channels apart) are spatial, 2 or 3.
    """

    data: ArrayLike
    channel_axis: int | None = None
    rgb: bool = False
    spatial_ndim: int = 2

    @property
    def result_axes(self) -> tuple[int, ...]:
        """Axes of ``data`` that a result keeps, in order: all but the channels."""
        return tuple(axis for axis in range(len(self.data.shape)) if axis != self.channel_axis)

    @property
    def leading(self) -> tuple[int, ...]:
        """Lengths of the axes that are looped over."""
        return self._lengths(self.result_axes[: -self.spatial_ndim])

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels on each spatial axis."""
        return self._lengths(self.result_axes[-self.spatial_ndim :])

    @property
    def channels(self) -> int:
        """Number of channels, 1 for a grey image."""
        return 1 if self.channel_axis is None else int(self.data.shape[self.channel_axis])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the values."""
        return dtype_of(self.data)

    def plane(self, index: Sequence[int]) -> ImageSource:
        """Return one plane of the stack.

        Parameters
        ----------
        index : sequence of int
            Position on each leading axis, as `indices` lists them.

        Returns
        -------
        ImageSource
            The plane; nothing is read yet.

        Raises
        ------
        ChoiceError
            When there is no such plane.
        """
        (checked,) = self.indices(tuple(index))
        return _Plane(self, checked, self.shape, self.channels, self.dtype)

    def indices(self, picked: Sequence[int | None] | None = None) -> list[tuple[int, ...]]:
        """List the planes, in the order of the array.

        Parameters
        ----------
        picked : sequence of (int or None), optional
            One entry per leading axis: an int picks (negative from the end), None takes all.

        Returns
        -------
        list of tuple of int
            Position on each leading axis, never negative.

        Raises
        ------
        ChoiceError
            When the number of entries or a position does not fit the stack.
        """
        picked = (None,) * len(self.leading) if picked is None else tuple(picked)
        if len(picked) != len(self.leading):
            raise ChoiceError(
                f"The index {picked} has {len(picked)} entries, but the image has "
                f"{len(self.leading)} axes to loop over, of lengths {self.leading}; "
                "give one number, or None for all, per axis."
            )
        return list(product(*map(_positions, picked, self.leading)))

    def _lengths(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Return the lengths of these axes as plain ints."""
        return tuple(int(self.data.shape[axis]) for axis in axes)


@dataclass(frozen=True, slots=True)
class _Plane:
    """One plane of a stack: an `ImageSource`."""

    stack: ImageStack
    index: tuple[int, ...]
    shape: tuple[int, ...]
    channels: int
    dtype: np.dtype[Any]

    def read(self, region: Region) -> Pixels:
        """Read one region inside the image, channels first."""
        if not Region.of_shape(self.shape).contains(region):
            raise ImageError(
                f"The region {region.start} to {region.stop} lies outside the image of "
                f"{self.shape} px; read inside it."
            )
        block = np.asarray(self.stack.data[self._where(region)])
        if self.stack.channel_axis is None:
            return block[np.newaxis]
        gone = len(self.index)  # leading axes; those before the channels moved them forward
        return np.moveaxis(block, max(0, self.stack.channel_axis - gone), 0)

    def _where(self, region: Region) -> tuple[int | slice, ...]:
        """Return the index of a region in the whole array."""
        where: list[int | slice] = [*self.index, *region.slices]
        if self.stack.channel_axis is not None:
            where.insert(self.stack.channel_axis, slice(None))
        return tuple(where)


def as_stack(
    data: Any, *, channel_axis: int | None = None, rgb: bool = False, spatial_ndim: int = 2
) -> ImageStack:
    """Say what the axes of an array mean, and refuse what cannot be an image.

    Parameters
    ----------
    data : array-like
        Anything with ``shape``, ``dtype`` and ``__getitem__``; never copied.
    channel_axis : int, optional
        Axis that holds channels, negative ones count from the end. Without it (and
        without ``rgb``) the image is grey, whatever its shape.
    rgb : bool, optional
        Whether the last axis holds red, green, blue (and alpha).
    spatial_ndim : int, optional
        2 for planes, 3 for volumes.

    Returns
    -------
    ImageStack
        Leading axes, channels and spatial axes told apart.

    Raises
    ------
    ImageError
        When it has too few axes, an empty one, no numbers, or no such channel axis.
    """
    shape = shape_of(data)
    axis = find_channel_axis(shape, channel_axis, rgb)
    needed = spatial_ndim + (axis is not None)
    if len(shape) < needed:
        raise ImageError(
            f"The image has shape {shape}, but {needed} axes are needed: {spatial_ndim} in space"
            f"{' and one of channels' if axis is not None else ''}; check the channel axis."
        )
    return ImageStack(data, axis, rgb, spatial_ndim)


def read_padded(source: ImageSource, box: Region) -> Pixels:
    """Read a box that may reach beyond the image, which goes on there by reflection.

    Parameters
    ----------
    source : ImageSource
        The plane.
    box : Region
        What is wanted; any part of it may lie outside.

    Returns
    -------
    numpy.ndarray
        (C, *box.shape), dtype of the source. Only pixels inside the image are read, and
        never a region larger than the box.
    """
    if Region.of_shape(source.shape).contains(box):
        return source.read(box)
    picks = [reflected(*span) for span in zip(box.start, box.stop, source.shape, strict=True)]
    inside = Region(
        tuple(int(pick.min()) for pick in picks), tuple(int(pick.max()) + 1 for pick in picks)
    )
    block = source.read(inside)
    for axis, (pick, start) in enumerate(zip(picks, inside.start, strict=True), start=1):
        block = block.take(pick - start, axis=axis)
    return block


def _positions(pick: int | None, length: int) -> Sequence[int]:
    """Return the positions picked on one leading axis."""
    if pick is None:
        return range(length)
    if not -length <= pick < length:
        raise ChoiceError(
            f"There is no plane {pick} on an axis of length {length}; use 0 to {length - 1}."
        )
    return (int(pick) % length,)
