"""A line drawn by hand, as pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Mask


def drawn_line(line: Sequence[Sequence[float]], seen: Region) -> Mask:
    """Draw a line that nothing passes diagonally, on the last two axes of a box.

    Parameters
    ----------
    line : sequence of sequence of float
        Corners, pixels of the image; the last two numbers of each count.
    seen : Region
        The box.

    Returns
    -------
    numpy.ndarray
        (Y, X) of the box, bool.
    """
    from skimage.draw import line as pixels_between

    start, shape = np.array(seen.start[-2:]), seen.shape[-2:]
    corners = np.rint(np.asarray(line, float)[:, -2:]).astype(int) - start
    drawn = np.zeros(shape, bool)
    for one, other in pairwise(corners):
        rows, columns = pixels_between(*one, *other)
        path = np.stack([rows, columns], axis=1)
        elbows = np.stack([rows[1:], columns[:-1]], axis=1)
        both = np.concatenate([path, elbows])
        both = both[((both >= 0) & (both < shape)).all(axis=1)]
        drawn[both[:, 0], both[:, 1]] = True
    return drawn
