"""The model card of ``unet-aerial``."""

from __future__ import annotations

from typing import Any

from .data import MEAN, NAMES, STD

DESCRIPTION = (
    "Sorts the ground in true-colour satellite and aerial pictures of dry, built-up country into "
    "building, land, road, vegetation and water, where a detached house is about 15 to 30 pixels "
    "wide; 'building' means plots with their houses more than roofs. It learnt from Dubai alone, "
    "from a few scenes with coarse outlines. Not for other climates or sensors without a check, "
    "not for counting houses or measuring areas, not for maps that people rely on. Every pixel "
    "gets one of the five classes; 0 marks places without data."
)
ORIGIN = (
    "Trained by us from scratch on 'Semantic segmentation of aerial imagery' (Humans in the Loop "
    "and the Mohammed Bin Rashid Space Centre, Dubai; CC0-1.0 as declared where it is published)"
)
COLOURS = {
    "building": "#d55e00",
    "land": "#ecd9a6",
    "road": "#4d4d4d",
    "vegetation": "#009e73",
    "water": "#0072b2",
}
"""Three colours of Okabe and Ito, and a light and a dark one for the two greys of the ground."""


def card(found: dict[str, Any]) -> dict[str, Any]:
    """Return the card.

    Parameters
    ----------
    found
        What ``evaluate.measure`` returned.

    Returns
    -------
    dict
        Ready for JSON.
    """
    return {
        "format": 1,
        "name": "unet-aerial",
        "title": "Land cover from above (U-Net)",
        "description": DESCRIPTION,
        "task": "semantic",
        "licence": "BSD-3-Clause",
        "origin": ORIGIN,
        "sha256": found["sha256"],
        "input": {
            "colour_order": "RGB",
            "normalization": {"method": "mean_std", "mean": list(MEAN), "std": list(STD)},
        },
        "output": {"scores": "logits"},
        "classes": [
            {"id": 0, "name": "unlabelled", "colour": None},
            *({"id": i, "name": n, "colour": COLOURS[n]} for i, n in enumerate(NAMES, 1)),
        ],
        "metrics": {
            "measured_on": "the 13 test scenes, their annotated pixels together",
            "network": _rounded(found["test"]["all"]),
            "colour_only_random_forest": _rounded(found["test_forest"]["all"]),
        },
    }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Round the figures for people."""
    return {
        "mean_iou": round(row["mean_iou"], 4),
        "pixel_accuracy": round(row["pixel_accuracy"], 4),
        "iou": {name: round(value, 4) for name, value in row["iou"].items()},
    }
