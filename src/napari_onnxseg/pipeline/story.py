"""Run a story of progress to its end."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from napari_onnxseg.pipeline.job import Progress

Result = TypeVar("Result")


def exhausted(story: Generator[Progress, None, Result]) -> Result:
    """Return what a story gives back, without showing its progress.

    Parameters
    ----------
    story : generator
        Yields `Progress`.

    Returns
    -------
    SegmentResult or MatteResult
        Its result.
    """
    while True:
        try:
            next(story)
        except StopIteration as end:
            result: Result = end.value
            return result
