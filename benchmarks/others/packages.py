"""Packages for bioimage.io around the bundled U-Net, in both versions of the description."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from networks import CLASSES
from numpy.typing import NDArray

STEP, LEAST = 16, 64
HALO = 16
COMMON: Mapping[str, Any] = {
    "type": "model",
    "name": "Nuclei in three classes",
    "description": "The bundled U-Net, packed to compare readers of packages.",
    "authors": [{"name": "napari-onnxseg developers"}],
    "license": "BSD-3-Clause",
    "documentation": "README.md",
    "cite": [{"text": "none", "url": "https://github.com/napari-onnxseg/napari-onnxseg"}],
    "tags": ["semantic-segmentation"],
    "git_repo": "https://github.com/napari-onnxseg/napari-onnxseg",
}


@dataclass(frozen=True)
class Plan:
    """What a package says.

    Parameters
    ----------
    name : str
        Of the file and for people.
    version : {"0.4", "0.5"}
        Of the description.
    channels : int
        That the network gives.
    before, after : sequence of mapping
        Operations, as written in the version.
    facts : mapping
        What a card must say.
    """

    name: str
    version: str
    channels: int = 3
    before: tuple[Mapping[str, Any], ...] = ()
    after: tuple[Mapping[str, Any], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


def written(
    path: Path,
    plan: Plan,
    network: Path,
    tensors: tuple[NDArray[Any], NDArray[Any]],
) -> Path:
    """Write a package.

    Parameters
    ----------
    path : Path
        The new zip file.
    plan : Plan
        What it says.
    network : Path
        The ONNX file.
    tensors : tuple of numpy.ndarray
        A test input (1, 3, Y, X) and what is to come out.
    """
    folder = path.with_suffix("")
    folder.mkdir(parents=True)
    given, expected = tensors
    np.save(folder / "given.npy", given)
    np.save(folder / "expected.npy", expected.astype(np.float32))
    (folder / "weights.onnx").write_bytes(network.read_bytes())
    (folder / "README.md").write_text("# Nuclei\n\n## Validation\n\nCompared with other readers.\n")
    describe = _new if plan.version == "0.5" else _old
    told = {**COMMON, **describe(plan, folder, given)}
    (folder / "rdf.yaml").write_text(yaml.safe_dump(told, sort_keys=False))
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return path


def _new(plan: Plan, folder: Path, given: NDArray[Any]) -> dict[str, Any]:
    """Return the description of version 0.5."""
    free = {"min": LEAST, "step": STEP}
    spaces = [{"type": "space", "id": axis, "size": dict(free)} for axis in "yx"]
    bound = [
        {
            "type": "space",
            "id": axis,
            "size": {"tensor_id": "raw", "axis_id": axis},
            "halo": HALO,
        }
        for axis in "yx"
    ]
    names = list(CLASSES) if plan.channels == len(CLASSES) else ["inside"]
    return {
        "format_version": "0.5.4",
        "inputs": [
            {
                "id": "raw",
                "description": "colours",
                "axes": [
                    {"type": "batch"},
                    {"type": "channel", "channel_names": ["r", "g", "b"]},
                    *spaces,
                ],
                "data": {"type": str(given.dtype)},
                "test_tensor": _file(folder, "given.npy"),
                "preprocessing": [dict(step) for step in plan.before],
            }
        ],
        "outputs": [
            {
                "id": "scores",
                "description": "what is found",
                "axes": [
                    {"type": "batch"},
                    {"type": "channel", "channel_names": names},
                    *bound,
                ],
                "data": {"type": "float32"},
                "test_tensor": _file(folder, "expected.npy"),
                "postprocessing": [dict(step) for step in plan.after],
            }
        ],
        "weights": {"onnx": {**_file(folder, "weights.onnx"), "opset_version": 17}},
    }


def _old(plan: Plan, folder: Path, given: NDArray[Any]) -> dict[str, Any]:
    """Return the description of version 0.4."""
    return {
        "format_version": "0.4.10",
        "timestamp": "2026-01-01T00:00:00",
        "inputs": [
            {
                "name": "raw",
                "description": "colours",
                "axes": "bcyx",
                "data_type": str(given.dtype),
                "shape": {"min": [1, 3, LEAST, LEAST], "step": [0, 0, STEP, STEP]},
                "preprocessing": [dict(step) for step in plan.before],
            }
        ],
        "outputs": [
            {
                "name": "scores",
                "description": "what is found",
                "axes": "bcyx",
                "data_type": "float32",
                "halo": [0, 0, HALO, HALO],
                "shape": {
                    "reference_tensor": "raw",
                    "scale": [1.0, plan.channels / 3, 1.0, 1.0],
                    "offset": [0.0, 0.0, 0.0, 0.0],
                },
                "postprocessing": [dict(step) for step in plan.after],
            }
        ],
        "test_inputs": ["given.npy"],
        "test_outputs": ["expected.npy"],
        "weights": {"onnx": {**_file(folder, "weights.onnx"), "opset_version": 17}},
    }


def _file(folder: Path, name: str) -> dict[str, str]:
    return {"source": name, "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
