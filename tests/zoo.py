"""Packages as the bioimage.io model zoo has them, written in the forms 0.4 and 0.5."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

SPACE_LETTERS = "zyx"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def v04(
    folder: Path,
    network: Path,
    *,
    axes: str = "bcyx",
    shape: Any = (1, 1, 64, 64),
    pre: Sequence[Mapping[str, Any]] = (),
    post: Sequence[Mapping[str, Any]] = (),
    tests: tuple[np.ndarray, Sequence[np.ndarray]] | None = None,
    outputs: Sequence[Mapping[str, Any]] | None = None,
    name: str = "rdf.yaml",
    **changes: Any,
) -> Path:
    """Write a folder with a description 0.4; entries that are None are left out."""
    weights = _weights(folder, network)
    content = {
        "format_version": "0.4.9",
        "type": "model",
        "name": "UNet 2D Nuclei",
        "description": "A 2d U-Net trained on nuclei.",
        "authors": [{"name": "Ada Lovelace;@zoo", "affiliation": "Analytical Engines"}],
        "cite": [{"text": "U-net", "doi": "10.1007/978-3-319-24574-4_28"}],
        "tags": ["unet2d", "pytorch", "nucleus", "segmentation"],
        "license": "MIT",
        "documentation": "README.md",
        "covers": ["cover0.png"],
        "attachments": {},
        "timestamp": "2019-12-11T12:22:32Z",
        "config": {"bioimageio": {"nickname": "powerful-chipmunk"}},
        "inputs": [
            {
                "name": "raw",
                "description": "raw input",
                "axes": axes,
                "data_type": "float32",
                "data_range": [float("-inf"), float("inf")],
                "shape": shape if isinstance(shape, dict) else list(shape),
                "preprocessing": list(pre),
            }
        ],
        "outputs": list(
            outputs
            or [
                {
                    "name": "probability",
                    "axes": axes,
                    "data_type": "float32",
                    "data_range": [float("-inf"), float("inf")],
                    "halo": [0 if a in "bc" else 8 for a in axes],
                    "shape": {
                        "reference_tensor": "raw",
                        "scale": [0.0 if a == "c" else 1.0 for a in axes],
                        "offset": [0.5 if a == "c" else 0.0 for a in axes],
                    },
                    "postprocessing": list(post),
                }
            ]
        ),
        "weights": {
            "pytorch_state_dict": {"source": "https://example.org/w.torch", "sha256": "0" * 64},
            "onnx": {"source": weights.name, "sha256": sha256(weights), "opset_version": 17},
        },
        "version": "0.1.3",
    } | changes
    if tests:
        content |= _test_files_04(folder, tests)
    return write(folder / name, content)


def v05(
    folder: Path,
    network: Path,
    *,
    channels: Sequence[str] = ("raw_intensity",),
    sides: Mapping[str, Any] | None = None,
    pre: Sequence[Mapping[str, Any]] = (),
    post: Sequence[Mapping[str, Any]] = (),
    out: Sequence[str] = ("probability",),
    tests: tuple[np.ndarray, Sequence[np.ndarray]] | None = None,
    data: Mapping[str, Any] | None = None,
    outputs: Sequence[Mapping[str, Any]] | None = None,
    name: str = "bioimageio.yaml",
    halo: int = 8,
    **changes: Any,
) -> Path:
    """Write a folder with a description 0.5."""
    weights = _weights(folder, network)
    sides = sides or {"y": 64, "x": 64}
    space = [_space(axis, {"size": size}) for axis, size in sides.items()]
    source = {
        "id": "raw",
        "axes": [{"type": "batch", "size": 1}, _channel(channels), *space],
        "preprocessing": list(pre),
    }
    fixed = all(isinstance(size, int) for size in sides.values())
    result = {
        "id": "probability",
        "axes": [
            {"type": "batch"},
            _channel(out),
            *(_space(axis, _following(axis, sides, halo, fixed)) for axis in sides),
        ],
        "postprocessing": list(post),
    }
    if data:
        result["data"] = dict(data)
    results = [dict(entry) for entry in outputs or [result]]
    if tests:
        source["test_tensor"] = _tensor_file(folder, "test_input.npy", tests[0])
        for number, (entry, array) in enumerate(zip(results, tests[1], strict=True)):
            entry["test_tensor"] = _tensor_file(folder, f"test_output_{number}.npy", array)
    content = {
        "format_version": "0.5.11",
        "type": "model",
        "name": "UNet 2D Nuclei",
        "description": "A 2d U-Net trained on nuclei.",
        "authors": [{"name": "Ada Lovelace", "affiliation": "Analytical Engines"}],
        "cite": [{"text": "U-net", "doi": "10.1007/978-3-319-24574-4_28"}],
        "tags": ["unet2d", "nucleus", "segmentation"],
        "license": "MIT",
        "documentation": {"source": "README.md"},
        "id": "affable-shark",
        "timestamp": "2019-12-11T11:22:32+00:00",
        "inputs": [source],
        "outputs": results,
        "weights": {
            "onnx": {"source": weights.name, "sha256": sha256(weights), "opset_version": 17}
        },
    } | changes
    return write(folder / name, content)


def write(path: Path, content: Mapping[str, Any]) -> Path:
    """Write a description; entries that are None are left out."""
    told = {key: value for key, value in content.items() if value is not None}
    path.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    (path.parent / "README.md").write_text("# A model\n", encoding="utf-8")
    return path


def zipped(description: Path, path: Path) -> Path:
    """Pack the folder of a description."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(description.parent.iterdir()):
            archive.write(file, file.name)
    return path


def step(name: str, /, **kwargs: Any) -> dict[str, Any]:
    """Return an operation of 0.4."""
    return {"name": name, "kwargs": kwargs} if kwargs else {"name": name}


def op(name: str, /, **kwargs: Any) -> dict[str, Any]:
    """Return an operation of 0.5."""
    return {"id": name, "kwargs": kwargs} if kwargs else {"id": name}


def _weights(folder: Path, network: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / "weights.onnx"
    if network != weights:
        weights.write_bytes(network.read_bytes())
    return weights


def _channel(names: Sequence[str]) -> dict[str, Any]:
    return {"type": "channel", "channel_names": list(names)}


def _space(axis: str, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "space", "id": axis, **more}


def _following(axis: str, sides: Mapping[str, Any], halo: int, fixed: bool) -> dict[str, Any]:
    size = {"size": {"tensor_id": "raw", "axis_id": axis}}
    return size | ({"halo": halo} if halo else {})


def _tensor_file(folder: Path, name: str, array: np.ndarray) -> dict[str, str]:
    np.save(folder / name, array)
    return {"source": name, "sha256": sha256(folder / name)}


def _test_files_04(folder: Path, tests: tuple[np.ndarray, Sequence[np.ndarray]]) -> dict[str, Any]:
    np.save(folder / "test_input.npy", tests[0])
    for number, array in enumerate(tests[1]):
        np.save(folder / f"test_output_{number}.npy", array)
    return {
        "test_inputs": ["test_input.npy"],
        "test_outputs": [f"test_output_{number}.npy" for number in range(len(tests[1]))],
    }
