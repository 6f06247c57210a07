"""The whole verdict on a model file: what its graph says, and what it does when it runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.graph.check import check_subject
from napari_onnxseg.graph.findings import Finding, Report, report
from napari_onnxseg.graph.findings_geometry import px, tile_sides
from napari_onnxseg.graph.probe import Probe
from napari_onnxseg.graph.receptive import Receptive
from napari_onnxseg.graph.subject import Subject, Wanted, read_subject
from napari_onnxseg.runtime.bare import Bare, limits, noise
from napari_onnxseg.runtime.trial import Trial, try_geometry


def judge(path: Path, wanted: Wanted | None = None) -> Report:
    """Check a model file, and try it out on the processor.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    wanted : Wanted, optional
        Layout and output, where the graph leaves them open.

    Returns
    -------
    Report
        All findings, worst first; those of the trial are ``does-not-run``, ``trial``,
        ``trial-differs``,
        ``no-numbers`` and ``speed``.

    Raises
    ------
    ModelError
        When the file is missing or is no ONNX model at all.
    """
    subject = read_subject(path, wanted)
    checked = check_subject(subject, limits())
    return report(path, (*checked.findings, *_tried(subject)))


def _tried(subject: Subject) -> Iterator[Finding]:
    try:
        bare = Bare(subject.path)
        if subject.probe is not None and subject.view is not None:
            yield from _first_runs(bare, subject, subject.probe, subject.view)
            yield _told(try_geometry(bare, subject))
    except OnnxSegError as error:
        yield Finding("error", "does-not-run", str(error), "There will be no answer.")


def _first_runs(bare: Bare, subject: Subject, probe: Probe, view: Receptive) -> Iterator[Finding]:
    """Look at the numbers of one tile, and time it the second time."""
    sides = tile_sides(subject, view)
    picture = noise(subject, sides, probe.batch)
    finite = np.isfinite(bare.run(probe.input, picture)[probe.output])
    if not finite.all():
        some = "Some of the" if finite.any() else "All"
        yield Finding(
            "warning" if finite.any() else "error",
            "no-numbers",
            f"{some} scores of a trial run are no finite numbers (NaN or infinity).",
            "Such pixels get a class that means nothing; look for a division by zero, the "
            "logarithm of zero, or an overflow of half precision.",
        )
    start = time.perf_counter()
    bare.run(probe.input, picture)
    seconds = time.perf_counter() - start
    yield Finding(
        "info",
        "speed",
        f"A tile of {' x '.join(map(str, sides))} px takes {seconds:.3g} s on one processor core.",
        "A picture takes this times its tiles, divided by the cores at work.",
    )


def _told(trial: Trial) -> Finding:
    """Say what the trial confirms or contradicts."""
    if trial.faults:
        return Finding(
            "warning",
            "trial-differs",
            f"A trial run contradicts the graph: {'; '.join(trial.faults)}.",
            "Tiles may show seams; choose a larger halo or an overlap.",
        )
    if not trial.seen:
        title = f"Reach and grid were not tried out, because {trial.skipped}."
        return Finding("info", "trial", title, "What the graph says of them stands unconfirmed.")
    grid = f"moving the picture was not tried, because {trial.skipped}"
    if not trial.skipped:
        grid = "the answer moves with the picture on its grid"
        grid += ", and on no finer one" if trial.coarsest else ""
    title = f"A trial run agrees: a changed pixel reached {px(trial.seen)}, and {grid}."
    return Finding("info", "trial", title, "Exact tiles equal the whole picture.")
