"""Three classes from nucleus ids, and the places that deserve more weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

BACKGROUND, INSIDE, BORDER = 0, 1, 2
NEIGHBOUR_SIZE = 5


def class_map(labels: NDArray[np.integer]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return the class of each pixel and where two nuclei come close.

    The border is the inner contour of a nucleus, one pixel wide, and two pixels
    wide where another nucleus is within two pixels. It never leaves the
    nucleus, so inside and border together are exactly the foreground.

    Parameters
    ----------
    labels
        (Y, X) ids of nuclei, 0 for background.

    Returns
    -------
    classes
        uint8 (Y, X): 0 background, 1 inside, 2 border.
    crowded
        bool (Y, X): two different nuclei lie within two pixels of this pixel.
    """
    ids = labels.astype(np.int32)
    foreground = ids > 0
    crowded = _crowded(ids)
    contour = _contour(ids, foreground)
    second = _contour(np.where(contour, 0, ids), foreground & ~contour) & crowded
    classes = np.where(contour | second, BORDER, INSIDE)
    return np.where(foreground, classes, BACKGROUND).astype(np.uint8), crowded


def _contour(ids: NDArray[np.int32], foreground: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Pixels of a nucleus with a direct neighbour of another id."""
    differs = np.zeros(ids.shape, bool)
    differs[1:] |= ids[1:] != ids[:-1]
    differs[:-1] |= ids[1:] != ids[:-1]
    differs[:, 1:] |= ids[:, 1:] != ids[:, :-1]
    differs[:, :-1] |= ids[:, 1:] != ids[:, :-1]
    return differs & foreground


def _crowded(ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether the smallest and the largest id nearby are those of two nuclei."""
    large = np.iinfo(np.int32).max
    highest = ndimage.maximum_filter(ids, NEIGHBOUR_SIZE)
    lowest = ndimage.minimum_filter(np.where(ids > 0, ids, large), NEIGHBOUR_SIZE)
    return (highest > 0) & (lowest != highest)
