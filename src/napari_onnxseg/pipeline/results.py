"""The result arrays of a run over tiles while they fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import Head, ModelCard
from napari_onnxseg.decode.labels import label_dtype
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.after import split_steps, stages_of
from napari_onnxseg.pipeline.bench import Finished
from napari_onnxseg.pipeline.decoding import (
    Block,
    ClassDecoder,
    Decoder,
    ImageDecoder,
    score_kind,
)
from napari_onnxseg.pipeline.output import Output, diagnosis_of
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.pipeline.shelf import Place, Shelf, Shelved
from napari_onnxseg.prepare.steps import needs_statistics
from napari_onnxseg.tiling.region import Region

Position = tuple[int, ...]


@dataclass(slots=True)
class Outputs:
    """Everything a run writes.

    Parameters
    ----------
    each : tuple of Output
        One an output of the model.
    positions : tuple of tuple of int
        Planes of the result, in the order of the run.
    part : Region
        What of each plane the results cover, in pixels of the image.
    """

    each: tuple[Output, ...]
    positions: tuple[Position, ...]
    part: Region

    @classmethod
    def of(
        cls,
        plan: SegmentPlan,
        stack: ImageStack,
        shapes: tuple[tuple[int, ...], ...] | None,
        shelf: Shelf,
    ) -> Outputs:
        """Make empty results for a plan.

        Parameters
        ----------
        plan : SegmentPlan
            The decisions.
        stack : ImageStack
            The image.
        shapes : tuple of (tuple of int) or None
            (N, K, ...) that the network gave for each output when it was tried.
        shelf : Shelf
            Where results are kept.

        Returns
        -------
        Outputs
            All background, or what an earlier run has left in its store.

        Raises
        ------
        ModelError
            When the number of classes cannot be known or is not that of the card.
        """
        leading = result_leading(stack, plan.job.index)
        tried = shapes or (None,) * len(plan.heads)
        each = (
            _output(plan, head, shelf.of(number, head, leading), shape)
            for number, (head, shape) in enumerate(zip(plan.heads, tried, strict=True))
        )
        return cls(tuple(each), tuple(np.ndindex(leading)), plan.part)

    @property
    def decoders(self) -> tuple[Decoder, ...]:
        """How blocks are made from the numbers of each output."""
        return tuple(output.decoder for output in self.each)

    @property
    def waiting(self) -> tuple[Output, ...]:
        """Those whose values wait until all are measured."""
        return tuple(output for output in self.each if output.waits)

    def writing(self, position: Position, finished: Iterable[Finished]) -> Iterator[Finished]:
        """Store finished parts as they come, and give each back."""
        for part in finished:
            self.write(position, part.blocks)
            yield part

    def write(self, position: Position, blocks: list[Block]) -> None:
        """Store one finished part of every output."""
        for output, block in zip(self.each, blocks, strict=True):
            output.write(position, replace(block, region=block.region.relative_to(self.part)))

    def count_again(self) -> None:
        """Count what is in the results, of which an earlier run has written a part."""
        for output in self.each:
            output.count_again(self.positions)

    def diagnosis(self, plan: SegmentPlan, stats: Any) -> tuple[str, ...]:
        """Return sentences on answers that are all one class or value, or not finite."""
        several = len(self.each) > 1
        return tuple(
            f"Output '{output.head.name}': {sentence}" if several else sentence
            for output in self.each
            for sentence in diagnosis_of(plan, output, stats)
        )


def result_leading(stack: ImageStack, index: tuple[int | None, ...] | None) -> tuple[int, ...]:
    """Return the leading axes of a result; an axis that is picked from keeps length 1.

    Parameters
    ----------
    stack : ImageStack
        The image.
    index : tuple of (int or None), optional
        The planes picked.

    Returns
    -------
    tuple of int
        One length per leading axis of the image.
    """
    picked = (None,) * len(stack.leading) if index is None else index
    return tuple(n if pick is None else 1 for pick, n in zip(picked, stack.leading, strict=True))


def _output(plan: SegmentPlan, head: Head, place: Place, tried: tuple[int, ...] | None) -> Output:
    """Make the empty result of one output."""
    planes = tried[1] if tried else head.output.planes
    if planes is None:
        raise ModelError(
            f"'{plan.card.name}' does not say how many classes it gives; list them in its card."
        )
    waits = needs_statistics(head.after)
    early, late = ((), ()) if waits else (stages_of(s, planes) for s in split_steps(head.after))
    is_image = head.task == "image"
    final = None if is_image else _class_decoder(plan, head, planes, (early, late))
    aside = ImageDecoder(early, late, "values" if waits else "image")
    decoder: Decoder = aside if waits or final is None else final
    arrays: dict[str, Shelved] = {}
    if waits:
        arrays["values"] = place.open("values", np.float32, planes)
    if final is not None:
        arrays |= {name: place.open(name, dtype) for name, dtype in _kept_arrays(final).items()}
    elif not waits:
        arrays["image"] = place.open("image", np.float32, None if planes == 1 else planes)
    return Output(head, decoder, arrays, final if waits else None)


def _class_decoder(
    plan: SegmentPlan, head: Head, planes: int, stages: tuple[Any, Any]
) -> ClassDecoder:
    """Return what makes labels of the scores of one output."""
    return ClassDecoder(
        score_kind(plan.card.name, head.scores),
        class_count(plan.card, head, planes),
        plan.threshold_of(head),
        plan.job.confidence,
        head.objects if plan.job.objects else None,
        *stages,
    )


def _kept_arrays(decoder: ClassDecoder) -> dict[str, Any]:
    """Return the arrays that a decoder fills, with their dtypes."""
    dtypes: dict[str, Any] = {"labels": label_dtype(decoder.classes)}
    if decoder.confidence:
        dtypes["confidence"] = np.uint8
    if decoder.rule is not None:
        dtypes |= {"inside": np.uint8, "foreground": np.uint8, "objects": np.int32}
    return dtypes


def class_count(card: ModelCard, head: Head, planes: int) -> int:
    """Return how many class ids an output may give.

    Parameters
    ----------
    card : ModelCard
        The model.
    head : Head
        The output.
    planes : int
        Its channels.

    Returns
    -------
    int
        Two for one-channel scores; the channels otherwise; for networks that give class
        ids, one more than the highest id of the card, or 256 without any.
    """
    ids = max((c.id for c in head.classes), default=-1) + 1
    if head.scores == "labels":
        return ids or 256
    return max(2 if planes == 1 else planes, ids)
