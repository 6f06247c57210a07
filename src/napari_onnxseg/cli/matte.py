"""``onnxseg matte``: cut the main subject out of images."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.files import ImageFile, check_output, write_rgba
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cli.axes import image_choices
from napari_onnxseg.cli.files import CutOutFiles
from napari_onnxseg.cli.guesses import tell_guesses
from napari_onnxseg.cli.places import Place
from napari_onnxseg.cli.run import run
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.feeding import stack_of
from napari_onnxseg.pipeline.job import MatteJob, MatteResult, Progress
from napari_onnxseg.pipeline.known import known_model
from napari_onnxseg.pipeline.matte_plan import MattePlan, plan_matte
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
    name : str
        The verb as typed.
    extras : tuple of str
        None.
    floats : bool
        No.
    """

    card: ModelCard
    choices: Mapping[str, Any]
    compression: int
    name: str = "matte"
    extras: tuple[str, ...] = ()
    floats: bool = False

    def check(self, place: Place, planes: int = 1) -> None:
        """Raise for a file that cannot hold alpha."""
        check_output(place.target, "rgba", planes=planes)

    def plan(self, image: ImageFile) -> MattePlan:
        """Return what would be done with an image."""
        job = self._job(image)
        return plan_matte(stack_of(image.data, job.channel_axis, job.rgb), self.card, job)

    def story(self, image: ImageFile, cancel: Cancel) -> Generator[Progress, None, MatteResult]:
        """Return the cut-out of one image, not yet begun."""
        return matte(image.data, self._job(image), card=self.card, cancel=cancel)

    def write(self, place: Place, image: ImageFile, result: MatteResult) -> dict[str, Path]:
        """Write the RGBA image."""
        write_rgba(
            place.target,
            result.rgba,
            compression=self.compression,
            scale=image.scale,
            units=image.units,
        )
        return {"rgba": place.target}

    def _job(self, image: ImageFile) -> MatteJob:
        """Return every choice, for one image."""
        return MatteJob(**image_choices(self.choices, image))


def matte_files(files: CutOutFiles, choices: Mapping[str, Any]) -> None:
    """Cut the main subject out of images; writes one RGBA image for each."""
    card = known_model(choices.get("model", MatteJob().model))
    tell_guesses(card, choices, files.as_json)
    run(CuttingOut(card, choices, files.compression), files)
