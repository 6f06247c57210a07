"""Random crops: geometry on image and ids alike, intensity on the image alone."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch.utils.data import Dataset
from warp import cut_square, margin_for, turn_square

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
    image = sample.image if sample.modality == "histology" else sample.image[:, :, :1]
    centre = _random_centre(sample.labels.shape, rng)
    cut_image, cut_labels = cut_square(image, sample.labels, centre, margin_for(CROP, zoom))
    cut_image = normalise(cut_image, sample.low, sample.high)
    return turn_square(cut_image, cut_labels, CROP, zoom, rng)


def _random_centre(shape: tuple[int, int], rng: np.random.Generator) -> tuple[int, int]:
    """Draw a pixel that is not too close to the edge."""
    half = CROP // 3
    height, width = shape
    row = int(rng.integers(min(half, height // 2), max(height - half, height // 2 + 1)))
    column = int(rng.integers(min(half, width // 2), max(width - half, width // 2 + 1)))
    return row, column


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
