"""How a model of each task is run on a part of the view, without any choices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from napari.layers import Image

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.errors import ImageError
from napari_onnxseg.pipeline.job import MatteJob, SegmentJob
from napari_onnxseg.pipeline.matting import matte
from napari_onnxseg.pipeline.semantic import segment
from napari_onnxseg.plugin.worker import Steps

GROUND = "#00a0e0"
"""Colour behind a subject that is cut out to try a model, so that its edge can be judged."""


def steps_for(card: ModelCard) -> Callable[..., Steps]:
    """Return the pipeline for a model.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    callable
        (stack, job, card=..., cancel=...) to a generator.
    """
    return matte if card.task == "matting" else segment


def job_for(card: ModelCard, model: str | Path, stack: ImageStack) -> SegmentJob | MatteJob:
    """Return a run with no choices but what the stack needs.

    Parameters
    ----------
    card : ModelCard
        The model.
    model : str or Path
        Its name or file.
    stack : ImageStack
        The image.

    Returns
    -------
    SegmentJob or MatteJob
        As the task needs it.
    """
    where: dict[str, Any] = {"channel_axis": stack.channel_axis, "rgb": stack.rgb}
    if card.task == "matting":
        return MatteJob(model, background=GROUND, **where)
    return SegmentJob(model, **where)


def refuse_volumes(card: ModelCard) -> None:
    """Raise for a model of volumes.

    Parameters
    ----------
    card : ModelCard
        The model.

    Raises
    ------
    ImageError
        In a sentence.
    """
    if card.input.spatial_ndim != 2:
        raise ImageError(
            f"'{card.name}' takes volumes, and only models for planes can be run; "
            "choose a model for planes."
        )


def active_image(viewer: Any) -> Image | None:
    """Return the active layer of a viewer when it is an image.

    Parameters
    ----------
    viewer : napari.components.ViewerModel
        The viewer.

    Returns
    -------
    napari.layers.Image or None
        The layer.
    """
    layer = viewer.layers.selection.active
    return layer if isinstance(layer, Image) else None
