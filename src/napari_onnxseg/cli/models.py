"""``onnxseg models``: what can be run by name, and everything known about one model."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

from napari_onnxseg.cards.card import (
    ClassInfo,
    ModelCard,
    ObjectRule,
    Sizing,
    Suggested,
    TensorSpec,
)
from napari_onnxseg.cards.catalog import ModelSummary, list_models, user_folder
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.values import shortened
from napari_onnxseg.cli.screen import print_json, say, show, show_table


def list_all(as_json: bool) -> None:
    """Print the models of the catalogue.

    Parameters
    ----------
    as_json : bool
        As one JSON object instead of a table.
    """
    found = list_models(downloadable=True)
    if as_json:
        print_json({"models": [_summary_json(summary) for summary in found]})
        return
    here = [m for m in found if m.source != "downloadable"]
    show_table(
        ("name", "task", "title", "licence", "size", "from"),
        [(m.name, m.task, m.title, m.licence, _megabytes(m.size_bytes), m.source) for m in here],
    )
    absent = [m for m in found if m.source == "downloadable"]
    show("")
    show_table(
        ("can be downloaded", "title", "licence", "size"),
        [(m.name, m.title, _short(m.licence), _megabytes(m.size_bytes)) for m in absent],
    )
    say("", f"Put your own .onnx files, with or without a card, into {user_folder()}.")
    say("", "'onnxseg models download NAME' shows size and terms first.")


def show_one(model: str, as_json: bool) -> None:
    """Print everything a run knows about a model, and where each fact came from.

    Parameters
    ----------
    model : str
        Name in the catalogue, or an ``.onnx`` file.
    as_json : bool
        As one JSON object instead of a table.
    """
    card = load_card(model)
    if as_json:
        print_json(card_json(card))
        return
    facts = {**card.facts}
    rows = [(name, text, facts.get(name, "")) for name, text in card_lines(card).items() if text]
    show_table(("", "", "from"), rows)
    for note in card.notes:
        say("[yellow]note[/yellow] ", note)


def card_json(card: ModelCard) -> dict[str, Any]:
    """Return a card in JSON-able form.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    dict of str to object
        Every field by its name.
    """
    geometry = asdict(card.geometry)
    return {
        **{name: value for name, value in asdict(card).items() if name != "facts"},
        "path": str(card.path),
        "geometry": {**geometry, "ratio": [str(r) for r in card.geometry.ratio]},
        "normalization": card.normalization.to_json(),
        "facts": dict(card.facts),
    }


def card_lines(card: ModelCard) -> dict[str, str]:
    """Return a card as lines for people.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    dict of str to str
        Texts by name; empty where there is nothing to say.
    """
    geometry = card.geometry
    return {
        "name": card.name,
        "title": card.title,
        "description": card.description,
        "task": card.task,
        "file": str(card.path),
        "sha256": card.sha256,
        "licence": card.licence,
        "origin": card.origin,
        "input": _tensor_words(card.input),
        "output": _tensor_words(card.output),
        "scores": card.scores,
        "normalization": card.normalization.words(),
        "colour_order": card.colour_order,
        "sizing": _sizing_words(card.sizing),
        "classes": ", ".join(map(_class_words, card.classes)),
        "objects": _object_words(card.objects),
        "pixel_size": f"{card.pixel_size[0]:g} {card.pixel_size[1]}" if card.pixel_size else "",
        "suggested": _suggested_words(card.suggested),
        "multiple": _px(geometry.multiple),
        "halo": _px(geometry.halo) if geometry.exact else "",
        "receptive radius": _px(geometry.radius) if geometry.exact else "",
        "output per input": " x ".join(map(str, geometry.ratio)) if _scaled(card) else "",
        "exact tiles": "yes" if geometry.exact else "no: " + "; ".join(geometry.breakers),
        **{f"in the file: {key}": shortened(text, 120) for key, text in card.extra.items()},
    }


def _short(licence: str) -> str:
    """Return terms without their explanation, which the download shows."""
    return licence.partition(";")[0].partition(" (")[0]


def _megabytes(size_bytes: int | None) -> str:
    """Return a size for people."""
    return "" if size_bytes is None else f"{size_bytes / 1e6:.1f} MB"


def _summary_json(summary: ModelSummary) -> dict[str, Any]:
    """Return one entry of the catalogue."""
    return {**asdict(summary), "path": str(summary.path)}


def _tensor_words(tensor: TensorSpec) -> str:
    """Return name, dtype and axes of a tensor."""
    sides = " x ".join("any" if side is None else str(side) for side in tensor.sides)
    channels = "any" if tensor.channels is None else str(tensor.channels)
    batch = "" if tensor.batch is None else f", batch of {tensor.batch}"
    return f"{tensor.name}: {tensor.dtype} {tensor.layout}, {channels} channels, {sides} px{batch}"


def _sizing_words(sizing: Sizing | None) -> str:
    """Return what a whole picture is brought to."""
    if sizing is None:
        return ""
    shape = "shorter side, aspect kept" if sizing.keep_aspect else "square"
    return f"{sizing.side_px} px {shape}, multiples of {sizing.multiple} px"


def _class_words(info: ClassInfo) -> str:
    """Return a class as ``1 nucleus #33bb88``."""
    return f"{info.id} {info.name}" + (f" {info.colour}" if info.colour else "")


def _object_words(rule: ObjectRule | None) -> str:
    """Return how objects are separated."""
    if rule is None:
        return ""
    return (
        f"{rule.method}: P(inside) above {rule.seed_threshold:g} seeds,"
        f" foreground above {rule.foreground_threshold:g}, at least {rule.min_area_px} px"
    )


def _suggested_words(suggested: Suggested | None) -> str:
    """Return what the author runs a model with."""
    if suggested is None:
        return ""
    tile = f"tile {_px(suggested.tile)}" if suggested.tile else ""
    halo = f"halo {_px(suggested.halo)}" if suggested.halo else ""
    cut = f"threshold {suggested.threshold:g}" if suggested.threshold else ""
    return ", ".join(text for text in (tile, halo, cut) if text)


def _px(sides: tuple[int, ...]) -> str:
    """Return pixels per axis, once when all are equal."""
    return (str(sides[0]) if len(set(sides)) == 1 else " x ".join(map(str, sides))) + " px"


def _scaled(card: ModelCard) -> bool:
    """Tell whether the output has another size than the input."""
    return any(ratio != Fraction(1) for ratio in card.geometry.ratio)
