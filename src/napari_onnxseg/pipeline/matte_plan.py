"""Every decision of a background removal, made before a pixel is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.decode.colour import parse_colour
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.pipeline.job import MatteJob
from napari_onnxseg.pipeline.resolution import picture_sides
from napari_onnxseg.pipeline.results import result_leading
from napari_onnxseg.pipeline.settle import job_threads, refuse_volumes
from napari_onnxseg.pipeline.words import bytes_words, count_words, px_words
from napari_onnxseg.prepare.channels import ChannelMap, map_channels
from napari_onnxseg.prepare.normalize import Normalization

FREE_SIDE_PX = 320
"""Side for models that take any: the one U²-Net was trained at."""


@dataclass(frozen=True, slots=True)
class MattePlan:
    """What a run will do.

    Parameters
    ----------
    card : ModelCard
        The model.
    job : MatteJob
        The choices it was made from.
    indices : tuple of tuple of int
        The planes, one index per leading axis each.
    leading : tuple of int
        Leading axes of the result.
    shape : tuple of int
        Rows and columns of each plane.
    channels, colours : ChannelMap
        Image channels to model channels, and to red, green, blue of the result.
    normalization : Normalization
        The user's, or the card's.
    side : tuple of int
        Rows and columns the network sees.
    batch : int
        Pictures per run of the network; one is used, a fixed batch is filled up.
    threads : int
        Threads of the network.
    background : tuple of int or None
        Red, green, blue behind the subject.
    memory_bytes : int
        Estimate: working memory of the network plus the result.
    notes : tuple of str
        What the user should know before the run.
    """

    card: ModelCard
    job: MatteJob
    indices: tuple[tuple[int, ...], ...]
    leading: tuple[int, ...]
    shape: tuple[int, ...]
    channels: ChannelMap
    colours: ChannelMap
    normalization: Normalization
    side: tuple[int, ...]
    batch: int
    threads: int
    background: tuple[int, int, int] | None
    memory_bytes: int
    notes: tuple[str, ...]

    def words(self) -> str:
        """Return the plan in two lines for people.

        Returns
        -------
        str
            Picture and model side; normalisation and memory.
        """
        pictures = count_words(len(self.indices), "picture")
        return (
            f"{pictures} of {px_words(self.shape)}, {self.channels.words}; "
            f"alpha at {px_words(self.side)}, enlarged to the picture\n"
            f"{self.normalization.words()}; about {bytes_words(self.memory_bytes)} "
            f"on {count_words(self.threads, 'thread')}"
        )

    def record(self) -> dict[str, Any]:
        """Return the plan in JSON-able form.

        Returns
        -------
        dict
            Model side, threads, channels and normalisation as they were used.
        """
        return {
            "plan": self.words(),
            "side": list(self.side),
            "threads": self.threads,
            "channels": self.channels.words,
            "normalization": self.normalization.to_json(),
            "background": self.background and list(self.background),
        }


def plan_matte(stack: ImageStack, card: ModelCard, job: MatteJob) -> MattePlan:
    """Settle planes, channels, model side and memory of a run.

    Parameters
    ----------
    stack : ImageStack
        The image; only its shape and dtype are looked at.
    card : ModelCard
        A matting model.
    job : MatteJob
        The user's choices.

    Returns
    -------
    MattePlan
        The plan; making it reads no pixel and runs no model.

    Raises
    ------
    ChoiceError, ImageError
        When the choices, the image and the model do not fit together.
    """
    _refuse_misfits(stack, card, job)
    side = _side(card, stack.shape)
    _refuse_feather(job.feather_px, max(side))
    indices = tuple(stack.indices(job.index))
    leading = result_leading(stack, job.index)
    return MattePlan(
        card=card,
        job=job,
        indices=indices,
        leading=leading,
        shape=stack.shape,
        channels=_channels(stack, card.input.channels or 3, job, card),
        colours=map_channels(stack.channels, 3, rgb=stack.rgb, chosen=_three(job.channels)),
        normalization=job.normalization or card.normalization,
        side=side,
        batch=card.input.batch or 1,
        threads=job_threads(job.workers),
        background=None if job.background is None else parse_colour(job.background),
        memory_bytes=_memory_bytes(card, side, (*leading, *stack.shape)),
        notes=card.notes,
    )


def _refuse_misfits(stack: ImageStack, card: ModelCard, job: MatteJob) -> None:
    """Raise for a model of another task, a volume, and numbers outside their range."""
    if card.task != "matting":
        gives = "classes" if card.task == "semantic" else "values"
        raise ChoiceError(
            f"'{card.name}' gives {gives} per pixel, not one opacity; segment with it instead, "
            "or choose a cut-out model such as 'u2netp'."
        )
    refuse_volumes(card)
    if len(stack.shape) != 2:
        raise ImageError(f"A cut-out works on planes, this image is planned as {stack.shape}.")
    if job.threshold is not None and not 0 < job.threshold < 1:
        raise ChoiceError(f"The threshold must lie between 0 and 1, got {job.threshold}.")
    if job.workers is not None and job.workers < 1:
        raise ChoiceError(f"The number of workers must be at least 1, got {job.workers}.")


def _refuse_feather(feather_px: float, side: int) -> None:
    """Raise for an edge that is negative, no number, or wider than all that the model sees."""
    if not 0 <= feather_px <= side:
        raise ChoiceError(
            f"The feather must lie between 0 and the {side} px that the model sees, got "
            f"{feather_px}; use 0 for the model's own edge, or more for a softer one."
        )


def _channels(stack: ImageStack, count: int, job: MatteJob, card: ModelCard) -> ChannelMap:
    """Return which image channel feeds which model channel."""
    return map_channels(
        stack.channels,
        count,
        rgb=stack.rgb,
        order=job.colour_order or card.colour_order,
        chosen=job.channels,
    )


def _three(chosen: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the user's channels as red, green, blue; one channel is grey."""
    return chosen * 3 if chosen is not None and len(chosen) == 1 else chosen


def _side(card: ModelCard, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sides the network sees: fixed ones, those of its card, or near 320."""
    free = (
        picture_sides(card, card.sizing, shape)
        if card.sizing
        else tuple(max(1, round(FREE_SIDE_PX / m)) * m for m in card.geometry.multiple)
    )
    return tuple(fixed or side for fixed, side in zip(card.input.sides, free, strict=True))


def _memory_bytes(card: ModelCard, side: Sequence[int], result: Sequence[int]) -> int:
    """Estimate the network's working memory plus the result."""
    return int(prod(side) * max(card.geometry.bytes_per_px, 1.0) + 4 * prod(result))
