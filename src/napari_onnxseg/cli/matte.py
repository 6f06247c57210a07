"""``onnxseg matte``: cut the main subject out of images."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.files import ImageFile, check_output, write_rgba
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cli.axes import image_choices, result_scale
from napari_onnxseg.cli.files import CutOutFiles
from napari_onnxseg.cli.places import Place
from napari_onnxseg.cli.run import run
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import MatteJob, MatteResult, Progress
from napari_onnxseg.pipeline.matting import matte


@dataclass(frozen=True, slots=True)
class CuttingOut:
    """Background removal as a verb.

    Parameters
    ----------
    card : ModelCard
        The model, read once.
    choices : mapping of str to object
        Fields of `MatteJob` that the user chose.
    compression : int
        Level of PNG compression, 0 to 9.
    """

    card: ModelCard
    choices: Mapping[str, Any]
    compression: int
    name: str = "matte"

    def check(self, place: Place) -> None:
        """Raise for a file that cannot hold alpha."""
        check_output(place.target, "rgba")

    def story(self, image: ImageFile, cancel: Cancel) -> Generator[Progress, None, MatteResult]:
        """Return the cut-out of one image, not yet begun."""
        job = MatteJob(**image_choices(self.choices, image))
        return matte(image.data, job, card=self.card, cancel=cancel)

    def write(self, place: Place, image: ImageFile, result: MatteResult) -> dict[str, Path]:
        """Write the RGBA image."""
        scale = result_scale(self.choices, image)
        write_rgba(place.target, result.rgba, compression=self.compression, scale=scale)
        return {"rgba": place.target}


def matte_files(files: CutOutFiles, choices: Mapping[str, Any]) -> None:
    """Cut the main subject out of images; writes one RGBA image for each."""
    card = load_card(choices.get("model", MatteJob().model))
    run(CuttingOut(card, choices, files.compression), files)
