"""Aerial scenes: reading, classes, the split by tile, the normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

NAMES = ("building", "land", "road", "vegetation", "water")
"""The classes that are learnt; the place is the value in the label images."""

IGNORED = 255
"""Target of pixels that nothing is learnt from and nothing is scored on."""

VALIDATION_TILES = ("tile3",)
MEAN = (0.46, 0.47, 0.48)
STD = (0.25, 0.25, 0.26)


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture with its classes, held in memory as integers.

    Attributes
    ----------
    file
        Name without its ending.
    tile
        The larger picture that it is a part of.
    image
        uint8 (Y, X, 3).
    classes
        uint8 (Y, X), places in ``NAMES`` or ``IGNORED``.
    """

    file: str
    tile: str
    image: NDArray[np.uint8]
    classes: NDArray[np.uint8]


def normalise(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Divide by 255, subtract the mean, divide by the deviation, channel by channel.

    Parameters
    ----------
    image
        uint8 (Y, X, 3).

    Returns
    -------
    numpy.ndarray
        float32 (Y, X, 3).
    """
    unit = image.astype(np.float32) / np.float32(255)
    return standardise(unit)


def standardise(unit: NDArray[np.float32]) -> NDArray[np.float32]:
    """Subtract the mean and divide by the deviation of a picture from 0 to 1."""
    return (unit - np.float32(MEAN)) / np.float32(STD)


def read_scenes(folder: Path) -> list[Scene]:
    """Read every picture of a folder into memory, in the order of file names.

    Parameters
    ----------
    folder
        A folder with ``images/*.jpg`` and ``labels/*.png`` of the same names.

    Returns
    -------
    list of Scene
    """
    files = sorted((folder / "images").glob("*.jpg"))
    if not files:
        raise FileNotFoundError(f"No images/*.jpg in '{folder}'.")
    return [_read_scene(path) for path in files]


def _read_scene(path: Path) -> Scene:
    image = np.asarray(Image.open(path).convert("RGB"))
    labels = np.asarray(Image.open(path.parents[1] / "labels" / f"{path.stem}.png"))
    classes = np.where(labels < len(NAMES), labels, IGNORED).astype(np.uint8)
    return Scene(path.stem, path.stem.partition("_")[0], image, classes)


def split_by_tile(scenes: list[Scene]) -> tuple[list[Scene], list[Scene]]:
    """Split into training and validation scenes; no tile is in both."""
    training = [s for s in scenes if s.tile not in VALIDATION_TILES]
    return training, [s for s in scenes if s.tile in VALIDATION_TILES]
