"""``onnxseg models check``: what is wrong with a file, and what it means for the picture."""

from __future__ import annotations

from pathlib import Path

import typer

from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.sources import Source, card_beside
from napari_onnxseg.cli.asked import CheckAsked
from napari_onnxseg.cli.faults import ExitCode
from napari_onnxseg.cli.screen import print_json, show
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.findings import Finding, Report, report
from napari_onnxseg.graph.subject import Wanted
from napari_onnxseg.runtime.verdict import judge


def check_file(asked: CheckAsked) -> None:
    """Print all findings, and exit with 1 when one is an error.

    Parameters
    ----------
    asked : CheckAsked
        The file, and how to tell.

    Raises
    ------
    typer.Exit
        Always, with the exit code.
    """
    found = _with_card(judge(asked.model, Wanted(asked.layout, asked.output)))
    if asked.as_json:
        print_json(found.to_json())
    else:
        show("\n\n".join(finding_text(one, asked.brief) for one in found.findings))
        show(f"\n{found.verdict}.")
    raise typer.Exit(ExitCode.DONE if found.ok else ExitCode.FAILED)


def _with_card(found: Report) -> Report:
    """Add what is wrong with the card beside the file."""
    fault = _card_fault(found.path.absolute(), found.ok)
    if not fault:
        return found
    meaning = "A run is refused; correct the card, or take it away."
    return report(found.path, (Finding("error", "card", fault, meaning), *found.findings))


def _card_fault(path: Path, sound: bool) -> str:
    """Return why the card cannot be used, alone or with its file when that is sound."""
    try:
        card, _ = card_beside(Source(path, path))
        if sound and card != Description():
            load_card(path)
    except ModelError as error:
        return str(error)
    return ""


def finding_text(finding: Finding, brief: bool) -> str:
    """Return a finding as lines: what, what it means, how to do without.

    Parameters
    ----------
    finding : Finding
        What was found.
    brief : bool
        Leave out how to export again.

    Returns
    -------
    str
        Lines without a final newline.
    """
    lines = [f"{finding.severity.upper()} {finding.code}: {finding.title}", finding.meaning]
    if finding.mendable and finding.severity != "info":
        lines.append("onnxseg models mend can write a copy without it.")
    if finding.export and finding.severity != "info" and not brief:
        lines += ["To export again:", *finding.export.splitlines()]
    return "\n    ".join(lines)
