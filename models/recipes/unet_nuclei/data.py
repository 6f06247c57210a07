"""Nucleus images: reading, the split by group, the percentile normalisation."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

LOW_PERCENTILE = 1.0
HIGH_PERCENTILE = 99.8
VALIDATION_SHARE = 0.15
SPLIT_SEED = 20
MODALITIES = ("fluorescence", "histology", "brightfield")


@dataclass(frozen=True, slots=True)
class Sample:
    """One image with its nuclei, held in memory as integers.

    Attributes
    ----------
    image
        uint8 (Y, X, 3), grey images replicated.
    labels
        uint16 (Y, X), 0 for background, else the id of a nucleus.
    low, high
        The two percentiles of the whole image, all channels together.
    """

    file: str
    modality: str
    group: str
    image: NDArray[np.uint8]
    labels: NDArray[np.uint16]
    low: float
    high: float

    def normalised(self) -> NDArray[np.float32]:
        """Return the whole image as float32 (Y, X, 3), from 0 to 1."""
        return normalise(self.image, self.low, self.high)


def normalise(image: NDArray[np.uint8], low: float, high: float) -> NDArray[np.float32]:
    """Map ``low`` to 0 and ``high`` to 1 and clip.

    Parameters
    ----------
    image
        Any real array.
    low, high
        The image's percentiles.

    Returns
    -------
    numpy.ndarray
        float32, the same shape, from 0 to 1.
    """
    scaled = (image.astype(np.float32) - low) / max(high - low, 1e-6)
    return np.clip(scaled, 0.0, 1.0).astype(np.float32)


def percentiles(image: NDArray[np.uint8]) -> tuple[float, float]:
    """Return the low and the high percentile over all pixels and channels."""
    low, high = np.percentile(image, (LOW_PERCENTILE, HIGH_PERCENTILE))
    return float(low), float(high)


def read_manifest(folder: Path) -> dict[str, dict[str, str]]:
    """Read ``manifest.csv``, which lies in the folder or one above it.

    Parameters
    ----------
    folder
        A folder with ``images/`` and ``labels/``.

    Returns
    -------
    dict
        The row of each file name.
    """
    for candidate in (folder / "manifest.csv", folder.parent / "manifest.csv"):
        if candidate.is_file():
            with candidate.open(newline="") as stream:
                return {row["file"]: row for row in csv.DictReader(stream)}
    raise FileNotFoundError(f"No manifest.csv in '{folder}' or the folder above it.")


def read_samples(folder: Path) -> list[Sample]:
    """Read every image of a folder into memory, in the order of file names.

    Parameters
    ----------
    folder
        A folder with ``images/*.png`` and ``labels/*.png`` of the same names.

    Returns
    -------
    list of Sample
    """
    manifest = read_manifest(folder)
    files = sorted((folder / "images").glob("*.png"))
    if not files:
        raise FileNotFoundError(f"No images/*.png in '{folder}'.")
    return [_read_sample(path, manifest[path.name]) for path in files]


def _read_sample(path: Path, row: dict[str, str]) -> Sample:
    image = np.asarray(Image.open(path).convert("RGB"))
    labels = np.asarray(Image.open(path.parents[1] / "labels" / path.name)).astype(np.uint16)
    low, high = percentiles(image)
    return Sample(path.name, row["modality"], row["group"], image, labels, low, high)


def split_by_group(samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Split into training and validation; no group is in both.

    Images of one group are near-duplicates. The groups are drawn for each
    modality on its own, so that the rare ones are validated too.

    Parameters
    ----------
    samples
        All the samples that may be used for training and for choices.

    Returns
    -------
    tuple of list of Sample
        Training and validation samples.
    """
    rng = np.random.default_rng(SPLIT_SEED)
    held_out: set[str] = set()
    for modality in MODALITIES:
        groups = sorted({s.group for s in samples if s.modality == modality})
        count = max(2, round(VALIDATION_SHARE * len(groups)))
        held_out |= set(rng.permutation(groups)[:count].tolist())
    training = [s for s in samples if s.group not in held_out]
    validation = [s for s in samples if s.group in held_out]
    return training, validation
