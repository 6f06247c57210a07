"""A run over tiles: from an image and a job to class labels and images."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from threading import local
from typing import Any

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.pipeline.bench import Bench, Look
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.engine import Engine, Want, started
from napari_onnxseg.pipeline.feeding import stack_of
from napari_onnxseg.pipeline.finishing import finishing, separating
from napari_onnxseg.pipeline.job import Predictor, Progress, SegmentJob, SegmentResult
from napari_onnxseg.pipeline.known import known_model
from napari_onnxseg.pipeline.log import Log
from napari_onnxseg.pipeline.plan import SegmentPlan, plan_segment
from napari_onnxseg.pipeline.planes import Planes
from napari_onnxseg.pipeline.record import Stopwatch, plain, run_record
from napari_onnxseg.pipeline.results import Outputs
from napari_onnxseg.pipeline.story import exhausted
from napari_onnxseg.pipeline.tiles import finished_blocks


def segment_image(
    image: Any,
    model: str | Path,
    *,
    card: ModelCard | None = None,
    predictor: Predictor | None = None,
    **choices: Any,
) -> SegmentResult:
    """Run a model over an image of any size: into classes, or into another image.

    Parameters
    ----------
    image : array-like or ImageStack
        (..., Y, X), (..., Y, X, 3 or 4) with ``rgb=True``, or with a ``channel_axis``; any
        numeric dtype. Never changed.
    model : str or Path
        Name in the catalogue, or an ``.onnx`` file.
    card : ModelCard, optional
        Used instead of the card that belongs to ``model``.
    predictor : Predictor, optional
        Runs instead of an ONNX Runtime session.
    **choices
        The other fields of `SegmentJob`, such as ``device``, ``tile`` or ``confidence``.

    Returns
    -------
    SegmentResult
        Labels of shape (..., Y, X), or images, one result an output; and what was done.

    Raises
    ------
    OnnxSegError
        One of its kinds, saying what does not fit.

    Examples
    --------
    >>> result = segment_image(image, "unet-nuclei")  # doctest: +SKIP
    >>> result.labels.shape == image.shape  # doctest: +SKIP
    True
    """
    job = SegmentJob(model, **choices)
    return exhausted(segment(image, job, card=card, predictor=predictor))


def segment(
    image: Any,
    job: SegmentJob,
    *,
    card: ModelCard | None = None,
    predictor: Predictor | None = None,
    cancel: Cancel | None = None,
    look: Look | None = None,
) -> Generator[Progress, None, SegmentResult]:
    """Tell the story of a segmentation, step by step.

    Parameters
    ----------
    image : array-like or ImageStack
        As for `segment_image`.
    job : SegmentJob
        Every choice.
    card : ModelCard, optional
        Used instead of the card that belongs to ``job.model``.
    predictor : Predictor, optional
        Runs instead of an ONNX Runtime session.
    cancel : Cancel, optional
        Ends the run from another thread, also inside native code.
    look : callable, optional
        Says where somebody looks, in pixels of a plane, or None; asked before each tile, so
        that the nearest are done first. The result does not depend on it.

    Returns
    -------
    SegmentResult
        Labels and images, and what was done.

    Yields
    ------
    Progress
        After each finished block.

    Raises
    ------
    CancelledError
        When ``cancel`` was set.
    OnnxSegError
        One of its kinds, saying what does not fit.
    """
    watch, cancel = Stopwatch(), cancel or Cancel()
    stack = stack_of(image, job.channel_axis, job.rgb)
    card = card or known_model(job.model, cancel=cancel)
    plan = plan_segment(stack, card, job)
    total = len(plan.tiles) * len(plan.indices)
    yield Progress(0, total, stage="loading")
    batch_shape = (plan.batch, plan.channels.model_channels, *plan.tiles.tile)
    want = Want(job.device, plan.threads, batch_shape, plan.heads)
    with started(card, want, cancel=cancel, predictor=predictor) as engine:
        log = Log.of(plan, stack, engine.device)
        outputs = Outputs.of(plan, stack, engine.shapes, log.shelf)
        shared = (plan, engine, outputs.decoders, watch, cancel, local())
        bench = Bench(*shared, look or (lambda: None), log.leave_out)
        planes, done = Planes(stack, plan, outputs.positions, watch), log.tiles_done
        yield Progress(done, total, stage="statistics")
        with log.closing():
            for position, finished in finished_blocks(bench, planes):
                log.measured(planes.stats)
                parts = [(part.number, part.region) for part in outputs.writing(position, finished)]
                log.note(position, {number for number, _ in parts})
                done += 1
                yield Progress(done, total, position, tuple(region for _, region in parts))
    if log.resumed:
        outputs.count_again()
    for position, work in (*finishing(plan, stack, outputs), *separating(plan, outputs)):
        yield Progress(total, total, position, stage=work.stage)
        cancel.check()
        with watch.stage(work.stage):
            work.do()
    log.finish()
    return _result(plan, stack, engine, outputs, planes)


def _result(
    plan: SegmentPlan, stack: ImageStack, engine: Engine, outputs: Outputs, planes: Planes
) -> SegmentResult:
    """Put the result together with its notes and record."""
    notes = (*plan.notes, *engine.notes, *planes.notes, *outputs.diagnosis(plan, planes.stats))
    seconds = planes.watch.seconds()
    records = [output.record() for output in outputs.each]
    return SegmentResult(
        heads=tuple(output.result() for output in outputs.each),
        card=plan.card,
        device=engine.device,
        seconds=seconds,
        notes=notes,
        record={
            **run_record(plan.card, plan.job, stack, planes.watch),
            **plan.record(),
            "statistics": plain(planes.stats),
            "device": engine.device,
            "pixels": next((r["pixels"] for r in records if "pixels" in r), {}),
            "outputs": records,
            "seconds": seconds,
            "notes": list(notes),
        },
    )
