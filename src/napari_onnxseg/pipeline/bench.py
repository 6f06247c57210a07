"""What the workers of a run share, hold in hand, and give back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import local

from napari_onnxseg.arrays.source import ImageSource
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.decoding import Block, Decoder
from napari_onnxseg.pipeline.engine import Engine
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.pipeline.record import Stopwatch
from napari_onnxseg.pipeline.resampled import can_lack
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Mask

Position = tuple[int, ...]

Look = Callable[[], Sequence[float] | None]
"""Says where somebody looks now, in pixels of a plane; None when nobody does."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What every worker of a run shares.

    Parameters
    ----------
    plan : SegmentPlan
        The decisions.
    engine : Engine
        The network.
    decoders : tuple of Decoder
        What the numbers of each output mean.
    watch : Stopwatch
        Seconds by stage.
    cancel : Cancel
        Polled before each batch.
    desk : threading.local
        Each worker's own input buffer.
    look : callable
        As `Look` says.
    leave_out : mapping of tuple of int to collection of int
        Numbers of tiles that need not be done, by plane.
    """

    plan: SegmentPlan
    engine: Engine
    decoders: tuple[Decoder, ...]
    watch: Stopwatch
    cancel: Cancel
    desk: local
    look: Look = lambda: None
    leave_out: Mapping[Position, Collection[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plane:
    """One plane in hand: where its pixels come from, and where they go.

    Parameters
    ----------
    position : tuple of int
        Of the plane in the result.
    source : ImageSource
        Its pixels as the network sees them.
    feeder : Feeder
        Fills network input from them.
    image : ImageSource
        Its pixels as they are.
    """

    position: Position
    source: ImageSource
    feeder: Feeder
    image: ImageSource

    def invalid(self, region: Region) -> Mask | None:
        """Return where a region of the image has no data; None where it has everywhere."""
        if not can_lack(self.image, self.feeder.channels, self.feeder.nodata):
            return None
        return self.feeder.invalid(self.image.read(region))


@dataclass(frozen=True, slots=True)
class Finished:
    """A part of a plane that is final.

    Parameters
    ----------
    number : int
        Of the tile it comes from; of the row of tiles that begins there where they are blended.
    region : Region
        Where it lies.
    blocks : list of Block
        One an output.
    """

    number: int
    region: Region
    blocks: list[Block]
