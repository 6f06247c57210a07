"""A change of a label image that can be done, and undone bit for bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.errors import ImageError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask

_BITS = np.dtype(np.uint8)


@dataclass(frozen=True, slots=True)
class Edit:
    """The pixels that an operation changes, and nothing else.

    Parameters
    ----------
    region : Region
        Box around them; of size zero when nothing changes.
    where : numpy.ndarray
        Which pixels of the box: uint8, one bit a pixel in row-major order, or ascending
        positions in a wider dtype, whichever is smaller.
    old, new : numpy.ndarray
        (N,) values before and after, in row-major order; (1,) when they are all the same.
    """

    region: Region
    where: NDArray[Any]
    old: AnyArray
    new: AnyArray

    @classmethod
    def of(cls, region: Region, old: AnyArray, new: AnyArray) -> Edit:
        """Return what differs between two blocks.

        Parameters
        ----------
        region : Region
            Where the blocks lie.
        old, new : numpy.ndarray
            Of region.shape, values before and after; of one dtype.

        Returns
        -------
        Edit
            The smallest box that holds all differences.
        """
        changed = old != new
        box = _bounds(changed)
        inner = changed[box.slices]
        values = old[box.slices][inner], new[box.slices][inner]
        return cls(box.shift(region.start), _packed(inner), *map(_compact, values))

    @classmethod
    def of_pixels(cls, indices: Sequence[NDArray[Any]], old: AnyArray, new: Any) -> Edit:
        """Return the edit of a stroke, as a viewer reports it.

        Parameters
        ----------
        indices : sequence of numpy.ndarray
            One (N,) integer array an axis; a pixel that is met twice counts as it was first.
        old : numpy.ndarray
            (N,) values before.
        new : numpy.ndarray or int
            (N,) values after, or one for all.

        Returns
        -------
        Edit
            The same change.
        """
        places = np.stack([np.asarray(axis, np.int64) for axis in indices], axis=1)
        if not len(places):
            empty = np.zeros((0,) * len(indices), old.dtype)
            return cls.of(Region.of_shape(empty.shape), empty, empty)
        start, stop = places.min(axis=0), places.max(axis=0) + 1
        region = Region(tuple(start.tolist()), tuple(stop.tolist()))
        flat = np.ravel_multi_index(tuple((places - start).T), region.shape)
        flat, first = np.unique(flat, return_index=True)
        values = np.broadcast_to(np.asarray(new, old.dtype), old.shape)
        mask = np.zeros(region.size, bool)
        mask[flat] = True
        return cls.of_mask(region, mask.reshape(region.shape), old[first], values[first])

    @classmethod
    def of_mask(cls, region: Region, mask: Mask | None, old: AnyArray, new: Any) -> Edit:
        """Return the edit of a stroke that is known as a mask.

        Parameters
        ----------
        region : Region
            Box of the stroke.
        mask : numpy.ndarray or None
            Of region.shape, bool: which pixels of it; None for all.
        old : numpy.ndarray
            (N,) values before, in row-major order; or region.shape.
        new : numpy.ndarray or int
            (N,) values after, or one for all.

        Returns
        -------
        Edit
            The same change.
        """
        inside = np.ones(region.shape, bool) if mask is None else mask
        before = np.asarray(old).reshape(-1)
        after = np.broadcast_to(np.asarray(new, before.dtype), before.shape)
        return cls(region, _packed(inside), _compact(before), _compact(after))

    def __len__(self) -> int:
        return len(self.places)

    @property
    def places(self) -> NDArray[np.intp]:
        """(N,) positions in the box, row-major, ascending."""
        if self.where.dtype == _BITS:
            return np.flatnonzero(np.unpackbits(self.where, count=self.region.size))
        return self.where.astype(np.intp)

    @property
    def indices(self) -> tuple[NDArray[np.intp], ...]:
        """One (N,) array an axis: the pixels in the image, as a viewer's undo wants them."""
        inside = np.unravel_index(self.places, self.region.shape)
        return tuple(n + start for n, start in zip(inside, self.region.start, strict=True))

    @property
    def values(self) -> AnyArray:
        """(N,) values after."""
        return np.broadcast_to(self.new, len(self)) if len(self.new) == 1 else self.new

    def apply(self, labels: Any) -> None:
        """Change a label image.

        Parameters
        ----------
        labels : array-like
            Writable numpy or zarr array; read and written in the box only.
        """
        self._write(labels, self.new)

    def undo(self, labels: Any) -> None:
        """Bring back what was there before.

        Parameters
        ----------
        labels : array-like
            The one that was changed.
        """
        self._write(labels, self.old)

    def _write(self, labels: Any, values: AnyArray) -> None:
        """Write one value each."""
        if not self.region.size:
            return
        block = labels[self.region.slices]
        inside = np.unravel_index(self.places, self.region.shape)
        if isinstance(labels, np.ndarray):
            block[inside] = values
            return
        block = np.array(block)
        block[inside] = values
        labels[self.region.slices] = block


@dataclass(frozen=True, slots=True)
class Step:
    """Several edits that are one step for the user.

    Parameters
    ----------
    edits : tuple of Edit
        In the order in which they were found; empty ones are not kept.
    """

    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, edits: Iterable[Edit]) -> Step:
        """Return a step of the edits that change something."""
        return cls(tuple(edit for edit in edits if edit.region.size))

    def __len__(self) -> int:
        return sum(map(len, self.edits))

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def apply(self, labels: Any) -> None:
        """Change a label image; see `Edit.apply`."""
        for edit in self.edits:
            edit.apply(labels)

    def undo(self, labels: Any) -> None:
        """Bring back what was there before; see `Edit.undo`."""
        for edit in reversed(self.edits):
            edit.undo(labels)


def check_fits(dtype: np.dtype[Any], highest: int) -> None:
    """Raise unless labels of a dtype can hold an id.

    Parameters
    ----------
    dtype : numpy.dtype
        Of the label image.
    highest : int
        The largest id that is needed.

    Raises
    ------
    ImageError
        Naming a dtype that is wide enough.
    """
    limit = 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)
    if highest > limit:
        raise ImageError(
            f"Labels of {dtype} hold ids up to {limit}, but {highest} is needed; convert the "
            f"labels to {np.min_scalar_type(highest)}."
        )


def _bounds(changed: Mask) -> Region:
    """Return the box around all pixels that are set."""
    start, stop = [], []
    for axis in range(changed.ndim):
        others = tuple(i for i in range(changed.ndim) if i != axis)
        places = np.flatnonzero(changed.any(axis=others))
        if not len(places):
            return Region((0,) * changed.ndim, (0,) * changed.ndim)
        start.append(int(places[0]))
        stop.append(int(places[-1]) + 1)
    return Region(tuple(start), tuple(stop))


def _packed(changed: Mask) -> NDArray[Any]:
    """Return bits or positions, whichever is smaller."""
    kind = np.dtype(np.uint32 if prod(changed.shape) <= 2**32 else np.int64)
    if np.count_nonzero(changed) * kind.itemsize * 8 < changed.size:
        return np.flatnonzero(changed).astype(kind)
    return np.packbits(changed)


def _compact(values: AnyArray) -> AnyArray:
    """Return one value where all are the same."""
    same = len(values) > 0 and bool((values == values[0]).all())
    return values[:1].copy() if same else values
