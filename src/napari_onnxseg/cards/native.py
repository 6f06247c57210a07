"""The card of this project: a JSON file beside the model, format 1."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from napari_onnxseg.cards.card import (
    ClassInfo,
    Layout,
    ObjectRule,
    ScoreKind,
    Sizing,
    Task,
)
from napari_onnxseg.cards.description import Description, TensorHints
from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.channels import ColourOrder
from napari_onnxseg.prepare.normalize import Normalization

FORMAT = 1

_KEYS = {
    "card": "format name title description task licence origin sha256 input output classes "
    "objects metrics",
    "input": "name layout channels colour_order normalization sizing",
    "sizing": "side_px keep_aspect multiple",
    "output": "name layout scores",
    "classes": "id name colour",
    "objects": "method inside border foreground_threshold seed_threshold min_area_px landscape",
}


def is_card(path: Path) -> bool:
    """Tell whether a JSON file claims to be a card: an object with a ``format``.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bool
        False for other JSON and for what cannot be read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "format" in content


def read_description(path: Path) -> Description:
    """Read a card.

    Parameters
    ----------
    path : Path
        The JSON file.

    Returns
    -------
    Description
        Its content, checked.

    Raises
    ------
    ModelError
        Naming the file and the entry that is unknown or not allowed.
    """
    try:
        return parse_description(json.loads(path.read_text(encoding="utf-8-sig")))
    except ModelError as error:
        raise ModelError(f"The card '{path}' cannot be used: {error}") from None
    except ValueError as error:
        raise ModelError(f"'{path}' is not valid JSON ({error}); correct or remove it.") from None


def parse_description(content: Any) -> Description:
    """Read the content of a card.

    Parameters
    ----------
    content : object
        What the JSON holds.

    Returns
    -------
    Description
        The entries, checked.

    Raises
    ------
    ModelError
        Naming the entry that is unknown or not allowed.
    """
    given = _section(content, "card")
    if given.get("format") != FORMAT:
        raise ModelError(f"Its format is {given.get('format')!r}; this version reads {FORMAT}.")
    tensors = _section(given.get("input"), "input")
    result = _section(given.get("output"), "output")
    words = ("name", "title", "description", "licence", "origin", "sha256")
    texts: dict[str, Any] = {key: _text(given, key) for key in words}
    return Description(
        **texts,
        task=_choice(given, "task", get_args(Task)),
        tensors=TensorHints(
            input_name=_text(tensors, "name"),
            output_name=_text(result, "name"),
            input_layout=_choice(tensors, "layout", get_args(Layout)),
            output_layout=_choice(result, "layout", get_args(Layout)),
            channels=_count(tensors, "channels"),
        ),
        colour_order=_choice(tensors, "colour_order", get_args(ColourOrder)),
        normalization=_normalization(tensors.get("normalization")),
        scores=_choice(result, "scores", get_args(ScoreKind)),
        classes=_classes(given.get("classes")),
        objects=_rule(given.get("objects")),
        sizing=_sizing(tensors.get("sizing")),
        metrics=given.get("metrics") or {},
    )


def _section(content: Any, name: str) -> dict[str, Any]:
    """Return an object whose keys are all known; an empty one for nothing."""
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise ModelError(f"'{name}' must be an object with named entries, got {content!r}.")
    allowed = _KEYS[name].split()
    unknown = sorted(set(content) - set(allowed))
    if unknown:
        raise ModelError(
            f"'{unknown[0]}' is not an entry of '{name}'; allowed are {', '.join(allowed)}."
        )
    return content


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key) or ""
    if not isinstance(value, str):
        raise ModelError(f"'{key}' must be text, got {value!r}.")
    return value


def _choice(given: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> Any:
    value = given.get(key)
    if value is not None and value not in allowed:
        raise ModelError(f"'{key}' is {value!r}; allowed are {', '.join(allowed)}.")
    return value


def _count(given: Mapping[str, Any], key: str) -> int | None:
    value = given.get(key)
    if value is not None and (type(value) is not int or value < 1):
        raise ModelError(f"'{key}' must be a whole number above 0, got {value!r}.")
    return value


def _normalization(given: Any) -> Normalization | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise ModelError(f"'normalization' must be an object with named entries, got {given!r}.")
    return Normalization.from_json(given)


def _sizing(given: Any) -> Sizing | None:
    entries = _section(given, "sizing")
    kept = entries.get("keep_aspect", False)
    if entries and (_count(entries, "side_px") is None or kept not in (True, False)):
        raise ModelError(
            f"'sizing' needs 'side_px' and a 'keep_aspect' that is true or false, got {given!r}."
        )
    return Sizing(entries["side_px"], kept, _count(entries, "multiple") or 1) if entries else None


def _classes(given: Any) -> tuple[ClassInfo, ...]:
    given = [] if given is None else given
    if not isinstance(given, list):
        raise ModelError(f"'classes' must be a list, got {given!r}.")
    found = [_class(_section(entry, "classes")) for entry in given]
    if len({entry.id for entry in found}) < len(found):
        raise ModelError("'classes' names an id twice; each class needs its own.")
    return tuple(sorted(found, key=lambda entry: entry.id))


def _class(given: Mapping[str, Any]) -> ClassInfo:
    number = given.get("id")
    if type(number) is not int or not 0 <= number < 1 << 16:
        raise ModelError(f"The 'id' of a class must be from 0 to 65535, got {number!r}.")
    return ClassInfo(number, _text(given, "name") or f"class {number}", _colour(given, number))


def _colour(given: Mapping[str, Any], number: int) -> str | None:
    value = given.get("colour")
    if value is not None and not re.fullmatch("#[0-9a-fA-F]{6}", str(value)):
        raise ModelError(
            f"The 'colour' of class {number} is {value!r}; write it as #rrggbb, or null for a "
            "transparent class."
        )
    return value


def _rule(given: Any) -> ObjectRule | None:
    if given is None:
        return None
    entries = _section(given, "objects")
    for key, value in entries.items():
        allowed, words = _OBJECT_VALUES[key]
        if not allowed(value):
            raise ModelError(f"'{key}' of 'objects' is {value!r}; allowed are {words}.")
    if "method" not in entries:
        raise ModelError("'objects' names no method; allowed are components, watershed.")
    return ObjectRule(**entries)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_part(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 <= value <= 1


_OBJECT_VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "method": (lambda value: value in ("components", "watershed"), "components, watershed"),
    "inside": (_is_count, "whole numbers from 0"),
    "border": (lambda value: value is None or _is_count(value), "whole numbers from 0, or null"),
    "foreground_threshold": (_is_part, "numbers from 0 to 1"),
    "seed_threshold": (_is_part, "numbers from 0 to 1"),
    "min_area_px": (_is_count, "whole numbers from 0"),
    "landscape": (lambda value: value in ("score", "distance"), "score, distance"),
}
"""What each entry of ``objects`` may be."""
