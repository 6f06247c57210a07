"""What a run assumes of a model, and which options state it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.save import GUESSES
from napari_onnxseg.cli.screen import say, typed

RUN_OPTIONS: Mapping[str, str] = {
    "normalization": "--normalization",
    "colour_order": "--colour-order",
}
"""The option of a run that states each fact."""


def guess_words(card: ModelCard, options: Mapping[str, str], given: Iterable[str] = ()) -> str:
    """Say which facts are guessed, as what, and which option states each.

    Parameters
    ----------
    card : ModelCard
        The model.
    options : mapping of str to str
        Options by fact.
    given : iterable of str
        Facts that were stated for this run.

    Returns
    -------
    str
        A sentence; nothing where nothing is guessed.
    """
    values = _values(card)
    guessed = [
        f"{values[name]} ({option})"
        for name, option in options.items()
        if values.get(name) and name not in given and card.facts.get(name) in GUESSES
    ]
    return f"Nobody has stated, and guessed is: {', '.join(guessed)}." if guessed else ""


def tell_guesses(card: ModelCard, given: Iterable[str], silent: bool) -> None:
    """Say on standard error what a run guesses and how to state it.

    Parameters
    ----------
    card : ModelCard
        The model.
    given : iterable of str
        Choices of the user.
    silent : bool
        Say nothing.
    """
    words = guess_words(card, RUN_OPTIONS, given)
    if words and not silent:
        always = f"For all runs: 'onnxseg models describe {typed(card.path)}'."
        say("[yellow]note[/yellow] ", f"{words} {always}")


def _values(card: ModelCard) -> dict[str, str]:
    """Return in words what each fact is, where it matters."""
    coloured = card.input.channels in (3, 4, None)
    names = ", ".join(entry.name for entry in card.classes)
    return {
        "task": f"task {card.task}",
        "normalization": f"intensities {card.normalization.words()}",
        "colour_order": f"colours as {card.colour_order}" if coloured else "",
        "classes": f"classes {names}" if names else "",
    }
