"""The planes of a run, measured as they are taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.pipeline.bench import Plane, Position
from napari_onnxseg.pipeline.feeding import feeder_for
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.pipeline.record import Stopwatch
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.stats import IntensityStats


class Planes:
    """Gives each plane with a feeder; statistics are measured once per image or per plane.

    Parameters
    ----------
    stack : ImageStack
        The image. All of its planes count for statistics of the image, also those that are
        not part of the run, so that one slice and the whole stack give the same answer. They
        are measured as the network sees them.
    plan : SegmentPlan
        The decisions.
    positions : sequence of tuple of int
        Where the planes go in the result.
    watch : Stopwatch
        Seconds by stage.
    """

    def __init__(
        self,
        stack: ImageStack,
        plan: SegmentPlan,
        positions: Sequence[Position],
        watch: Stopwatch,
    ) -> None:
        self._stack = stack
        self._plan = plan
        self._positions = positions
        self.watch = watch
        self.stats: IntensityStats | None = None
        self.notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Plane]:
        feeder = None
        for position, index in zip(self._positions, self._plan.indices, strict=True):
            if feeder is None or self._plan.job.statistics == "plane":
                feeder = self._measured(index)
            plane = self._stack.plane(index)
            yield Plane(position, self._plan.seen(plane), feeder, plane)

    def _measured(self, index: Position) -> Feeder:
        """Measure this plane, or the whole image."""
        each = self._plan.job.statistics == "plane"
        indices = [index] if each else self._stack.indices()
        sources = [self._plan.seen(self._stack.plane(i)) for i in indices]
        card, job = self._plan.card, self._plan.job
        with self.watch.stage("statistics"):
            feeder, self.stats, self.notes = feeder_for(
                sources, self._plan.channels, self._plan.normalization, card.input.dtype, job.nodata
            )
        return feeder
