"""A segmentation of image files: from a file that was read to the files of its result."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.files import (
    ImageFile,
    ResultKind,
    check_output,
    write_image,
    write_labels,
)
from napari_onnxseg.arrays.write_values import check_values, write_values
from napari_onnxseg.cards.card import Head, ModelCard
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.feeding import stack_of
from napari_onnxseg.pipeline.file_axes import image_choices
from napari_onnxseg.pipeline.folder_counts import class_words, columns_of, segment_row
from napari_onnxseg.pipeline.folder_places import Place
from napari_onnxseg.pipeline.heads import channel_names, choose_heads
from napari_onnxseg.pipeline.job import HeadResult, Progress, SegmentJob, SegmentResult
from napari_onnxseg.pipeline.pixel_size import stated_pixel_size
from napari_onnxseg.pipeline.plan import SegmentPlan, plan_segment
from napari_onnxseg.pipeline.semantic import segment


@dataclass(frozen=True, slots=True)
class Segmenting:
    """What is done to each image of a folder.

    Parameters
    ----------
    card : ModelCard
        The model, read once.
    choices : mapping of str to object
        Fields of `SegmentJob` that the user chose.
    name : str
        What it is called.
    """

    card: ModelCard
    choices: Mapping[str, Any]
    name: str = "segment"

    @property
    def heads(self) -> tuple[Head, ...]:
        """The outputs that are wanted."""
        return choose_heads(self.card, self.choices.get("heads"))

    @property
    def floats(self) -> bool:
        """Whether some output is an image of values."""
        return any(head.task == "image" for head in self.heads)

    @property
    def extras(self) -> tuple[str, ...]:
        """Files of each image, besides the one that is named."""
        return tuple(kind.what for kind in self._kinds if kind.what)

    def check(self, place: Place, planes: int = 1) -> None:
        """Raise for files that cannot hold the results."""
        for kind in self._kinds:
            if kind.shows == "image":
                check_values(kind.path(place), planes=planes)
            else:
                shows: ResultKind = "labels" if kind.shows == "labels" else "objects"
                check_output(kind.path(place), shows, planes=planes)

    @property
    def columns(self) -> tuple[str, ...]:
        """What the summary has of each image."""
        return columns_of(class_words(self.heads), objects="objects" in "".join(self.extras))

    def plan(self, image: ImageFile, workers: int | None = None) -> SegmentPlan:
        """Return what would be done with an image, on so many threads if nobody chose."""
        job = self._job(image, workers)
        return plan_segment(stack_of(image.data, job.channel_axis, job.rgb), self.card, job)

    def story(
        self, image: ImageFile, cancel: Cancel, workers: int | None = None
    ) -> Generator[Progress, None, SegmentResult]:
        """Return the segmentation of one image, not yet begun."""
        return segment(image.data, self._job(image, workers), card=self.card, cancel=cancel)

    def row(self, result: SegmentResult, image: ImageFile) -> dict[str, Any]:
        """Count classes and objects."""
        return segment_row(result, image)

    def write(self, place: Place, image: ImageFile, result: SegmentResult) -> dict[str, Path]:
        """Write each output, with confidence and objects where there are any."""
        found = {head.name: head for head in result.heads}
        for kind in self._kinds:
            _write(kind, kind.path(place), found[kind.head.name], image)
        return {kind.label: kind.path(place) for kind in self._kinds}

    @property
    def _kinds(self) -> tuple[_Kind, ...]:
        """Everything that is written of one image."""
        several = len(self.heads) > 1
        taken = slugs([head.name for head in self.heads])
        return tuple(
            kind
            for head, slug in zip(self.heads, taken, strict=True)
            for kind in _kinds_of(head, slug if several else "", self.choices)
        )

    def _job(self, image: ImageFile, workers: int | None) -> SegmentJob:
        """Return every choice, for one image."""
        stated = {"pixel_size": stated_pixel_size(image.scale, image.units), "workers": workers}
        return SegmentJob(**stated | image_choices(self.choices, image))


@dataclass(frozen=True, slots=True)
class _Kind:
    """One file of an image: what it shows, of which output, and how it is named."""

    shows: str
    head: Head
    what: str

    @property
    def label(self) -> str:
        """What it is called in reports."""
        return self.what or self.shows

    def path(self, place: Place) -> Path:
        """Return where it goes."""
        return place.beside(self.what) if self.what else place.target


def slugs(names: list[str]) -> list[str]:
    """Return names that any file system takes, distinct as the names are.

    Parameters
    ----------
    names : list of str
        Names of outputs.

    Returns
    -------
    list of str
        Letters, digits, dots, underscores and hyphens.
    """
    plain = [re.sub(r"[^\w.]+", "-", name).strip("-") or "output" for name in names]
    return [
        slug if plain.count(slug) == 1 else f"{slug}-{number}"
        for number, slug in enumerate(plain, start=1)
    ]


def _kinds_of(head: Head, slug: str, choices: Mapping[str, Any]) -> list[_Kind]:
    """Return the files of one output."""
    if head.task == "image":
        return [_Kind("image", head, slug)]
    wanted = {"confidence": choices.get("confidence"), "objects": choices.get("objects")}
    if head.objects is None:
        wanted["objects"] = False
    extras = [what for what, asked in wanted.items() if asked]
    more = [_Kind(what, head, f"{slug}-{what}" if slug else what) for what in extras]
    return [_Kind("labels", head, slug), *more]


def _write(kind: _Kind, path: Path, found: HeadResult, image: ImageFile) -> None:
    """Write one file of an image."""
    placed: dict[str, Any] = {"scale": image.scale, "units": image.units}
    array = getattr(found, kind.shows)
    if kind.shows == "image":
        write_values(path, array, channels=channel_names(kind.head, len(found.limits)), **placed)
    elif kind.shows == "confidence":
        write_image(path, array, **placed)
    elif kind.shows == "objects":
        write_labels(path, array, **placed)
    else:
        colours = {info.id: info.colour for info in kind.head.classes}
        names = {info.id: info.name for info in kind.head.classes}
        write_labels(path, array, colours=colours, names=names, **placed)
