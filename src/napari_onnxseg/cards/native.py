"""The card of this project: a JSON file beside the model, format 1.

The form is published as ``card.schema.json`` in the folder of the bundled models.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from napari_onnxseg.cards.card import Layout, ObjectRule, ScoreKind, Task
from napari_onnxseg.cards.description import Description, HeadHints, TensorHints
from napari_onnxseg.cards.native_parts import (
    classes_of,
    normalization_of,
    objects_of,
    pixel_size_of,
    sizing_of,
    steps_of,
    suggested_of,
)
from napari_onnxseg.cards.section import Section, section, shown
from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.channels import ColourOrder
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.steps import Step

FORMAT = 1

MOST_BYTES = 16 << 20
"""Size of a card that is read."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "": (
        *("$schema", "format", "name", "title", "description", "task", "licence", "origin"),
        *("sha256", "input", "output", "outputs", "classes", "objects", "pixel_size"),
        *("suggested", "metrics"),
    ),
    "input": ("name", "layout", "channels", "colour_order", "normalization", "sizing"),
    "normalization": tuple(field.name for field in fields(Normalization)),
    "sizing": ("side_px", "keep_aspect", "multiple"),
    "output": ("name", "title", "layout", "scores", "channels", "after"),
    "outputs": (
        *("name", "title", "task", "layout", "scores", "channels", "after", "classes"),
        "objects",
    ),
    "classes": ("id", "name", "colour"),
    "objects": tuple(field.name for field in fields(ObjectRule)),
    "pixel_size": ("value", "unit"),
    "suggested": ("tile", "halo", "threshold"),
    "step": tuple(field.name for field in fields(Step)),
}
"""Entries of each object of a card."""

_INSTEAD = ("output", "classes", "objects")
"""What `outputs` says in place of the card itself."""

_SEVERAL = tuple(task for task in get_args(Task) if task != "matting")
"""What a further output may be."""

_TEXTS = ("name", "title", "description", "licence", "origin", "sha256")


def is_card(path: Path) -> bool:
    """Tell whether a file claims to be a card: an object with a ``format``, or broken JSON of one.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bool
        False for other JSON and for what cannot be read.
    """
    text = ""
    try:
        text = _text_of(path)
        content = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return text.lstrip().startswith("{") and '"format"' in text
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
        return parse_text(_text_of(path))
    except _NoJsonError as error:
        raise ModelError(f"'{path}' is not valid JSON ({error}); correct or remove it.") from None
    except ModelError as error:
        raise ModelError(f"The card '{path}' cannot be used: {error}") from None
    except OSError as fault:
        raise ModelError(f"The card '{path}' cannot be read ({fault.strerror}).") from None


def parse_text(text: str) -> Description:
    """Read the text of a card.

    Parameters
    ----------
    text : str
        JSON.

    Returns
    -------
    Description
        The entries, checked.

    Raises
    ------
    ModelError
        When it is no JSON, or naming the entry that is unknown or not allowed.
    """
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except ModelError:
        raise
    except ValueError as error:
        raise _NoJsonError(str(error)) from None
    except RecursionError:
        raise _NoJsonError("its brackets are nested too deeply") from None
    return parse_description(content)


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
    _refuse_misplaced(content)
    card = section(content, "", KEYS[""])
    _check_format(card)
    card.text("$schema")
    tensors = card.section("input", KEYS["input"])
    texts: dict[str, Any] = {key: card.text(key) for key in _TEXTS}
    first, *others = _outputs(card)
    _check_writable(content)
    return Description(
        **texts,
        task=first.task,
        tensors=TensorHints(
            input_name=tensors.text("name"),
            output_name=first.output_name,
            input_layout=tensors.choice("layout", get_args(Layout)),
            output_layout=first.layout,
            channels=tensors.whole("channels"),
        ),
        colour_order=tensors.choice("colour_order", get_args(ColourOrder)),
        normalization=normalization_of(tensors, KEYS["normalization"]),
        scores=first.scores,
        classes=first.classes,
        head_name=first.name,
        channels=first.channels,
        after=first.after,
        others=tuple(others),
        objects=first.objects,
        sizing=sizing_of(tensors, KEYS["sizing"]),
        pixel_size=pixel_size_of(card, KEYS["pixel_size"]),
        suggested=suggested_of(card, KEYS["suggested"]),
        metrics=card.free("metrics"),
    )


