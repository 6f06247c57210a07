"""Background removal: from a picture and a job to colours with an alpha channel."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.sink import MemorySink
from napari_onnxseg.arrays.source import ImageSource, ImageStack
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.decode.diagnose import Feed, diagnose_matte
from napari_onnxseg.decode.labels import nonfinite_count, to_probabilities
from napari_onnxseg.decode.matte import compose, finish_alpha
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.decoding import score_kind
from napari_onnxseg.pipeline.engine import Engine, Want, started
from napari_onnxseg.pipeline.feeding import feeder_for, stack_of
from napari_onnxseg.pipeline.job import MatteJob, MatteResult, Predictor, Progress
from napari_onnxseg.pipeline.known import known_model
from napari_onnxseg.pipeline.matte_plan import MattePlan, plan_matte
from napari_onnxseg.pipeline.picture import painter_for, read_clean, row_bands
from napari_onnxseg.pipeline.record import Stopwatch, plain, run_record
from napari_onnxseg.pipeline.story import exhausted
from napari_onnxseg.pipeline.work import work_through
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.resample import enlarge_rows, shrink_to
from napari_onnxseg.prepare.stats import IntensityStats
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import Alpha, Rgba


def matte_image(
    image: Any,
    model: str | Path = "u2netp",
    *,
    card: ModelCard | None = None,
    predictor: Predictor | None = None,
    **choices: Any,
) -> MatteResult:
    """Cut out the subject of a picture of any size.

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
        The other fields of `MatteJob`, such as ``feather_px`` or ``background``.

    Returns
    -------
    MatteResult
        Colours with alpha of shape (..., Y, X, 4) uint8, and what was done.

    Raises
    ------
    OnnxSegError
        One of its kinds, saying what does not fit.

    Examples
    --------
    >>> result = matte_image(photograph, rgb=True)  # doctest: +SKIP
    >>> result.rgba[..., 3].max()  # doctest: +SKIP
    255
    """
    return exhausted(matte(image, MatteJob(model, **choices), card=card, predictor=predictor))


def matte(
    image: Any,
    job: MatteJob,
    *,
    card: ModelCard | None = None,
    predictor: Predictor | None = None,
    cancel: Cancel | None = None,
) -> Generator[Progress, None, MatteResult]:
    """Tell the story of a background removal, step by step.

    Parameters
    ----------
    image : array-like or ImageStack
        As for `matte_image`.
    job : MatteJob
        Every choice.
    card : ModelCard, optional
        Used instead of the card that belongs to ``job.model``.
    predictor : Predictor, optional
        Runs instead of an ONNX Runtime session.
    cancel : Cancel, optional
        Ends the run from another thread, also inside native code.

    Returns
    -------
    MatteResult
        The picture with its alpha, and what was done.

    Yields
    ------
    Progress
        After each finished band of rows.

    Raises
    ------
    CancelledError
        When ``cancel`` was set.
    OnnxSegError
        One of its kinds, saying what does not fit.
    """
    watch, cancel = Stopwatch(), cancel or Cancel()
    stack = stack_of(image, job.channel_axis, job.rgb)
    plan = plan_matte(stack, card or known_model(job.model, cancel=cancel), job)
    bands = row_bands(stack)
    total = (1 + len(bands)) * len(plan.indices)
    yield Progress(0, total, stage="loading")
    shape = (plan.batch, plan.channels.model_channels, *plan.side)
    want = Want(job.device, plan.threads, shape, plan.card.heads[:1])
    with started(plan.card, want, cancel=cancel, predictor=predictor) as engine:
        desk = _Desk.of(stack, plan, engine, watch, cancel)
        for count, index in enumerate(plan.indices):
            done = count * (1 + len(bands))
            yield Progress(done, total, desk.positions[count], stage="alpha")
            alpha = _alpha(desk, stack.plane(index))
            paint = partial(_paint, desk, stack.plane(index), alpha, desk.positions[count])
            for band in _painted(desk, paint, bands):
                done += 1
                yield Progress(done + 1, total, desk.positions[count], (band,), "rows")
    return _result(desk, stack)


@dataclass(slots=True)
class _Desk:
    """Everything a run holds: decisions, feeders, results, findings."""

    plan: MattePlan
    engine: Engine
    watch: Stopwatch
    cancel: Cancel
    feeder: Feeder
    painter: Feeder
    stats: IntensityStats | None
    feed_notes: tuple[str, ...]
    rgba: MemorySink
    positions: tuple[tuple[int, ...], ...]
    lowest: float = 1.0
    highest: float = 0.0
    nonfinite: int = 0
    seen: int = 0

    @classmethod
    def of(
        cls, stack: ImageStack, plan: MattePlan, engine: Engine, watch: Stopwatch, cancel: Cancel
    ) -> _Desk:
        """Measure what is needed and make an empty result."""
        planes = [stack.plane(index) for index in stack.indices()]
        with watch.stage("statistics"):
            feeder, stats, notes = feeder_for(
                planes, plan.channels, plan.normalization, plan.card.input.dtype, plan.job.nodata
            )
            painter = painter_for(planes, plan.colours, plan.job.nodata)
        rgba = MemorySink.zeros((*plan.leading, *stack.shape, 4), np.uint8)
        positions = tuple(np.ndindex(plan.leading))
        return cls(plan, engine, watch, cancel, feeder, painter, stats, notes, rgba, positions)


def _alpha(desk: _Desk, source: ImageSource) -> Alpha:
    """Run the network on the picture at its side and finish the alpha there."""
    plan = desk.plan
    desk.cancel.check()
    with desk.watch.stage("prepare"):
        read = partial(read_clean, source, desk.feeder)
        small = shrink_to(read, source.shape, plan.side)
        shape = (plan.batch, plan.channels.model_channels, *plan.side)
        batch = np.zeros(shape, plan.card.input.dtype)
        desk.feeder.fill(small, batch[0])
    with desk.watch.stage("run"):
        scores = desk.engine.run(batch[:1])[0][0]
    kind = score_kind(plan.card.name, plan.card.scores)
    with desk.watch.stage("decode"):
        alpha = _subject(plan.card, to_probabilities(scores, kind))
        _note_findings(desk, alpha)
        return finish_alpha(alpha, feather_px=plan.job.feather_px, threshold=plan.job.threshold)


def _subject(card: ModelCard, probabilities: Any) -> Alpha:
    """Return the plane that is the subject: the only one, or the second of two."""
    if len(probabilities) > 2:
        raise ModelError(
            f"'{card.name}' gives {len(probabilities)} classes, not one opacity; "
            "use it for segmentation."
        )
    subject: Alpha = probabilities[-1]
    return subject


def _note_findings(desk: _Desk, alpha: Alpha) -> None:
    """Keep the extremes for the diagnosis."""
    desk.nonfinite += nonfinite_count(alpha)
    desk.seen += alpha.size
    finite = alpha[np.isfinite(alpha)]
    if finite.size:
        desk.lowest = min(desk.lowest, float(finite.min()))
        desk.highest = max(desk.highest, float(finite.max()))


def _painted(desk: _Desk, paint: Any, bands: tuple[Region, ...]) -> Iterator[Region]:
    """Paint all bands, several at a time."""
    workers = min(desk.plan.threads, len(bands))
    return work_through(paint, bands, workers=workers, ordered=False, stop=lambda: None)


def _paint(
    desk: _Desk, source: ImageSource, alpha: Alpha, position: tuple[int, ...], band: Region
) -> Region:
    """Enlarge the alpha over one band of rows and put it on the colours there."""
    desk.cancel.check()
    with desk.watch.stage("compose"):
        pixels = source.read(band)
        colour = np.empty((3, *band.shape), np.uint8)
        missing = desk.painter.fill(pixels, colour)
        opacity = enlarge_rows(alpha, source.shape, slice(band.start[0], band.stop[0]))
        if desk.plan.colours.alpha is not None:
            opacity *= pixels[desk.plan.colours.alpha] / np.float32(_opaque(source))
        if missing is not None:
            opacity[missing] = 0
        block: Rgba = compose(colour, opacity, desk.plan.background)
        desk.rgba.write(position, band, block)
    return band


def _opaque(source: ImageSource) -> float:
    """Return the alpha value that means opaque."""
    return 1.0 if source.dtype.kind in "bf" else float(np.iinfo(source.dtype).max)


def _result(desk: _Desk, stack: ImageStack) -> MatteResult:
    """Put the result together with its notes and record."""
    plan = desk.plan
    feed = Feed(plan.normalization.words(), plan.channels.words)
    found = diagnose_matte(desk.lowest, desk.highest, desk.nonfinite, desk.seen, feed)
    notes = (*plan.notes, *desk.engine.notes, *desk.feed_notes, *found)
    seconds = desk.watch.seconds()
    return MatteResult(
        rgba=desk.rgba.array,
        card=plan.card,
        device=desk.engine.device,
        seconds=seconds,
        notes=notes,
        record={
            **run_record(plan.card, plan.job, stack, desk.watch),
            **plan.record(),
            "statistics": plain(desk.stats),
            "device": desk.engine.device,
            "seconds": seconds,
            "notes": list(notes),
        },
    )
