"""At what resolution a network sees an image, and the way back to the image's own pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, lcm, prod
from typing import Any

from napari_onnxseg.arrays.placing import METRES, unit_name
from napari_onnxseg.arrays.source import ImageSource
from napari_onnxseg.cards.card import Head, ModelCard, Sizing
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.pixel_size import PixelSize, sides_in, size_words
from napari_onnxseg.pipeline.resampled import ResampledSource
from napari_onnxseg.pipeline.words import px_words
from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.regrid import Regrid

NEAR = 1.05
"""Pixel sizes whose ratio is no more than this are taken for the same."""

FURTHEST = 32
"""Ratio of pixel sizes beyond which one of them must be wrong."""

LONGEST = 4
"""How many times the wanted side a long picture may get, lest a panorama fill the memory."""

COARSE = 4
"""Image pixels along one network pixel from which on a user is told."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The grid of pixels that a network works on.

    Parameters
    ----------
    image : tuple of int
        Pixels of the image on each axis, on which the result lies.
    model : tuple of int
        Pixels of the grid over the same extent.
    once : bool
        Whether the network sees all of it at once.
    words : str
        For people, such as ``"worked on at 0.5 µm per px (image 0.25 µm)"``.
    """

    image: tuple[int, ...]
    model: tuple[int, ...]
    once: bool
    words: str

    @property
    def changes(self) -> bool:
        """Whether the grid is another one than that of the image."""
        return self.image != self.model

    @property
    def back(self) -> Regrid:
        """From the network's grid to the image's."""
        return Regrid(self.model, self.image)

    def source(self, plane: ImageSource, seen: ChannelMap, nodata: float | None) -> ImageSource:
        """Return a plane of the image as the network sees it.

        Parameters
        ----------
        plane : ImageSource
            At the image's own resolution.
        seen : ChannelMap
            Which channels the network sees.
        nodata : float or None
            Value of pixels that are no data.

        Returns
        -------
        ImageSource
            The same one where nothing changes.
        """
        return ResampledSource(plane, self.model, seen, nodata) if self.changes else plane

    def tiled(self, card: ModelCard) -> ModelCard:
        """Widen the halo of a model by what the way back looks beyond a pixel.

        Parameters
        ----------
        card : ModelCard
            The model as tiles see it.

        Returns
        -------
        ModelCard
            The same one where nothing changes.
        """
        if not self.changes:
            return card
        geometry, back = card.geometry, self.back
        halo = tuple(
            ceil((h + back.reach(axis)) / m) * m
            for axis, (h, m) in enumerate(zip(geometry.halo, geometry.multiple, strict=True))
        )
        return replace(card, geometry=replace(geometry, halo=halo))

    def heads(self, heads: Sequence[Head]) -> tuple[Head, ...]:
        """Return outputs with the smallest object counted in pixels of the image."""
        share = prod(self.image) / prod(self.model)
        return tuple(
            replace(h, objects=replace(h.objects, min_area_px=round(h.objects.min_area_px * share)))
            if h.objects
            else h
            for h in heads
        )

    def record(self) -> dict[str, Any]:
        """Return what a run records of it, JSON-able."""
        words = {"image": list(self.image), "model": list(self.model), "words": self.words}
        return {**words, "whole": self.once}


def settle_resolution(
    shape: Sequence[int], card: ModelCard, job: SegmentJob
) -> tuple[Resolution | None, tuple[str, ...]]:
    """Decide at what resolution a network sees planes of ``shape``.

    Networks that were trained on whole pictures see the picture at that size, at once.
    Others see it with the pixel size they were trained on, where both sizes are known and
    differ by more than 5 %.

    Parameters
    ----------
    shape : sequence of int
        Spatial shape of the image in pixels.
    card : ModelCard
        The model.
    job : SegmentJob
        Pixel size of the image, and whether to resample at all.

    Returns
    -------
    resolution : Resolution or None
        None for the image's own, in tiles.
    notes : tuple of str
        What the user should know.

    Raises
    ------
    ChoiceError
        When resampling is asked for and cannot be done, or the sizes lie too far apart.
    """
    if job.resample is False:
        return None, _left_alone(card, job)
    if card.sizing is not None:
        return _whole(tuple(shape), card, card.sizing)
    wanted = trained_size(card)
    if wanted is None or job.pixel_size is None:
        _refuse_unknown(card, job)
        return None, _unknown(card)
    return _at_size(tuple(shape), card, wanted, job.pixel_size), ()


def picture_sides(card: ModelCard, sizing: Sizing, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the sides that a whole picture is brought to.

    Parameters
    ----------
    card : ModelCard
        The model; its fixed sides win.
    sizing : Sizing
        What the picture is brought to otherwise.
    shape : sequence of int
        Rows and columns of the picture.

    Returns
    -------
    tuple of int
        On the multiples of card and graph.
    """
    wanted = sizing.side_px
    grain = [lcm(sizing.multiple, m) for m in card.geometry.multiple]
    near = min(shape) <= wanted <= max(shape)
    kept = [side if near else side * wanted // min(shape) for side in shape]
    sides = kept if sizing.keep_aspect else [wanted] * len(shape)
    longest = LONGEST * wanted
    free = tuple(max(1, min(s, longest) // g) * g for s, g in zip(sides, grain, strict=True))
    return tuple(fixed or side for fixed, side in zip(card.input.sides, free, strict=True))


def trained_size(card: ModelCard) -> PixelSize | None:
    """Return the pixel size that a model was trained on, when its unit is a length."""
    if card.pixel_size is None:
        return None
    side, unit = card.pixel_size[0], unit_name(card.pixel_size[1])
    return ((side,) * card.input.spatial_ndim, unit) if unit in METRES else None


def _whole(
    shape: tuple[int, ...], card: ModelCard, sizing: Sizing
) -> tuple[Resolution, tuple[str, ...]]:
    """Return the grid of a network that sees the whole picture."""
    sides = picture_sides(card, sizing, shape)
    covered = tuple(n / m for n, m in zip(shape, sides, strict=True))
    notes = (
        f"One pixel of what '{card.name}' sees covers {covered[0]:.3g} × {covered[1]:.3g} px of "
        "the image, because it was trained on whole pictures; switch resampling off for tiles at "
        "the image's own resolution.",
    )
    words = f"worked on as a whole at {px_words(sides)}"
    return Resolution(shape, sides, True, words), notes if max(covered) > COARSE else ()


def _at_size(
    shape: tuple[int, ...], card: ModelCard, wanted: PixelSize, given: PixelSize
) -> Resolution | None:
    """Return the grid with the model's pixel size; None where that of the image is near."""
    unit = wanted[1]
    sides = sides_in(given, unit)
    ratios = [own / side for own, side in zip(sides, wanted[0], strict=True)]
    model, image = size_words(wanted[0], unit), size_words(sides, unit)
    for ratio in ratios:
        if not 1 / FURTHEST <= ratio <= FURTHEST:
            raise ChoiceError(
                f"'{card.name}' was trained on pixels of {model}, and those of this image are "
                f"{image}, more than {FURTHEST} times as {'large' if ratio > 1 else 'small'}; "
                "correct the pixel size, or switch resampling off."
            )
    if all(1 / NEAR <= ratio <= NEAR for ratio in ratios):
        return None
    grid = tuple(max(1, round(n * r)) for n, r in zip(shape, ratios, strict=True))
    words = f"worked on at {model} per px (image {image})"
    return None if grid == shape else Resolution(shape, grid, False, words)


def _refuse_unknown(card: ModelCard, job: SegmentJob) -> None:
    """Raise when resampling is asked for and something is missing."""
    if not job.resample:
        return
    if trained_size(card) is None:
        raise ChoiceError(
            f"'{card.name}' does not say what pixel size it was trained on; add 'pixel_size' to "
            "its card, or leave resampling to automatic."
        )
    raise ChoiceError(
        "The pixel size of the image is not known; say it, such as '0.25 um', or leave "
        "resampling to automatic."
    )


def _unknown(card: ModelCard) -> tuple[str, ...]:
    """Say that an image is worked on as it is, because its pixel size is not known."""
    if card.pixel_size is None:
        return ()
    side, unit = card.pixel_size
    return (
        f"The model was trained on pixels of {side:g} {unit}, and the pixel size of the image is "
        "not known: say it, or bring images of another resolution to about that first.",
    )


def _left_alone(card: ModelCard, job: SegmentJob) -> tuple[str, ...]:
    """Say what a network was trained on, when nothing is resampled on demand."""
    if card.sizing is not None:
        return (
            f"The model was trained on whole pictures of about {card.sizing.side_px} px; it is "
            "worked on in tiles at the image's own resolution, as was asked for.",
        )
    wanted = trained_size(card)
    if wanted is None or job.pixel_size is None:
        return _unknown(card)
    image, model = sides_in(job.pixel_size, wanted[1]), wanted[0]
    if all(1 / NEAR <= a / b <= NEAR for a, b in zip(image, model, strict=True)):
        return ()
    return (
        f"The model was trained on pixels of {size_words(model, wanted[1])}, and those of this "
        f"image are {size_words(image, wanted[1])}; it is not resampled, as was asked for.",
    )
