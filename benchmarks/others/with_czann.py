"""ZEISS packages: the plugin of ZEISS and us, on its own tiles and on ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from asking import ask
from networks import CLASSES, channels_last
from numpy.typing import NDArray
from pictures import mosaic
from rows import Gap, Row, gap, opened
from tiles import on_tiles, result

from napari_onnxseg.prepare.normalize import Normalization

SIDE = 256
MULTIPLE = 16
"""Of which both sides must be for the bundled U-Net."""

BOTH = {"task": "semantic", "layout": "NHWC", "colour order": "BGR"}
STAINED = "nuclei-stained.png, mirrored to 1000 × 900 px"


@dataclass(frozen=True)
class Example:
    """A package, what it says, and how the plugin is asked."""

    package: Path
    words: str
    facts: Mapping[str, Any]
    choices: Mapping[str, Any]


def real(python: Path, folder: Path) -> list[Row]:
    """Compare the model and the picture that the plugin of ZEISS brings along."""
    folder.mkdir(parents=True)
    package = folder / "PGC_20X_nucleus_detector.czseg"
    _, found = ask(python, "czann_side", folder, {"do": "sample", "package": package})
    facts = BOTH | {
        "channels": 1,
        "classes": ["background", "nuc"],
        "intensities": Normalization("dtype_max"),
        "tile": (1024, 1024),
        "halo": (64, 64),
        "title": "PGC_CD7_20XNA0.95",
    }
    example = Example(package, "a published .czseg of ZEISS (nuclei)", facts, {})
    picture = found["picture"]
    height, width = picture.shape
    rows = [
        _compared(python, example, picture, f"PGC_20X.czi, {width} × {height} px, 16 bits", folder),
    ]
    cut = np.ascontiguousarray(picture[600:1624, 900:1924])
    rows.append(_compared(python, example, cut, "the same, one tile of 1024 × 1024 px", folder))
    return rows


def packed(python: Path, folder: Path) -> list[Row]:
    """Compare packages written by the exporter of ZEISS around the bundled U-Net."""
    folder.mkdir(parents=True)
    picture = mosaic("nuclei-stained.png", 1000, 900)
    network = channels_last(folder / "network.onnx", SIDE, reverse=True)
    whole = channels_last(folder / "whole.onnx", None, reverse=True)
    truth = _in_one_piece(whole, picture).argmax(-1)
    return [
        _compared(python, example, picture, STAINED, folder, truth)
        for example in (_czann(python, network, folder), _czseg(python, network, folder))
    ]


def regression(python: Path, folder: Path) -> list[Row]:
    """Compare a regression, whose values the plugin keeps in the type of the image."""
    folder.mkdir(parents=True)
    network = channels_last(folder / "network.onnx", SIDE, reverse=True, values=True)
    told = _told("Regression", 1, None)
    package = _pack(python, network, folder / "inside.czann", told, False)
    facts = {"task": "image", "layout": "NHWC", "channels": 3, "scores": "values"}
    choices = {"convert_rgb_to_bgr": True}
    example = Example(package, "a .czann regression written by czmodel", facts, choices)
    picture = mosaic("nuclei-stained.png", 1000, 900)
    card, read = opened(package, facts)
    answer, found = _ask(python, example, picture, folder / "exchange")
    gaps: tuple[Gap, ...] = ()
    if card is not None:
        by_tile = on_tiles(card, picture, found["tiles"], "image")
        ours = result(package, picture, "image")
        whole = channels_last(folder / "whole.onnx", None, reverse=True, values=True)
        gaps = (
            gap("as both come", ours, found["found"]),
            gap(
                "ours beside the network run in one piece",
                ours,
                _in_one_piece(whole, picture)[..., 0],
            ),
            gap("run on the plugin's own tiles", by_tile, found["found"]),
            gap(
                "rounded down to the type of the image",
                by_tile.astype(picture.dtype),
                found["found"],
            ),
        )
    words = "The plugin keeps values in the type of the image, here whole numbers of 8 bits; "
    words += "those that come out as whole numbers but for rounding fall to either side."
    return [Row(
        format="ZEISS .czann", example=example.words, tool=answer["tool"], image=STAINED,
        unit="values", gaps=gaps, **{"words": words, **read},
    )]  # fmt: skip


def czann_example(python: Path, folder: Path) -> Example:
    """Write a ``.czann`` in three colours with the exporter of ZEISS."""
    return _czann(python, channels_last(folder / "network.onnx", SIDE, reverse=True), folder)


def _czann(python: Path, network: Path, folder: Path) -> Example:
    told = _told("SingleClassSemanticSegmentation", 3, list(CLASSES))
    package = _pack(python, network, folder / "stained.czann", told, False)
    facts = BOTH | {
        "channels": 3,
        "classes": list(CLASSES),
        "intensities": Normalization("dtype_max"),
        "tile": (SIDE, SIDE),
        "halo": (16, 16),
        "title": "Stained nuclei",
        "scores": "probabilities",
    }
    words = "a .czann written by czmodel, three colours"
    return Example(package, words, facts, {"convert_rgb_to_bgr": True})


def _czseg(python: Path, network: Path, folder: Path) -> Example:
    told = {
        "name": "stained",
        "color_handling": "SplitRgb",
        "pixel_types": "Bgr24",
        "classes": list(CLASSES),
        "border_size": 16,
    }
    legacy = _pack(python, network, folder / "stained.czmodel", told, True)
    package = legacy.rename(legacy.with_suffix(".czseg"))
    facts = BOTH | {
        "channels": 3,
        "classes": list(CLASSES),
        "intensities": Normalization("dtype_max"),
        "halo": (16, 16),
        "scores": "probabilities",
    }
    return Example(package, "an older .czseg written by czmodel, three colours", facts, {})


def _told(kind: str, channels: int, classes: list[str] | None) -> dict[str, Any]:
    return {
        "model_type": kind,
        "input_shape": [SIDE, SIDE, 3],
        "output_shape": [SIDE, SIDE, channels],
        "min_overlap": [32, 32],
        "classes": classes,
        "model_name": "Stained nuclei",
    }


def _pack(
    python: Path, network: Path, package: Path, metadata: Mapping[str, Any], legacy: bool
) -> Path:
    ask(
        python,
        "czann_side",
        package.parent / "packing",
        {
            "do": "pack",
            "network": network,
            "package": package,
            "metadata": dict(metadata),
            "legacy": legacy,
        },
    )
    return package


def _compared(
    python: Path,
    example: Example,
    picture: NDArray[Any],
    image: str,
    folder: Path,
    truth: NDArray[Any] | None = None,
) -> Row:
    """Compare labels: as both come, on the plugin's tiles, and both with a run in one piece."""
    card, read = opened(example.package, example.facts)
    answer, found = _ask(python, example, picture, folder / f"exchange-{example.package.stem}")
    gaps: list[Gap] = []
    if card is not None:
        theirs = found["found"].astype(int) - 1
        ours = result(example.package, picture)
        by_tile = on_tiles(card, picture, found["tiles"])
        gaps = [
            gap("as both come", ours, theirs),
            gap("run on the plugin's own tiles", by_tile, theirs),
        ]
        if gaps[-1].differing:
            gaps.append(_margins(card.path, picture, found["tiles"], by_tile != theirs))
        if truth is not None:
            gaps.append(gap("ours beside the network run in one piece", ours, truth))
            gaps.append(gap("the plugin's beside the network run in one piece", theirs, truth))
    words = "The plugin numbers classes from 1. Its tiles lie elsewhere than ours."
    return Row(
        format=f"ZEISS {example.package.suffix}", example=example.words, tool=answer["tool"],
        image=image, gaps=tuple(gaps), **{"words": words, **read},
    )  # fmt: skip


