"""Write a card as the JSON file of this project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import ClassInfo, Head, ModelCard
from napari_onnxseg.cards.description import Description, HeadHints, TensorHints
from napari_onnxseg.cards.native import FORMAT, parse_description

_NOTHING: tuple[Any, ...] = (None, "", [], {})


def described(card: ModelCard) -> Description:
    """Return everything on a card that its JSON form can say.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    Description
        The same facts, wherever they came from.
    """
    return Description(
        name=card.name,
        title=card.title,
        description=card.description,
        licence=card.licence,
        origin=card.origin,
        sha256=card.sha256,
        task=card.task,
        tensors=TensorHints(
            input_name=card.input.name,
            output_name=card.output.name,
            input_layout=card.input.layout,
            output_layout=card.output.layout,
            channels=card.input.channels,
        ),
        colour_order=card.colour_order,
        normalization=card.normalization,
        scores=card.scores,
        classes=card.classes,
        head_name=card.head_name,
        channels=card.channels,
        after=card.after,
        others=tuple(map(_hints, card.others)),
        objects=card.objects,
        sizing=card.sizing,
        pixel_size=card.pixel_size,
        suggested=card.suggested,
    )


def as_json(told: Description) -> dict[str, Any]:
    """Return a description in the form of a card, format 1.

    Parameters
    ----------
    told : Description
        What is known; what a card has no entry for is left out.

    Returns
    -------
    dict of str to object
        JSON that reads back the same, without entries that say nothing.

    Raises
    ------
    ModelError
        When something in it cannot stand on a card.
    """
    content = _card(told)
    parse_description(content)
    return content


def write_card(card: ModelCard, path: Path) -> None:
    """Write a card as JSON, format 1.

    Parameters
    ----------
    card : ModelCard
        The model.
    path : Path
        The JSON file, replaced.

    Raises
    ------
    ModelError
        When something in it cannot stand on a card.
    """
    path.write_text(as_text(as_json(described(card))), encoding="utf-8")


def as_text(content: Mapping[str, Any]) -> str:
    """Return the content of a card as it is written to a file.

    Parameters
    ----------
    content : mapping
        JSON.

    Returns
    -------
    str
        Indented, with a final newline.
    """
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def class_json(entry: ClassInfo) -> dict[str, Any]:
    """Return a class as it stands on a card."""
    return asdict(entry)


def _card(told: Description) -> dict[str, Any]:
    texts = ("name", "title", "description", "task", "licence", "origin", "sha256")
    return {
        "format": FORMAT,
        **_some({key: getattr(told, key) for key in texts}),
        **_some({"input": _input(told), **_meaning(told)}),
        **_some(
            {
                "pixel_size": _pixel_size(told.pixel_size),
                "suggested": _plain(told.suggested),
                "metrics": dict(told.metrics),
            }
        ),
    }


def _input(told: Description) -> dict[str, Any]:
    return _some(
        {
            "name": told.tensors.input_name,
            "layout": told.tensors.input_layout,
            "channels": told.tensors.channels,
            "colour_order": told.colour_order,
            "normalization": told.normalization.to_json() if told.normalization else None,
            "sizing": _plain(told.sizing),
        }
    )


def _meaning(told: Description) -> dict[str, Any]:
    """Return what is said of the output, or of all where there are several."""
    main = HeadHints(
        output_name=told.tensors.output_name,
        name=told.head_name,
        layout=told.tensors.output_layout,
        scores=told.scores,
        classes=told.classes,
        channels=told.channels,
        objects=told.objects,
        after=told.after,
    )
    if told.others:
        return {"outputs": [{**_output(head), **_classes(head)} for head in (main, *told.others)]}
    return {"output": _output(main), **_classes(main)}


def _output(head: HeadHints) -> dict[str, Any]:
    return _some(
        {
            "name": head.output_name,
            "title": head.name,
            "task": head.task,
            "layout": head.layout,
            "scores": head.scores,
            "channels": list(head.channels),
            "after": [step.to_json() for step in head.after],
        }
    )


def _classes(head: HeadHints) -> dict[str, Any]:
    return _some({"classes": list(map(class_json, head.classes)), "objects": _plain(head.objects)})


def _hints(head: Head) -> HeadHints:
    return HeadHints(
        output_name=head.output.name,
        name=head.name if head.name != head.output.name else "",
        task=head.task,
        layout=head.output.layout,
        scores=head.scores,
        classes=head.classes,
        channels=head.channels,
        objects=head.objects,
        after=head.after,
    )


def _pixel_size(given: tuple[float, str] | None) -> dict[str, Any] | None:
    return {"value": given[0], "unit": given[1]} if given else None


def _plain(record: Any) -> dict[str, Any] | None:
    """Return a record as JSON, without what is not set."""
    if record is None:
        return None
    entries = {key: _plain_value(value) for key, value in asdict(record).items()}
    return {key: value for key, value in entries.items() if value is not None}


def _plain_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _some(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the entries that say nothing."""
    return {key: value for key, value in entries.items() if value not in _NOTHING}
