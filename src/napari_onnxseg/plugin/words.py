"""Sentences that the widgets show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.pipeline.job import HeadResult, MatteResult, Progress, SegmentResult

STAGES = {
    "loading": "Loading the model",
    "statistics": "Measuring intensities",
    "objects": "Separating objects",
    "values": "Measuring the output",
    "alpha": "Finding the subject",
    "rows": "Composing the picture",
}
"""What is being done when it is not tiles."""


def error_words(error: BaseException) -> str:
    """Say what went wrong.

    Parameters
    ----------
    error : BaseException
        Any error.

    Returns
    -------
    str
        The sentence of an error of ours; type and message of any other.
    """
    if isinstance(error, OnnxSegError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def progress_words(progress: Progress, elapsed_s: float) -> str:
    """Say how far a run is.

    Parameters
    ----------
    progress : Progress
        The latest step.
    elapsed_s : float
        Seconds since the first step of this stage.

    Returns
    -------
    str
        Such as ``"12 of 40 tiles · 8 s left"``.
    """
    if progress.stage in STAGES:
        return f"{STAGES[progress.stage]} …"
    noun = "tile" if progress.total == 1 else "tiles"
    left = seconds_left(progress, elapsed_s)
    tail = "" if left is None else f" · {duration_words(left)} left"
    return f"{progress.done} of {progress.total} {noun}{tail}"


def seconds_left(progress: Progress, elapsed_s: float) -> float | None:
    """Estimate the rest of a stage from its mean speed.

    Parameters
    ----------
    progress : Progress
        The latest step.
    elapsed_s : float
        Seconds since the stage began.

    Returns
    -------
    float or None
        Seconds; None before the first step and after the last.
    """
    if not 0 < progress.done < progress.total:
        return None
    return elapsed_s / progress.done * (progress.total - progress.done)


def duration_words(seconds: float) -> str:
    """Say how long something takes.

    Parameters
    ----------
    seconds : float
        Duration, not negative.

    Returns
    -------
    str
        Such as ``"0.4 s"``, ``"12 s"``, ``"3 min 20 s"``, ``"2 h 05 min"``.
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def segment_words(result: SegmentResult) -> str:
    """Sum up a segmentation.

    Parameters
    ----------
    result : SegmentResult
        What came back.

    Returns
    -------
    str
        Classes found with their share, objects or range of values, device and seconds.
    """
    several = len(result.heads) > 1
    pixels = {entry["name"]: entry.get("pixels", {}) for entry in result.record.get("outputs", ())}
    lines = []
    for found in result.heads:
        words = _found_words(found, pixels.get(found.name, {}))
        lines.append(f"{found.name}: {words}" if several else words)
    return "\n".join((*lines, _how(result)))


def _found_words(found: HeadResult, pixels: Mapping[str, int]) -> str:
    """Say what one output gave: classes and objects, or the range of its values."""
    if found.image is not None:
        low = min((low for low, _ in found.limits), default=0.0)
        high = max((high for _, high in found.limits), default=0.0)
        return f"Values from {low:.4g} to {high:.4g}"
    words = class_shares(pixels, found.head.classes)
    if found.objects is not None:
        words += f" · {_count(int(found.objects.max(initial=0)))}"
    return words


def class_shares(pixels: Mapping[str, int], classes: Sequence[ClassInfo]) -> str:
    """Say which classes were found.

    Parameters
    ----------
    pixels : mapping of str to int
        Pixels of each class id, as in the record of a run.
    classes : sequence of ClassInfo
        Names.

    Returns
    -------
    str
        Such as ``"Found nucleus 23 %, border 4 %"``; the background is left out.
    """
    names = {str(c.id): c.name for c in classes}
    total = max(sum(pixels.values()), 1)
    shares = [
        f"{names.get(label, f'class {label}')} {_percent(count / total)}"
        for label, count in pixels.items()
        if label != "0" and count
    ]
    return f"Found {', '.join(shares)}" if shares else "Only background found"


def matte_words(result: MatteResult) -> str:
    """Sum up a cut-out.

    Parameters
    ----------
    result : MatteResult
        What came back.

    Returns
    -------
    str
        Share of opaque pixels, device and seconds.
    """
    opaque = float(np.count_nonzero(result.rgba[..., 3] > 127)) / max(result.rgba[..., 3].size, 1)
    share = "Opaque background" if opaque == 1 else f"Subject fills {_percent(opaque)}"
    return f"{share}\n{_how(result)}"


def numbers_words(sides: Sequence[int]) -> str:
    """Write one number per axis, or one for all.

    Parameters
    ----------
    sides : sequence of int
        Pixels per axis.

    Returns
    -------
    str
        Such as ``"512"`` or ``"512 × 640"``.
    """
    return str(sides[0]) if len(set(sides)) == 1 else " × ".join(str(side) for side in sides)


def _how(result: SegmentResult | MatteResult) -> str:
    """Device and seconds."""
    return f"{result.device} · {duration_words(_total(result.seconds))}"


def _count(number: int) -> str:
    """Write a number of objects."""
    return f"{number:,} object" if number == 1 else f"{number:,} objects"


def _total(seconds: Mapping[str, float]) -> float:
    """Wall clock of a run."""
    return seconds.get("total", sum(seconds.values()))


def _percent(share: float) -> str:
    """Write a share, never rounding what exists to nothing."""
    return "< 1 %" if 0 < share < 0.01 else f"{share:.0%}".replace("%", " %")
