"""Our run on the tiles of another tool: what is left of a difference is not about tiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.pipeline.semantic import segment_image

Box = Sequence[int]
"""y, x, height, width of what the network sees, then of what is kept of it."""


def on_tiles(
    card: ModelCard, picture: NDArray[Any], tiles: Sequence[Box], what: str = "labels"
) -> NDArray[Any]:
    """Run each tile as an image of its own, and keep the part that is kept there.

    Parameters
    ----------
    card : ModelCard
        The model.
    picture : numpy.ndarray
        (Y, X) or (Y, X, 3).
    tiles : sequence of Box
        Their kept parts cover the picture.
    what : str
        Which result: ``"labels"`` or ``"image"``.
    """
    out: NDArray[Any] | None = None
    for y, x, h, w, top, left, height, width in tiles:
        seen = np.ascontiguousarray(picture[y : y + h, x : x + w])
        part = result(card.path, seen, what, card=card)
        out = np.zeros((*picture.shape[:2], *part.shape[2:]), part.dtype) if out is None else out
        inside = (slice(top - y, top - y + height), slice(left - x, left - x + width))
        out[top : top + height, left : left + width] = part[inside]
    assert out is not None
    return out


def result(model: Path, picture: NDArray[Any], what: str = "labels", **more: Any) -> NDArray[Any]:
    """Run a model on a picture, whose last axis is colour when there are three."""
    rgb = True if picture.ndim == 3 else None
    found = segment_image(picture, model, rgb=rgb, device="cpu", **more)
    return np.asarray(getattr(found, what))
