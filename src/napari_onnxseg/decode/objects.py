"""Class scores or labels to separate objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.decode.blocks import row_blocks, write_bytes
from napari_onnxseg.decode.labels import ScoreKind, to_probabilities
from napari_onnxseg.errors import ModelError
from napari_onnxseg.types import AnyArray, Mask, Scores

Objects = NDArray[np.int32]
Bytes = NDArray[np.uint8]


class SeparationRule(Protocol):
    """How objects come apart; the object rule of a model card satisfies it."""

    @property
    def method(self) -> Literal["components", "watershed"]:
        """Connected components of the foreground, or watershed from seeds."""
        ...

    @property
    def foreground_threshold(self) -> float:
        """Objects are where P(inside) + P(border) exceeds it, in [0, 1]."""
        ...

    @property
    def seed_threshold(self) -> float:
        """Seeds are the components where P(inside) exceeds it, in [0, 1]."""
        ...

    @property
    def min_area_px(self) -> int:
        """Smaller objects are dropped."""
        ...

    @property
    def landscape(self) -> Literal["score", "distance"]:
        """What is flooded: minus P(inside), or minus the distance to the outside."""
        ...


def object_planes(
    scores: Scores, kind: ScoreKind, inside: int, border: int | None
) -> tuple[Bytes, Bytes]:
    """Reduce scores to what the separation of objects needs, one byte each.

    Parameters
    ----------
    scores : numpy.ndarray
        (K, Y, X) or (K, Z, Y, X) float32; one channel counts as class 1.
    kind : {"logits", "probabilities", "labels"}
        What the scores are.
    inside : int
        Class of the inside of objects.
    border : int or None
        Class of the borders between them.

    Returns
    -------
    inside : numpy.ndarray
        (Y, X) or (Z, Y, X) uint8, P(inside) times 255.
    foreground : numpy.ndarray
        Same shape, (P(inside) + P(border)) times 255.

    Raises
    ------
    ModelError
        When a class does not exist or the model gives class ids.
    """
    classes = max(2, len(scores))
    for number in (inside, border or 0):
        if not 0 <= number < classes:
            raise ModelError(
                f"The card separates objects by class {number}, but the model gives "
                f"{classes} classes, 0 to {classes - 1}; correct the card."
            )
    core, whole = (np.empty(scores.shape[1:], np.uint8) for _ in range(2))
    for where in row_blocks(core.shape):
        probabilities = _all_classes(to_probabilities(scores[(slice(None), *where)], kind))
        between = 0 if border is None else probabilities[border]
        write_bytes(probabilities[inside] + between, whole[where])
        write_bytes(probabilities[inside].copy(), core[where])
    return core, whole


def objects_from_planes(inside: Bytes, foreground: Bytes, rule: SeparationRule) -> Objects:
    """Separate objects by the rule of a model card.

    Parameters
    ----------
    inside : numpy.ndarray
        (Y, X) or (Z, Y, X) uint8, P(inside) times 255.
    foreground : numpy.ndarray
        Same shape, (P(inside) + P(border)) times 255.
    rule : SeparationRule
        Method and thresholds.

    Returns
    -------
    numpy.ndarray
        Same shape, int32, 0 background, objects numbered from 1 without gaps. By
        watershed, foreground without a seed is background.
    """
    mask = foreground > 255 * rule.foreground_threshold
    if rule.method == "components":
        return _without_small(_components(mask)[0], rule.min_area_px)
    seeds, _ = _components(mask & (inside > 255 * rule.seed_threshold))
    return _without_small(_flood(inside, seeds, mask, rule), rule.min_area_px)


def objects_from_labels(
    labels: AnyArray, classes: Sequence[int] | None = None, *, min_area_px: int = 0
) -> Objects:
    """Give each connected part of each class a number.

    Parameters
    ----------
    labels : numpy.ndarray
        (Y, X) or (Z, Y, X), class ids.
    classes : sequence of int, optional
        Classes that are objects; all but 0 without it.
    min_area_px : int, optional
        Smaller objects are dropped.

    Returns
    -------
    numpy.ndarray
        Same shape, int32, 0 background, objects numbered from 1 without gaps. Parts of
        different classes never join; parts that touch only at a corner are separate.
    """
    present = np.flatnonzero(np.bincount(labels.ravel()))
    wanted = present[present > 0] if classes is None else np.intersect1d(present, classes)
    objects, last = np.zeros(labels.shape, np.int32), 0
    for number in wanted:
        parts, count = _components(labels == number)
        np.add(parts, last, out=objects, where=parts > 0)
        last += count
    return _without_small(objects, min_area_px)


def _all_classes(probabilities: Scores) -> Scores:
    """Return P(background) and P(foreground) of one channel; several as they are."""
    if len(probabilities) > 1:
        return probabilities
    return np.concatenate([1 - probabilities, probabilities])


def _components(mask: Mask) -> tuple[Objects, int]:
    """Give each part of a mask a number; parts that touch at a corner are two."""
    from scipy import ndimage  # here, because it takes 0.2 s to load

    parts = np.empty(mask.shape, np.int32)
    return parts, int(ndimage.label(mask, output=parts))


def _flood(inside: Bytes, seeds: Objects, mask: Mask, rule: SeparationRule) -> Objects:
    """Grow the seeds over the mask, best pixels first."""
    from scipy import ndimage
    from skimage.segmentation import watershed  # here, because it takes 0.4 s to load

    by_distance = rule.landscape == "distance"
    heights = -ndimage.distance_transform_edt(mask) if by_distance else 255 - inside
    flooded: Objects = watershed(heights, seeds, mask=mask).astype(np.int32, copy=False)
    return flooded


def _without_small(objects: Objects, min_area_px: int) -> Objects:
    """Drop objects below the area and number the rest from 1 without gaps."""
    keep = np.bincount(objects.ravel()) >= max(1, min_area_px)
    keep[0] = False
    numbers = np.where(keep, np.cumsum(keep), 0).astype(np.int32)
    return numbers[objects]
