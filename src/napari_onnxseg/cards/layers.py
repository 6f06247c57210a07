"""Several sources that describe one model: the first that says a thing is believed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from napari_onnxseg.cards.card import Fact
from napari_onnxseg.cards.description import Description, TensorHints


def layered(*sources: Description) -> Description:
    """Put descriptions of one model on top of each other.

    Parameters
    ----------
    *sources : Description
        The most trustworthy first.

    Returns
    -------
    Description
        Each entry from the first source that says anything about it, and where that came
        from; the notes and the free entries of all. A refusal counts when no source above it
        tells a task.
    """
    said: dict[str, Any] = {}
    facts: dict[str, Fact] = {}
    for source in reversed(sources):
        for name in _ENTRIES:
            if value := getattr(source, name):
                said[name], facts[name] = value, source.fact(name)
        if source.tensors.input_layout:
            facts["input"] = source.fact("input")
    decisive = next((told for told in sources if told.task or told.refusal), None)
    return Description(
        tensors=_hints(sources),
        refusal=decisive.refusal if decisive else "",
        extra={key: text for source in reversed(sources) for key, text in source.extra.items()},
        notes=tuple(note for source in sources for note in source.notes),
        facts=facts,
        **said,
    )


_GATHERED = ("tensors", "extra", "refusal", "notes", "facts")
_ENTRIES = [f.name for f in fields(Description) if f.name not in _GATHERED]


def _hints(sources: tuple[Description, ...]) -> TensorHints:
    said: dict[str, Any] = {}
    for source in reversed(sources):
        said |= {f.name: v for f in fields(TensorHints) if (v := getattr(source.tensors, f.name))}
    return TensorHints(**said)
