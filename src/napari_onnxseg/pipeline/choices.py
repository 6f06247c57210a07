"""Choices as plain Python values, or one sentence on what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.pixel_size import SIZE_WORDS, read_pixel_size
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.tiling.region import Region


def settle_choices(job: Any) -> None:
    """Bring every field of a job to its plain Python type, so that records can be saved.

    Parameters
    ----------
    job : SegmentJob or MatteJob
        Freshly made; numpy numbers become Python's, lists and arrays tuples.

    Raises
    ------
    ChoiceError
        Naming the choice that is of another kind, and what is allowed.
    """
    for field in fields(job):
        value = getattr(job, field.name)
        if value is not None or field.default is not None:
            object.__setattr__(job, field.name, _settled(field.name, value))


def _settled(name: str, value: Any) -> Any:
    """Return one choice as it is kept."""
    settle, words = _KINDS[name]
    try:
        return settle(value)
    except (TypeError, ValueError, OverflowError):
        raise ChoiceError(f"The choice '{name}' must be {words}, got {value!r}.") from None


def _whole(value: Any) -> int:
    """Return a whole number; True and False are none."""
    if isinstance(value, (bool, np.bool_)) or int(value) != value:
        raise TypeError
    return int(value)


def _number(value: Any) -> int | float:
    """Return a real number; whole ones stay exact."""
    if not isinstance(value, Real):
        raise TypeError
    return int(value) if isinstance(value, Integral) else float(value)


def _flag(value: Any) -> bool:
    """Return True or False; nothing else stands for them."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError
    return bool(value)


def _sides(value: Any) -> int | float | tuple[int | float, ...]:
    """Return one number for all axes or one an axis; their range is checked with the tiles."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError
    return _number(value) if np.ndim(value) == 0 else tuple(_number(side) for side in value)


def _wholes(value: Iterable[Any]) -> tuple[int, ...]:
    """Return whole numbers."""
    return tuple(_whole(entry) for entry in value)


def _picks(value: Iterable[Any]) -> tuple[int | None, ...]:
    """Return whole numbers or None."""
    return tuple(None if entry is None else _whole(entry) for entry in value)


def _names(value: Iterable[Any]) -> tuple[str, ...]:
    """Return names; one alone is one name, not its letters."""
    names = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(name, str) for name in names):
        raise TypeError
    return names


def _model(value: Any) -> str | Path:
    """Return a name or a path."""
    return value if isinstance(value, str) else Path(os.fspath(value))


def _path(value: Any) -> Path:
    """Return a path."""
    return Path(os.fspath(value))


def _one_of(*allowed: str) -> Callable[[Any], str]:
    """Return what accepts these words only."""

    def settle(value: Any) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return settle


def _instance(kind: type) -> Callable[[Any], Any]:
    """Return what accepts this type only."""

    def settle(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return settle


_SIDES = (_sides, "a number of pixels, or one an axis")
_COUNT = (_whole, "a whole number")
_FLAG = (_flag, "True or False")
_NUMBER = (_number, "a number")

_KINDS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "model": (_model, "the name or the path of a model"),
    "device": (_instance(str), "the name of a device, such as 'auto' or 'cpu'"),
    "tile": _SIDES,
    "halo": _SIDES,
    "overlap": _SIDES,
    "batch": _COUNT,
    "workers": _COUNT,
    "index": (_picks, "one whole number or None per leading axis, such as (3,) or (None, 0)"),
    "channel_axis": _COUNT,
    "rgb": _FLAG,
    "channels": (_wholes, "one whole number per channel of the model, such as (0,) or (2, 1, 0)"),
    "colour_order": (_one_of("RGB", "BGR"), "'RGB' or 'BGR'"),
    "normalization": (_instance(Normalization), "a Normalization, such as Normalization('unit')"),
    "statistics": (_one_of("image", "plane"), "'image' or 'plane'"),
    "nodata": _NUMBER,
    "pixel_size": (read_pixel_size, SIZE_WORDS),
    "resample": _FLAG,
    "threshold": _NUMBER,
    "confidence": _FLAG,
    "objects": _FLAG,
    "heads": (_names, "names of outputs, such as ('mask', 'distance')"),
    "region": (_instance(Region), "a Region of pixels, such as Region((0, 0), (512, 512))"),
    "store": (_path, "the path of a folder"),
    "resume": _FLAG,
    "feather_px": _NUMBER,
    "background": (_instance(str), "the name of a colour or #rrggbb"),
}
"""How each choice is settled, and what is allowed."""
