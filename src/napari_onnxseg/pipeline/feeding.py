"""From an image to the feeder that fills network input from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

from napari_onnxseg.arrays.source import ImageSource, ImageStack, as_stack
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.prepare.chain import chain_notes, settle_steps
from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.normalize import Normalization, affine_for, normalization_notes
from napari_onnxseg.prepare.series import Seen
from napari_onnxseg.prepare.stats import IntensityStats, measure
from napari_onnxseg.prepare.steps import Step
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Pixels

BLOCK_VALUES = 4_000_000
"""Values read at once when an image is measured."""


def stack_of(image: Any, channel_axis: int | None, rgb: bool | None) -> ImageStack:
    """Say what the axes of an image mean; colour is asked for, never guessed.

    Parameters
    ----------
    image : array-like or ImageStack
        A stack passes through.
    channel_axis : int or None
        Axis that holds channels.
    rgb : bool or None
        Whether the last axis is colour; None when nobody said.

    Returns
    -------
    ImageStack
        The image with its axes named.

    Raises
    ------
    ChoiceError
        When the shape could be colour and nobody said whether it is.
    """
    if isinstance(image, ImageStack):
        return image
    shape = tuple(getattr(image, "shape", ()))
    if rgb is None and channel_axis is None and len(shape) > 2 and shape[-1] in (3, 4):
        raise ChoiceError(
            f"The last axis of an image of shape {shape} may be colour or columns; "
            "say rgb=True or rgb=False."
        )
    return as_stack(image, channel_axis=channel_axis, rgb=bool(rgb))


def feeder_for(
    sources: Sequence[ImageSource],
    channels: ChannelMap,
    normalization: Normalization,
    dtype: str,
    nodata: float | None,
) -> tuple[Feeder, IntensityStats | None, tuple[str, ...]]:
    """Measure the planes once, where the normalisation needs it, and return their feeder.

    Parameters
    ----------
    sources : sequence of ImageSource
        The planes that are measured together.
    channels : ChannelMap
        Image channels to model channels.
    normalization : Normalization
        What the network wants.
    dtype : str
        Element type of the network's input.
    nodata : float or None
        Value of pixels that are no data.

    Returns
    -------
    feeder : Feeder
        Fills network input from pixels.
    stats : IntensityStats or None
        What was measured; None when nothing was needed.
    notes : tuple of str
        What the user should know about it: missing data, a flat image, the range assumed.
    """
    if normalization.method == "steps":
        return _chained(sources, channels, normalization.steps, dtype, nodata)
    image_dtype = sources[0].dtype
    stats: IntensityStats | None = None
    notes: tuple[str, ...] = ()
    if normalization.needs_measuring(image_dtype):
        blocks = partial(_blocks, sources)
        stats = measure(blocks, normalization, nodata=nodata, channels=channels)
        notes = normalization_notes(normalization, stats, image_dtype)
    affine = affine_for(normalization, stats, channels, image_dtype)
    return Feeder(channels, affine, nodata, dtype), stats, notes


def seen_image(sources: Sequence[ImageSource], channels: ChannelMap, nodata: float | None) -> Seen:
    """Return planes as what a chain of steps is measured on.

    Parameters
    ----------
    sources : sequence of ImageSource
        The planes that are measured together.
    channels : ChannelMap
        Image channels to model channels.
    nodata : float or None
        Value of pixels that are no data.

    Returns
    -------
    Seen
        Gives the planes in bands of rows, as often as needed.
    """
    return Seen(partial(_blocks, sources), channels, nodata)


def _chained(
    sources: Sequence[ImageSource],
    channels: ChannelMap,
    steps: Sequence[Step],
    dtype: str,
    nodata: float | None,
) -> tuple[Feeder, IntensityStats | None, tuple[str, ...]]:
    """Measure for each step of a chain what it needs, and return its feeder."""
    count = channels.model_channels
    settled = settle_steps(steps, seen_image(sources, channels, nodata), count=count)
    affine, stages = settled.line(count)
    notes = chain_notes(settled.stats) if settled.stats else ()
    return Feeder(channels, affine, nodata, dtype, stages), settled.stats, notes


def _blocks(sources: Sequence[ImageSource]) -> Iterator[Pixels]:
    """Give the planes in bands of rows."""
    for source in sources:
        whole = Region.of_shape(source.shape)
        rows = max(1, BLOCK_VALUES // max(1, source.channels * prod(source.shape[1:])))
        for first in range(0, source.shape[0], rows):
            band = Region(
                (first, *whole.start[1:]),
                (min(first + rows, source.shape[0]), *whole.stop[1:]),
            )
            yield source.read(band)
