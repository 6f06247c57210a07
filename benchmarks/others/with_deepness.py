"""Deepness, a plugin of QGIS: its rule, written down from its source, and us.

Deepness runs inside QGIS only, so what it does to a tile is transcribed here: values divided
by 255, then mean and standard deviation; probabilities below the threshold are zero before the
largest is taken; tiles that share a percentage of their side, of which the middle is kept.

References
----------
`Deepness <https://github.com/PUTvision/qgis-plugin-deepness>`_, ``processing/models`` and
``processing/tile_params.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from networks import CLASSES, HIGH, LOW, channels_first
from numpy.typing import NDArray
from pictures import mosaic
from rows import Row, gap, opened
from tiles import Box, on_tiles, result

from napari_onnxseg.prepare.normalize import Normalization

SIDE, PERCENT = 256, 25
STEP = SIDE * (100 - PERCENT) // 100
SHAPE = (SIDE + 4 * STEP, SIDE + 3 * STEP)
"""A picture on which the tiles of Deepness end without filling up."""

THRESHOLD = 0.5
MEAN, STD = (LOW,) * 3, (HIGH - LOW,) * 3
TOOL = "Deepness' rule, transcribed"
WORDS = "Tiles of Deepness share a quarter of their side here, less than the network looks around."
TOLD = {
    "standardization_mean": str(list(MEAN)),
    "standardization_std": str(list(STD)),
    "tiles_size": str(SIDE),
    "tiles_overlap": str(PERCENT),
    "resolution": "5.5",
}
FACTS = {
    "layout": "NCHW",
    "colour order": "RGB",
    "intensities": Normalization("standardize", mean=MEAN, std=STD),
    "tile": (SIDE, SIDE),
    "halo": (SIDE * PERCENT // 200,) * 2,
    "pixel size": (5.5, "cm"),
}


@dataclass(frozen=True)
class Kind:
    """One kind of model: how it is written, what is expected of it, how its tiles are read."""

    name: str
    ending: str
    metadata: Mapping[str, str]
    facts: Mapping[str, Any]
    read: Callable[[NDArray[np.float32]], NDArray[Any]]
    what: str = "labels"


def _several(scores: NDArray[np.float32]) -> NDArray[Any]:
    return np.where(scores < THRESHOLD, 0, scores).argmax(0)


def _single(scores: NDArray[np.float32]) -> NDArray[Any]:
    return (scores[0] >= THRESHOLD).astype(int)


def _measured(scores: NDArray[np.float32]) -> NDArray[Any]:
    return scores[0] * np.float32(2.5)


KINDS = (
    Kind(
        "segmentor, three classes",
        "softmax",
        {
            "model_type": '"Segmentor"',
            "class_names": '{"0": "background", "1": "inside", "2": "border"}',
            "seg_thresh": str(THRESHOLD),
        },
        {"task": "semantic", "scores": "probabilities", "classes": list(CLASSES)},
        _several,
    ),
    Kind(
        "segmentor, one probability",
        "inside",
        {
            "model_type": '"Segmentor"',
            "class_names": "{0: 'background', 1: 'nucleus'}",
            "seg_thresh": str(THRESHOLD),
        },
        {
            "task": "semantic",
            "scores": "probabilities",
            "classes": ["background", "nucleus"],
            "threshold": THRESHOLD,
        },
        _single,
    ),
    Kind(
        "regressor",
        "inside",
        {"model_type": '"Regressor"', "reg_output_scaling": "2.5"},
        {"task": "image", "scores": "values"},
        _measured,
        "image",
    ),
)


def rows(folder: Path) -> list[Row]:
    """Compare all kinds on one picture."""
    folder.mkdir(parents=True)
    picture = mosaic("nuclei-stained.png", *SHAPE)
    return [_compared(kind, picture, folder / f"{n}.onnx") for n, kind in enumerate(KINDS)]


def _compared(kind: Kind, picture: NDArray[np.uint8], path: Path) -> Row:
    """Compare one kind: as both come, tile by tile, and with the network in one piece."""
    model = _written(channels_first(path, kind.ending, SIDE), TOLD | kind.metadata)
    card, read = opened(model, FACTS | kind.facts)
    gaps = []
    if card is not None:
        boxes = list(_boxes())
        theirs = _stitched(model, kind, picture, boxes)
        ours = result(model, picture, kind.what)
        by_tile = on_tiles(card, picture, boxes, kind.what)
        free = _written(channels_first(path.with_stem("free"), kind.ending, None), {})
        whole = _network(free)(_fed(picture))
        without = kind.read(whole)
        gaps = [
            gap("as both come", ours, theirs),
            gap("run on Deepness' tiles", by_tile, theirs),
        ]
        gaps.append(gap("ours beside the network run in one piece", ours, without))
    return Row(
        format="Deepness metadata",
        example=f"{kind.name}, made by us after the documentation",
        tool=TOOL,
        image=f"nuclei-stained.png, mirrored to {SHAPE[1]} × {SHAPE[0]} px",
        unit="labels" if kind.what == "labels" else "values",
        gaps=tuple(gaps),
        **{"words": WORDS, **read},
    )


def _written(path: Path, metadata: Mapping[str, str]) -> Path:
    """Write metadata into a file."""
    model = onnx.load(path)
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, path)
    return path


def _boxes() -> Iterator[Box]:
    """Give the tiles of Deepness: the middle is kept, at the border of the picture all."""
    cut = (SIDE - STEP) // 2
    for y in range(0, SHAPE[0] - SIDE + 1, STEP):
        for x in range(0, SHAPE[1] - SIDE + 1, STEP):
            top, left = (start + cut * (start > 0) for start in (y, x))
            ends = [
                start + SIDE - cut * (start + SIDE < length)
                for start, length in zip((y, x), SHAPE, strict=True)
            ]
            yield y, x, SIDE, SIDE, top, left, ends[0] - top, ends[1] - left


def _stitched(
    model: Path, kind: Kind, picture: NDArray[np.uint8], boxes: list[Box]
) -> NDArray[Any]:
    return on_scores(model, picture, boxes, kind.read)


def on_scores(
    model: Path,
    picture: NDArray[np.uint8],
    boxes: list[Box],
    read: Callable[[NDArray[np.float32]], NDArray[Any]],
) -> NDArray[Any]:
    """Run the network tile by tile as Deepness does, and put the tiles together."""
    run = _network(model)
    out: NDArray[Any] = np.zeros(picture.shape[:2], np.float32)
    for y, x, h, w, top, left, height, width in boxes:
        tile = read(run(_fed(picture[y : y + h, x : x + w])))
        out[top : top + height, left : left + width] = tile[
            top - y : top - y + height, left - x : left - x + width
        ]
    return out


def _fed(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Prepare (Y, X, 3) bytes as Deepness does."""
    unit = np.float32(picture * 1.0 / 255.0)
    standard = (unit - np.array(MEAN)) / np.array(STD)
    return np.moveaxis(standard, -1, 0)[None].astype(np.float32)


def _network(model: Path) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def run(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = session.run(None, {name: batch})[0][0]
        return scores

    return run
