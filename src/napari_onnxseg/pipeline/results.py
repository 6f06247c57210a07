"""The result arrays of a segmentation while they fill."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.arrays.sink import MemorySink
from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.decode.diagnose import Feed, diagnose
from napari_onnxseg.decode.labels import label_dtype
from napari_onnxseg.decode.objects import objects_from_planes
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.decoding import Block, Decoder
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.prepare.stats import IntensityStats

Position = tuple[int, ...]


@dataclass(slots=True)
class Outputs:
    """Everything a run writes: labels always, the others when asked for.

    Parameters
    ----------
    decoder : Decoder
        How blocks are made from scores.
    positions : tuple of tuple of int
        Planes of the result, in the order of the run.
    arrays : mapping of str to MemorySink
        ``labels`` and, when asked for, ``confidence``, ``inside``, ``foreground``,
        ``objects``.
    nonfinite : int
        Pixels so far whose scores are not finite.
    last_object : int
        Highest object id so far.
    """

    decoder: Decoder
    positions: tuple[Position, ...]
    arrays: dict[str, MemorySink]
    counts: NDArray[np.int64] = field(init=False)
    nonfinite: int = 0
    last_object: int = 0

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.decoder.classes, np.int64)

    @classmethod
    def of(
        cls, plan: SegmentPlan, stack: ImageStack, output_shape: tuple[int, ...] | None
    ) -> Outputs:
        """Make empty results for a plan.

        Parameters
        ----------
        plan : SegmentPlan
            The decisions.
        stack : ImageStack
            The image.
        output_shape : tuple of int or None
            (N, K, ...) that the network gave when it was tried.

        Returns
        -------
        Outputs
            All background.

        Raises
        ------
        ModelError
            When the number of classes cannot be known or is not that of the card.
        """
        job = plan.job
        rule = plan.card.objects if job.objects else None
        decoder = Decoder(
            plan.card.scores,
            class_count(plan.card, output_shape),
            plan.threshold,
            job.confidence,
            rule,
        )
        leading = result_leading(stack, job.index)
        dtypes: dict[str, type | np.dtype[np.generic]] = {"labels": label_dtype(decoder.classes)}
        if job.confidence:
            dtypes["confidence"] = np.uint8
        if rule is not None:
            dtypes |= {"inside": np.uint8, "foreground": np.uint8, "objects": np.int32}
        shape = (*leading, *stack.shape)
        arrays = {name: MemorySink.zeros(shape, dtype) for name, dtype in dtypes.items()}
        return cls(decoder, tuple(np.ndindex(leading)), arrays)

    def write(self, position: Position, block: Block) -> None:
        """Store one finished block and count what is in it."""
        for name in ("labels", "confidence", "inside", "foreground"):
            part = getattr(block, name)
            if part is not None:
                self.arrays[name].write(position, block.region, part)
        more = len(block.counts) - len(self.counts)
        if more > 0:  # class ids that the card does not know
            self.counts = np.pad(self.counts, (0, more))
        self.counts[: len(block.counts)] += block.counts
        self.nonfinite += block.nonfinite

    def separate(self, position: Position) -> None:
        """Separate the objects of one plane; ids go on from plane to plane."""
        rule = self.decoder.rule
        if rule is None:
            return
        inside, foreground = (self.arrays[n].array[position] for n in ("inside", "foreground"))
        found = objects_from_planes(inside, foreground, rule)
        found[found > 0] += self.last_object
        self.last_object = max(self.last_object, int(found.max(initial=0)))
        self.arrays["objects"].array[position] = found

    def diagnosis(self, plan: SegmentPlan, stats: IntensityStats | None) -> tuple[str, ...]:
        """Return sentences on an answer that is all one class or not finite."""
        feed = Feed(
            normalization=plan.normalization.words(),
            channels=plan.channels.words,
            image_range=None if stats is None else (stats.joint.minimum, stats.joint.maximum),
            threshold=plan.threshold if plan.card.output.channels == 1 else None,
        )
        names = {c.id: c.name for c in plan.card.classes}
        ordered = [names.get(i, f"class {i}") for i in range(len(self.counts))]
        found = diagnose(self.counts, self.nonfinite, feed, ordered)
        if len(self.counts) == self.decoder.classes:
            return found
        unknown = (
            f"The model gave class ids up to {len(self.counts) - 1}, its card names "
            f"{len(names)} classes: add the others to the card."
        )
        return (*found, unknown)


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


def class_count(card: ModelCard, output_shape: tuple[int, ...] | None) -> int:
    """Return how many class ids a model may give.

    Parameters
    ----------
    card : ModelCard
        The model.
    output_shape : tuple of int or None
        (N, K, ...) that the network gave when it was tried.

    Returns
    -------
    int
        Two for one-channel scores; the channels otherwise; for networks that give class
        ids, one more than the highest id of the card, or 256 without any.

    Raises
    ------
    ModelError
        When the graph is open about its channels and was not tried.
    """
    ids = max((c.id for c in card.classes), default=-1) + 1
    if card.scores == "labels":
        return ids or 256
    channels = output_shape[1] if output_shape else card.output.channels
    if channels is None:
        raise ModelError(
            f"'{card.name}' does not say how many classes it gives; list them in its card."
        )
    return max(2 if channels == 1 else channels, ids)