def _in_one_piece(network: Path, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Run a network with free sides on blue, green, red from 0 to 1: scores (Y, X, K).

    The picture is mirrored at its far edges up to the multiple that the network takes.
    """
    session = onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"])
    rest = [(0, -side % MULTIPLE) for side in picture.shape[:2]]
    full = np.pad(picture, [*rest, (0, 0)], mode="reflect")
    fed = full[None, ..., ::-1].astype(np.float32) / np.float32(255)
    scores: NDArray[np.float32] = session.run(None, {session.get_inputs()[0].name: fed})[0][0]
    return scores[: picture.shape[0], : picture.shape[1]]


def _margins(
    network: Path, picture: NDArray[Any], tiles: NDArray[np.int64], where: NDArray[np.bool_]
) -> Gap:
    """Return how far apart the two best scores are at some pixels, on the plugin's tiles."""
    session = onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"])
    name, margins = session.get_inputs()[0].name, []
    for y, x, h, w, top, left, height, width in tiles:
        inside = np.argwhere(where[top : top + height, left : left + width])
        if not len(inside):
            continue
        fed = picture[y : y + h, x : x + w].astype(np.float32) / np.iinfo(picture.dtype).max
        scores = session.run(None, {name: fed.reshape(1, h, w, -1)})[0][0]
        best = np.sort(scores[tuple((inside + np.array((top - y, left - x))).T)], axis=-1)
        margins += list(best[:, -1] - best[:, -2])
    apart = np.array(margins)
    none = np.zeros_like(apart)
    return gap("there, the two best scores lie this far apart", apart, none, "values")


def _ask(python: Path, example: Example, picture: NDArray[Any], folder: Path) -> Any:
    return ask(
        python,
        "czann_side",
        folder,
        {
            "do": "predict",
            "package": example.package,
            "picture": picture,
            "choices": dict(example.choices),
        },
    )
