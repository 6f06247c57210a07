"""``onnxseg segment``: images to class labels."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.files import ImageFile, check_output, write_image, write_labels
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cli.axes import image_choices
from napari_onnxseg.cli.files import Files
from napari_onnxseg.cli.guesses import tell_guesses
from napari_onnxseg.cli.places import Place
from napari_onnxseg.cli.run import run
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.feeding import stack_of
from napari_onnxseg.pipeline.job import Progress, SegmentJob, SegmentResult
from napari_onnxseg.pipeline.known import known_model
from napari_onnxseg.pipeline.plan import SegmentPlan, plan_segment
from napari_onnxseg.pipeline.semantic import segment


@dataclass(frozen=True, slots=True)
class Segmenting:
    """Segmentation as a verb.

    Parameters
    ----------
    card : ModelCard
        The model, read once.
    choices : mapping of str to object
        Fields of `SegmentJob` that the user chose.
    name : str
        The verb as typed.
    """

    card: ModelCard
    choices: Mapping[str, Any]
    name: str = "segment"

    @property
    def extras(self) -> tuple[str, ...]:
        """Other results of each image, besides its labels."""
        return tuple(name for name in ("confidence", "objects") if self.choices.get(name))

    def check(self, place: Place, planes: int = 1) -> None:
        """Raise for files that cannot hold the results."""
        check_output(place.target, "labels", planes=planes)
        for extra in self.extras:
            check_output(place.beside(extra), "objects", planes=planes)

    def plan(self, image: ImageFile) -> SegmentPlan:
        """Return what would be done with an image."""
        job = self._job(image)
        return plan_segment(stack_of(image.data, job.channel_axis, job.rgb), self.card, job)

    def story(self, image: ImageFile, cancel: Cancel) -> Generator[Progress, None, SegmentResult]:
        """Return the segmentation of one image, not yet begun."""
        return segment(image.data, self._job(image), card=self.card, cancel=cancel)

    def write(self, place: Place, image: ImageFile, result: SegmentResult) -> dict[str, Path]:
        """Write labels, and confidence and objects where there are any."""
        scale, units = image.scale, image.units
        write_labels(
            place.target,
            result.labels,
            colours={info.id: info.colour for info in self.card.classes},
            names={info.id: info.name for info in self.card.classes},
            scale=scale,
            units=units,
        )
        if result.confidence is not None:
            write_image(place.beside("confidence"), result.confidence, scale=scale, units=units)
        if result.objects is not None:
            write_labels(place.beside("objects"), result.objects, scale=scale, units=units)
        return {"labels": place.target} | {extra: place.beside(extra) for extra in self.extras}

    def _job(self, image: ImageFile) -> SegmentJob:
        """Return every choice, for one image."""
        return SegmentJob(**image_choices(self.choices, image))


def segment_files(files: Files, choices: Mapping[str, Any]) -> None:
    """Segment images into classes; writes one label image for each."""
    card = known_model(choices["model"])
    tell_guesses(card, choices, files.as_json)
    run(Segmenting(card, choices), files)
