"""Write a card as the JSON file of this project."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.native import FORMAT


def write_card(card: ModelCard, path: Path) -> None:
    """Write a card as JSON, format 1.

    Parameters
    ----------
    card : ModelCard
        The model.
    path : Path
        The JSON file, replaced.
    """
    content = {
        "format": FORMAT,
        "name": card.name,
        "title": card.title,
        "description": card.description,
        "task": card.task,
        "licence": card.licence,
        "origin": card.origin,
        "sha256": card.sha256,
        "input": {
            "name": card.input.name,
            "layout": card.input.layout,
            "channels": card.input.channels,
            "colour_order": card.colour_order,
            "normalization": card.normalization.to_json(),
            "sizing": asdict(card.sizing) if card.sizing else None,
        },
        "output": {
            "name": card.output.name,
            "layout": card.output.layout,
            "scores": card.scores,
        },
        "classes": [asdict(entry) for entry in card.classes],
        "objects": asdict(card.objects) if card.objects else None,
    }
    text = json.dumps(content, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
