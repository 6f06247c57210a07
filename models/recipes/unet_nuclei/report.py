r"""Measure the ONNX file on the test images, once, and write report and card.

Run from ``models/recipes``::

    python -m unet_nuclei.report NUCLEI/test ../unet-nuclei.onnx \\
        ../reports/unet-nuclei-choice.json ../reports/unet-nuclei.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
from geometry import geometry, milliseconds_per_tile, model_input, open_session
from onnx_export import count_operators, write_json
from scipy import ndimage
from skimage.filters import threshold_otsu

from .card import card
from .choose import from_bytes, predict, predict_bytes
from .data import Sample, read_samples
from .decode import ObjectRule, drop_small
from .evaluate import MULTIPLE, Score, mean_scores, score, score_all
from .net import NucleusUNet


def otsu(sample: Sample, min_area_px: int) -> Score:
    """Score the plain rival: Otsu's threshold and connected components."""
    grey = sample.normalised().mean(axis=2)
    threshold = threshold_otsu(grey)
    foreground = grey > threshold if sample.modality == "fluorescence" else grey < threshold
    labels, _ = ndimage.label(foreground)
    return score(sample.modality, sample.labels, drop_small(labels, min_area_px))


def quantisation_effect(
    session: ort.InferenceSession, samples: list[Sample], rule: ObjectRule
) -> dict[str, Any]:
    """Return the figures with float scores, beside those of one byte a score."""
    exact = [predict(session, sample) for sample in samples]
    return mean_scores(score_all(samples, exact, rule))["all"]


def measure(model: Path, samples: list[Sample], rule: ObjectRule) -> dict[str, Any]:
    """Return all figures of the report.

    Parameters
    ----------
    model
        The ONNX file.
    samples
        The test images.
    rule
        The rule chosen on validation.

    Returns
    -------
    dict
        Ready for JSON.
    """
    session = open_session(model)
    largest = max(samples, key=lambda sample: sample.labels.size)
    image = model_input(largest.normalised(), MULTIPLE)
    scores = from_bytes(predict_bytes(session, samples))
    return {
        "model": "unet-nuclei",
        "bytes": model.stat().st_size,
        "sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "operators": count_operators(onnx.load(model)),
        "rule": asdict(rule),
        "test": mean_scores(score_all(samples, scores, rule)),
        "test_with_float_scores": quantisation_effect(session, samples, rule),
        "test_otsu": mean_scores([otsu(sample, rule.min_area_px) for sample in samples]),
        "geometry": geometry(NucleusUNet(), session, image, MULTIPLE) | {"image": largest.file},
        "milliseconds_per_512_tile_1_thread": milliseconds_per_tile(session),
        "onnxruntime": ort.__version__,
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("test", type=Path, help="folder with images/ and labels/")
    parser.add_argument("model", type=Path)
    parser.add_argument("choice", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    rule = ObjectRule(**json.loads(arguments.choice.read_text(encoding="utf-8"))["rule"])
    figures = measure(arguments.model, read_samples(arguments.test), rule)
    write_json(figures, arguments.output)
    write_json(card(figures, rule), arguments.model.with_suffix(".json"))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
