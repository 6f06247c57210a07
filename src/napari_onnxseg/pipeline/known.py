"""What is known of a model, a trial run included where its graph leaves something open."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from threading import Lock

from napari_onnxseg.cards.card import ModelCard, TensorSpec
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.meaning import classes_of
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import CancelledError, OnnxSegError
from napari_onnxseg.graph.last import ends_unbounded
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.runtime.probing import Probing, Seen

REMEMBERED = 64
"""Trial runs whose outcome is kept in memory."""

Key = tuple[str, TensorSpec, TensorSpec]
_seen: OrderedDict[Key, Seen | None] = OrderedDict()
_lock = Lock()


def known_model(model: str | Path, *, cancel: Cancel | None = None) -> ModelCard:
    """Describe a model, and try it out once where its graph does not tell what it gives.

    Most graphs tell; then nothing is run. What a trial showed is remembered by content.

    Parameters
    ----------
    model : str or Path
        As for `load_card`.
    cancel : Cancel, optional
        Ends the trial.

    Returns
    -------
    ModelCard
        Facts that come from the trial say ``"probe"``.

    Raises
    ------
    ModelNotFoundError, ModelError
        As `load_card` raises them.
    CancelledError
        When ``cancel`` was set.
    """
    card = load_card(model)
    return card if not is_open(card) else _tried(card, cancel or Cancel())


def is_open(card: ModelCard) -> bool:
    """Tell whether only a run can show what a model gives.

    Parameters
    ----------
    card : ModelCard
        From `load_card`.

    Returns
    -------
    bool
        True where the number of classes is not known, or where nobody says what the scores
        are and the last operator may have brought them to 0..1. A single plane behind a
        convolution may have been trained towards 0 and 1, and is tried as well.
    """
    if card.task == "image":
        return False
    if "C" in card.output.layout and card.output.channels is None:
        return True
    if card.scores != "logits" or card.facts.get("scores") != "graph":
        return False
    several = (card.output.channels or 1) > 1
    return not (several and ends_unbounded(card.path, card.output.name))


def _tried(card: ModelCard, cancel: Cancel) -> ModelCard:
    """Add what a trial run shows; one that fails is noted."""
    try:
        seen = _remembered(card, cancel)
    except CancelledError:
        raise
    except OnnxSegError as error:
        return replace(card, notes=(*card.notes, f"A trial run failed: {error}"))
    return card if seen is None else _with(card, seen)


def _remembered(card: ModelCard, cancel: Cancel) -> Seen | None:
    """Return the outcome of the first trial of this content."""
    key = (card.sha256, card.input, card.output)
    with _lock:
        if key in _seen:
            _seen.move_to_end(key)
            return _seen[key]
    probing = Probing(card)
    with cancel.calling(probing.stop):
        cancel.check()
        found = probing.run()
    with _lock:
        _seen[key] = found
        if len(_seen) > REMEMBERED:
            _seen.popitem(last=False)
    return found


def _with(card: ModelCard, seen: Seen) -> ModelCard:
    """Put what was seen on the card, where nobody has said otherwise."""
    facts = dict(card.facts)
    scores, output, classes = card.scores, card.output, card.classes
    if seen.kind and facts.get("scores") == "graph" and scores == "logits":
        scores, facts["scores"] = seen.kind, "probe"
    if "C" in output.layout and output.channels is None and seen.channels:
        output, facts["output"] = replace(output, channels=seen.channels), "probe"
        if facts.get("classes") == "assumed" and scores != "labels":
            classes = classes_of(max(seen.channels, 2), card.task, Description()).value
    notes = (*card.notes, seen.note) if seen.note else card.notes
    return replace(card, scores=scores, output=output, classes=classes, facts=facts, notes=notes)
