"""Whether an image is the one that a run was begun with, without reading all of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from math import prod

import numpy as np

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.tiling.region import Region

SAMPLES = 64
"""Places that are looked at."""

SIDE_PX = 64
"""Side of what is read at each place."""

WHOLE_VALUES = 1 << 20
"""Images of no more values than this are read whole."""


def fingerprint(stack: ImageStack) -> str:
    """Return a text that differs for images that differ, as far as samples can tell.

    Shape, dtype and the meaning of the axes always count, and every value of a small image.
    Of a larger one, pieces at fixed places count, spread evenly at random; a change elsewhere
    is not seen.

    Parameters
    ----------
    stack : ImageStack
        The image.

    Returns
    -------
    str
        Hexadecimal, 32 digits.
    """
    seen = hashlib.sha256()
    facts = (tuple(stack.data.shape), stack.dtype.str, stack.channel_axis, stack.rgb)
    seen.update(repr((*facts, stack.spatial_ndim)).encode())
    for index, region in _pieces(stack):
        piece = stack.plane(index).read(region)
        seen.update(np.ascontiguousarray(piece, piece.dtype.newbyteorder("<")).tobytes())
    return seen.hexdigest()[:32]


def _pieces(stack: ImageStack) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Give what is read: all planes, or pieces of some."""
    if prod(stack.data.shape) <= WHOLE_VALUES:
        yield from ((index, Region.of_shape(stack.shape)) for index in stack.indices())
        return
    rng = np.random.default_rng(SAMPLES)
    for _ in range(SAMPLES):
        index = tuple(int(rng.integers(n)) for n in stack.leading)
        start = tuple(int(rng.integers(max(n - SIDE_PX, 0) + 1)) for n in stack.shape)
        stop = tuple(min(a + SIDE_PX, n) for a, n in zip(start, stack.shape, strict=True))
        yield index, Region(start, stop)
