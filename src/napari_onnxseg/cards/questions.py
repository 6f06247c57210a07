"""What only the user can tell of a model that nobody has described, and the likely answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from napari_onnxseg.cards.card import Fact, ModelCard
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.meaning import normalization_of
from napari_onnxseg.cards.rembg import IMAGENET
from napari_onnxseg.prepare.normalize import Normalization

Topic = Literal["normalization", "classes", "colour_order"]

TOPICS: dict[Topic, str] = {
    "normalization": "intensities",
    "classes": "names of classes",
    "colour_order": "order of colours",
}
"""What may be asked, at most, and what it is called."""


@dataclass(frozen=True, slots=True)
class Look:
    """One way in which a model may want its intensities.

    Parameters
    ----------
    name : str
        A word or two.
    normalization : Normalization
        What is done.
    words : str
        What the image looks like to the model then.
    """

    name: str
    normalization: Normalization
    words: str


UNIT = Look("0 to 1", Normalization("unit"), "Black is 0 and white is 1, in every image.")
SIGNED = Look(
    "−1 to 1", Normalization("symmetric"), "Black is −1, mid-grey 0 and white 1, in every image."
)
PHOTOS = Look(
    "ImageNet",
    IMAGENET,
    "Each colour is centred on that of photographs; usual with a backbone trained on ImageNet.",
)
FULL = Look(
    "full contrast",
    Normalization("min_max"),
    "The darkest pixel of the image goes to 0 and the brightest to 1.",
)
STRETCHED = Look(
    "stretched",
    Normalization("percentile", low=1.0, high=99.8, clip=True),
    "The darkest 1 % of the image go to 0 and the brightest 0.2 % to 1: faint images become "
    "bright.",
)
CENTRED = Look(
    "mean 0",
    Normalization("zero_mean_unit_variance"),
    "The mean of the image goes to 0 and its contrast to 1: dark and bright images look alike.",
)
STORED = Look("as stored", Normalization("none"), "The numbers of the file, such as 0 to 255.")


def questions(card: ModelCard) -> tuple[Topic, ...]:
    """Tell what to ask about a model.

    Parameters
    ----------
    card : ModelCard
        What is known.

    Returns
    -------
    tuple of str
        At most three; none for a model that somebody has described. The order of colours is
        only asked where intensities are not known either.
    """
    guessed = {name for name in TOPICS if card.facts.get(name) == "assumed"}
    if not card.classes:
        guessed.discard("classes")
    if card.input.channels != 3 or "normalization" not in guessed:
        guessed.discard("colour_order")
    return tuple(topic for topic in TOPICS if topic in guessed)


def looks(card: ModelCard) -> tuple[Look, ...]:
    """Return the likely ways to feed a model, the guess among them.

    Parameters
    ----------
    card : ModelCard
        What is known.

    Returns
    -------
    tuple of Look
        The most usual first.
    """
    third = PHOTOS if card.input.channels == 3 else FULL
    found = (UNIT, SIGNED, third, STRETCHED, CENTRED, STORED)
    if any(look.normalization == card.normalization for look in found):
        return found
    return Look("the guess", card.normalization, card.normalization.words()), *found


def guess_notes(card: ModelCard) -> tuple[str, ...]:
    """Return the notes of a card that speak of guessed intensities.

    Parameters
    ----------
    card : ModelCard
        What is known.

    Returns
    -------
    tuple of str
        As they stand among its notes.
    """
    guess = normalization_of(card.input, card.task, Description())
    return (guess.note,) if guess.note in card.notes else ()


def answered(card: ModelCard, stated: tuple[str, ...] = (), **answers: object) -> ModelCard:
    """Return a card with the user's answers.

    Parameters
    ----------
    card : ModelCard
        What is known.
    stated : tuple of str
        Names of the guesses that the user confirms.
    **answers
        Fields of the card, by topic.

    Returns
    -------
    ModelCard
        What differs from the guess, or is confirmed, is known from the user; the note on
        guessed intensities goes with the guess.
    """
    changed = {name for name, value in answers.items() if value != getattr(card, name)}
    facts: dict[str, Fact] = dict.fromkeys((*changed, *stated), "user")
    notes = card.notes
    if "normalization" in facts:
        notes = tuple(note for note in notes if note not in guess_notes(card))
    edited = replace(card, facts={**card.facts, **facts}, notes=notes)
    return replace(edited, **answers)  # type: ignore[arg-type]
