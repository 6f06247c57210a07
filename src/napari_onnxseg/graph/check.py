"""Examine a model file: what keeps it from running, and what it means for the picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from napari_onnxseg.graph.findings import Finding, Report, report
from napari_onnxseg.graph.findings_file import (
    about_form,
    about_kernels,
    about_operators,
    about_side_files,
    about_versions,
    about_weights,
)
from napari_onnxseg.graph.findings_geometry import about_memory, about_tiles
from napari_onnxseg.graph.findings_input import about_axes, about_sizes, about_type
from napari_onnxseg.graph.findings_operators import about_resizes, about_seams, about_training
from napari_onnxseg.graph.findings_output import about_outputs, about_scores
from napari_onnxseg.graph.subject import Limits, Subject, Wanted, read_subject


def check(path: Path, limits: Limits | None = None, wanted: Wanted | None = None) -> Report:
    """Examine a model file without running it.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    limits : Limits, optional
        What the installed runtime reads; versions are not judged without.
    wanted : Wanted, optional
        Layout and output, where the graph leaves them open.

    Returns
    -------
    Report
        All findings, worst first.

    Raises
    ------
    ModelError
        When the file is missing or is no ONNX model at all.
    """
    return check_subject(read_subject(path, wanted), limits)


def check_subject(subject: Subject, limits: Limits | None = None) -> Report:
    """Examine a model that is already read.

    Parameters
    ----------
    subject : Subject
        The model.
    limits : Limits, optional
        What the installed runtime reads.

    Returns
    -------
    Report
        All findings, worst first.
    """
    return report(subject.path, _findings(subject, limits))


def _findings(subject: Subject, limits: Limits | None) -> Iterator[Finding]:
    yield from about_versions(subject, limits)
    yield from about_form(subject)
    yield from about_operators(subject)
    yield from about_side_files(subject)
    for topic in (
        about_axes,
        about_sizes,
        about_type,
        about_outputs,
        about_scores,
        about_training,
        about_resizes,
        about_seams,
        about_tiles,
        about_memory,
        about_weights,
    ):
        yield from topic(subject)
    yield from about_kernels(subject, limits)
