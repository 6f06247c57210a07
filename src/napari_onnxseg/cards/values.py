"""Entries that another tool wrote, as numbers and names; what is none of them is left aside."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.cards.meaning import default_class

LONGEST_TEXT = 1_000_000
"""Characters beyond which a text is not parsed."""

MOST_CLASSES = 1 << 16
"""Class ids that a label map can hold."""

_BACKGROUND = ("background", "bg", "unlabeled", "unlabelled", "hintergrund", "_background_")
_NO_PYTHON = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def parse_text(text: str) -> Any:
    """Read a text as JSON, else as a Python literal, else as it is.

    Parameters
    ----------
    text : str
        A metadata value.

    Returns
    -------
    object
        What it stands for; the text itself when it stands for nothing else.
    """
    if len(text) > LONGEST_TEXT:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's opinions on the spelling of numbers
        try:
            return ast.literal_eval(text.strip())
        except _NO_PYTHON:
            return text


class Entries:
    """Entries by name, each checked when it is asked for.

    Parameters
    ----------
    given : mapping
        The entries; texts of numbers count as numbers.
    where : str
        Where they stand, for the notes, such as ``"the metadata of the file"``.

    Attributes
    ----------
    notes : list of str
        One sentence for each entry that was asked for and is of another kind.
    """

    def __init__(self, given: Mapping[str, Any], where: str) -> None:
        self.given = given
        self.where = where
        self.notes: list[str] = []

    def text(self, *keys: str) -> str:
        """Return the first of these entries that is a text, without spaces around; or nothing."""
        found = self._first(keys)
        return found.strip() if isinstance(found, str) else ""

    def number(self, *keys: str, above: float = 0.0, most: float = 1e9) -> float | None:
        """Return a number in (above, most], or None."""
        found = self._first(keys)
        value = as_number(found)
        if value is None or not above < value <= most:
            self._aside(keys, found, f"a number above {above:g} and at most {most:g}")
            return None
        return value

    def whole(self, *keys: str) -> int | None:
        """Return a whole number above 0, or None."""
        found = self._first(keys)
        value = as_number(found)
        if value is None or value < 1 or value != int(value):
            self._aside(keys, found, "a whole number above 0")
            return None
        return int(value)

    def numbers(self, *keys: str) -> tuple[float, ...]:
        """Return a list of numbers, or nothing."""
        found = self._first(keys)
        values = as_numbers(found)
        if not values:
            self._aside(keys, found, "a list of numbers")
        return values

    def flag(self, key: str) -> bool | None:
        """Return true or false, also written as text; or None."""
        found = self._first((key,))
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        return words.get(str(found).strip().lower())

    def names(self, *keys: str) -> tuple[str, ...]:
        """Return names by ascending id: a list, or an object from id to name; or nothing."""
        found = self._first(keys)
        names = as_names(found)
        if not names:
            self._aside(keys, found, "class names with the ids 0, 1, 2, …")
        return names

    def section(self, *path: str) -> Mapping[str, Any]:
        """Return the object at the end of a path of keys; an empty one where there is none."""
        found: Any = self.given
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def _first(self, keys: Iterable[str]) -> Any:
        """Return the first entry that is there and not null."""
        return next((self.given[key] for key in keys if self.given.get(key) is not None), None)

    def _aside(self, keys: tuple[str, ...], found: Any, wanted: str) -> None:
        """Note an entry that cannot be used."""
        if found is not None:
            key = next(key for key in keys if self.given.get(key) is not None)
            self.notes.append(
                f"'{key}' in {self.where} is {shortened(str(found))!r}, not {wanted}; "
                "it was left aside."
            )


def shortened(text: str, most: int = 60) -> str:
    """Return a text of at most ``most`` characters in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def as_number(value: Any) -> float | None:
    """Return a finite number, also one written as text; None for all else."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def as_numbers(value: Any) -> tuple[float, ...]:
    """Return a list of finite numbers, also one parted by spaces or commas; nothing for others."""
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    elif not isinstance(value, (list, tuple)):
        value = [value]
    numbers = tuple(as_number(entry) for entry in value)
    return tuple(n for n in numbers if n is not None) if None not in numbers else ()


def as_names(value: Any) -> tuple[str, ...]:
    """Return the names of the ids 0, 1, 2, …; nothing where one is missing or is no text."""
    if isinstance(value, Mapping):
        numbered = {as_number(key): name for key, name in value.items()}
        value = [numbered.get(number) for number in range(len(value))]
    if not isinstance(value, (list, tuple)) or len(value) > MOST_CLASSES:
        return ()
    if not all(isinstance(name, (str, int, float)) for name in value):
        return ()
    return tuple(str(name).strip() or f"class {i}" for i, name in enumerate(value))


def is_background(name: str) -> bool:
    """Tell whether a class is what is left over."""
    return name.strip().lower() in _BACKGROUND


def named_classes(
    names: Iterable[str], colours: Mapping[int, str] | None = None
) -> tuple[ClassInfo, ...]:
    """Give names their ids and colours.

    Parameters
    ----------
    names : iterable of str
        By ascending id.
    colours : mapping of int to str, optional
        Colours by id, ``#rrggbb``; others are spread evenly.

    Returns
    -------
    tuple of ClassInfo
        One a name; the first is transparent where it is the background.
    """
    given = colours or {}
    return tuple(
        ClassInfo(number, name, given.get(number) or _colour(number, name))
        for number, name in enumerate(names)
    )


def _colour(number: int, name: str) -> str | None:
    """Return the colour of a class; 0 has one only when it is not the background."""
    if number == 0:
        return None if is_background(name) else default_class(MOST_CLASSES).colour
    return default_class(number).colour
