"""A set of pixels of an image of any size, held only where there are some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.errors import ChoiceError, FileFormatError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Mask

SIDE = 256
"""Pixels of a block on each of the last two axes; 1 on all others."""

_Bits = NDArray[np.uint8]


@dataclass(slots=True)
class PixelSet:
    """Pixels that are marked, one bit each in blocks that hold at least one.

    Parameters
    ----------
    shape : tuple of int
        Pixels of the image.
    _blocks : dict
        Bits of a block by its place.
    """

    shape: tuple[int, ...]
    _blocks: dict[tuple[int, ...], _Bits] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(int(np.bitwise_count(bits).sum()) for bits in self._blocks.values())

    def copy(self) -> PixelSet:
        """Return another set of the same pixels; blocks are shared until they change."""
        return PixelSet(self.shape, dict(self._blocks))

    def within(self, region: Region) -> Mask:
        """Return which pixels of a region are marked.

        Parameters
        ----------
        region : Region
            Inside the image.

        Returns
        -------
        numpy.ndarray
            Of region.shape, bool.
        """
        found = np.zeros(region.shape, bool)
        for number, common in self._parts(region):
            bits = self._blocks.get(number)
            if bits is not None:
                inside = common.relative_to(self._box(number)).slices
                found[common.relative_to(region).slices] = self._open(number, bits)[inside]
        return found

    def add(self, region: Region, mask: Mask | bool = True) -> None:
        """Mark pixels.

        Parameters
        ----------
        region : Region
            Box; what lies outside the image does not count.
        mask : numpy.ndarray or bool, optional
            Of region.shape, bool: which pixels of the box.
        """
        self._set(region, mask, marked=True)

    def remove(self, region: Region, mask: Mask | bool = True) -> None:
        """Unmark pixels; see `add`."""
        self._set(region, mask, marked=False)

    def add_pixels(self, indices: Sequence[NDArray[Any]]) -> None:
        """Mark pixels by their indices.

        Parameters
        ----------
        indices : sequence of numpy.ndarray
            One (N,) integer array an axis, as a viewer reports a stroke.
        """
        if not len(indices) or not len(indices[0]):
            return
        start = tuple(int(axis.min()) for axis in indices)
        region = Region(start, tuple(int(axis.max()) + 1 for axis in indices))
        mask = np.zeros(region.shape, bool)
        mask[tuple(axis - first for axis, first in zip(indices, start, strict=True))] = True
        self.add(region, mask)

    def boxes(self) -> list[Region]:
        """Return the blocks that hold marked pixels, in row-major order."""
        return [self._box(number) for number in sorted(self._blocks)]

    def save(self, path: Path) -> None:
        """Write the set to a file.

        Parameters
        ----------
        path : Path
            Name of the file, which is replaced once complete.

        Raises
        ------
        FileFormatError
            When it cannot be written.
        """
        numbers = sorted(self._blocks)
        sizes = [len(self._blocks[number]) for number in numbers]
        with atomic(path) as file:
            np.savez_compressed(
                file,
                shape=np.array(self.shape, np.int64),
                numbers=np.array(numbers, np.int64).reshape(len(numbers), len(self.shape)),
                sizes=np.array(sizes, np.int64),
                bits=np.concatenate([np.zeros(0, np.uint8), *(self._blocks[n] for n in numbers)]),
            )

    @classmethod
    def load(cls, path: Path) -> PixelSet:
        """Read a set that was saved.

        Parameters
        ----------
        path : Path
            The file.

        Returns
        -------
        PixelSet
            The same pixels.

        Raises
        ------
        FileFormatError
            When it is no such file.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                shape = tuple(int(n) for n in file["shape"])
                numbers = [tuple(map(int, row)) for row in file["numbers"]]
                cuts = np.cumsum(file["sizes"])[:-1]
                parts = np.split(file["bits"], cuts) if numbers else []
        except Exception as fault:  # whatever numpy meets in a damaged file
            raise FileFormatError(
                f"'{path}' does not hold the edited pixels of an image ({fault})."
            ) from fault
        return cls(shape, dict(zip(numbers, parts, strict=True)))

    def _set(self, region: Region, mask: Mask | bool, *, marked: bool) -> None:
        """Mark or unmark pixels, block by block."""
        if region.ndim != len(self.shape):
            raise ChoiceError(
                f"A region of {region.ndim} axes does not fit an image of {len(self.shape)}."
            )
        for number, common in self._parts(region):
            bits = self._blocks.get(number)
            if bits is None and not marked:
                continue
            part = mask if isinstance(mask, bool) else mask[common.relative_to(region).slices]
            box = self._box(number)
            opened = np.zeros(box.shape, bool) if bits is None else self._open(number, bits)
            inside = common.relative_to(box).slices
            opened[inside] = opened[inside] | part if marked else opened[inside] & ~np.array(part)
            if opened.any():
                self._blocks[number] = np.packbits(opened)
            else:
                self._blocks.pop(number, None)

    def _parts(self, region: Region) -> Iterator[tuple[tuple[int, ...], Region]]:
        """Yield the blocks that meet a region, and what they have in common with it."""
        common = region.intersect(Region.of_shape(self.shape))
        if not common.size:
            return
        spans = [
            range(a // side, -(-b // side))
            for a, b, side in zip(common.start, common.stop, self._sides, strict=True)
        ]
        for number in product(*spans):
            yield number, self._box(number).intersect(common)

    @property
    def _sides(self) -> tuple[int, ...]:
        """Pixels of a block on each axis."""
        return (1,) * (len(self.shape) - 2) + (SIDE,) * min(2, len(self.shape))

    def _box(self, number: tuple[int, ...]) -> Region:
        """Return the box of a block, cut where the image ends."""
        start = tuple(n * side for n, side in zip(number, self._sides, strict=True))
        stop = tuple(a + side for a, side in zip(start, self._sides, strict=True))
        return Region(start, stop).intersect(Region.of_shape(self.shape))

    def _open(self, number: tuple[int, ...], bits: _Bits) -> Mask:
        """Return the pixels of a block as booleans."""
        box = self._box(number)
        opened: Mask = np.unpackbits(bits, count=box.size).astype(bool).reshape(box.shape)
        return opened
