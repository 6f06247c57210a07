r"""Choose between checkpoints, and between forests, on the validation scenes only.

Run from ``models/recipes``::

    python -m unet_aerial.choose AERIAL/train ../reports/unet-aerial-choice.json \
        first.pt second.pt
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import asdict
from pathlib import Path
from typing import Any

from onnx_export import write_json

from .data import VALIDATION_TILES, Scene, read_scenes, split_by_tile
from .export import load_network
from .forest import ForestRule, forest_predictor, grow
from .score import measure, network_predictor

RULES = tuple(
    ForestRule(balanced, leaf) for balanced, leaf in itertools.product((False, True), (50, 500))
)


def try_checkpoints(paths: list[Path], scenes: list[Scene]) -> list[dict[str, Any]]:
    """Return the validation figures of each checkpoint."""
    return [
        {"checkpoint": path.name, **measure(scenes, network_predictor(load_network(path)))}
        for path in paths
    ]


def try_forests(training: list[Scene], validation: list[Scene]) -> list[dict[str, Any]]:
    """Return the validation figures of each forest."""
    return [
        {"rule": asdict(rule), **measure(validation, forest_predictor(grow(training, rule)))}
        for rule in RULES
    ]


def best(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the trial with the highest mean IoU, the first of equals."""
    return max(trials, key=lambda trial: trial["mean_iou"])


def main() -> None:
    """Try and write the choice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="folder with images/ and labels/")
    parser.add_argument("output", type=Path)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    arguments = parser.parse_args()
    training, validation = split_by_tile(read_scenes(arguments.train))
    networks = try_checkpoints(arguments.checkpoints, validation)
    forests = try_forests(training, validation)
    choice = {
        "validation": [scene.file for scene in validation],
        "held_out_tiles": VALIDATION_TILES,
        "network": best(networks),
        "forest": best(forests),
        "trials": {"network": networks, "forest": forests},
    }
    write_json(choice, arguments.output)
    print(choice)


if __name__ == "__main__":
    main()
