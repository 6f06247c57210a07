"""Numbers of a network on the way from its grid of pixels back to that of the image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from napari_onnxseg.pipeline.resolution import Resolution
from napari_onnxseg.prepare.regrid import Regrid, row_bands
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Scores

BAND_VALUES = 8_000_000
"""Numbers on the image's grid that are worked on at once."""


def on_image(
    back: Regrid, scores: Scores, begin: Sequence[int], region: Region, *, ids: bool
) -> Scores:
    """Bring the numbers of one output to a region of the image.

    Parameters
    ----------
    back : Regrid
        From the network's grid to the image's.
    scores : numpy.ndarray
        (K, ...) part of the network's grid.
    begin : sequence of int
        Its first pixel.
    region : Region
        Of the image.
    ids : bool
        Whether they are class ids, of which none is made up.

    Returns
    -------
    numpy.ndarray
        (K, *region.shape).
    """
    return (back.nearest if ids else back.filtered)(scores, begin, region)


class Bands:
    """Rows of blended numbers, from the top to the bottom, brought to the image's grid.

    The last rows wait for those below, which pixels of the image between them need.

    Parameters
    ----------
    resolution : Resolution
        The grids.
    """

    def __init__(self, resolution: Resolution) -> None:
        self._resolution = resolution
        self._back = resolution.back
        self._held: list[Scores] = []
        self._begin = self._next = 0

    def add(self, parts: Sequence[Scores], region: Region) -> Iterator[tuple[Region, list[Scores]]]:
        """Take the next rows, and give what they complete.

        Parameters
        ----------
        parts : sequence of numpy.ndarray
            (K, *region.shape) of each output.
        region : Region
            Where they lie on the network's grid, over its whole width.

        Returns
        -------
        iterator of (Region, list of numpy.ndarray)
            Rows of the image, and the numbers of each output there.
        """
        held, begin, start = list(parts), self._begin, self._next
        if self._held:
            held = [np.concatenate(both, axis=1) for both in zip(self._held, parts, strict=True)]
        last = region.stop[0] == self._resolution.model[0]
        self._next = self._ready(region.stop[0], last=last)
        self._forget(held, last=last)
        target = Region((start, 0), (self._next or self._resolution.image[0], self._width))
        return self._given(held, begin, target)

    @property
    def _width(self) -> int:
        """Pixels of one row of the image."""
        return self._resolution.image[1]

    def _ready(self, stop: int, *, last: bool) -> int:
        """Return how many rows of the image are complete; 0 when all are, for the next plane."""
        ready = self._back.first(0, max(0, stop - self._back.reach(0)))
        return 0 if last else max(self._next, ready)

    def _forget(self, held: list[Scores], *, last: bool) -> None:
        """Keep only those rows that are needed further."""
        if last:
            self._held, self._begin = [], 0
            return
        row = Region((self._next, 0), (self._next + 1, self._width))
        begin = max(self._begin, self._back.needs(row).start[0])
        self._held = [part[:, begin - self._begin :].copy() for part in held]
        self._begin = begin

    def _given(
        self, held: list[Scores], begin: int, target: Region
    ) -> Iterator[tuple[Region, list[Scores]]]:
        """Bring rows to the image's grid, some at a time."""
        per_row = self._width * sum(len(part) for part in held)
        for band in row_bands(target, per_row, BAND_VALUES):
            yield band, [on_image(self._back, s, (begin, 0), band, ids=False) for s in held]
