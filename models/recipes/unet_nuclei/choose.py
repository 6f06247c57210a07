"""Choose the rule that makes nuclei from scores, on the validation images only.

Run from ``models/recipes``::

    python -m unet_nuclei.choose NUCLEI/train ../unet-nuclei.onnx ../reports/unet-nuclei-choice.json
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from geometry import model_input, open_session
from numpy.typing import NDArray
from onnx_export import write_json

from .data import Sample, read_samples, split_by_group
from .decode import ObjectRule, softmax
from .evaluate import MULTIPLE, mean_scores, score_all

FOREGROUND = (0.45, 0.5, 0.55, 0.6)
SEED = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
MIN_AREA = (10, 20, 30, 40)
LANDSCAPE = ("score", "distance")


def predict_bytes(session: ort.InferenceSession, samples: list[Sample]) -> list[NDArray[np.uint8]]:
    """Run the ONNX file on whole images, padded once, and keep one byte a score.

    Parameters
    ----------
    session
        The model.
    samples
        The images.

    Returns
    -------
    list of numpy.ndarray
        uint8 (3, Y, X), probability times 255, rounded.
    """
    return [np.rint(255 * predict(session, s)).astype(np.uint8) for s in samples]


def predict(session: ort.InferenceSession, sample: Sample) -> NDArray[np.float32]:
    """Return the probabilities of one image, float32 (3, Y, X)."""
    height, width = sample.labels.shape
    logits = session.run(None, {"image": model_input(sample.normalised(), MULTIPLE)})[0][0]
    return softmax(logits[:, :height, :width])


def from_bytes(stored: list[NDArray[np.uint8]]) -> list[NDArray[np.float32]]:
    """Return stored scores as float32 from 0 to 1."""
    return [item.astype(np.float32) / 255 for item in stored]


def merit(samples: list[Sample], scores: list[NDArray[np.float32]], rule: ObjectRule) -> float:
    """Return AP50 plus foreground IoU, each averaged over all images."""
    means = mean_scores(score_all(samples, scores, rule))["all"]
    return means["ap50"] + means["iou"]


def search(
    samples: list[Sample], scores: list[NDArray[np.float32]]
) -> tuple[ObjectRule, list[dict[str, Any]]]:
    """Try seeds and landscapes first, then the foreground, then the area.

    Parameters
    ----------
    samples
        Validation images.
    scores
        float32 (3, Y, X) of each.

    Returns
    -------
    tuple
        The best rule and every trial with its merit.
    """
    rule = ObjectRule()
    trials: list[dict[str, Any]] = []
    stages = (
        [
            {"seed_threshold": seed, "landscape": landscape}
            for seed, landscape in itertools.product(SEED, LANDSCAPE)
        ],
        [{"foreground_threshold": value} for value in FOREGROUND],
        [{"min_area_px": value} for value in MIN_AREA],
    )
    for stage in stages:
        rules = [replace(rule, **change) for change in stage]
        merits = [merit(samples, scores, candidate) for candidate in rules]
        trials += [{**asdict(r), "merit": round(m, 4)} for r, m in zip(rules, merits, strict=True)]
        rule = rules[int(np.argmax(merits))]
    return rule, trials


def main() -> None:
    """Search and write the choice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="folder with images/ and labels/")
    parser.add_argument("model", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    _, validation = split_by_group(read_samples(arguments.train))
    session = open_session(arguments.model)
    scores = from_bytes(predict_bytes(session, validation))
    rule, trials = search(validation, scores)
    figures = mean_scores(score_all(validation, scores, rule))
    write_json({"rule": asdict(rule), "validation": figures, "trials": trials}, arguments.output)
    print(rule, figures, *trials, sep="\n")


if __name__ == "__main__":
    main()
