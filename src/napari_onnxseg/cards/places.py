"""Find and change values inside the JSON of a card by their place, such as ``classes.1.name``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from napari_onnxseg.cards.section import shown
from napari_onnxseg.errors import ModelError


def value_at(content: Any, place: str) -> Any:
    """Return the value at a place.

    Parameters
    ----------
    content : object
        JSON.
    place : str
        Names and numbers, parted by dots.

    Returns
    -------
    object
        None where there is nothing.
    """
    for key in place.split("."):
        if isinstance(content, list):
            found = _index(content, key)
            content = content[found] if found is not None and found < len(content) else None
        else:
            content = content.get(key) if isinstance(content, Mapping) else None
    return content


def put(content: dict[str, Any], place: str, value: Any) -> None:
    """Set the value at a place, or take it away.

    Parameters
    ----------
    content : dict
        JSON, changed.
    place : str
        Names and numbers, parted by dots; what is missing on the way is made.
    value : object
        JSON; None takes the value away.

    Raises
    ------
    ModelError
        When there cannot be such a place.
    """
    *way, last = place.split(".")
    owner: Any = content
    for depth, key in enumerate(way):
        inside = _inside(owner, key, ".".join(way[: depth + 1]))
        if inside is None:
            inside = _empty(way[: depth + 1])
            _set(owner, key, inside, place)
        owner = inside
    _set(owner, last, value, place)


def _empty(way: list[str]) -> Any:
    """Return what is made at the end of a way where nothing is."""
    if way[-1] in ("classes", "outputs", "after", "steps", "channels"):
        return []
    numbered = way[-2:-1] == ["classes"] and way[-1].isdecimal()
    return {"id": int(way[-1])} if numbered else {}


def _inside(owner: Any, key: str, place: str) -> Any:
    """Return what lies on the way, which must have room for more."""
    found = value_at(owner, key)
    if found is not None and not isinstance(found, (dict, list)):
        raise ModelError(f"'{place}' is {shown(found)}, which has no entries inside.")
    return found


def _set(owner: Any, key: str, value: Any, place: str) -> None:
    if isinstance(owner, dict):
        owner.pop(key, None)
        owner |= {} if value is None else {key: value}
        return
    first = not owner and isinstance(value, dict) and "id" in value
    index = 0 if first else _index(owner, key)
    if index is None or index > len(owner):
        names = ", ".join(_names(owner)) or "none"
        raise ModelError(f"There is no '{place}'; there are {names}.")
    if value is None:
        del owner[index : index + 1]
    elif index == len(owner):
        owner.append(value)
    else:
        owner[index] = value


def _index(owner: list[Any], key: str) -> int | None:
    """Return the number of an entry: a class by its id, an output by number or name."""
    entries = [entry if isinstance(entry, dict) else {} for entry in owner]
    if owner and all("id" in entry for entry in entries):
        found = [i for i, entry in enumerate(entries) if str(entry["id"]) == key]
        return found[0] if found else (len(owner) if key.isdecimal() else None)
    if key.isdecimal():
        return int(key)
    named = (i for i, entry in enumerate(entries) if key in (entry.get("name"), entry.get("title")))
    return next(named, None)


def _names(owner: list[Any]) -> list[str]:
    """Return what the entries of a list are found by."""
    return [
        str(entry.get("id", number)) if isinstance(entry, dict) else str(number)
        for number, entry in enumerate(owner)
    ]
