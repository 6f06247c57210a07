"""Squares cut out of an image and its labels, turned and zoomed; shared by the recipes."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

FREE_SHARE = 0.33


def margin_for(crop: int, zoom: float) -> int:
    """Return half the side of a square that holds every turned crop."""
    return int(np.ceil(crop / zoom * 0.72)) + 2


def cut_square(
    image: NDArray[np.uint8], labels: NDArray[np.integer], centre: tuple[int, int], margin: int
) -> tuple[NDArray[np.uint8], NDArray[np.integer]]:
    """Cut a square of side 2 * margin around a pixel, reflected at the edges.

    Parameters
    ----------
    image
        uint8 (Y, X, C).
    labels
        (Y, X).
    centre
        Row and column.
    margin
        Half the side in pixels.

    Returns
    -------
    tuple of numpy.ndarray
        Copies, (2 * margin, 2 * margin, C) and (2 * margin, 2 * margin).
    """
    (row, column), (height, width) = centre, labels.shape
    rows = _reflect(np.arange(row - margin, row + margin), height)
    columns = _reflect(np.arange(column - margin, column + margin), width)
    return image[np.ix_(rows, columns)], labels[np.ix_(rows, columns)]


def _reflect(index: NDArray[np.integer], size: int) -> NDArray[np.integer]:
    """Fold indices back into 0 ... size - 1, the edge pixel repeated once."""
    index = np.mod(index, 2 * size)
    return np.minimum(index, 2 * size - 1 - index)


def turn_square(
    image: NDArray[np.float32],
    labels: NDArray[np.integer],
    crop: int,
    zoom: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Turn, stretch, perhaps mirror and zoom a square.

    Parameters
    ----------
    image
        float32 (S, S, C).
    labels
        (S, S), below 2 ** 24.
    crop
        Side of the result in pixels.
    zoom
        Magnification.
    rng
        Source of chance.

    Returns
    -------
    tuple of numpy.ndarray
        float32 (crop, crop, C), bilinear, and int32 (crop, crop), nearest.
    """
    grid = _grid(len(labels), crop, zoom, rng)
    pixels = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))[None]
    ids = torch.from_numpy(labels.astype(np.float32))[None, None]
    turned = F.grid_sample(pixels, grid, "bilinear", "reflection", align_corners=False)
    turned_ids = F.grid_sample(ids, grid, "nearest", "reflection", align_corners=False)
    return turned[0].numpy().transpose(1, 2, 0), turned_ids[0, 0].numpy().astype(np.int32)


def _grid(side: int, crop: int, zoom: float, rng: np.random.Generator) -> torch.Tensor:
    """Return where to sample: turned freely in a third of cases, else by 90 degrees."""
    free = rng.random() < FREE_SHARE
    angle = rng.uniform(0, 2 * np.pi) if free else rng.integers(4) * np.pi / 2
    stretch = np.exp(rng.uniform(-0.1, 0.1, 2)) * crop / zoom / side
    mirror = rng.choice([-1.0, 1.0])
    cos, sin = np.cos(angle), np.sin(angle)
    matrix = np.array([[cos, -sin], [sin, cos]]) @ np.diag(stretch * [mirror, 1.0])
    theta = torch.zeros(1, 2, 3)
    theta[0, :, :2] = torch.from_numpy(matrix)
    return F.affine_grid(theta, [1, 1, crop, crop], align_corners=False)
