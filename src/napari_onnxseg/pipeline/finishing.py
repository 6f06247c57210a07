"""What is left to do once all tiles are through: what needs a whole output at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.pipeline.feeding import seen_image
from napari_onnxseg.pipeline.output import Output, Position
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.pipeline.results import Outputs
from napari_onnxseg.prepare.steps import needs_reference


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of it.

    Parameters
    ----------
    stage : str
        As in `Progress`.
    do : callable
        Does it.
    """

    stage: str
    do: Callable[[], None]


def finishing(
    plan: SegmentPlan, stack: ImageStack, outputs: Outputs
) -> Iterator[tuple[Position, Work]]:
    """Measure the outputs that ask for it, and bring their values to what they mean.

    Parameters
    ----------
    plan : SegmentPlan
        The decisions.
    stack : ImageStack
        The image.
    outputs : Outputs
        All tiles are in.

    Yields
    ------
    position : tuple of int
        Plane of the result.
    work : Work
        To be done before the next is asked for.
    """
    each = plan.job.statistics == "plane"
    for output in outputs.waiting:
        groups = [(p,) for p in outputs.positions] if each else [outputs.positions]
        indices = [[i] for i in plan.indices] if each else [list(stack.indices())]
        for group, measured in zip(groups, indices, strict=True):
            bound = partial(_finished, plan, stack, output, group, measured)
            yield group[0], Work("values", bound)
        yield outputs.positions[-1], Work("values", output.settle)


def separating(plan: SegmentPlan, outputs: Outputs) -> Iterator[tuple[Position, Work]]:
    """Separate objects, plane by plane.

    Parameters
    ----------
    plan : SegmentPlan
        The decisions.
    outputs : Outputs
        Finished.

    Yields
    ------
    position : tuple of int
        Plane of the result.
    work : Work
        To be done before the next is asked for.
    """
    for output in outputs.each if plan.job.objects else ():
        if "objects" in output.arrays:
            for position in outputs.positions:
                yield position, Work("objects", partial(output.separate, position))


def _finished(
    plan: SegmentPlan,
    stack: ImageStack,
    output: Output,
    group: tuple[Position, ...],
    indices: list[Any],
) -> None:
    """Measure some planes together, and finish each."""
    reference = None
    if needs_reference(output.head.after):
        sources = [plan.seen(stack.plane(index)) for index in indices]
        reference = seen_image(sources, plan.channels, plan.job.nodata)
    stages = output.measure(group, reference)
    for position in group:
        output.finish(position, stages)
