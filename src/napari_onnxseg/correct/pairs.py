"""How often each pair of labels meets in two label images, counted block by block."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.errors import ImageError
from napari_onnxseg.tiling.region import Region

BLOCK_PX = 1 << 22
"""Pixels read at once."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of labels that share at least one pixel.

    Parameters
    ----------
    truth, prediction : numpy.ndarray
        (P,) int64, the labels of each pair.
    count : numpy.ndarray
        (P,) int64, pixels of each pair.
    """

    truth: NDArray[np.int64]
    prediction: NDArray[np.int64]
    count: NDArray[np.int64]

    def area(self, side: NDArray[np.int64]) -> dict[int, int]:
        """Return the pixels of each label.

        Parameters
        ----------
        side : numpy.ndarray
            ``truth`` or ``prediction`` of this record.

        Returns
        -------
        dict of int to int
            By label.
        """
        labels, where = np.unique(side, return_inverse=True)
        sums = np.zeros(len(labels), np.int64)
        np.add.at(sums, where, self.count)
        return {int(label): int(n) for label, n in zip(labels, sums, strict=True)}


def count_pairs(prediction: Any, truth: Any, *, ignore: Collection[int] = ()) -> Pairs:
    """Count the pairs of labels of two images.

    Parameters
    ----------
    prediction, truth : array-like
        Same shape, integer or bool; read block by block, so that they may be of any size.
    ignore : collection of int, optional
        Labels of the truth that say nothing; their pixels are left out.

    Returns
    -------
    Pairs
        Sorted by truth, then by prediction.

    Raises
    ------
    ImageError
        When the two do not have the same shape, or do not hold labels.
    """
    check_alike(prediction, truth)
    table: dict[tuple[int, int], int] = {}
    for region in blocks(truth.shape):
        ours, theirs = (np.asarray(image[region.slices]) for image in (truth, prediction))
        _add(table, ours, theirs, ignore)
    ordered = sorted(table)
    columns = np.array([(*pair, table[pair]) for pair in ordered], np.int64).reshape(-1, 3)
    return Pairs(columns[:, 0], columns[:, 1], columns[:, 2])


def check_alike(prediction: Any, truth: Any) -> None:
    """Raise unless two arrays are label images of one shape.

    Parameters
    ----------
    prediction, truth : array-like
        To be compared.

    Raises
    ------
    ImageError
        Saying what differs.
    """
    for name, image in (("prediction", prediction), ("truth", truth)):
        if np.dtype(image.dtype).kind not in "iub":
            raise ImageError(
                f"The {name} holds {np.dtype(image.dtype)}, but labels are whole numbers; give a "
                "label image."
            )
    if tuple(prediction.shape) != tuple(truth.shape):
        raise ImageError(
            f"The prediction has shape {tuple(prediction.shape)}, the truth "
            f"{tuple(truth.shape)}; compare images of one size."
        )


def blocks(shape: tuple[int, ...], most_px: int | None = None) -> Iterator[Region]:
    """Divide an image into blocks.

    Parameters
    ----------
    shape : tuple of int
        Of the image, in pixels.
    most_px : int, optional
        Pixels of a block at most; `BLOCK_PX` when left out.

    Yields
    ------
    Region
        Each pixel once, in row-major order.
    """
    if not prod(shape):
        return
    sides, most_px = list(shape), most_px or BLOCK_PX
    while prod(sides) > most_px:
        longest = int(np.argmax(sides))
        sides[longest] = -(-sides[longest] // 2)
    for corner in product(*(range(0, n, side) for n, side in zip(shape, sides, strict=True))):
        stop = (min(a + side, n) for a, side, n in zip(corner, sides, shape, strict=True))
        yield Region(corner, tuple(stop))


def _add(
    table: dict[tuple[int, int], int],
    truth: NDArray[Any],
    prediction: NDArray[Any],
    ignore: Collection[int],
) -> None:
    """Add the pairs of one block; stretches of one pair are counted as a whole."""
    truth, prediction = truth.reshape(-1), prediction.reshape(-1)
    if ignore:
        kept = ~np.isin(truth, list(ignore))
        truth, prediction = truth[kept], prediction[kept]
    if not len(truth):
        return
    changes = (truth[1:] != truth[:-1]) | (prediction[1:] != prediction[:-1])
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    lengths = np.diff(starts, append=len(truth))
    ours, where_ours = np.unique(truth[starts], return_inverse=True)
    theirs, where_theirs = np.unique(prediction[starts], return_inverse=True)
    codes, where = np.unique(where_ours * len(theirs) + where_theirs, return_inverse=True)
    counts = np.zeros(len(codes), np.int64)
    np.add.at(counts, where, lengths)
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        pair = (int(ours[code // len(theirs)]), int(theirs[code % len(theirs)]))
        table[pair] = table.get(pair, 0) + count
