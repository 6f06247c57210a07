"""Passes over the valid values of an image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.mixing import mixed, working_dtype
from napari_onnxseg.prepare.stages import Stage, apply_stages
from napari_onnxseg.prepare.validity import invalid_pixels
from napari_onnxseg.types import AnyArray, Pixels

Blocks = Callable[[], Iterable[Pixels]]
"""Gives a fresh pass over the image in (C, ...) blocks."""

_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Seen:
    """An image, and what of it counts.

    Parameters
    ----------
    blocks : callable
        Gives a fresh pass over (C, Y, X) or (C, Z, Y, X) blocks of the image, in the same
        order each time, every pixel once.
    channels : ChannelMap, optional
        Restricts the measurement to what the network sees, and brings its own ``alpha``;
        every channel for itself when it is left out.
    nodata : float, optional
        Value that marks no data; NaN and infinities always do.
    alpha : int, optional
        Image channel that is opacity: not measured, and 0 there marks no data.
    """

    blocks: Blocks
    channels: ChannelMap | None = None
    nodata: float | None = None
    alpha: int | None = None


class Series:
    """The valid values of an image, one 1-D series a channel or mixture.

    Parameters
    ----------
    seen : Seen
        The image.
    stages : sequence of Stage
        What is done to the values first; series are then channels of the model.
    """

    def __init__(self, seen: Seen, stages: Sequence[Stage] = ()) -> None:
        self._seen, self._stages = seen, stages
        self._even = all(stage.even for stage in stages)
        self.image_channels = 0
        self.invalid = 0

    def __iter__(self) -> Iterator[tuple[int, AnyArray]]:
        self.invalid = 0
        for block in self._seen.blocks():
            yield from self._pieces(block)

    @property
    def sources(self) -> tuple[int, ...]:
        """Image channel of each series, known after a pass."""
        channels = self._map(self.image_channels)
        return channels.used if self._even else channels.picks

    @property
    def mixes(self) -> bool:
        """Whether the channels are mixed into one series."""
        return self._map(self.image_channels).weights is not None

    @property
    def channels(self) -> int:
        """Channels of the model, known after a pass."""
        return self._map(self.image_channels).model_channels

    def number_of(self, channel: int) -> int:
        """Return the series that holds the values of a channel of the model."""
        if self.mixes:
            return 0
        channels = self._map(self.image_channels)
        return channels.used.index(channels.picks[channel]) if self._even else channel

    def _pieces(self, block: Pixels) -> Iterator[tuple[int, AnyArray]]:
        """Give the valid values of a block in small pieces, with the number of their series."""
        self.image_channels = len(block)
        channels = self._map(len(block))
        invalid = invalid_pixels(block, channels, self._seen.nodata)
        valid = None if invalid is None else ~invalid
        self.invalid += 0 if invalid is None else int(np.count_nonzero(invalid))
        planes = [mixed(block, channels)] if channels.weights else [block[c] for c in self.sources]
        flat = ((p.reshape(-1) if valid is None else p[valid]) for p in planes)
        yield from self._changed(list(flat)) if self._stages else _cut_up(flat)

    def _changed(self, planes: list[AnyArray]) -> Iterator[tuple[int, AnyArray]]:
        """Do the chain to a few pixels of all channels at a time."""
        kind = working_dtype(planes[0].dtype)
        for start in range(0, planes[0].size, _PIECE):
            pieces = [plane[start : start + _PIECE] for plane in planes]
            work = np.empty((len(pieces), pieces[0].size), kind)
            for row, piece in zip(work, pieces, strict=True):
                row[...] = piece
            apply_stages(work, self._stages)
            yield from enumerate(work)

    def _map(self, count: int) -> ChannelMap:
        """Return what is seen: the map given, or every channel but the opacity."""
        alpha = self._seen.alpha
        if self._seen.channels is not None:
            return self._seen.channels
        return ChannelMap(tuple(c for c in range(count) if c != alpha), None, alpha, "")


def _cut_up(planes: Iterable[AnyArray]) -> Iterator[tuple[int, AnyArray]]:
    """Give each plane in pieces, with its number."""
    for number, plane in enumerate(planes):
        for start in range(0, plane.size, _PIECE):
            yield number, plane[start : start + _PIECE]
