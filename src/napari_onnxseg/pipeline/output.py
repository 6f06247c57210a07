"""The result arrays of one output of a model while they fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.arrays.sink import MemorySink
from napari_onnxseg.cards.card import Head
from napari_onnxseg.decode.diagnose import Feed, diagnose, diagnose_values
from napari_onnxseg.decode.objects import objects_from_planes
from napari_onnxseg.pipeline.after import measured_stages, staged
from napari_onnxseg.pipeline.decoding import Block, ClassDecoder, Decoder, limits_of
from napari_onnxseg.pipeline.job import HeadResult
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.pipeline.record import plain
from napari_onnxseg.pipeline.shelf import Shelved
from napari_onnxseg.prepare.stages import Stage
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask

Position = tuple[int, ...]

BAND_VALUES = 4_000_000
"""Values worked on at once when a whole output is measured."""


@dataclass(slots=True)
class Output:
    """Everything a run writes of one output of the model.

    Parameters
    ----------
    head : Head
        What it means.
    decoder : Decoder
        How blocks are made from its numbers.
    arrays : mapping of str to Shelved
        ``labels``, ``confidence``, ``inside``, ``foreground``, ``objects``, ``image``, or
        ``values`` of which statistics are needed first.
    final : ClassDecoder or None
        What decodes these values in the end; None where they become the image.
    counts : numpy.ndarray
        Pixels of each class so far, int64.
    limits : numpy.ndarray or None
        (C, 2) float32, smallest and largest finite value of each channel so far.
    nonfinite, valid : int
        Pixels so far whose numbers are not finite, and where the image has data.
    last_object : int
        Highest object id so far.
    measured : list
        What steps after the network measured, for the record.
    """

    head: Head
    decoder: Decoder
    arrays: dict[str, Shelved]
    final: ClassDecoder | None = None
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    limits: NDArray[np.float32] | None = None
    nonfinite: int = 0
    valid: int = 0
    last_object: int = 0
    measured: list[Any] = field(default_factory=list)

    def write(self, position: Position, block: Block) -> None:
        """Store one finished block and count what is in it."""
        for name, part in block.parts.items():
            self._store(name, position, block.region, part)
        more = len(block.counts) - len(self.counts)
        if more > 0:  # the first block, or class ids that the card does not know
            self.counts = np.pad(self.counts, (0, more))
        self.counts[: len(block.counts)] += block.counts
        self.nonfinite += block.nonfinite
        self.valid += block.valid
        if block.limits is not None:
            self._widen(block.limits)

    def separate(self, position: Position) -> None:
        """Separate the objects of one plane; ids go on from plane to plane."""
        rule = self.head.objects
        if rule is None or "objects" not in self.arrays:
            return
        inside, foreground = (self.arrays[n].array[position] for n in ("inside", "foreground"))
        found = objects_from_planes(inside, foreground, rule)
        found[found > 0] += self.last_object
        self.last_object = max(self.last_object, int(found.max(initial=0)))
        self.arrays["objects"].write(position, Region.of_shape(found.shape), found)

    def count_again(self, positions: Iterable[Position]) -> None:
        """Count classes, or widen limits, over all that is in the result."""
        if "labels" in self.arrays:
            self.counts = np.zeros_like(self.counts)
        for position in positions:
            for name in ("labels", "image"):
                if name in self.arrays:
                    self._count_plane(name, self.arrays[name].array, position)

    def _count_plane(self, name: str, array: Any, position: Position) -> None:
        """Count one plane in bands of rows."""
        rows = max(1, BAND_VALUES // max(1, array.shape[-1]))
        for top in range(0, array.shape[-2], rows):
            band = np.asarray(array[(*position, ..., slice(top, top + rows), slice(None))])
            if name == "labels":
                counts = np.bincount(band.reshape(-1), minlength=len(self.counts))
                self.counts = np.pad(self.counts, (0, len(counts) - len(self.counts))) + counts
            else:
                self._widen(limits_of(band.reshape(-1, *band.shape[-2:])))

    @property
    def waits(self) -> bool:
        """Whether its values wait until the whole output has been measured."""
        return "values" in self.arrays

    def measure(self, positions: tuple[Position, ...], reference: Any) -> tuple[Stage, ...]:
        """Measure some planes of the values, and return what is to be done to them."""
        planes = self.arrays["values"].array
        blocks = partial(_bands_of, planes, positions)
        count = planes.shape[-3]
        stages, measured = measured_stages(self.head.after, blocks, count, reference)
        self.measured.append(plain(measured))
        return stages

    def finish(self, position: Position, stages: tuple[Stage, ...]) -> None:
        """Bring the values of one plane to what they mean."""
        planes = self.arrays["values"].array
        for rows in _row_slices(planes):
            values = _part(planes, position, rows)
            region = Region((rows.start, 0), (rows.start + values.shape[1], values.shape[2]))
            invalid: Mask = np.all(np.isnan(values), axis=0)
            done = staged(values, stages)
            if self.final is None:
                values[...] = done
                self._widen(limits_of(done))
            else:
                done[:, invalid] = 0
                block = self.final.decode(done, region, invalid)
                self.write(position, replace(block, nonfinite=0))  # counted when they came

    def settle(self) -> None:
        """Give the values their name once all are finished."""
        values = self.arrays.pop("values")
        if self.final is None:
            one = values.array.shape[-3] == 1
            self.arrays["image"] = MemorySink(values.array[..., 0, :, :] if one else values.array)

    def result(self) -> HeadResult:
        """Return the arrays."""
        array = {name: sink.array for name, sink in self.arrays.items()}
        limits = [] if self.limits is None else self.limits.tolist()
        return HeadResult(
            head=self.head,
            labels=array.get("labels"),
            confidence=array.get("confidence"),
            objects=array.get("objects"),
            image=array.get("image"),
            limits=tuple((low, high) if low <= high else (0.0, 0.0) for low, high in limits),
        )

    def record(self) -> dict[str, Any]:
        """Return what the output is and what is in it, in JSON-able form."""
        head = self.head
        about = {"name": head.name, "tensor": head.output.name, "task": head.task}
        found: dict[str, Any] = {"scores": head.scores, "after": [plain(s) for s in head.after]}
        if self.measured:
            found["measured"] = self.measured
        if head.task == "image":
            limits = [list(pair) for pair in self.result().limits]
            return {**about, **found, "channels": list(head.channels), "limits": limits}
        pixels = {str(i): int(n) for i, n in enumerate(self.counts) if n}
        return {**about, **found, "pixels": pixels}

    def _store(self, name: str, position: Position, region: Region, part: AnyArray) -> None:
        """Write a part of one array; several channels one by one."""
        sink = self.arrays[name]
        if part.ndim == len(region.start):
            sink.write(position, region, part)
        elif sink.array.ndim == len(position) + len(region.start):
            sink.write(position, region, part[0])
        else:
            for number, channel in enumerate(part):
                sink.write((*position, number), region, channel)

    def _widen(self, limits: NDArray[np.float32]) -> None:
        """Let the limits hold these too."""
        if self.limits is None:
            self.limits = limits.copy()
        else:
            np.minimum(self.limits[:, 0], limits[:, 0], out=self.limits[:, 0])
            np.maximum(self.limits[:, 1], limits[:, 1], out=self.limits[:, 1])


def diagnosis_of(plan: SegmentPlan, output: Output, stats: Any) -> tuple[str, ...]:
    """Return sentences on an answer that is all one class or value, or not finite.

    Parameters
    ----------
    plan : SegmentPlan
        The decisions.
    output : Output
        Finished.
    stats : IntensityStats or None
        Of the image, where it was measured.

    Returns
    -------
    tuple of str
        Empty when nothing is suspicious.
    """
    head = output.head
    feed = Feed(
        normalization=plan.normalization.words(),
        channels=plan.channels.words,
        image_range=None if stats is None else (stats.joint.minimum, stats.joint.maximum),
        threshold=plan.threshold_of(head) if head.task == "semantic" else None,
    )
    if head.task == "image":
        return diagnose_values(output.result().limits, output.nonfinite, output.valid, feed)
    names = {c.id: c.name for c in head.classes}
    ordered = [names.get(i, f"class {i}") for i in range(len(output.counts))]
    found = diagnose(output.counts, output.nonfinite, feed, ordered) + _without_objects(output)
    decoder = output.final or output.decoder
    if not isinstance(decoder, ClassDecoder) or len(output.counts) <= decoder.classes:
        return found
    unknown = (
        f"The model gave class ids up to {len(output.counts) - 1}, its card names "
        f"{len(names)} classes: add the others to the card."
    )
    return (*found, unknown)


def _without_objects(output: Output) -> tuple[str, ...]:
    """Say why there are no objects where there are pixels of their class."""
    rule = output.head.objects
    if rule is None or "objects" not in output.arrays or output.last_object:
        return ()
    pixels = int(output.counts[rule.inside]) if rule.inside < len(output.counts) else 0
    if not pixels:
        return ()
    return (
        f"No object was found, although {pixels:,} pixels are of its class: the rule of the card "
        f"wants a probability above {rule.foreground_threshold:g} for them, above "
        f"{rule.seed_threshold:g} at their seeds, and {rule.min_area_px} px or more.",
    )


def _row_slices(planes: AnyArray) -> Iterator[slice]:
    """Divide the rows of (..., K, Y, X) so that one part stays small."""
    count, height, width = planes.shape[-3:]
    rows = max(1, BAND_VALUES // max(1, count * width))
    yield from (slice(top, top + rows) for top in range(0, height, rows))


def _bands_of(planes: AnyArray, positions: Iterable[Position]) -> Iterator[AnyArray]:
    """Give some planes of (..., K, Y, X) in bands of rows."""
    for position in positions:
        yield from (_part(planes, position, rows) for rows in _row_slices(planes))


def _part(planes: AnyArray, position: Position, rows: slice) -> AnyArray:
    """Return some rows of one plane of (..., K, Y, X), as a view."""
    plane: AnyArray = planes[position]
    return plane[:, rows]
