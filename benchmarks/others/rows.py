"""One line of the comparison: a model file, read by us and by the tool it was made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import OnnxSegError

Image = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Gap:
    """How far two results are apart.

    Parameters
    ----------
    what : str
        Which habit is out of the way, after all those of the steps before.
    differing, compared : int
        Values that differ at all, of how many.
    largest, mean : float
        Differences in the unit of the result.
    unit : str
        Another unit than that of the row.
    """

    what: str
    differing: int
    compared: int
    largest: float
    mean: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A model beside the tool it was made for.

    Parameters
    ----------
    format, example : str
        What is read, and where the example comes from.
    tool : str
        What gives the other result, with its version.
    image : str
        The picture.
    opens : bool
        Whether our reader takes it.
    facts : int
        Facts of the card that were compared with what the example says.
    wrong : mapping
        Those that differ: expected and found.
    unit : str
        What is compared: ``"labels"``, ``"alpha levels of 255"``, ``"values"``.
    gaps : tuple of Gap
        As both come, then with one habit after another out of the way.
    words : str
        Why they differ, or what is to know.
    """

    format: str
    example: str
    tool: str
    image: str
    opens: bool
    facts: int = 0
    wrong: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "labels"
    gaps: tuple[Gap, ...] = ()
    words: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the row in JSON-able form."""
        return asdict(self)


def gap(what: str, ours: Image, theirs: Image, unit: str = "") -> Gap:
    """Compare two results value by value."""
    if ours.shape != theirs.shape:
        raise ValueError(f"{what}: ours is {ours.shape}, theirs {theirs.shape}")
    apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    return Gap(
        what,
        int(np.count_nonzero(apart)),
        apart.size,
        float(f"{apart.max(initial=0):.4g}"),
        float(f"{apart.mean():.4g}"),
        unit,
    )


def opened(model: Path, expected: Mapping[str, Any]) -> tuple[ModelCard | None, dict[str, Any]]:
    """Read a card and compare its facts: the card, and what opens, was compared, is wrong."""
    try:
        card = load_card(model)
    except OnnxSegError as fault:
        return None, {"opens": False, "words": str(fault)}
    found = {name: _FACTS[name](card) for name in expected}
    wrong = {
        name: {"expected": repr(value), "found": repr(found[name])}
        for name, value in expected.items()
        if found[name] != value
    }
    return card, {"opens": True, "facts": len(expected), "wrong": wrong}


_FACTS: Mapping[str, Callable[[ModelCard], Any]] = {
    "task": lambda card: card.task,
    "scores": lambda card: card.scores,
    "layout": lambda card: card.input.layout,
    "channels": lambda card: card.input.channels,
    "colour order": lambda card: card.colour_order,
    "classes": lambda card: [entry.name for entry in card.classes],
    "colours": lambda card: [entry.colour for entry in card.classes],
    "intensities": lambda card: card.normalization,
    "tile": lambda card: card.suggested.tile if card.suggested else None,
    "halo": lambda card: card.suggested.halo if card.suggested else None,
    "threshold": lambda card: card.suggested.threshold if card.suggested else None,
    "side": lambda card: card.sizing.side_px if card.sizing else None,
    "pixel size": lambda card: card.pixel_size,
    "title": lambda card: card.title,
    "heads": lambda card: [head.name for head in card.heads],
    "after": lambda card: [step.name for step in card.after],
}
"""What of a card is compared, as plain values."""
