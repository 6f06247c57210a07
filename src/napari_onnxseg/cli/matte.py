"""``onnxseg matte``: cut the main subject out of images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from napari_onnxseg.cli.files import CutOutFiles
from napari_onnxseg.cli.guesses import tell_guesses
from napari_onnxseg.cli.run import run
from napari_onnxseg.pipeline.folder_matte import CuttingOut
from napari_onnxseg.pipeline.job import MatteJob
from napari_onnxseg.pipeline.known import known_model


def matte_files(files: CutOutFiles, choices: Mapping[str, Any]) -> None:
    """Cut the main subject out of images; writes one RGBA image for each."""
    card = known_model(choices.get("model", MatteJob().model))
    tell_guesses(card, choices, files.as_json)
    run(CuttingOut(card, choices, files.compression), files)
