"""How large a pixel is: scale and units per axis, as files and napari write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

METRES = {
    "meter": 1.0,
    "centimeter": 1e-2,
    "millimeter": 1e-3,
    "micrometer": 1e-6,
    "nanometer": 1e-9,
    "picometer": 1e-12,
    "angstrom": 1e-10,
    "inch": 0.0254,
}
"""Units of length, in metres."""

SECONDS = {
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "second": 1.0,
    "millisecond": 1e-3,
    "microsecond": 1e-6,
}
"""Units of time, in seconds."""

SYMBOLS = {
    "meter": "m",
    "centimeter": "cm",
    "millimeter": "mm",
    "micrometer": "µm",
    "nanometer": "nm",
    "picometer": "pm",
    "angstrom": "Å",
    "inch": "in",
    "day": "d",
    "hour": "h",
    "minute": "min",
    "second": "s",
    "millisecond": "ms",
    "microsecond": "µs",
    "pixel": "pixel",
}
"""Symbols of OME, by the names that napari takes."""

_NAMES = {symbol: name for name, symbol in SYMBOLS.items()} | {
    "um": "micrometer",
    "μm": "micrometer",
    "\\u00b5m": "micrometer",
    "micron": "micrometer",
    "microns": "micrometer",
    "sec": "second",
    "metre": "meter",
    "centimetre": "centimeter",
    "millimetre": "millimeter",
    "micrometre": "micrometer",
    "nanometre": "nanometer",
}


@dataclass(frozen=True, slots=True)
class Placing:
    """Pixel size of an image, one entry per axis, channels apart.

    Parameters
    ----------
    scale : tuple of float
        World units per pixel.
    units : tuple of str
        Names such as ``"micrometer"``, or ``"pixel"`` where the file gives none.
    """

    scale: tuple[float, ...]
    units: tuple[str, ...]

    @classmethod
    def of(
        cls, scale: Sequence[float] | None, units: Sequence[str] | None, ndim: int
    ) -> Placing | None:
        """Fit what is known to an array, from its last axis backwards.

        Parameters
        ----------
        scale : sequence of float or None
            World units per pixel of the last axes.
        units : sequence of str or None
            Their units, in any usual spelling.
        ndim : int
            Axes of the array.

        Returns
        -------
        Placing or None
            With 1 pixel for axes of which nothing is known; None without a scale.
        """
        if scale is None:
            return None
        known = [float(value) for value in scale][-ndim:]
        named = [unit_name(str(unit)) for unit in units or ()][-ndim:]
        return cls(
            (1.0,) * (ndim - len(known)) + tuple(known),
            ("pixel",) * (ndim - len(named)) + tuple(named),
        )


def unit_name(text: str) -> str:
    """Return the name of a unit for its symbol or a usual spelling of it.

    Parameters
    ----------
    text : str
        Such as ``"µm"``, ``"micron"`` or ``"micrometer"``.

    Returns
    -------
    str
        Such as ``"micrometer"``; ``"pixel"`` for what is no unit of length or time.
    """
    word = text.strip()
    if word in SYMBOLS:
        return word
    return _NAMES.get(word) or _NAMES.get(word.lower(), "pixel")
