"""Let a rough stroke find the edge in the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from napari_onnxseg.correct.clean import ALL
from napari_onnxseg.correct.components import depth_of
from napari_onnxseg.correct.edit import Edit, check_fits
from napari_onnxseg.correct.scope import Scope, change
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask

BETA = 130.0
"""How much an edge in the image stops the walker; scikit-image's own."""

_SURE = 0.5
"""Part of a stroke's depth from which on it is surely meant."""

_LARGEST_PX = 1 << 20


def snap(
    labels: Any,
    image: AnyArray,
    stroke: Mask,
    label: int,
    scope: Scope = ALL,
    *,
    reach: float,
) -> Edit:
    """Paint a stroke up to the edges of the image rather than where the hand went.

    Parameters
    ----------
    labels : array-like
        Label image as it was before the stroke; only read.
    image : numpy.ndarray
        (*region.shape) or (C, *region.shape), values of the image in the region of the scope.
    stroke : numpy.ndarray
        Of region.shape, bool: what was painted. Its middle is surely meant; its rim, and what
        lies within the reach of it, is decided by the image.
    label : int
        What is painted.
    scope : Scope, optional
        Where, and which labels. The region should reach around the stroke.
    reach : float
        World units beyond the stroke; further away nothing changes.

    Returns
    -------
    Edit
        To be applied. Pixels of the label that were there stay.

    Raises
    ------
    ChoiceError
        When image or stroke do not fit the region, or that is too large.
    ImageError
        When the dtype of the labels does not hold the label.

    References
    ----------
    Grady, "Random walks for image segmentation", IEEE PAMI 28, 2006, 1768-1783.
    """
    region = scope.within(labels.shape)
    check_fits(np.dtype(labels.dtype), label)
    _check(image, stroke, region)
    sizes = scope.sizes(region.ndim)

    def snapped(old: AnyArray, _: Region) -> AnyArray:
        if not stroke.any():
            return old
        near = ndimage.distance_transform_edt(~stroke, sizes) <= reach
        free = near & _may_become(label, old, scope)
        seeds = np.where(free, 0, 2)
        seeds[(old == label) | (free & _surely(stroke, sizes))] = 1
        won = _walk(image, seeds, sizes) & free
        return np.where(won, np.asarray(label, old.dtype), old)

    return change(labels, scope, snapped)


def _may_become(label: int, old: AnyArray, scope: Scope) -> Mask:
    """Tell which pixels the scope lets become a label."""
    free: Mask = ~np.isin(old, list(scope.locked))
    if label in scope.locked:
        return np.zeros(old.shape, bool)
    if scope.selection is not None and label not in scope.selection:
        free &= np.isin(old, list(scope.selection))
    return free


def _walk(image: AnyArray, seeds: NDArray[np.int64], sizes: Sequence[float]) -> Mask:
    """Return which pixels go to the first seeds, by the edges of the image."""
    found: Mask = seeds == 1
    open_, others = seeds == 0, seeds == 2
    if not found.any() or not open_.any():
        return found
    if not others.any():
        return np.ones_like(found)
    box = _around(open_)
    channels = _even(image.reshape((-1, *seeds.shape))[(slice(None), *box)])
    if not len(channels) or not (seeds[box] == 1).any() or not others[box].any():
        return found
    from skimage.segmentation import random_walker  # here, because it takes 0.4 s to load

    walked = random_walker(
        np.moveaxis(channels, 0, -1),
        seeds[box],
        beta=BETA,
        mode="cg_j",
        prob_tol=1,  # only which of two is likelier counts
        channel_axis=-1,
        spacing=np.asarray(sizes) / min(sizes),
    )
    found[box] = walked == 1
    return found


def _even(channels: AnyArray) -> NDArray[np.float64]:
    """Return the channels that tell something, each with mean 0 and deviation 1."""
    values = np.nan_to_num(channels.astype(np.float64), posinf=0, neginf=0)
    axes = tuple(range(1, values.ndim))
    spread = values.std(axis=axes)
    values = values[spread > 0]
    mean = values.mean(axis=axes, keepdims=True)
    even: NDArray[np.float64] = (values - mean) / values.std(axis=axes, keepdims=True)
    return even


def _around(open_: Mask) -> tuple[slice, ...]:
    """Return the box around all pixels to decide, with a rim of decided ones."""
    (box,) = ndimage.find_objects(open_.astype(np.uint8))
    return tuple(
        slice(max(0, s.start - 2), min(n, s.stop + 2))
        for s, n in zip(box, open_.shape, strict=True)
    )


def _surely(stroke: Mask, sizes: Sequence[float]) -> Mask:
    """Return the middle of a stroke, wherever it is thick."""
    inner = depth_of(stroke, sizes)
    pieces, count = ndimage.label(stroke, np.ones((3,) * stroke.ndim))
    deepest = np.zeros(count + 1)
    np.maximum.at(deepest, pieces.ravel(), inner.ravel())
    sure: Mask = stroke & (inner >= _SURE * deepest[pieces])
    return sure


def _check(image: AnyArray, stroke: Mask, region: Region) -> None:
    """Refuse blocks that do not fit the region."""
    if stroke.shape != region.shape or image.shape[-region.ndim :] != region.shape:
        raise ChoiceError(
            f"The stroke of {stroke.shape} px and the image of {image.shape} px do not fit the "
            f"region of {region.shape} px."
        )
    if image.dtype.kind not in "uifb":
        raise ImageError(f"The image holds {image.dtype}, but its values must be numbers.")
    if region.size > _LARGEST_PX:
        raise ChoiceError(
            f"A stroke of {region.size / 1e6:.1f} megapixels is too large to find its edge; "
            "paint shorter strokes."
        )
