"""Colours as people write them."""

from __future__ import annotations

import re

from napari_onnxseg.errors import ChoiceError

NAMED = {
    "black": (0, 0, 0),
    "blue": (0, 0, 255),
    "brown": (165, 42, 42),
    "cyan": (0, 255, 255),
    "gray": (128, 128, 128),
    "green": (0, 128, 0),
    "grey": (128, 128, 128),
    "lime": (0, 255, 0),
    "magenta": (255, 0, 255),
    "navy": (0, 0, 128),
    "orange": (255, 165, 0),
    "pink": (255, 192, 203),
    "purple": (128, 0, 128),
    "red": (255, 0, 0),
    "silver": (192, 192, 192),
    "teal": (0, 128, 128),
    "white": (255, 255, 255),
    "yellow": (255, 255, 0),
}
"""The colour names that are understood, with the values of CSS."""


def parse_colour(text: str) -> tuple[int, int, int]:
    """Read a colour.

    Parameters
    ----------
    text : str
        ``#rgb``, ``#rrggbb``, or a name of `NAMED`; case does not matter.

    Returns
    -------
    tuple of int
        Red, green, blue, 0 to 255.

    Raises
    ------
    ChoiceError
        When it is no such colour.
    """
    word = text.strip().lower()
    if word in NAMED:
        return NAMED[word]
    if not re.fullmatch(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})", word):
        raise ChoiceError(
            f"'{text}' is no colour that is known here; write it as #rrggbb, or use one of "
            f"{', '.join(NAMED)}."
        )
    digits = word[1:] if len(word) == 7 else "".join(2 * digit for digit in word[1:])
    red, green, blue = bytes.fromhex(digits)
    return red, green, blue
