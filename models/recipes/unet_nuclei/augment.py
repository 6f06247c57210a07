"""Random crops: geometry on image and ids alike, intensity on the image alone."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import ndimage
from torch.utils.data import Dataset

from .data import MODALITIES, Sample, normalise
from .targets import class_map

CROP = 192
ZOOM = (0.65, 1.5)
SHARES = {"fluorescence": 0.60, "histology": 0.30, "brightfield": 0.10}


class RandomCrops(Dataset):
    """Crops number 0, 1, 2, ...: each depends on its number and the seed alone.

    Parameters
    ----------
    samples
        Training samples. A modality is drawn first, then a group, then an image,
        so that neither common modalities nor large groups dominate.
    count
        How many crops there are.
    seed
        Makes the crops reproducible, whatever process computes them.
    """

    def __init__(self, samples: list[Sample], count: int, seed: int) -> None:
        self.count = count
        self.seed = seed
        self.groups: dict[str, list[list[Sample]]] = {}
        for modality in MODALITIES:
            names = sorted({s.group for s in samples if s.modality == modality})
            self.groups[modality] = [[s for s in samples if s.group == n] for n in names]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return image float32 (3, Y, X), classes int64 (Y, X), crowded bool (Y, X)."""
        rng = np.random.default_rng((self.seed, index))
        sample = self._draw(rng)
        image, labels = random_geometry(sample, rng)
        image = random_intensity(image, sample.modality, rng)
        classes, crowded = class_map(labels)
        image = np.broadcast_to(image.transpose(2, 0, 1), (3, CROP, CROP))
        tensor = torch.from_numpy(np.ascontiguousarray(image))
        return tensor, torch.from_numpy(classes.astype(np.int64)), torch.from_numpy(crowded)

    def _draw(self, rng: np.random.Generator) -> Sample:
        shares = [SHARES[m] for m in MODALITIES]
        groups = self.groups[MODALITIES[rng.choice(len(MODALITIES), p=shares)]]
        group = groups[rng.integers(len(groups))]
        return group[rng.integers(len(group))]


def random_geometry(
    sample: Sample, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Cut a turned, zoomed and perhaps mirrored square out of image and ids.

    Parameters
    ----------
    sample
        One image.
    rng
        Source of chance.

    Returns
    -------
    tuple of numpy.ndarray
        float32 (192, 192, C), normalised, C = 3 for stained tissue and else 1;
        and int32 (192, 192).
    """
    zoom = np.exp(rng.uniform(*np.log(ZOOM)))
    margin = int(np.ceil(CROP / zoom * 0.72)) + 2
    image = sample.image if sample.modality == "histology" else sample.image[:, :, :1]
    cut_image, cut_labels = _cut(image, sample.labels, margin, rng)
    cut_image = normalise(cut_image, sample.low, sample.high)
    grid = _grid(2 * margin, zoom, rng)
    pixels = torch.from_numpy(np.ascontiguousarray(cut_image.transpose(2, 0, 1)))[None]
    ids = torch.from_numpy(cut_labels.astype(np.float32))[None, None]
    turned = F.grid_sample(pixels, grid, "bilinear", "reflection", align_corners=False)
    turned_ids = F.grid_sample(ids, grid, "nearest", "reflection", align_corners=False)
    return turned[0].numpy().transpose(1, 2, 0), turned_ids[0, 0].numpy().astype(np.int32)


def _cut(
    image: NDArray[np.uint8], labels: NDArray[np.uint16], margin: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Cut a square of side 2 * margin around a random centre, reflected at the edges."""
    half = CROP // 3
    height, width = labels.shape
    row = int(rng.integers(min(half, height // 2), max(height - half, height // 2 + 1)))
    column = int(rng.integers(min(half, width // 2), max(width - half, width // 2 + 1)))
    rows = _reflect(np.arange(row - margin, row + margin), height)
    columns = _reflect(np.arange(column - margin, column + margin), width)
    return image[np.ix_(rows, columns)], labels[np.ix_(rows, columns)]


def _reflect(index: NDArray[np.integer], size: int) -> NDArray[np.integer]:
    """Fold indices back into 0 ... size - 1, the edge pixel repeated once."""
    index = np.mod(index, 2 * size)
    return np.minimum(index, 2 * size - 1 - index)


def _grid(side: int, zoom: float, rng: np.random.Generator) -> torch.Tensor:
    """Return where to sample: turned freely in a third of cases, else by 90 degrees."""
    free = rng.random() < 0.33
    angle = rng.uniform(0, 2 * np.pi) if free else rng.integers(4) * np.pi / 2
    stretch = np.exp(rng.uniform(-0.1, 0.1, 2)) * CROP / zoom / side
    mirror = rng.choice([-1.0, 1.0])
    cos, sin = np.cos(angle), np.sin(angle)
    matrix = np.array([[cos, -sin], [sin, cos]]) @ np.diag(stretch * [mirror, 1.0])
    theta = torch.zeros(1, 2, 3)
    theta[0, :, :2] = torch.from_numpy(matrix)
    return F.affine_grid(theta, [1, 1, CROP, CROP], align_corners=False)


def random_intensity(
    image: NDArray[np.float32], modality: str, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Change gamma, contrast, colour, sharpness and noise; result from 0 to 1.

    Parameters
    ----------
    image
        float32 (Y, X, C) from 0 to 1.
    modality
        Stained images also have their channels changed one by one.
    rng
        Source of chance.

    Returns
    -------
    numpy.ndarray
        float32 (Y, X, C).
    """
    image = np.clip(image, 0.0, 1.0) ** np.exp(rng.uniform(-0.45, 0.45))
    if modality == "histology":
        image = _random_colour(image, rng)
    elif rng.random() < 0.08:
        image = 1.0 - image
    image = image * rng.uniform(0.75, 1.3) + rng.uniform(-0.08, 0.08)
    if rng.random() < 0.25:
        image = ndimage.gaussian_filter(image, (rng.uniform(0.3, 1.2),) * 2 + (0,))
    if rng.random() < 0.3:
        noise = rng.standard_normal(image.shape, np.float32)
        image = image + rng.uniform(0.01, 0.06) * noise
    return np.clip(image, 0.0, 1.0).astype(np.float32)


def _random_colour(image: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Vary optical density per channel, mix channels a little, at times drop the colour."""
    image = image ** np.exp(rng.uniform(-0.35, 0.35, 3))
    mix = np.eye(3) + rng.normal(0.0, 0.06, (3, 3))
    image = np.clip(image @ (mix / mix.sum(1, keepdims=True)).T, 0.0, 1.0)
    if rng.random() < 0.2:
        image = np.repeat(image.mean(2, keepdims=True), 3, axis=2)
    return image
