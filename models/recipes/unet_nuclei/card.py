"""The model card of ``unet-nuclei``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .data import HIGH_PERCENTILE, LOW_PERCENTILE
from .decode import ObjectRule
from .targets import BACKGROUND, BORDER, INSIDE

DESCRIPTION = (
    "Finds cell nuclei one by one in fluorescence images, and less surely in stained tissue and "
    "bright field, where nuclei are about 8 to 80 pixels wide. Not for whole cells or for "
    "three-dimensional stacks as such, and not for diagnosis."
)
ORIGIN = (
    "Trained by us from scratch on BBBC038v1 (2018 Data Science Bowl, CC0-1.0; Caicedo et al., "
    "Nature Methods 16, 2019, 1247-1253) with community-corrected masks"
)


def card(figures: dict[str, Any], rule: ObjectRule) -> dict[str, Any]:
    """Return the card.

    Parameters
    ----------
    figures
        What ``report.measure`` returned.
    rule
        How nuclei are made from scores.

    Returns
    -------
    dict
        Ready for JSON.
    """
    return {
        "format": 1,
        "name": "unet-nuclei",
        "title": "Cell nuclei (U-Net)",
        "description": DESCRIPTION,
        "task": "semantic",
        "licence": "BSD-3-Clause",
        "origin": ORIGIN,
        "sha256": figures["sha256"],
        "input": {"colour_order": "RGB", "normalization": normalization()},
        "output": {"scores": "logits"},
        "classes": [
            {"id": BACKGROUND, "name": "background", "colour": None},
            {"id": INSIDE, "name": "inside", "colour": "#2a9df4"},
            {"id": BORDER, "name": "border", "colour": "#f5a623"},
        ],
        "objects": {"method": "watershed", "inside": INSIDE, "border": BORDER, **asdict(rule)},
        "metrics": metrics(figures["test"]),
    }


def normalization() -> dict[str, Any]:
    """Return the normalisation that training used."""
    return {
        "method": "percentile",
        "low": LOW_PERCENTILE,
        "high": HIGH_PERCENTILE,
        "clip": True,
        "per_channel": False,
    }


def metrics(test: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return the test figures, rounded for people."""
    rounded = {
        name: {key: round(value, 4) for key, value in row.items()} for name, row in test.items()
    }
    return {"measured_on": "BBBC038v1, our test split of 94 images", **rounded}
