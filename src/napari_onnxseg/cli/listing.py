"""``onnxseg models list``: what can be run by name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from napari_onnxseg.cards.catalog import ModelSummary, list_models, user_folder
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
        [(m.name, m.task, m.title, m.licence, _amount(m.size_bytes), m.source) for m in here],
    )
    absent = [m for m in found if m.source == "downloadable"]
    show("")
    show_table(
        ("can be downloaded", "title", "licence", "size"),
        [(m.name, m.title, _short(m.licence), _amount(m.size_bytes)) for m in absent],
    )
    say("", f"Put your own .onnx files, with or without a card, into {user_folder()}.")
    say("", "'onnxseg models download NAME' shows size and terms first.")


def _short(licence: str) -> str:
    """Return terms without their explanation, which the download shows."""
    return licence.partition(";")[0].partition(" (")[0]


def _amount(size_bytes: int | None) -> str:
    """Return a size for people."""
    if size_bytes is None:
        return ""
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1e5 else f"{size_bytes / 1e3:.1f} kB"


def _summary_json(summary: ModelSummary) -> dict[str, Any]:
    """Return one entry of the catalogue."""
    return {**asdict(summary), "path": str(summary.path)}
