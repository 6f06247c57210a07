"""The plain rival: a random forest that sees the colour of one pixel, nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from skimage.color import rgb2hsv, rgb2lab
from sklearn.ensemble import RandomForestClassifier

from .data import NAMES, Scene
from .score import Predict

PIXELS_PER_SCENE = 8000
TREES = 60
SEED = 5


@dataclass(frozen=True, slots=True)
class ForestRule:
    """What is chosen on validation.

    Attributes
    ----------
    balanced
        Whether rare classes weigh more.
    min_leaf
        Fewest training pixels in a leaf.
    """

    balanced: bool
    min_leaf: int


def colour_features(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return red, green, blue, hue, saturation, value and CIE L*a*b*.

    Parameters
    ----------
    rgb
        uint8 (N, 3).

    Returns
    -------
    numpy.ndarray
        float32 (N, 9).
    """
    row = rgb[None]
    parts = (rgb / 255.0, rgb2hsv(row)[0], rgb2lab(row)[0])
    return np.concatenate(parts, axis=1).astype(np.float32)


def grow(scenes: list[Scene], rule: ForestRule) -> RandomForestClassifier:
    """Train a forest on the same number of annotated pixels of each scene.

    Parameters
    ----------
    scenes
        Those that the network is trained on.
    rule
        How to train it.

    Returns
    -------
    sklearn.ensemble.RandomForestClassifier
    """
    rng = np.random.default_rng(SEED)
    colours, classes = [], []
    for scene in scenes:
        known = np.flatnonzero(scene.classes < len(NAMES))
        drawn = rng.choice(known, min(PIXELS_PER_SCENE, len(known)), replace=False)
        colours.append(scene.image.reshape(-1, 3)[drawn])
        classes.append(scene.classes.ravel()[drawn])
    forest = RandomForestClassifier(
        TREES,
        min_samples_leaf=rule.min_leaf,
        class_weight="balanced" if rule.balanced else None,
        random_state=SEED,
    )
    return forest.fit(colour_features(np.concatenate(colours)), np.concatenate(classes))


def forest_predictor(forest: RandomForestClassifier) -> Predict:
    """Return what classifies whole scenes; each colour is asked for once."""

    def predict(scene: Scene) -> NDArray[np.integer]:
        code = scene.image.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        found, place = np.unique(code, return_inverse=True)
        rgb = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1).astype(np.uint8)
        return forest.predict(colour_features(rgb))[place].reshape(scene.classes.shape)

    return predict
