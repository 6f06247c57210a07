"""Large test pictures from the bundled samples, the same on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from napari_onnxseg.cards.catalog import bundled_folder


def mosaic(name: str, height: int, width: int) -> NDArray[np.uint8]:
    """Return a sample mirrored to (height, width, 3) uint8; mirroring leaves no edges."""
    with Image.open(bundled_folder() / "samples" / name) as sample:
        picture = np.asarray(sample.convert("RGB"))
    pad = [(0, max(0, n - m)) for n, m in zip((height, width), picture.shape[:2], strict=True)]
    return np.ascontiguousarray(np.pad(picture, [*pad, (0, 0)], mode="symmetric")[:height, :width])
