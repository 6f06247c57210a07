"""Sides of pixels: as people, files and viewers state them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

from napari_onnxseg.arrays.placing import METRES, SYMBOLS, unit_name

PixelSize = tuple[tuple[float, ...], str]
"""Rows and columns, and the name of a unit of length, such as ``((0.25, 0.25), "micrometer")``."""

SIZE_WORDS = "a length such as '0.25 um' or '5.5 x 6 cm' (rows, columns)"
"""What a pixel size may be, for messages."""

_NUMBER = r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)"
_TEXT = re.compile(rf"\s*{_NUMBER}\s*(?:[x×]\s*{_NUMBER}\s*)?([^\W\d_]+)\s*", re.IGNORECASE)


def read_pixel_size(given: Any) -> PixelSize:
    """Return a pixel size that somebody states.

    Parameters
    ----------
    given : str or tuple
        ``"0.25 um"``, ``"5.5 x 6 cm"``, ``(0.25, "um")`` or ``((5.5, 6), "cm")``; two numbers
        are rows and columns.

    Returns
    -------
    tuple of (tuple of float) and str
        One number an axis, and the name of the unit.

    Raises
    ------
    ValueError
        When it is no length.
    """
    if isinstance(given, str):
        found = _TEXT.fullmatch(given)
        if found is None:
            raise ValueError
        height, width, unit = found.groups()
        sides: tuple[float, ...] = (float(height), float(width or height))
    else:
        number, unit = given
        sides = tuple(map(float, number)) if isinstance(number, Sequence) else (float(number),) * 2
    name = unit_name(unit)
    if name not in METRES or len(sides) != 2 or not all(isfinite(s) and s > 0 for s in sides):
        raise ValueError
    return sides, name


def stated_pixel_size(
    scale: Sequence[float] | None, units: Sequence[str] | None
) -> PixelSize | None:
    """Return the pixel size that scale and units of an image state.

    Parameters
    ----------
    scale : sequence of float or None
        Units per pixel; the last two axes are rows and columns.
    units : sequence of str or None
        Their units.

    Returns
    -------
    tuple of (tuple of float) and str, or None
        None when they are no lengths.
    """
    if scale is None or units is None or len(scale) < 2 or len(units) < 2:
        return None
    names = [unit_name(str(unit)) for unit in tuple(units)[-2:]]
    sides = [abs(float(side)) for side in tuple(scale)[-2:]]
    if not all(name in METRES for name in names) or not all(isfinite(s) and s > 0 for s in sides):
        return None
    height = sides[0] * METRES[names[0]] / METRES[names[1]] if names[0] != names[1] else sides[0]
    return (height, sides[1]), names[1]


def sides_in(size: PixelSize, unit: str) -> tuple[float, ...]:
    """Return the sides of a pixel in another unit of length.

    Parameters
    ----------
    size : tuple of (tuple of float) and str
        The pixel.
    unit : str
        Name of the unit wanted.

    Returns
    -------
    tuple of float
        One number an axis.
    """
    factor = 1.0 if size[1] == unit else METRES[size[1]] / METRES[unit]
    return tuple(side * factor for side in size[0])


def size_words(sides: Sequence[float], unit: str) -> str:
    """Return ``0.25 µm`` for a square pixel, ``0.25 × 0.5 µm`` for another."""
    numbers = list(dict.fromkeys(f"{side:.4g}" for side in sides))
    return f"{' × '.join(f'{s:.4g}' for s in sides) if numbers[1:] else numbers[0]} {SYMBOLS[unit]}"
