"""Say why a result looks empty or wrong, in the order in which it usually is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.types import AnyArray


@dataclass(frozen=True, slots=True)
class Feed:
    """What the model was given, in words, for a diagnosis.

    Parameters
    ----------
    normalization : str
        Such as ``"percentiles 1 to 99.8 to 0 to 1"``.
    channels : str
        Such as ``"RGB"`` or ``"grey copied to red, green, blue"``.
    image_range : tuple of float, optional
        Smallest and largest valid value of the image.
    threshold : float, optional
        Of a one-channel model.
    """

    normalization: str
    channels: str
    image_range: tuple[float, float] | None = None
    threshold: float | None = None


def count_classes(labels: AnyArray, classes: int) -> NDArray[np.int64]:
    """Count the pixels of each class.

    Parameters
    ----------
    labels : numpy.ndarray
        Class ids, any shape.
    classes : int
        Number of classes.

    Returns
    -------
    numpy.ndarray
        (K,) int64, one count per class (more when larger ids occur).
    """
    return np.bincount(labels.ravel(), minlength=classes).astype(np.int64, copy=False)


def diagnose(
    counts: NDArray[np.int64], nonfinite: int, feed: Feed, names: Sequence[str] = ()
) -> tuple[str, ...]:
    """Explain a label map that is all one class, or scores that are not numbers.

    Parameters
    ----------
    counts : numpy.ndarray
        (K,) int64, pixels of each class in the whole result, from `count_classes`.
    nonfinite : int
        Pixels with NaN or infinite scores.
    feed : Feed
        What the model was given.
    names : sequence of str, optional
        Names of the classes, in order.

    Returns
    -------
    tuple of str
        Sentences for the user; empty when nothing is suspicious.
    """
    total, found = int(counts.sum()), np.flatnonzero(counts)
    sentences = _nonfinite(nonfinite, total)
    if len(found) == 1 and nonfinite < total:
        number = int(found[0])
        name = f" ({names[number]})" if number < len(names) else ""
        sentences.append(f"Every pixel came out as class {number}{name}. {_advice(feed)}")
    return tuple(sentences)


def diagnose_matte(
    lowest: float, highest: float, nonfinite: int, total: int, feed: Feed
) -> tuple[str, ...]:
    """Explain an alpha matte without a subject, or without a background.

    Parameters
    ----------
    lowest, highest : float
        Extremes of the alpha that the model gave, before any cut or feather.
    nonfinite : int
        Pixels with NaN or infinite scores, at the model's side.
    total : int
        Pixels at the model's side.
    feed : Feed
        What the model was given.

    Returns
    -------
    tuple of str
        Sentences for the user; empty when nothing is suspicious.
    """
    sentences = _nonfinite(nonfinite, total)
    if nonfinite < total and highest < 0.5:
        sentences.append(
            f"No subject stands out: the highest opacity is {highest:.2f}. {_advice(feed)}"
        )
    elif nonfinite < total and lowest > 0.5:
        sentences.append(
            f"No background was found: the lowest opacity is {lowest:.2f}. {_advice(feed)}"
        )
    return tuple(sentences)


def diagnose_values(
    limits: Sequence[tuple[float, float]], nonfinite: int, total: int, feed: Feed
) -> tuple[str, ...]:
    """Explain an image of one value, or values that are not numbers.

    Parameters
    ----------
    limits : sequence of (float, float)
        Smallest and largest finite value of each channel.
    nonfinite : int
        Pixels with NaN or infinite values where the image has data.
    total : int
        Pixels where the image has data.
    feed : Feed
        What the model was given.

    Returns
    -------
    tuple of str
        Sentences for the user; empty when nothing is suspicious.
    """
    sentences = _nonfinite(nonfinite, total)
    if total > 1 and nonfinite < total and all(low == high for low, high in limits):
        values = ", ".join(f"{low:g}" for low, _ in limits)
        sentences.append(f"Every pixel came out as {values}. {_advice(feed)}")
    return tuple(sentences)


def _nonfinite(count: int, total: int) -> list[str]:
    """Say how many pixels have scores that are not finite numbers."""
    if not count:
        return []
    return [
        f"The model gave scores that are not finite numbers at {count} of {total} pixels, whose "
        "result means nothing; half-precision models overflow so: try the CPU or the float32 model."
    ]


def _advice(feed: Feed) -> str:
    """Name what the model was fed, and what to compare with its training."""
    span = ""
    if feed.image_range is not None:
        span = f", from image values {feed.image_range[0]:g} to {feed.image_range[1]:g}"
    cut = "" if feed.threshold is None else f", and whether the threshold {feed.threshold:g} suits"
    return (
        f"It was fed: {feed.normalization}; channels: {feed.channels}{span}. Check that "
        f"normalisation, value range and channel order are those of its training{cut}."
    )
