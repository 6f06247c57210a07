"""Formats whose tool cannot be installed small: the documented formula in numpy, and us."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from networks import CLASSES, channels_first
from numpy.typing import NDArray
from rows import Row, gap, opened

from napari_onnxseg.pipeline.semantic import segment_image
from napari_onnxseg.prepare.normalize import Normalization

SIDE = 64
MEANS, SCALES = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


@dataclass(frozen=True)
class Form:
    """One format: what lies in or beside the file, and what its tool does to a picture."""

    name: str
    formula: str
    facts: Mapping[str, Any]
    feed: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None
    metadata: Mapping[str, str] | None = None
    beside: Mapping[str, Mapping[str, Any]] | None = None
    words: str = ""


def _reversed_bytes(planes: NDArray[np.float64]) -> NDArray[np.float64]:
    mean, scale = (np.array(values)[:, None, None] for values in (MEANS, SCALES))
    standard: NDArray[np.float64] = (planes[::-1] - mean) / scale
    return standard


def _z_scores(planes: NDArray[np.float64]) -> NDArray[np.float64]:
    mean, std = planes.mean((1, 2), keepdims=True), planes.std((1, 2), keepdims=True)
    scores: NDArray[np.float64] = (planes - mean) / np.maximum(std, 1e-8)
    return scores


NAMES = dict(enumerate(CLASSES))
FORMS = (
    Form(
        "OTX and Geti (Model API)",
        "(x - mean_values) / scale_values of 8-bit values, channels reversed",
        {
            "task": "semantic",
            "colour order": "BGR",
            "classes": list(CLASSES),
            "layout": "NCHW",
            "intensities": Normalization(
                "mean_std",
                mean=tuple(m / 255 for m in MEANS),
                std=tuple(s / 255 for s in SCALES),
            ),
        },
        _reversed_bytes,
        metadata={
            "model_info model_type": "Segmentation",
            "model_info labels": " ".join(CLASSES),
            "model_info mean_values": " ".join(map(str, MEANS)),
            "model_info scale_values": " ".join(map(str, SCALES)),
            "model_info reverse_input_channels": "True",
        },
    ),
    Form(
        "nnU-Net JSON files",
        "ZScoreNormalization of each channel over the whole image",
        {
            "task": "semantic",
            "classes": list(CLASSES),
            "title": "Nuclei",
            "pixel size": (0.5, "mm"),
            "tile": (SIDE, SIDE),
            "intensities": Normalization("zero_mean_unit_variance", per_channel=True),
        },
        _z_scores,
        beside={
            "dataset.json": {
                "name": "Nuclei",
                "channel_names": {"0": "R", "1": "G", "2": "B"},
                "labels": {name: number for number, name in NAMES.items()},
                "numTraining": 1,
                "file_ending": ".png",
            },
            "plans.json": {
                "configurations": {
                    "2d": {
                        "patch_size": [SIDE, SIDE],
                        "spacing": [0.5, 0.5],
                        "normalization_schemes": ["ZScoreNormalization"] * 3,
                    }
                }
            },
        },
    ),
    Form(
        "MONAI bundle metadata",
        "names and classes only; its transforms are programs and are not run",
        {"task": "semantic", "classes": list(CLASSES), "title": "Nuclei"},
        None,
        beside={
            "metadata.json": {
                "monai_version": "1.3.0",
                "name": "Nuclei",
                "network_data_format": {
                    "outputs": {
                        "pred": {
                            "type": "image",
                            "format": "segmentation",
                            "num_channels": 3,
                            "channel_def": {str(key): name for key, name in NAMES.items()},
                        }
                    }
                },
            }
        },
        words="Intensities are asked for: the bundle keeps them in a program.",
    ),
    Form(
        "Ultralytics metadata",
        "an instance detector, refused in words",
        {},
        None,
        metadata={
            "description": "Ultralytics YOLO11n-seg model",
            "task": "segment",
            "names": "{0: 'nucleus'}",
            "stride": "32",
            "imgsz": "[64, 64]",
        },
    ),
)


def rows(folder: Path) -> list[Row]:
    """Compare what the network is fed with the documented formula."""
    return [_compared(form, folder / str(number)) for number, form in enumerate(FORMS)]


def _compared(form: Form, folder: Path) -> Row:
    folder.mkdir(parents=True)
    path = channels_first(folder / "model.onnx", "softmax", None)
    model = onnx.load(path)
    for key, value in (form.metadata or {}).items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, path)
    for name, content in (form.beside or {}).items():
        (folder / name).write_text(json.dumps(content))
    card, read = opened(path, form.facts)
    picture = np.random.default_rng(5).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    gaps = ()
    if card is not None and form.feed is not None:
        wanted = form.feed(np.moveaxis(picture, -1, 0).astype(np.float64))
        gaps = (gap("as both come", fed(path, picture)[0], wanted),)
    return Row(
        format=form.name,
        example="the bundled U-Net, described by us after the documentation",
        tool=f"numpy: {form.formula}",
        image=f"noise, {SIDE} × {SIDE} px",
        unit="values fed to the network",
        gaps=gaps,
        **{"words": form.words, **read},
    )


def fed(model: Path, picture: NDArray[Any], channels: int = 3) -> NDArray[Any]:
    """Return what our run feeds the network, for a picture that is one tile."""
    seen: list[NDArray[Any]] = []

    def remember(batch: NDArray[Any]) -> NDArray[np.float32]:
        seen.append(batch.copy())
        return np.zeros((len(batch), channels, *batch.shape[2:]), np.float32)

    segment_image(
        picture, model, rgb=picture.ndim == 3 or None, predictor=remember, tile=picture.shape[:2]
    )
    return seen[-1]
