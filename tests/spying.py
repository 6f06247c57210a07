"""A session that notes what it is fed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.cards.read import load_card
from napari_onnxseg.runtime.session import open_session


class Spy:
    """Runs the model of a file and keeps the shape, or a copy, of every batch."""

    def __init__(self, path: Path, *, copies: bool = True) -> None:
        self.session = open_session(load_card(path), "cpu")
        self.copies = copies
        self.batches: list[np.ndarray[Any, Any]] = []
        self.shapes: list[tuple[int, ...]] = []
        self._lock = threading.Lock()

    def __call__(self, batch: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with self._lock:
            self.shapes.append(batch.shape)
            self.batches += [batch.copy()] if self.copies else []
        return self.session.run(batch)
