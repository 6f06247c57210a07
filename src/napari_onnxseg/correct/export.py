"""Pairs of images and corrected labels, cut out for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.arrays.pictures import write_png
from napari_onnxseg.arrays.source import ImageSource, read_padded
from napari_onnxseg.arrays.tiffs import write_tiff
from napari_onnxseg.arrays.write_files import write_labels
from napari_onnxseg.correct.coco import CocoFile
from napari_onnxseg.correct.pair_card import Pair, PairCard, PairFacts, facts_json, write_pair_card
from napari_onnxseg.correct.portions import Portion, accepted_in, portions_of, split_of
from napari_onnxseg.correct.yolo import YoloFiles
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask, Pixels

Extra = Literal["coco", "yolo"]


@dataclass(frozen=True, slots=True)
class Sample:
    """An image, its corrected labels, and where these were accepted.

    Parameters
    ----------
    name : str
        For files.
    image : ImageSource
        The plane or volume.
    labels : array-like
        Spatial shape of the image, classes.
    regions : tuple of Region
        Accepted boxes.
    objects : array-like or None
        Same shape, numbers of objects, for COCO and YOLO; connected pieces of each class when
        left out.
    """

    name: str
    image: ImageSource
    labels: Any
    regions: tuple[Region, ...]
    objects: Any = None

    def accepted(self, portion: Portion) -> Mask:
        """Return which pixels of a tile were accepted."""
        return accepted_in(portion, self.image.shape, self.regions)


@dataclass(frozen=True, slots=True)
class ExportRule:
    """How pairs are cut and written.

    Parameters
    ----------
    tile : int
        Side of a tile, pixels.
    format : {"png", "tif"} or None
        Of the images; None for PNG where it holds them.
    validation : float
        Part of the tiles kept back for validation, in [0, 1).
    seed : int
        Of the split.
    extras : tuple of {"coco", "yolo"}
        Further descriptions of the objects.
    """

    tile: int = 256
    format: Literal["png", "tif"] | None = None
    validation: float = 0.2
    seed: int = 0
    extras: tuple[Extra, ...] = ()


def export_pairs(
    folder: str | Path, samples: Sequence[Sample], facts: PairFacts, rule: ExportRule | None = None
) -> PairCard:
    """Write training pairs: ``images/train``, ``masks/train``, the same for ``val``, and a card.

    Parameters
    ----------
    folder : str or Path
        New or empty.
    samples : sequence of Sample
        Images with what was accepted of them; tiles without any are not written, and what
        was not accepted in a tile has the label ``ignore``.
    facts : PairFacts
        What goes on the card.
    rule : ExportRule, optional
        How.

    Returns
    -------
    PairCard
        What was written.

    Raises
    ------
    ChoiceError
        When nothing was accepted, the folder is not empty, or a choice does not fit.
    ImageError
        When labels do not fit their image, or a format.
    FileFormatError
        When a file cannot be written.
    """
    rule, folder = rule or ExportRule(), Path(folder)
    _check(folder, samples, rule)
    tile = (rule.tile,) * len(samples[0].image.shape)
    portions = [
        portion
        for number, sample in enumerate(samples)
        for portion in portions_of(number, sample.image.shape, sample.regions, tile)
    ]
    _check_portions(portions, samples, rule)
    writer = _Writer(folder, facts, _ignore(samples), _Layout.of(samples, rule))
    extras = [_EXTRAS[name](folder, facts.classes, writer.ignore) for name in rule.extras]
    splits = split_of(portions, rule.validation, rule.seed)
    pairs = []
    for portion, split in zip(portions, splits, strict=True):
        sample = samples[portion.sample]
        pair, labels = writer.write(sample, portion, split)
        pairs.append(pair)
        for extra in extras:
            extra.add(pair, labels, _objects(sample, portion.box))
    for extra in extras:
        extra.close()
    told = {"tile": list(tile), "validation": rule.validation, "seed": rule.seed}
    card = PairCard(tuple(pairs), writer.ignore, writer.layout.axes, {**facts_json(facts), **told})
    write_pair_card(folder, card)
    return card


_EXTRAS: dict[Extra, type[CocoFile] | type[YoloFiles]] = {"coco": CocoFile, "yolo": YoloFiles}


@dataclass(frozen=True, slots=True)
class _Layout:
    """How images are written: their suffix and axes."""

    suffix: str
    axes: str

    @classmethod
    def of(cls, samples: Sequence[Sample], rule: ExportRule) -> _Layout:
        """Choose what holds all images."""
        image = samples[0].image
        flat, colour = len(image.shape) == 2, image.channels == 3 and image.dtype == np.uint8
        grey = image.channels == 1 and image.dtype in (np.uint8, np.uint16)
        holds = flat and (grey or colour)
        if rule.format == "png" and not holds:
            raise ImageError(
                f"PNG holds one plane of grey or 8-bit colour, but the images have "
                f"{image.channels} channel(s) of {image.dtype} on {len(image.shape)} axes; "
                "choose tif."
            )
        spatial = "ZYX"[-len(image.shape) :]
        if holds and rule.format != "tif":
            return cls(".png", "YXS" if colour else "YX")
        return cls(".tif", spatial if image.channels == 1 else f"C{spatial}")


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes pairs into a folder."""

    folder: Path
    facts: PairFacts
    ignore: int
    layout: _Layout

    def write(self, sample: Sample, portion: Portion, split: str) -> tuple[Pair, AnyArray]:
        """Write one pair; its labels are given back."""
        place = "-".join(f"{n:05d}" for n in portion.box.start)
        name = f"{sample.name}-{place}{self.layout.suffix}"
        image, masks = f"images/{split}/{name}", f"masks/{split}/{name}"
        labels, accepted = self._labels(sample, portion)
        self._write_image(self.folder / image, read_padded(sample.image, portion.box))
        (self.folder / masks).parent.mkdir(parents=True, exist_ok=True)
        classes = self.facts.classes
        write_labels(
            self.folder / masks,
            labels,
            colours={**{c.id: c.colour for c in classes}, self.ignore: "#808080"},
            names={**{c.id: c.name for c in classes}, self.ignore: "not looked at"},
            scale=self.facts.scale,
            units=None if self.facts.scale is None else (self.facts.unit or "pixel",) * labels.ndim,
        )
        reviewed = round(float(accepted.mean()), 6)
        return Pair(split, image, masks, sample.name, portion.box, reviewed), labels

    def _labels(self, sample: Sample, portion: Portion) -> tuple[AnyArray, Mask]:
        """Return the labels of a tile where they were accepted."""
        labels = np.full(portion.box.shape, self.ignore, np.min_scalar_type(self.ignore))
        accepted = sample.accepted(portion)
        inside = portion.box.intersect(Region.of_shape(sample.labels.shape))
        where = inside.relative_to(portion.box).slices
        values = np.asarray(sample.labels[inside.slices])
        labels[where] = np.where(accepted[where], values, self.ignore)
        return labels, accepted

    def _write_image(self, path: Path, pixels: Pixels) -> None:
        """Write (C, Y, X) or (C, Z, Y, X) in the layout chosen."""
        path.parent.mkdir(parents=True, exist_ok=True)
        values = pixels[0] if len(pixels) == 1 else pixels
        with atomic(path) as file:
            if self.layout.suffix == ".png":
                write_png(file, np.moveaxis(values, 0, -1) if len(pixels) > 1 else values, {})
            else:
                write_tiff(file, np.ascontiguousarray(values), None, {"axes": self.layout.axes})


