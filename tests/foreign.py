"""Models as other tools write them: a linear network, metadata in the file, packages around it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from netbuild import Net, save
from nets import dims_of

WEIGHT = np.array(
    [
        [1.0137, -2.0291, 0.5173],
        [-1.5049, 1.0223, 1.0079],
        [0.5311, 0.5457, -1.0193],
        [0.0101, 0.0037, 0.0211],
    ]
)
BIAS = np.array([0.1013, -0.2027, 0.3041, 0.0509])
"""Four classes from three channels: every normalisation and order gives another map."""


def linear(
    path: Path,
    *,
    weight: Any = WEIGHT,
    bias: Any = BIAS,
    layout: str = "NCHW",
    sides: tuple[int | None, ...] = (None, None),
    softmax: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """Score each pixel by itself: ``weight @ x + bias``."""
    weight = np.asarray(weight, np.float32)
    net = Net(dims_of(layout, None, weight.shape[1], sides))
    x = net.add("Transpose", "input", perm=[0, 3, 1, 2]) if layout == "NHWC" else "input"
    last = net.conv(x, weight[:, :, None, None], np.asarray(bias, np.float32))
    if softmax:
        last = net.add("Softmax", last, axis=1)
    if layout == "NHWC":
        last = net.add("Transpose", last, perm=[0, 2, 3, 1])
    model = net.model({last: ("float32", dims_of(layout, None, len(weight), sides))})
    return save(with_metadata(model, metadata or {}), path)


def global_mean(path: Path, metadata: Mapping[str, str] | None = None) -> Path:
    """Compare each pixel with the mean of all that is seen: tiles cannot be exact."""
    net = Net(dims_of("NCHW", None, 1, (None, None)))
    rest = net.add("Sub", "input", net.add("GlobalAveragePool", "input"))
    last = net.conv(rest, [[[[-1.0]]], [[[1.0]]]], [0.0, 0.0])
    model = net.model({last: ("float32", dims_of("NCHW", None, 2, (None, None)))})
    return save(with_metadata(model, metadata or {}), path)


def with_metadata(model: onnx.ModelProto, metadata: Mapping[str, str]) -> onnx.ModelProto:
    """Write entries into a model."""
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    return model


def scored(x: Any, weight: Any = WEIGHT, bias: Any = BIAS) -> Any:
    """Answer of `linear` for (C, Y, X) input, in numpy: the scores (K, Y, X)."""
    return np.einsum("kc,cyx->kyx", np.asarray(weight), x) + np.asarray(bias)[:, None, None]


def picture(dtype: Any = np.uint8, top: int = 255, side: int = 40) -> Any:
    """Return (Y, X, 3) of even noise from 0 to ``top``."""
    return np.random.default_rng(11).integers(0, top + 1, (side, side + 7, 3)).astype(dtype)


def package(path: Path, members: Mapping[str, bytes | str]) -> Path:
    """Write a zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def czann(path: Path, network: Path, **changes: Any) -> Path:
    """Pack a network as the exporter of ZEISS does."""
    content = {
        "Id": "7b2a0f0e-6f2d-4a40-9df4-1a2c8a3b7c11",
        "Type": "MultiClassSemanticSegmentation",
        "InputShape": [64, 64, 3],
        "OutputShape": [64, 64, 4],
        "MinOverlap": [8, 12],
        "Classes": ["Nothing", "Cell", "Wall", "Dust"],
        "ModelName": "Leaf",
        "Scaling": [1.0, 1.0],
    } | changes
    told = {key: value for key, value in content.items() if value is not None}
    return package(path, {"model.json": json.dumps(told), "model.model": network.read_bytes()})


def czseg(path: Path, network: Path, xml: str) -> Path:
    """Pack a network as older ZEN does."""
    name = "1d0c8a6e"
    return package(
        path,
        {
            f"{name}.xml": b"\xef\xbb\xbf" + xml.encode(),
            f"{name}.model": network.read_bytes(),
            "marker": f"modelid={name}",
        },
    )
