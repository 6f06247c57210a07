"""Parts of a native card, read from JSON into the records that a run uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_args, get_type_hints

from napari_onnxseg.cards.card import ClassInfo, ObjectRule, Sizing, Suggested
from napari_onnxseg.cards.section import Section, is_number, wrong
from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.step_values import LISTS
from napari_onnxseg.prepare.steps import Op, Step

T = TypeVar("T")

MOST_CLASS = (1 << 16) - 1
"""Highest class id."""

_PART = (lambda value: 0 <= value <= 1, "a number from 0 to 1")
_INSIDE = (lambda value: 0 < value < 1, "a number above 0 and below 1")
_PERCENTILE = (lambda value: 0 <= value <= 100, "a number from 0 to 100")
_FINITE = (lambda value: True, "a finite number")
_POSITIVE = (lambda value: value > 0, "a number above 0")


def normalization_of(tensors: Section, allowed: Iterable[str]) -> Normalization | None:
    """Read ``input.normalization``.

    Parameters
    ----------
    tensors : Section
        ``input``.
    allowed : iterable of str
        Names of its entries.

    Returns
    -------
    Normalization or None
        None where nothing is said.

    Raises
    ------
    ModelError
        Naming the entry that is unknown or not allowed.
    """
    if not tensors.has("normalization"):
        return None
    entries = tensors.section("normalization", allowed)
    entries.require("method")
    entries.text("method")
    for key in ("scale", "low", "high", "eps"):
        entries.number(key, *_FINITE)
    for key in ("mean", "std"):
        _check_numbers(entries, key)
    return _made(entries, lambda: Normalization.from_json(_said(entries)))


def steps_of(owner: Section, key: str, allowed: Iterable[str]) -> tuple[Step, ...]:
    """Read a chain of operations.

    Parameters
    ----------
    owner : Section
        The object that holds it.
    key : str
        Its name there.
    allowed : iterable of str
        Entries of an operation.

    Returns
    -------
    tuple of Step
        In order; empty where nothing is said.

    Raises
    ------
    ModelError
        Naming the entry that is unknown or not allowed.
    """
    return tuple(_step(entry) for entry in owner.sections(key, allowed))


def sizing_of(tensors: Section, allowed: Iterable[str]) -> Sizing | None:
    """Read ``input.sizing``; parameters and errors as for `normalization_of`."""
    if not tensors.has("sizing"):
        return None
    entries = tensors.section("sizing", allowed)
    entries.require("side_px")
    return Sizing(
        entries.whole("side_px") or 1,
        entries.flag("keep_aspect") or False,
        entries.whole("multiple") or 1,
    )


def classes_of(owner: Section, allowed: Iterable[str]) -> tuple[ClassInfo, ...]:
    """Read ``classes``, by ascending id; parameters and errors as for `normalization_of`."""
    found = [_class(entry) for entry in owner.sections("classes", allowed)]
    numbers = [entry.id for entry in found]
    twice = [number for number in numbers if numbers.count(number) > 1]
    if twice:
        raise ModelError(
            f"'{owner.name('classes')}' names the id {twice[0]} twice; give each class its own."
        )
    return tuple(sorted(found, key=lambda entry: entry.id))


def objects_of(owner: Section, allowed: Iterable[str]) -> ObjectRule | None:
    """Read ``objects``; parameters and errors as for `normalization_of`."""
    if not owner.has("objects"):
        return None
    entries = owner.section("objects", allowed)
    entries.require("method")
    for key in ("method", "landscape"):
        entries.choice(key, get_args(get_type_hints(ObjectRule)[key]))
    for key, least in (("inside", 0), ("border", 0), ("min_area_px", 0)):
        entries.whole(key, least)
    for key in ("foreground_threshold", "seed_threshold"):
        entries.number(key, *_PART)
    return ObjectRule(**_said(entries))


def pixel_size_of(card: Section, allowed: Iterable[str]) -> tuple[float, str] | None:
    """Read ``pixel_size``; parameters and errors as for `normalization_of`."""
    if not card.has("pixel_size"):
        return None
    entries = card.section("pixel_size", allowed)
    entries.require("value", "unit")
    if not entries.text("unit").strip():
        raise entries.refuse("unit", 'a unit of length, such as "µm"')
    return float(entries.number("value", *_POSITIVE) or 0), entries.text("unit")


def suggested_of(card: Section, allowed: Iterable[str]) -> Suggested | None:
    """Read ``suggested``; parameters and errors as for `normalization_of`."""
    entries = card.section("suggested", allowed)
    found = Suggested(
        tile=_sides(entries, "tile", 1),
        halo=_sides(entries, "halo", 0),
        threshold=entries.number("threshold", *_INSIDE),
    )
    return found if found != Suggested() else None


def _class(entry: Section) -> ClassInfo:
    entry.require("id")
    number = entry.whole("id", 0, MOST_CLASS) or 0
    colour = entry.given.get("colour")
    if colour is not None and not re.fullmatch("#[0-9a-fA-F]{6}", str(colour)):
        raise entry.refuse("colour", '"#rrggbb", or null for a transparent class')
    return ClassInfo(number, entry.text("name") or f"class {number}", colour)


def _step(entry: Section) -> Step:
    """Read one operation."""
    entry.require("op")
    entry.choice("op", get_args(Op))
    for key in LISTS:
        _check_numbers(entry, key)
    for key in ("low_percentile", "high_percentile"):
        entry.number(key, *_PERCENTILE)
    return _made(entry, lambda: Step.from_json(_said(entry)))


def _check_numbers(entries: Section, key: str) -> None:
    """Refuse what is neither a number nor a list of numbers."""
    value = entries.given.get(key)
    many = value if isinstance(value, list) else [value]
    if value is not None and not (many and all(map(is_number, many))):
        raise entries.refuse(key, "a number, or a list with one for each channel")


def _sides(entries: Section, key: str, least: int) -> tuple[int, ...] | None:
    """Return pixels per axis; one number counts for rows and columns."""
    value = entries.given.get(key)
    if value is None:
        return None
    sides = value if isinstance(value, list) else [value, value]
    if len(sides) not in (2, 3) or not all(type(s) is int and least <= s < 1 << 31 for s in sides):
        words = f"a whole number of pixels from {least}, or a list of 2 or 3 (rows, columns)"
        raise entries.refuse(key, words)
    return tuple(sides)


def _said(entries: Section) -> dict[str, Any]:
    """Return the entries that are not null."""
    return {key: value for key, value in entries.given.items() if value is not None}


def _made(entries: Section, make: Callable[[], T]) -> T:
    """Make a record of checked entries; whatever it refuses is a fault of the card."""
    try:
        return make()
    except ModelError as error:
        raise ModelError(f"'{entries.place}': {error}") from None
    except (TypeError, ValueError, OverflowError):
        raise wrong(entries.place, dict(entries.given), "what docs/models.md lists") from None
