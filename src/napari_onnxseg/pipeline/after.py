"""What is done to the numbers of an output before they mean anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from napari_onnxseg.prepare.chain import Seen, settle_steps
from napari_onnxseg.prepare.stages import Stage, apply_stages
from napari_onnxseg.prepare.steps import Step
from napari_onnxseg.types import AnyArray, Scores

SWITCHING = ("binarize", "cast")
"""Steps that decide, which resizing and blending would blur again."""


def split_steps(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Divide what is done to numbers into what comes before blending, and what after.

    Parameters
    ----------
    steps : tuple of Step
        In their order.

    Returns
    -------
    tuple of (tuple of Step)
        Those that keep numbers comparable, and those from the first decision on.
    """
    first = next((i for i, step in enumerate(steps) if step.op in SWITCHING), len(steps))
    return steps[:first], steps[first:]


def stages_of(steps: tuple[Step, ...], count: int) -> tuple[Stage, ...]:
    """Settle steps that need no statistics.

    Parameters
    ----------
    steps : tuple of Step
        In their order.
    count : int
        Channels of the output.

    Returns
    -------
    tuple of Stage
        With their numbers.
    """
    return settle_steps(steps, None, count=count).stages if steps else ()


def staged(scores: Scores, stages: tuple[Stage, ...]) -> Scores:
    """Return numbers after some steps; they themselves are not changed.

    Parameters
    ----------
    scores : numpy.ndarray
        (K, ...) float32.
    stages : tuple of Stage
        The steps, with their numbers.

    Returns
    -------
    numpy.ndarray
        (K, ...) float32; the same array without steps.
    """
    if not stages:
        return scores
    values: Scores = np.array(scores, np.float32)
    in_place(values, stages)
    return values


def in_place(values: AnyArray, stages: tuple[Stage, ...]) -> None:
    """Do some steps to numbers where they are.

    Parameters
    ----------
    values : numpy.ndarray
        (K, ...) float32; overwritten.
    stages : tuple of Stage
        The steps, with their numbers.
    """
    if stages:
        apply_stages(values, stages)


def measured_stages(
    steps: tuple[Step, ...],
    blocks: Callable[[], Iterable[AnyArray]],
    count: int,
    reference: Any,
) -> tuple[tuple[Stage, ...], Any]:
    """Settle steps by the statistics of the whole output.

    Parameters
    ----------
    steps : tuple of Step
        In their order.
    blocks : callable
        A fresh pass over the output, (K, rows, X) each; NaN is not counted.
    count : int
        Channels of the output.
    reference : Seen or None
        The image, where a step compares with it.

    Returns
    -------
    stages : tuple of Stage
        With their numbers.
    measured : object
        What was measured, for the record.
    """
    settled = settle_steps(steps, Seen(blocks), count=count, reference=reference)
    return settled.stages, settled.measured
