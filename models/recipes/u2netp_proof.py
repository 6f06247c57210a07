"""Compare the exported U²-Net with the published one: values, time, masks."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from PIL import Image

SIDE = 320
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
ROUNDS = 40


def choose_photographs(places: list[Path], count: int) -> list[Path]:
    """Return the first ``count`` photographs.

    Parameters
    ----------
    places
        Image files, or folders with ``*.jpg`` files.
    count
        How many are wanted.

    Returns
    -------
    list of pathlib.Path
    """
    found: list[Path] = []
    for place in places:
        found += [place] if place.is_file() else sorted(place.glob("*.jpg"))
    if len(found) < count:
        raise ValueError(f"Found {len(found)} photographs, {count} are needed.")
    return found[:count]


def prepare(path: Path) -> NDArray[np.float32]:
    """Read a photograph as the network wants it, float32 (1, 3, 320, 320)."""
    image = Image.open(path).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    scaled = (np.asarray(image, np.float32) / 255 - MEAN) / STD
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])


def open_session(path: Path, threads: int = 1) -> ort.InferenceSession:
    """Return a session on the CPU."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(session: ort.InferenceSession, image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the first output."""
    return session.run(None, {session.get_inputs()[0].name: image})[0]


def largest_differences(ours: Path, published: Path, photographs: list[Path]) -> dict[str, float]:
    """Return the largest absolute difference of alpha for each photograph.

    Parameters
    ----------
    ours, published
        The two ONNX files.
    photographs
        Image files.

    Returns
    -------
    dict
        Difference by file name.
    """
    first, second = open_session(ours), open_session(published)
    images = {path.name: prepare(path) for path in photographs}
    return {
        name: float(np.abs(run(first, image) - run(second, image)).max())
        for name, image in images.items()
    }


def batch_difference(ours: Path, photographs: list[Path]) -> float:
    """Return the largest difference between one batch and single images."""
    session = open_session(ours)
    images = [prepare(path) for path in photographs[:3]]
    single = np.concatenate([run(session, image) for image in images])
    return float(np.abs(run(session, np.concatenate(images)) - single).max())


def time_ratio(ours: Path, published: Path, photograph: Path) -> dict[str, float]:
    """Time both files in turns in one process.

    Parameters
    ----------
    ours, published
        The two ONNX files; all outputs of each are computed.
    photograph
        The image to run.

    Returns
    -------
    dict
        Median milliseconds of each and published / ours.
    """
    image = prepare(photograph)
    sessions = {"ours_ms": open_session(ours), "published_ms": open_session(published)}
    samples: dict[str, list[float]] = {name: [] for name in sessions}
    for number in range(ROUNDS + 3):
        for name, session in sessions.items():
            start = time.perf_counter()
            run(session, image)
            if number >= 3:
                samples[name].append(1e3 * (time.perf_counter() - start))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    return medians | {"published_over_ours": medians["published_ms"] / medians["ours_ms"]}


def mask_scores(ours: Path, folder: Path) -> dict[str, float]:
    """Compare alpha above one half with masks, at each photograph's own size.

    Parameters
    ----------
    ours
        The ONNX file.
    folder
        A folder with ``images/*.jpg`` and ``labels/*.png`` (0 and 255).

    Returns
    -------
    dict
        Number of images, mean IoU, lowest IoU and mean absolute error.
    """
    session = open_session(ours)
    ious, errors = [], []
    for path in sorted((folder / "images").glob("*.jpg")):
        truth = np.asarray(Image.open(folder / "labels" / f"{path.stem}.png").convert("L")) > 127
        alpha = Image.fromarray(run(session, prepare(path))[0, 0])
        full = np.asarray(alpha.resize(truth.shape[::-1], Image.Resampling.BILINEAR))
        found = full > 0.5
        ious.append((truth & found).sum() / (truth | found).sum())
        errors.append(np.abs(full - truth).mean())
    return {
        "images": len(ious),
        "iou": float(np.mean(ious)),
        "iou_lowest": float(np.min(ious)),
        "mean_absolute_error": float(np.mean(errors)),
    }
