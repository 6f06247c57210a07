"""What an operation may touch, and how it keeps to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any

import numpy as np

from napari_onnxseg.correct.agreement import fitting_scale
from napari_onnxseg.correct.edit import Edit
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask

LARGEST_PX = 1 << 26
"""Pixels that one operation works on at once."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What an operation may touch.

    A region that is one pixel thick on an axis is a plane of its own: what lies before and
    behind it is not looked at.

    Parameters
    ----------
    region : Region or None
        Box in which pixels may change; None for the whole image.
    mask : numpy.ndarray or None
        Of region.shape, bool: where in the box; None for everywhere.
    selection : collection of int or None
        Labels that are worked on: every pixel that changes has one of them before or
        after. None for all.
    locked : collection of int
        Labels that nothing is taken from or given to.
    scale : tuple of float or None
        World units per pixel, one per axis; None for 1.
    """

    region: Region | None = None
    mask: Mask | None = None
    selection: Collection[int] | None = None
    locked: Collection[int] = ()
    scale: Sequence[float] | None = None

    def within(self, shape: Sequence[int]) -> Region:
        """Return the box inside an image of this shape.

        Parameters
        ----------
        shape : sequence of int
            Of the image, in pixels.

        Returns
        -------
        Region
            The region, or the whole image.

        Raises
        ------
        ChoiceError
            When region or mask do not fit the image.
        """
        whole = Region.of_shape(shape)
        region = whole if self.region is None else self.region
        if region.ndim != whole.ndim:
            raise ChoiceError(
                f"A region of {region.ndim} axes does not fit an image of {whole.ndim}."
            )
        if self.mask is not None and self.mask.shape != region.shape:
            raise ChoiceError(
                f"A mask of {self.mask.shape} px does not fit the region of {region.shape} px."
            )
        return region.intersect(whole)

    def sizes(self, ndim: int) -> tuple[float, ...]:
        """Return world units per pixel for each axis."""
        return fitting_scale(self.scale, ndim)

    def pixels(self, distance: float, ndim: int) -> tuple[int, ...]:
        """Return how many pixels hold a distance in world units, on each axis."""
        return tuple(ceil(distance / size - 1e-9) for size in self.sizes(ndim))

    def selects(self, labels: AnyArray) -> Mask:
        """Tell which labels of an array are worked on: selected and not locked."""
        chosen = np.ones(labels.shape, bool)
        if self.selection is not None:
            chosen = np.isin(labels, list(self.selection))
        return chosen & ~np.isin(labels, list(self.locked)) if self.locked else chosen

    def at(self, region: Region) -> Scope:
        """Return the same for another box, the mask cut to it.

        Parameters
        ----------
        region : Region
            The new box; pixels outside the old one are masked.

        Returns
        -------
        Scope
            Never allows more than this one.
        """
        if self.region is None:
            mask = None if self.mask is None else self.mask[region.slices]
            return replace(self, region=region, mask=mask)
        mask = np.zeros(region.shape, bool)
        common = region.intersect(self.region)
        known = True if self.mask is None else self.mask[common.relative_to(self.region).slices]
        mask[common.relative_to(region).slices] = known
        return replace(self, region=region, mask=mask)


def change(
    labels: Any,
    scope: Scope,
    compute: Callable[[AnyArray, Region], AnyArray],
    *,
    context: Sequence[int] | int = 0,
) -> Edit:
    """Let an operation compute new labels, and keep of them what the scope allows.

    Parameters
    ----------
    labels : array-like
        Label image of any size; only read.
    scope : Scope
        What may change.
    compute : callable
        Given the labels of a box (its own copy) and the box, returns the new ones.
    context : int or sequence of int, optional
        Pixels beyond the region that are given too, on each axis.

    Returns
    -------
    Edit
        Of pixels inside the region only.

    Raises
    ------
    ChoiceError
        When the scope does not fit the image, or holds too many pixels for one step.
    """
    shape = tuple(labels.shape)
    region = scope.within(shape)
    around = (context,) * len(shape) if isinstance(context, int) else tuple(context)
    thick = [
        n if side > 1 or full == 1 else 0
        for n, side, full in zip(around, region.shape, shape, strict=True)
    ]
    seen = region.grow(thick).intersect(Region.of_shape(shape))
    if prod(seen.shape) > LARGEST_PX:
        raise ChoiceError(
            f"The region of {' × '.join(map(str, region.shape))} px is too large for one step; "
            f"choose one of up to {LARGEST_PX / 1e6:.0f} megapixels."
        )
    inner = region.relative_to(seen).slices
    old = np.array(labels[seen.slices])
    if not region.size:
        return Edit.of(region, old[inner], old[inner])
    new = compute(old.copy(), seen)[inner]
    return allowed(scope, region, old[inner], new)


def allowed(scope: Scope, region: Region, old: AnyArray, new: AnyArray) -> Edit:
    """Keep of a change what a scope allows.

    Parameters
    ----------
    scope : Scope
        What may change.
    region : Region
        Where the blocks lie, inside the region of the scope.
    old, new : numpy.ndarray
        Of region.shape, labels before and after.

    Returns
    -------
    Edit
        The rest of the change.
    """
    return Edit.of(region, old, permitted(scope, region, old, new))


def permitted(scope: Scope, region: Region, old: AnyArray, new: AnyArray) -> AnyArray:
    """Return a block after the part of a change that a scope allows.

    Parameters
    ----------
    scope : Scope
        What may change.
    region : Region
        Where the blocks lie, inside the region of the scope.
    old, new : numpy.ndarray
        Of region.shape, labels before and after.

    Returns
    -------
    numpy.ndarray
        Of region.shape, dtype of the old one.
    """
    keep = old != new
    if scope.mask is not None:
        origin = region if scope.region is None else region.relative_to(scope.region)
        keep &= scope.mask[origin.slices]
    if scope.locked:
        locked = list(scope.locked)
        keep &= ~np.isin(old, locked) & ~np.isin(new, locked)
    if scope.selection is not None:
        selected = list(scope.selection)
        keep &= np.isin(old, selected) | np.isin(new, selected)
    return np.where(keep, new, old).astype(old.dtype, copy=False)
