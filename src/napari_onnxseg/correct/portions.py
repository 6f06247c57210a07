"""Which tiles become training pairs, and which of them are kept back for validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Mask

Split = Literal["train", "val"]


@dataclass(frozen=True, slots=True)
class Portion:
    """One tile of one image that holds something accepted.

    Parameters
    ----------
    sample : int
        Which image.
    box : Region
        The tile; it may reach beyond the image.
    regions : tuple of int
        Which accepted boxes of that image it holds a part of.
    """

    sample: int
    box: Region
    regions: tuple[int, ...]


def portions_of(
    sample: int, shape: Sequence[int], regions: Sequence[Region], tile: Sequence[int]
) -> list[Portion]:
    """List the tiles of an image that hold a part of an accepted box.

    Parameters
    ----------
    sample : int
        Number of the image.
    shape : sequence of int
        Of the image.
    regions : sequence of Region
        Accepted boxes.
    tile : sequence of int
        Sides of a tile; all lie on one grid, so that none overlap.

    Returns
    -------
    list of Portion
        In row-major order.
    """
    held: dict[tuple[int, ...], list[int]] = {}
    for number, region in enumerate(regions):
        inside = region.intersect(Region.of_shape(shape))
        if not inside.size:
            continue
        spans = [
            range(a // side, -(-b // side))
            for a, b, side in zip(inside.start, inside.stop, tile, strict=True)
        ]
        for place in product(*spans):
            held.setdefault(place, []).append(number)
    found = []
    for place, numbers in sorted(held.items()):
        start = tuple(n * side for n, side in zip(place, tile, strict=True))
        stop = tuple(a + side for a, side in zip(start, tile, strict=True))
        found.append(Portion(sample, Region(start, stop), tuple(numbers)))
    return found


def accepted_in(portion: Portion, shape: Sequence[int], regions: Sequence[Region]) -> Mask:
    """Return which pixels of a tile were accepted.

    Parameters
    ----------
    portion : Portion
        The tile.
    shape : sequence of int
        Of its image.
    regions : sequence of Region
        Accepted boxes of that image.

    Returns
    -------
    numpy.ndarray
        Shape of the tile, bool.
    """
    accepted = np.zeros(portion.box.shape, bool)
    whole = Region.of_shape(shape)
    for number in portion.regions:
        common = regions[number].intersect(whole).intersect(portion.box)
        accepted[common.relative_to(portion.box).slices] = True
    return accepted


def split_of(portions: Sequence[Portion], validation: float, seed: int) -> list[Split]:
    """Keep some tiles back for validation, never two with a part of one accepted box apart.

    Parameters
    ----------
    portions : sequence of Portion
        All tiles.
    validation : float
        Part of the tiles that is wanted, in [0, 1).
    seed : int
        The same seed gives the same split.

    Returns
    -------
    list of {"train", "val"}
        One a tile; all are for training where there is one group only.
    """
    groups = groups_of(portions)
    count = max(groups, default=-1) + 1
    sizes = np.bincount(np.array(groups, int), minlength=count)
    kept: set[int] = set()
    wanted = validation * len(portions)
    if validation > 0 and count > 1:
        order = np.random.default_rng(seed).permutation(count).tolist()
        for group in order:
            if sum(sizes[list(kept)]) + sizes[group] <= max(wanted, 0) + 0.5:
                kept.add(group)
        if not kept:
            kept.add(min(order, key=lambda group: sizes[group]))
    return ["val" if group in kept else "train" for group in groups]


def groups_of(portions: Sequence[Portion]) -> list[int]:
    """Return which tiles hang together by accepted boxes, as numbers of groups.

    Parameters
    ----------
    portions : sequence of Portion
        All tiles.

    Returns
    -------
    list of int
        One a tile, from 0 in the order of their first tile.
    """
    parent = list(range(len(portions)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    first: dict[tuple[int, int], int] = {}
    for number, portion in enumerate(portions):
        for region in portion.regions:
            known = first.setdefault((portion.sample, region), number)
            parent[root(number)] = root(known)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(i), len(numbers)) for i in range(len(portions))]
