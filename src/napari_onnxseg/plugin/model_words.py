"""Everything known about a model, as rows for people, each with where it is known from."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from napari_onnxseg.cards.card import ClassInfo, Head, ModelCard
from napari_onnxseg.cards.catalog import ModelSummary
from napari_onnxseg.cards.offers import Offer
from napari_onnxseg.cards.save import GUESSES
from napari_onnxseg.cards.words import (
    DOES,
    ORIGINS,
    SCORES,
    after_words,
    head_words,
    object_words,
    pixel_words,
    sizing_words,
    suggested_words,
    tensor_words,
    tiles_words,
)

TASKS = {"semantic": "Segment", "matting": "Cut out", "image": "Image"}
"""What a task is called, in a word."""

PLACES = {"bundled": "bundled", "user": "mine", "downloadable": "to download"}
"""Where a model of the catalogue is, in a word."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing about a model.

    Parameters
    ----------
    label : str
        What it is.
    text : str
        What it is here, as HTML.
    origin : str
        Where that is known from, for people; empty where it goes without saying.
    guess : bool
        Whether nobody has stated it.
    """

    label: str
    text: str
    origin: str = ""
    guess: bool = False


def card_rows(card: ModelCard) -> list[Row]:
    """Describe a model that has been read.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    list of Row
        Without those that have nothing to say.
    """
    colours = card.colour_order if card.input.channels in (3, 4) else ""
    rows = (
        _fact(card, "task", "Task", DOES[card.task]),
        _row("Classes", _classes(card), _origin(card, "classes") if card.classes else ""),
        _fact(card, "normalization", "Intensities", _sentence(card.normalization.words())),
        _fact(card, "colour_order", "Colours", colours),
        _fact(card, "scores", "Gives", _sentence(SCORES[card.scores])),
        _fact(card, "channels", "Channels", ", ".join(card.channels)),
        _fact(card, "after", "Then", _sentence(after_words(card.heads[0]))),
        _fact(card, "objects", "Objects", _sentence(object_words(card.objects))),
        *(_row("Also gives", escape(_head(head))) for head in card.others),
        _fact(card, "sizing", "Brought to", sizing_words(card.sizing)),
        _fact(card, "pixel_size", "Pixels", pixel_words(card.pixel_size)),
        _fact(card, "suggested", "Suggested", _sentence(suggested_words(card.suggested))),
        _fact(card, "input", "Input", _sentence(tensor_words(card.input))),
        _fact(card, "output", "Output", _sentence(tensor_words(card.output))),
        _fact(card, "geometry", "Tiles", tiles_words(card)),
        _row("Memory", f"about {card.geometry.bytes_per_px:,.0f} bytes a pixel at work"),
        _row("Licence", escape(card.licence or "not stated")),
        _row("Made by", escape(card.origin)),
        _row("File", escape(str(card.path))),
        _row("SHA-256", card.sha256[:16] + "…"),
    )
    return [row for row in rows if row.text]


def offer_rows(offer: Offer, kept_in: str) -> list[Row]:
    """Describe a published model that is not on this computer yet.

    Parameters
    ----------
    offer : Offer
        The model.
    kept_in : str
        Folder it would go to.

    Returns
    -------
    list of Row
        What is known before the download.
    """
    forbidden = "No commercial use. " if offer.non_commercial else ""
    return [
        Row("Task", DOES[offer.task]),
        Row("Size", megabytes(offer.size_bytes) or "not known before the download"),
        Row("Licence", escape(forbidden + offer.licence)),
        Row("Made by", escape(offer.origin)),
        Row("From", escape(offer.url)),
        Row("Kept in", escape(kept_in)),
    ]


def summary_line(summary: ModelSummary, loaded: tuple[str, ...]) -> str:
    """Describe an entry of the catalogue in a line.

    Parameters
    ----------
    summary : ModelSummary
        The entry.
    loaded : tuple of str
        Devices on which it is loaded.

    Returns
    -------
    str
        Such as ``"Segment · bundled · BSD-3-Clause · loaded on CPU"``.
    """
    licence = summary.licence.partition(";")[0].partition(" (")[0] or "licence not stated"
    state = (f"loaded on {', '.join(loaded)}",) if loaded else ()
    return " · ".join((TASKS[summary.task], PLACES[summary.source], *state, licence))


def megabytes(size_bytes: int | None) -> str:
    """Write a size.

    Parameters
    ----------
    size_bytes : int or None
        Bytes.

    Returns
    -------
    str
        Such as ``"4.1 MB"`` or ``"176 MB"``; empty for None.
    """
    if size_bytes is None:
        return ""
    if size_bytes < 1e5:
        return f"{size_bytes / 1e3:.1f} kB"
    size = size_bytes / 1e6
    return f"{size:.1f} MB" if size < 10 else f"{size:,.0f} MB"


def _row(label: str, text: str, origin: str = "") -> Row:
    return Row(label, text, ORIGINS.get(origin, origin), origin in GUESSES)


def _fact(card: ModelCard, name: str, label: str, text: str) -> Row:
    return _row(label, escape(text), _origin(card, name))


def _origin(card: ModelCard, name: str) -> str:
    return str(card.facts.get(name, ""))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _head(head: Head) -> str:
    return f"{head.name}: {head_words(head)}"


def _classes(card: ModelCard) -> str:
    """Return the classes with chips of their colours, as HTML."""
    return " &nbsp; ".join(_class(entry) for entry in card.classes)


def _class(entry: ClassInfo) -> str:
    chip = f"<span style='color: {entry.colour}'>■</span>" if entry.colour else "□"
    return f"<span style='white-space: nowrap'>{chip}&nbsp;{escape(entry.name)}</span>"
