"""``onnxseg segment``: images to class labels and measured values."""

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
from napari_onnxseg.cli.axes import image_choices
from napari_onnxseg.cli.files import Files
from napari_onnxseg.cli.guesses import tell_guesses
from napari_onnxseg.cli.places import Place
from napari_onnxseg.cli.run import run
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.feeding import stack_of
from napari_onnxseg.pipeline.heads import channel_names, choose_heads
from napari_onnxseg.pipeline.job import HeadResult, Progress, SegmentJob, SegmentResult
from napari_onnxseg.pipeline.known import known_model
from napari_onnxseg.pipeline.pixel_size import stated_pixel_size
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

    def plan(self, image: ImageFile) -> SegmentPlan:
        """Return what would be done with an image."""
        job = self._job(image)
        return plan_segment(stack_of(image.data, job.channel_axis, job.rgb), self.card, job)

    def story(self, image: ImageFile, cancel: Cancel) -> Generator[Progress, None, SegmentResult]:
        """Return the segmentation of one image, not yet begun."""
        return segment(image.data, self._job(image), card=self.card, cancel=cancel)

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

    def _job(self, image: ImageFile) -> SegmentJob:
        """Return every choice, for one image."""
        stated = {"pixel_size": stated_pixel_size(image.scale, image.units)}
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


def segment_files(files: Files, choices: Mapping[str, Any]) -> None:
    """Run a model over images; writes labels or values of each, one file an output."""
    card = known_model(choices["model"])
    tell_guesses(card, choices, files.as_json)
    run(Segmenting(card, choices), files)
