"""Random crops: geometry on picture and classes alike, colour on the picture alone."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch.utils.data import Dataset
from warp import cut_square, margin_for, turn_square

from .data import NAMES, Scene, standardise

CROP = 320
ZOOM = (0.6, 1.6)
AIMED_SHARE = 0.6
AIMS = 4000


class RandomCrops(Dataset):
    """Crops number 0, 1, 2, ...: each depends on its number and the seed alone.

    Parameters
    ----------
    scenes
        Training scenes. Large ones are drawn more often, with the square root of
        their area.
    count
        How many crops there are.
    seed
        Makes the crops reproducible, whatever process computes them.
    """

    def __init__(self, scenes: list[Scene], count: int, seed: int) -> None:
        self.scenes = scenes
        self.count = count
        self.seed = seed
        roots = np.sqrt([scene.classes.size for scene in scenes])
        self.shares = roots / roots.sum()
        self.aims = [_aims(scene, seed) for scene in scenes]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return picture float32 (3, Y, X) and classes int64 (Y, X)."""
        rng = np.random.default_rng((self.seed, index))
        number = rng.choice(len(self.scenes), p=self.shares)
        zoom = np.exp(rng.uniform(*np.log(ZOOM)))
        scene = self.scenes[number]
        cut = cut_square(
            scene.image, scene.classes, self._centre(number, rng), margin_for(CROP, zoom)
        )
        unit = cut[0].astype(np.float32) / np.float32(255)
        image, classes = turn_square(unit, cut[1], CROP, zoom, rng)
        image = standardise(random_colour(image, rng)).transpose(2, 0, 1)
        return (
            torch.from_numpy(np.ascontiguousarray(image)),
            torch.from_numpy(classes.astype(np.int64)),
        )

    def _centre(self, number: int, rng: np.random.Generator) -> tuple[int, int]:
        """Draw a pixel: one of a class that is drawn first, or any."""
        width = self.scenes[number].classes.shape[1]
        if rng.random() < AIMED_SHARE:
            places = self.aims[number]
            place = rng.choice(places[rng.integers(len(places))])
        else:
            place = rng.integers(self.scenes[number].classes.size)
        return int(place // width), int(place % width)


def _aims(scene: Scene, seed: int) -> list[NDArray[np.integer]]:
    """Return up to 4000 flat indices of each class that the scene has."""
    rng = np.random.default_rng(seed)
    found = [np.flatnonzero(scene.classes == number) for number in range(len(NAMES))]
    return [rng.choice(places, min(AIMS, len(places))) for places in found if len(places)]


def random_colour(image: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Change gamma, contrast, saturation, tint, sharpness and noise; result from 0 to 1.

    Parameters
    ----------
    image
        float32 (Y, X, 3) from 0 to 1.
    rng
        Source of chance.

    Returns
    -------
    numpy.ndarray
        float32 (Y, X, 3).
    """
    gamma = np.exp(rng.uniform(-0.35, 0.35) + rng.uniform(-0.08, 0.08, 3))
    image = np.clip(image, 0.0, 1.0) ** gamma.astype(np.float32)
    grey = image.mean(axis=2, keepdims=True)
    image = grey + np.float32(rng.uniform(0.5, 1.4)) * (image - grey)
    image = image * np.float32(rng.uniform(0.75, 1.25)) + np.float32(rng.uniform(-0.08, 0.08))
    if rng.random() < 0.2:
        image = ndimage.gaussian_filter(image, (rng.uniform(0.4, 1.2),) * 2 + (0,))
    if rng.random() < 0.2:
        noise = rng.standard_normal(image.shape, np.float32)
        image = image + np.float32(rng.uniform(0.01, 0.04)) * noise
    return np.clip(image, 0.0, 1.0).astype(np.float32)
