"""``onnxseg segment``: images to class labels."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.files import ImageFile, check_output, write_image, write_labels
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cli.axes import image_choices, result_scale
from napari_onnxseg.cli.files import Files
from napari_onnxseg.cli.places import Place
from napari_onnxseg.cli.run import run
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import Progress, SegmentJob, SegmentResult
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
    """

    card: ModelCard
    choices: Mapping[str, Any]
    name: str = "segment"

    def check(self, place: Place) -> None:
        """Raise for a file that cannot hold labels."""
        check_output(place.target, "labels")
        if self.choices.get("objects"):
            check_output(place.beside("objects"), "objects")

    def story(self, image: ImageFile, cancel: Cancel) -> Generator[Progress, None, SegmentResult]:
        """Return the segmentation of one image, not yet begun."""
        job = SegmentJob(**image_choices(self.choices, image))
        return segment(image.data, job, card=self.card, cancel=cancel)

    def write(self, place: Place, image: ImageFile, result: SegmentResult) -> dict[str, Path]:
        """Write labels, and confidence and objects where there are any."""
        scale = result_scale(self.choices, image)
        colours = {info.id: info.colour for info in self.card.classes}
        names = {info.id: info.name for info in self.card.classes}
        written = {"labels": place.target}
        write_labels(place.target, result.labels, colours=colours, names=names, scale=scale)
        if result.confidence is not None:
            written["confidence"] = place.beside("confidence")
            write_image(written["confidence"], result.confidence, scale=scale)
        if result.objects is not None:
            written["objects"] = place.beside("objects")
            write_image(written["objects"], result.objects, scale=scale)
        return written


def segment_files(files: Files, choices: Mapping[str, Any]) -> None:
    """Segment images into classes; writes one label image for each."""
    run(Segmenting(load_card(choices["model"]), choices), files)
