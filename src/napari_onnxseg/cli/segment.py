"""``onnxseg segment``: images to class labels and measured values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from napari_onnxseg.cli.files import Files
from napari_onnxseg.cli.guesses import tell_guesses
from napari_onnxseg.cli.run import run
from napari_onnxseg.pipeline.folder_segment import Segmenting
from napari_onnxseg.pipeline.known import known_model


def segment_files(files: Files, choices: Mapping[str, Any]) -> None:
    """Run a model over images; writes labels or values of each, one file an output."""
    card = known_model(choices["model"])
    tell_guesses(card, choices, files.as_json)
    run(Segmenting(card, choices), files)
