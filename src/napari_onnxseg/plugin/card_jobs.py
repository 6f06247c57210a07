"""Cards read and written off the main thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.save import save_card
from napari_onnxseg.cards.sources import locate
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.pipeline.known import known_model
from napari_onnxseg.plugin.worker import Steps


def reading(model: str | Path, cancel: Cancel) -> Steps:
    """Read a card; a generator of no steps."""
    yield from ()
    return known_model(model, cancel=cancel)


def saving(card: ModelCard, model: str | Path, _cancel: Cancel) -> Steps:
    """Write an edited card, and read the model anew to be sure that it is understood."""
    yield Progress(0, 1, stage="saving")
    place = save_card(card, locate(model).given)
    load_card(model)
    return place


def background(work: Callable[..., Steps], *given: Any) -> Callable[[Cancel], Steps]:
    """Bind what a job needs, so that only the switch that ends it is missing.

    Parameters
    ----------
    work : callable
        A generator function whose last argument is the switch.
    *given
        Its first arguments.

    Returns
    -------
    callable
        As `Watch` takes it.
    """
    return partial(work, *given)
