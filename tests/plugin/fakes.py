"""Stand-ins for models, so that a test needs no ONNX file."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.cards.card import ClassInfo, Geometry, ModelCard, ObjectRule, TensorSpec
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.prepare.normalize import Normalization

BACKGROUND = ClassInfo(0, "background", None)
NUCLEUS = ClassInfo(1, "nucleus", "#ff0000")
BORDER = ClassInfo(2, "border", "#00ff00")


def card(
    *,
    task: Any = "semantic",
    channels: int | None = 1,
    classes: tuple[ClassInfo, ...] = (BACKGROUND, NUCLEUS),
    objects: ObjectRule | None = None,
    sides: tuple[int | None, int | None] = (None, None),
    normalization: Normalization | None = None,
) -> ModelCard:
    """Describe a model of four-pixel multiple and eight-pixel halo."""
    outputs = 1 if task == "matting" else len(classes)
    return ModelCard(
        name="toy",
        title="Toy",
        description="A stand-in.",
        task=task,
        path=Path("toy.onnx").absolute(),
        sha256="0" * 64,
        input=TensorSpec("input", "float32", "NCHW", None, channels, sides),
        output=TensorSpec("output", "float32", "NCHW", None, outputs, sides),
        geometry=Geometry((4, 4), (8, 8), (6, 6), (Fraction(1),) * 2, (0, 0), (), 8.0),
        normalization=normalization or Normalization("none"),
        colour_order="RGB",
        scores="probabilities",
        classes=() if task == "matting" else classes,
        objects=objects,
    )


class Threshold:
    """Class 1 where the first channel exceeds a level, and where it was called from."""

    def __init__(self, level: float = 0.5, *, delay_s: float = 0.0, classes: int = 2) -> None:
        self.level, self.delay_s, self.classes = level, delay_s, classes
        self.shapes: list[tuple[int, ...]] = []
        self.threads: set[int] = set()
        self.stopped = threading.Event()

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        self.shapes.append(batch.shape)
        self.threads.add(threading.get_ident())
        self.stopped.wait(self.delay_s)
        scores = np.zeros((len(batch), self.classes, *batch.shape[2:]), np.float32)
        above = batch[:, 0] > self.level
        scores[:, -1] = above
        if self.classes > 1:
            scores[:, 0] = ~above
        return scores


def counting(total: int, delay_s: float = 0.0, result: Any = "done") -> Any:
    """Make a pipeline that counts, with a mark when it was closed."""

    def steps(cancel: Cancel) -> Generator[Progress, None, Any]:
        try:
            for done in range(total):
                time.sleep(delay_s)
                yield Progress(done + 1, total)
            return result
        finally:
            steps.closed = True

    steps.closed = False
    return steps
