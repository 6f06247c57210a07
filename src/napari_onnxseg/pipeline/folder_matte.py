"""Cut-outs of image files: from a file that was read to the file of its result."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.files import ImageFile, check_output, write_rgba
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.feeding import stack_of
from napari_onnxseg.pipeline.file_axes import image_choices
from napari_onnxseg.pipeline.folder_counts import SUBJECT, columns_of, matte_row
from napari_onnxseg.pipeline.folder_places import Place
from napari_onnxseg.pipeline.job import MatteJob, MatteResult, Progress
from napari_onnxseg.pipeline.matte_plan import MattePlan, plan_matte
from napari_onnxseg.pipeline.matting import matte


@dataclass(frozen=True, slots=True)
class CuttingOut:
    """What is done to each image of a folder.

    Parameters
    ----------
    card : ModelCard
        The model, read once.
    choices : mapping of str to object
        Fields of `MatteJob` that the user chose.
    compression : int
        Level of PNG compression, 0 to 9.
    name : str
        What it is called.
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

    @property
    def columns(self) -> tuple[str, ...]:
        """What the summary has of each image."""
        return columns_of((SUBJECT,), objects=False)

    def plan(self, image: ImageFile, workers: int | None = None) -> MattePlan:
        """Return what would be done with an image, on so many threads if nobody chose."""
        job = self._job(image, workers)
        return plan_matte(stack_of(image.data, job.channel_axis, job.rgb), self.card, job)

    def story(
        self, image: ImageFile, cancel: Cancel, workers: int | None = None
    ) -> Generator[Progress, None, MatteResult]:
        """Return the cut-out of one image, not yet begun."""
        return matte(image.data, self._job(image, workers), card=self.card, cancel=cancel)

    def row(self, result: MatteResult, image: ImageFile) -> dict[str, Any]:
        """Count the pixels of the subject."""
        return matte_row(result, image)

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

    def _job(self, image: ImageFile, workers: int | None) -> MatteJob:
        """Return every choice, for one image."""
        return MatteJob(**{"workers": workers} | image_choices(self.choices, image))
