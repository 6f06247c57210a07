r"""Measure the ONNX file on the test images, once, and write report and card.

Run from ``models/recipes``::

    python -m unet_nuclei.report NUCLEI/test ../unet-nuclei.onnx \\
        ../reports/unet-nuclei-choice.json ../reports/unet-nuclei.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx_export import count_operators, write_json
from scipy import ndimage
from skimage.filters import threshold_otsu

from .card import card
from .choose import from_bytes, open_session, predict, predict_bytes
from .data import Sample, read_samples
from .decode import ObjectRule, drop_small
from .evaluate import Score, mean_scores, pad_to_multiple, score, score_all
from .geometry import aligned_halo, receptive_reach, run_in_tiles

TIMED_SIDE = 512
ROUNDS = 20


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


def tiling_difference(session: ort.InferenceSession, sample: Sample, halo: int) -> float:
    """Return the largest difference of logits between tiles and the whole image."""
    image = pad_to_multiple(sample.normalised()).transpose(2, 0, 1)[None]

    def run(tile: NDArray[np.float32]) -> NDArray[np.float32]:
        return session.run(None, {"image": tile})[0]

    image = np.ascontiguousarray(image)
    tiles = run_in_tiles(run, image, keep=192, halo=halo)
    return float(np.abs(tiles - run(image)).max())


def milliseconds_per_tile(session: ort.InferenceSession) -> float:
    """Return the median time of one 512 x 512 tile."""
    tile = np.random.default_rng(3).random((1, 3, TIMED_SIDE, TIMED_SIDE), np.float32)
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        session.run(None, {"image": tile})
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)


def geometry(session: ort.InferenceSession, samples: list[Sample]) -> dict[str, Any]:
    """Return reach, stride, halo, and how equal tiles and whole images are."""
    above, below = receptive_reach()
    halo = aligned_halo(max(above, below))
    largest = max(samples, key=lambda sample: sample.labels.size)
    return {
        "receptive_radius_px": max(above, below),
        "total_stride_px": 16,
        "halo_px": halo,
        "tiles_to_whole_largest_difference": tiling_difference(session, largest, halo),
        "with_half_the_halo": tiling_difference(session, largest, halo // 32 * 16),
        "image": largest.file,
    }


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
        "geometry": geometry(session, samples),
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
