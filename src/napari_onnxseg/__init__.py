"""Run ONNX segmentation and background-removal models on images of any size."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from napari_onnxseg.cards.card import ModelCard
    from napari_onnxseg.cards.catalog import list_models
    from napari_onnxseg.cards.read import load_card
    from napari_onnxseg.errors import (
        CancelledError,
        ChoiceError,
        DeviceError,
        DownloadError,
        FileFormatError,
        ImageError,
        ModelError,
        ModelNotFoundError,
        OnnxSegError,
        OutOfMemoryError,
        RunError,
        TileError,
    )
    from napari_onnxseg.pipeline.folder_calls import matte_folder, segment_folder
    from napari_onnxseg.pipeline.folder_job import FolderJob
    from napari_onnxseg.pipeline.folder_outcome import ImageOutcome
    from napari_onnxseg.pipeline.job import (
        HeadResult,
        MatteJob,
        MatteResult,
        Progress,
        SegmentJob,
        SegmentResult,
    )
    from napari_onnxseg.pipeline.matting import matte_image
    from napari_onnxseg.pipeline.semantic import segment_image
    from napari_onnxseg.prepare.normalize import Normalization
    from napari_onnxseg.prepare.steps import Step
    from napari_onnxseg.tiling.region import Region

    __version__: str

__all__ = [
    "CancelledError",
    "ChoiceError",
    "DeviceError",
    "DownloadError",
    "FileFormatError",
    "FolderJob",
    "HeadResult",
    "ImageError",
    "ImageOutcome",
    "MatteJob",
    "MatteResult",
    "ModelCard",
    "ModelError",
    "ModelNotFoundError",
    "Normalization",
    "OnnxSegError",
    "OutOfMemoryError",
    "Progress",
    "Region",
    "RunError",
    "SegmentJob",
    "SegmentResult",
    "Step",
    "TileError",
    "__version__",
    "list_models",
    "load_card",
    "matte_folder",
    "matte_image",
    "segment_folder",
    "segment_image",
]

_ELSEWHERE = {
    "FolderJob": "pipeline.folder_job",
    "ImageOutcome": "pipeline.folder_outcome",
    "ModelCard": "cards.card",
    "Normalization": "prepare.normalize",
    "Region": "tiling.region",
    "Step": "prepare.steps",
    "list_models": "cards.catalog",
    "load_card": "cards.read",
    "matte_folder": "pipeline.folder_calls",
    "matte_image": "pipeline.matting",
    "segment_folder": "pipeline.folder_calls",
    "segment_image": "pipeline.semantic",
    **dict.fromkeys(
        ("HeadResult", "MatteJob", "MatteResult", "Progress", "SegmentJob", "SegmentResult"),
        "pipeline.job",
    ),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that importing costs nothing."""
    if name == "__version__":
        return import_module("importlib.metadata").version("napari-onnxseg")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