def _objects(sample: Sample, box: Region) -> AnyArray | None:
    """Return the numbers of objects in a tile, where they are known."""
    if sample.objects is None:
        return None
    inside = box.intersect(Region.of_shape(sample.objects.shape))
    values = np.asarray(sample.objects[inside.slices])
    numbers = np.zeros(box.shape, values.dtype)
    numbers[inside.relative_to(box).slices] = values
    return numbers


def _ignore(samples: Sequence[Sample]) -> int:
    """Return a label that no accepted pixel has: 255, or 65535 where ids are larger."""
    parts = (
        np.asarray(s.labels[r.intersect(Region.of_shape(s.image.shape)).slices])
        for s in samples
        for r in s.regions
    )
    highest = max((int(part.max(initial=0)) for part in parts), default=0)
    if highest >= 65_535:
        raise ImageError(f"Training pairs hold classes up to 65534, but there is one of {highest}.")
    return 255 if highest < 255 else 65_535


def _check(folder: Path, samples: Sequence[Sample], rule: ExportRule) -> None:
    """Refuse what cannot be exported, before anything is written."""
    if rule.tile < 1 or not 0 <= rule.validation < 1:
        raise ChoiceError(
            f"Tiles have a side of 1 px or more and the part for validation is below 1, got "
            f"{rule.tile} and {rule.validation}."
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ChoiceError(f"'{folder}' is not empty; name a new folder.")
    if not samples or len({sample.name for sample in samples}) < len(samples):
        raise ChoiceError("Give one image at least, and each a name of its own.")
    kinds = {(len(s.image.shape), s.image.channels, s.image.dtype) for s in samples}
    if len(kinds) > 1:
        raise ImageError("The images differ in axes, channels or dtype; export each kind alone.")
    for sample in samples:
        if tuple(sample.labels.shape) != tuple(sample.image.shape):
            raise ImageError(
                f"'{sample.name}' has {tuple(sample.image.shape)} px, but labels of "
                f"{tuple(sample.labels.shape)}; give those of the same image."
            )
    if rule.extras and len(samples[0].image.shape) != 2:
        raise ChoiceError("COCO and YOLO describe flat images; export volumes as pairs only.")


def _check_portions(
    portions: Sequence[Portion], samples: Sequence[Sample], rule: ExportRule
) -> None:
    """Refuse to export nothing."""
    if not portions:
        raise ChoiceError("Nothing was accepted yet, so there is nothing to export.")
    whole = (samples[portion.sample].accepted(portion).all() for portion in portions)
    if "yolo" in rule.extras and not any(whole):
        raise ChoiceError(
            f"YOLO takes tiles that were accepted as a whole, but none of {rule.tile} px was; "
            "choose smaller tiles, or accept larger regions."
        )
