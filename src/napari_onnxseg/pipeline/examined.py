"""Check and mend a model wherever it lies: a file, a package, a name of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.save import known
from napari_onnxseg.cards.sources import Source, card_beside, locate
from napari_onnxseg.cards.write import as_json
from napari_onnxseg.errors import ModelError, ModelNotFoundError
from napari_onnxseg.graph.findings import Finding, Report, report
from napari_onnxseg.graph.mend import Choices, Mended
from napari_onnxseg.graph.subject import Wanted
from napari_onnxseg.runtime.compare import Comparison, mend_beside
from napari_onnxseg.runtime.verdict import judge

_SAID = frozenset({"user", "card", "package", "metadata"})
"""Origins of facts that a mended copy cannot find again by itself."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A model, and what its description says of its tensors."""

    source: Source
    card: ModelCard | None
    fault: str
    wanted: Wanted

    @property
    def packed(self) -> bool:
        """Whether the model lies in a package."""
        return self.source.path != self.source.given


def examine(model: str | Path, wanted: Wanted | None = None) -> Report:
    """Check a model with its description, and try it out on the processor.

    Parameters
    ----------
    model : str or Path
        An ``.onnx`` file, a package, or a name in the catalogue.
    wanted : Wanted, optional
        Layout and output, where neither graph nor description tell.

    Returns
    -------
    Report
        As of `judge`, of the file that was named; with a finding ``card`` or ``package``
        when the description cannot be used.

    Raises
    ------
    ModelError
        When there is no such model, or it is no ONNX model at all.
    """
    found = _found(model, wanted)
    judged = judge(found.source.path, found.wanted)
    fault = found.fault if judged.ok or not _of_graph(found) else ""
    return report(found.source.given, (*_faults(found, fault), *judged.findings))


def mend_model(
    model: str | Path, out: Path, choices: Choices | None = None, wanted: Wanted | None = None
) -> tuple[Mended, Comparison]:
    """Write a mended copy of a model, which brings the description along.

    Parameters
    ----------
    model : str or Path
        As for `examine`.
    out : Path
        The new ``.onnx`` file, which must not exist yet.
    choices : Choices, optional
        What to mend; a card in it is embedded in place of what is known of the model.
    wanted : Wanted, optional
        As for `examine`.

    Returns
    -------
    tuple of Mended and Comparison
        The copy, and how its answers differ.

    Raises
    ------
    ModelError
        When the original cannot be read, or the copy does not run.
    ChoiceError
        When something asked for cannot be proven right, or the new file exists.
    """
    found, asked = _found(model, wanted), choices or Choices()
    if found.card is not None and asked.card is None:
        asked = replace(asked, card=_carried(found.card, asked))
    return mend_beside(found.source.path, out, asked, found.wanted)


def _found(model: str | Path, wanted: Wanted | None) -> _Found:
    """Find the file, and read its description as far as it can be used."""
    source = _located(model)
    wanted = wanted or Wanted()
    try:
        beside, _ = card_beside(source)
        described = source.path != source.given or beside != Description()
        card = load_card(source.given) if described else None
    except ModelError as error:
        return _Found(source, None, str(error), wanted)
    if card is None:
        return _Found(source, None, "", wanted)
    layout = wanted.layout or card.input.layout
    return _Found(source, card, "", Wanted(layout, wanted.output or card.output.name))


def _located(model: str | Path) -> Source:
    """Return where a model lies; a name of the catalogue comes before a file called so."""
    try:
        return locate(str(model))
    except ModelNotFoundError:
        if not Path(model).exists():
            raise
        return locate(Path(model))


def _of_graph(found: _Found) -> bool:
    """Tell whether the fault may be that of the graph, which the check names better."""
    try:
        card_beside(found.source)
    except ModelError:
        return False
    return True


def _faults(found: _Found, fault: str) -> tuple[Finding, ...]:
    if not fault:
        return ()
    if found.packed:
        return (Finding("error", "package", fault, "A run of this package is refused."),)
    meaning = "A run is refused; correct the card, or take it away."
    return (Finding("error", "card", fault, meaning),)


def _carried(card: ModelCard, choices: Choices) -> Mapping[str, Any]:
    """Return what a mended copy has to know of the model it came from."""
    told = replace(known(card, _SAID), name="")
    if choices.activation is not None:
        told = replace(told, scores=None)
    if choices.keep:
        told = replace(told, others=tuple(h for h in told.others if h.output_name in choices.keep))
    return as_json(told)
