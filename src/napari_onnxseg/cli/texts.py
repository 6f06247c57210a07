"""Short texts of the command line, read into the values a job holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from napari_onnxseg.errors import ChoiceError, ModelError
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.tiling.region import Region

_TWO_NUMBERS = ("percentile", "window")
_FLAGS = ("clip", "per_channel")


def read_sides(text: str) -> int | tuple[int, ...]:
    """Read pixels per axis.

    Parameters
    ----------
    text : str
        ``"256"`` for every axis, or ``"192x320"``: rows x columns.

    Returns
    -------
    int or tuple of int
        Pixels.

    Raises
    ------
    ChoiceError
        When a part is not a whole number.
    """
    parts = re.split(r"[x×]", text.strip().lower())
    if not all(part.strip().isdigit() for part in parts):
        raise ChoiceError(
            f"{text!r} is not a number of pixels; write one whole number such as 256,"
            " or rows x columns such as 192x320."
        )
    sides = tuple(int(part) for part in parts)
    return sides[0] if len(sides) == 1 else sides


def read_region(text: str) -> Region:
    """Read a part of a plane.

    Parameters
    ----------
    text : str
        ``"100:400,200:700"``: rows 100 to 399, columns 200 to 699.

    Returns
    -------
    Region
        In pixels.

    Raises
    ------
    ChoiceError
        When it is no such text.
    """
    spans = [re.fullmatch(r"\s*(\d+)\s*:\s*(\d+)\s*", part) for part in text.split(",")]
    if not all(span and int(span[1]) < int(span[2]) for span in spans):
        raise ChoiceError(
            f"{text!r} is not a part of a plane; write first:end of rows, then of columns, such "
            "as 100:400,200:700."
        )
    starts, stops = ([int(span[i]) for span in spans if span] for i in (1, 2))
    return Region(tuple(starts), tuple(stops))


def read_device(text: str) -> str:
    """Read the name of a device, which need not be here.

    Parameters
    ----------
    text : str
        Such as ``"auto"`` or ``"cuda:1"``.

    Returns
    -------
    str
        The same.

    Raises
    ------
    ChoiceError
        When there is no device of that name.
    """
    from napari_onnxseg.runtime.providers import named_device  # loads the runtime

    named_device(text)
    return text


def read_channels(text: str) -> tuple[int, ...]:
    """Read channel numbers from a text such as ``"2,0,1"``.

    Parameters
    ----------
    text : str
        Whole numbers separated by commas, counted from 0.

    Returns
    -------
    tuple of int
        Channel of the image for each channel of the model.

    Raises
    ------
    ChoiceError
        When a part is not a whole number.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ChoiceError(
            f"{text!r} does not name channels; write whole numbers from 0 on,"
            " separated by commas, such as 2,0,1."
        ) from None


def read_index(text: str) -> tuple[int | None, ...]:
    """Read which planes of a stack are meant.

    Parameters
    ----------
    text : str
        One entry per leading axis, separated by commas: a number picks a plane,
        ``all`` (or ``:``) takes every one, as in ``"3,all"``.

    Returns
    -------
    tuple of (int or None)
        None where every plane is meant.

    Raises
    ------
    ChoiceError
        When an entry is neither.
    """
    try:
        return tuple(
            None if part.strip() in ("all", ":") else int(part) for part in text.split(",")
        )
    except ValueError:
        raise ChoiceError(
            f"{text!r} does not pick planes; write one entry per leading axis,"
            " a whole number or 'all', such as 3,all."
        ) from None


def read_normalization(text: str) -> Normalization:
    """Read a normalization from a short text or JSON.

    Parameters
    ----------
    text : str
        A method (``"unit"``), a method with its numbers (``"divide:255"``,
        ``"percentile:1,99.8"``, ``"window:-160,240"``,
        ``"mean_std:0.485,0.456,0.406/0.229,0.224,0.225"``), either followed by the words
        ``clip`` and ``per_channel`` (``"percentile:1,99.8,clip"``), or the JSON object of
        a card.

    Returns
    -------
    Normalization
        What the text says.

    Raises
    ------
    ChoiceError
        When the text cannot be read; the message shows how to write it.
    """
    try:
        return Normalization.from_json(_normalization_mapping(text.strip()))
    except (ValueError, TypeError) as error:
        reason = f" ({error})" if isinstance(error, ModelError) else ""
        raise ChoiceError(
            f"The normalization {text!r} cannot be read{reason}; write a method and its"
            " numbers, such as percentile:1,99.8 or mean_std:0.5,0.5,0.5/0.2,0.2,0.2, or JSON."
        ) from error


def _normalization_mapping(text: str) -> Mapping[str, Any]:
    """Return the JSON object that the text stands for."""
    if text.startswith("{"):
        mapping: Mapping[str, Any] = json.loads(text)
        return mapping
    method, _, rest = text.partition(":")
    words = [word.strip() for word in re.split(r"[,/]", rest) if word.strip()]
    flags = {flag: True for flag in _FLAGS if flag in words}
    numbers = [float(word) for word in words if word not in _FLAGS]
    return {"method": method, **_named(method, numbers), **flags}


def _named(method: str, numbers: list[float]) -> dict[str, Any]:
    """Give the numbers after a method their names."""
    if not numbers:
        return {}
    if method == "divide" and len(numbers) == 1:
        return {"scale": numbers[0]}
    if method in _TWO_NUMBERS and len(numbers) == 2:
        return {"low": numbers[0], "high": numbers[1]}
    if method == "mean_std" and len(numbers) % 2 == 0:
        half = len(numbers) // 2
        return {"mean": numbers[:half], "std": numbers[half:]}
    raise ValueError(f"{method} does not take {len(numbers)} numbers")
