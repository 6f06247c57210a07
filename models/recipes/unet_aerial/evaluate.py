r"""Measure file and forest on the test scenes, once, and write report and card.

Run from ``models/recipes``::

    python -m unet_aerial.evaluate AERIAL ../unet-aerial.onnx \
        ../reports/unet-aerial-choice.json ../reports/unet-aerial.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import sklearn
from geometry import geometry, milliseconds_per_tile, model_input, open_session
from numpy.typing import NDArray
from onnx_export import count_operators, write_json

from .card import card
from .data import Scene, normalise, read_scenes, split_by_tile
from .forest import ForestRule, forest_predictor, grow
from .net import AerialUNet
from .score import MULTIPLE, Predict, confusion, figures


def file_predictor(session: ort.InferenceSession) -> Predict:
    """Return what classifies whole scenes with the file; ids there are one higher."""

    def predict(scene: Scene) -> NDArray[np.integer]:
        image = model_input(normalise(scene.image), MULTIPLE)
        height, width = scene.classes.shape
        found = session.run(None, {"image": image})[0][0, :, :height, :width].argmax(axis=0)
        if not found.all():
            raise ValueError(f"Class 0 was given to pixels of '{scene.file}'.")
        return found - 1

    return predict


def compare(scenes: list[Scene], predict: Predict, seen: set[str]) -> dict[str, Any]:
    """Return the figures of all scenes, and of tiles that training has and has not seen.

    Parameters
    ----------
    scenes
        The test scenes.
    predict
        What to measure.
    seen
        Tiles with parts in training.

    Returns
    -------
    dict
        ``all``, ``new_tiles``, ``known_tiles`` and, scene by scene, the mean IoU over the
        classes that are there.
    """
    tables = [confusion(scene, predict(scene)) for scene in scenes]
    known = [scene.tile in seen for scene in scenes]
    parts = {
        "all": tables,
        "new_tiles": [t for t, k in zip(tables, known, strict=True) if not k],
        "known_tiles": [t for t, k in zip(tables, known, strict=True) if k],
    }
    return {
        **{name: {"scenes": len(part), **figures(sum(part))} for name, part in parts.items()},
        "mean_iou_by_scene": {
            scene.file: _present_iou(table) for scene, table in zip(scenes, tables, strict=True)
        },
    }


def _present_iou(table: NDArray[np.int64]) -> float:
    """Return the mean IoU over the classes that the annotation has."""
    there = table.sum(axis=1) > 0
    return float(np.mean(np.array(list(figures(table)["iou"].values()))[there]))


def measure(model: Path, data: Path, choice: dict[str, Any]) -> dict[str, Any]:
    """Return all figures of the report.

    Parameters
    ----------
    model
        The ONNX file.
    data
        Folder with ``train/`` and ``test/``.
    choice
        What was chosen on validation.

    Returns
    -------
    dict
        Ready for JSON.
    """
    session = open_session(model)
    training, _ = split_by_tile(read_scenes(data / "train"))
    scenes = read_scenes(data / "test")
    seen = {scene.tile for scene in training}
    forest = grow(training, ForestRule(**choice["forest"]["rule"]))
    largest = max(scenes, key=lambda scene: scene.classes.size)
    image = model_input(normalise(largest.image), MULTIPLE)
    return {
        "model": "unet-aerial",
        "bytes": model.stat().st_size,
        "sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "operators": count_operators(onnx.load(model)),
        "test": compare(scenes, file_predictor(session), seen),
        "test_forest": compare(scenes, forest_predictor(forest), seen),
        "geometry": geometry(AerialUNet(), session, image, MULTIPLE) | {"image": largest.file},
        "milliseconds_per_512_tile_1_thread": milliseconds_per_tile(session),
        "onnxruntime": ort.__version__,
        "scikit-learn": sklearn.__version__,
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with train/ and test/")
    parser.add_argument("model", type=Path)
    parser.add_argument("choice", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    choice = json.loads(arguments.choice.read_text(encoding="utf-8"))
    found = measure(arguments.model, arguments.data, choice)
    write_json(found, arguments.output)
    write_json(card(found), arguments.model.with_suffix(".json"))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