class _NoJsonError(ModelError):
    """The text is no JSON at all."""


def _text_of(path: Path) -> str:
    """Return the text of a file of the size of a card."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise _NoJsonError(f"it holds more than {MOST_BYTES >> 20} MB")
    return content.decode("utf-8-sig")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, unless a name stands in it twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(f"'{shown(twice, quoted=False)}' stands twice in one object; keep one.")
    return content


def _no_number(word: str) -> None:
    raise ModelError(f"It holds {word}, which is no number; allowed are finite numbers.")


def _refuse_misplaced(content: Any) -> None:
    """Raise for an entry that stands on the card itself and belongs into one of its objects."""
    for key in content if isinstance(content, dict) else ():
        for owner in ("input", "output"):
            if key not in KEYS[""] and key in KEYS[owner]:
                raise ModelError(f"'{key}' is an entry of '{owner}'; write '{owner}.{key}'.")


def _check_writable(content: Any) -> None:
    """Raise for what Python reads from JSON and no JSON file can hold."""
    try:
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ModelError("It holds half a character; allowed are whole ones.") from None
    except (ValueError, RecursionError):
        raise ModelError("It holds a number that is not finite; allowed are others.") from None


def _check_format(card: Section) -> None:
    given = card.given.get("format")
    if isinstance(given, bool) or given != FORMAT:
        raise ModelError(f"Its 'format' is {shown(given)}; this version reads {FORMAT}.")
    if card.text("sha256") and not _is_sha256(card.text("sha256")):
        raise card.refuse("sha256", "a text of 64 hexadecimal digits")


def _is_sha256(text: str) -> bool:
    return len(text) == 64 and not set(text.lower()) - set("0123456789abcdef")


def _outputs(card: Section) -> list[HeadHints]:
    """Return what is said of each output, at least of one."""
    task = card.choice("task", get_args(Task))
    if not card.has("outputs"):
        result = card.section("output", KEYS["output"])
        return [_output(result, task, card)]
    if twice := next((key for key in _INSTEAD if card.has(key)), None):
        raise ModelError(
            f"'outputs' describes each output, and '{twice}' beside it one of them; "
            f"move '{twice}' into 'outputs'."
        )
    entries = card.sections("outputs", KEYS["outputs"])
    if not entries:
        raise card.refuse("outputs", "a list with an entry for each output")
    return _several(entries, task)


def _several(entries: tuple[Section, ...], task: Task | None) -> list[HeadHints]:
    """Return what is said of several outputs; the task of the card is that of the first."""
    own: Task | None = entries[0].choice("task", get_args(Task))
    if task and own and task != own:
        raise ModelError(f"'task' is {shown(task)} and 'outputs.0.task' {shown(own)}; keep one.")
    heads = [_output(entries[0], own or task, entries[0])]
    heads += [_output(entry, entry.choice("task", _SEVERAL), entry) for entry in entries[1:]]
    for entry in entries:
        if not entry.text("name"):
            raise ModelError(
                f"'{entry.name('name')}' is missing; write the name of the tensor there."
            )
    names = [head.output_name for head in heads]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ModelError(f"'outputs' names the tensor '{twice}' twice; describe it once.")
    return heads


def _output(result: Section, task: Task | None, meaning: Section) -> HeadHints:
    """Return what is said of one output; classes and objects stand in ``meaning``."""
    return HeadHints(
        output_name=result.text("name"),
        name=result.text("title"),
        task=task,
        layout=result.choice("layout", get_args(Layout)),
        scores=result.choice("scores", get_args(ScoreKind)),
        classes=classes_of(meaning, KEYS["classes"]),
        channels=result.texts("channels"),
        objects=objects_of(meaning, KEYS["objects"]),
        after=steps_of(result, "after", KEYS["step"]),
    )
