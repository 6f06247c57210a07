"""Entries of a card, each checked when it is read; faults name entry, value and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import Any

from napari_onnxseg.errors import ModelError

LONGEST_VALUE = 60
"""Characters of a wrong value that are shown."""

OBJECT = "an object with named entries"
"""What an object is called."""

MOST = 1 << 31
"""Whole numbers stay below it."""


@dataclass(frozen=True, slots=True)
class Section:
    """An object of a card; ``null`` stands for an entry that is not there.

    Parameters
    ----------
    given : mapping
        Its entries.
    place : str
        Where it stands in the card, such as ``"input.sizing"``; empty for the card itself.
    """

    given: Mapping[str, Any]
    place: str = ""

    def name(self, key: str) -> str:
        """Return where an entry stands."""
        return f"{self.place}.{key}" if self.place else key

    def has(self, key: str) -> bool:
        """Tell whether an entry is there."""
        return self.given.get(key) is not None

    def text(self, key: str) -> str:
        """Return a text; nothing where there is none."""
        found: str = self._checked(key, "", _is(str), "a text")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(self._checked(key, [], _are_texts, "a list of texts"))

    def choice(self, key: str, allowed: tuple[str, ...]) -> Any:
        """Return one of several words, or None."""
        words = f"allowed are {', '.join(allowed)}"
        return self._checked(key, None, lambda value: value in allowed, words)

    def flag(self, key: str) -> bool | None:
        """Return true or false, or None."""
        found: bool | None = self._checked(key, None, _is(bool), "true or false")
        return found

    def whole(self, key: str, least: int = 1, most: int = MOST - 1) -> int | None:
        """Return a whole number from ``least`` to ``most``, or None."""
        words = f"a whole number from {least}" + (f" to {most}" if most < MOST - 1 else "")
        found: int | None = self._checked(
            key, None, lambda value: type(value) is int and least <= value <= most, words
        )
        return found

    def number(self, key: str, fits: Callable[[float], bool], words: str) -> float | None:
        """Return a finite number that fits, or None."""
        found: float | None = self._checked(
            key, None, lambda value: is_number(value) and fits(value), words
        )
        return found

    def listed(self, key: str) -> list[Any]:
        """Return a list of anything; an empty one where there is none."""
        found: list[Any] = self._checked(key, [], _is(list), "a list")
        return found

    def free(self, key: str) -> dict[str, Any]:
        """Return an object with entries of any name."""
        found: dict[str, Any] = self._checked(key, {}, _is(dict), OBJECT)
        return found

    def section(self, key: str, allowed: Iterable[str]) -> Section:
        """Return an object whose entries all are allowed; an empty one where there is none."""
        return section(self.given.get(key), self.name(key), allowed)

    def sections(self, key: str, allowed: Iterable[str]) -> tuple[Section, ...]:
        """Return a list of such objects."""
        return tuple(
            section({} if entry is None else entry, f"{self.name(key)}.{number}", allowed)
            for number, entry in enumerate(self.listed(key))
        )

    def require(self, *keys: str) -> None:
        """Raise unless these entries are there."""
        for key in keys:
            if not self.has(key):
                raise ModelError(f"'{self.name(key)}' is missing; '{self.place}' needs it.")

    def refuse(self, key: str, words: str) -> ModelError:
        """Return the fault of an entry that is not what ``words`` allow."""
        return wrong(self.name(key), self.given.get(key), words)

    def _checked(self, key: str, absent: Any, fits: Callable[[Any], bool], words: str) -> Any:
        """Return an entry that fits, or what stands for none."""
        value = self.given.get(key)
        if value is None:
            return absent
        if not fits(value):
            raise self.refuse(key, words)
        return value


def section(content: Any, place: str, allowed: Iterable[str]) -> Section:
    """Return an object whose entries all are allowed.

    Parameters
    ----------
    content : object
        What the JSON holds there; None for nothing.
    place : str
        Where it stands; empty for the card itself.
    allowed : iterable of str
        Names of its entries.

    Returns
    -------
    Section
        Empty for None.

    Raises
    ------
    ModelError
        When it is no object, or naming the first unknown entry and the nearest allowed one.
    """
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise wrong(place or "card", content, OBJECT)
    names = list(allowed)
    unknown = next((key for key in content if key not in names), None)
    if unknown is None:
        return Section(content, place)
    near = get_close_matches(unknown.lower(), names, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    raise ModelError(
        f"'{shown(unknown, quoted=False)}' is not an entry of '{place or 'card'}'{hint}; "
        f"allowed are {', '.join(names)}."
    )


def wrong(place: str, value: Any, words: str) -> ModelError:
    """Return the fault of an entry.

    Parameters
    ----------
    place : str
        Where it stands.
    value : object
        What was found.
    words : str
        What is allowed, with or without the words "allowed are".

    Returns
    -------
    ModelError
        To be raised.
    """
    words = words if words.startswith("allowed") else f"allowed is {words}"
    return ModelError(f"'{place}' is {shown(value)}; {words}.")


def shown(value: Any, *, quoted: bool = True) -> str:
    """Return a value as it would stand in the file, shortened.

    Parameters
    ----------
    value : object
        Anything that JSON can hold.
    quoted : bool
        Whether a text stands in quotes.

    Returns
    -------
    str
        One line.
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()  # halves of pairs cannot be printed
    text = text if quoted or not isinstance(value, str) else text[1:-1]
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return isfinite(value)
    except OverflowError:
        return False


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
