"""A colour for every class."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence

from napari_onnxseg.errors import ChoiceError

_GOLDEN_ANGLE = 0.381966


def class_rgb(number: int, colours: Mapping[int, str | None]) -> Sequence[int]:
    """Return the colour of a class, or one that differs from its neighbours'.

    Parameters
    ----------
    number : int
        Id of the class.
    colours : mapping of int to (str or None)
        ``#rrggbb`` of each class, None for a transparent one.

    Returns
    -------
    sequence of int
        Red, green, blue from 0 to 255; black for a transparent one.

    Raises
    ------
    ChoiceError
        When the colour is none.
    """
    from PIL import ImageColor

    colour = colours.get(number, "")
    if colour is None:
        return 0, 0, 0
    if colour == "":
        hue = colorsys.hsv_to_rgb(number * _GOLDEN_ANGLE % 1, 0.8, 0.95)
        return [round(255 * part) for part in hue]
    try:
        return ImageColor.getrgb(colour)[:3]
    except ValueError as fault:
        raise ChoiceError(
            f"The colour '{colour}' of class {number} is none; write it as #rrggbb."
        ) from fault
