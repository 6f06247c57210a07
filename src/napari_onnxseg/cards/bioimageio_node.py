"""Entries of a bioimage.io description, each checked when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from napari_onnxseg.cards.values import as_number, shortened
from napari_onnxseg.errors import ModelError

LONGEST = 1 << 31
"""Pixels along an axis, at most."""


class Node:
    """An object of a description.

    Parameters
    ----------
    given : object
        What stands there.
    where : str
        Its place, such as ``"inputs.0"``; empty at the top.

    Raises
    ------
    ModelError
        When it is no object.
    """

    def __init__(self, given: Any, where: str = "") -> None:
        if not isinstance(given, Mapping):
            raise fault(where or "the description", given, "named entries are needed")
        self.given: Mapping[str, Any] = given
        self.where = where

    def place(self, key: str) -> str:
        """Return the place of an entry."""
        return f"{self.where}.{key}" if self.where else key

    def has(self, key: str) -> bool:
        """Tell whether something is said."""
        return self.given.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """Return a text; numbers and dates become one."""
        value = self.given.get(key)
        if value is None or isinstance(value, (Mapping, list, tuple, set)):
            return default
        return str(value).strip()

    def required(self, key: str) -> str:
        """Return a text that must be there."""
        found = self.text(key)
        if not found:
            raise fault(self.place(key), self.given.get(key), "a text is needed")
        return found

    def number(self, key: str) -> float | None:
        """Return a finite number, or None where nothing is said."""
        if not self.has(key):
            return None
        value = as_number(self.given[key])
        if value is None:
            raise fault(self.place(key), self.given[key], "a number is needed")
        return value

    def whole(self, key: str, least: int = 1) -> int | None:
        """Return a whole number, or None where nothing is said."""
        value = self.number(key)
        if value is not None and (value != int(value) or not least <= value <= LONGEST):
            raise fault(
                self.place(key), self.given[key], f"a whole number from {least} on is needed"
            )
        return None if value is None else int(value)

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return one number or a list of them; nothing where nothing is said."""
        if not self.has(key):
            return ()
        value = self.given[key]
        entries = value if isinstance(value, (list, tuple)) else [value]
        found = tuple(map(as_number, entries))
        if None in found or not found:
            raise fault(self.place(key), value, "numbers are needed")
        return tuple(number for number in found if number is not None)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; what else stands in it is left out."""
        value = self.given.get(key)
        entries = value if isinstance(value, (list, tuple)) else [value]
        return tuple(str(entry).strip() for entry in entries if isinstance(entry, (str, int)))

    def node(self, key: str) -> Node:
        """Return an object; an empty one where nothing is said."""
        return Node(self.given.get(key) or {}, self.place(key))

    def nodes(self, key: str) -> tuple[Node, ...]:
        """Return a list of objects; an empty one where nothing is said."""
        value = self.given.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise fault(self.place(key), value, "a list is needed")
        return tuple(Node(entry, f"{self.place(key)}.{i}") for i, entry in enumerate(value))

    def only(self, *keys: str) -> None:
        """Raise for an entry that is not among these."""
        unknown = sorted(str(key) for key in self.given if key not in keys)
        if unknown:
            raise ModelError(
                f"'{self.place(unknown[0])}' in the description of the model is not known, and "
                f"could change the result; known are {', '.join(keys) or 'no entries'}."
            )


def fault(where: str, value: Any, needed: str) -> ModelError:
    """Return the error for an entry that is not allowed."""
    shown = "missing" if value is None else shortened(repr(value), 60)
    return ModelError(f"'{where}' in the description of the model is {shown}; {needed}.")
