"""``onnxseg models check``: what is wrong with a file, and what it means for the picture."""

from __future__ import annotations

import typer

from napari_onnxseg.cli.asked import CheckAsked
from napari_onnxseg.cli.faults import ExitCode
from napari_onnxseg.cli.screen import print_json, show
from napari_onnxseg.graph.findings import Finding
from napari_onnxseg.graph.subject import Wanted
from napari_onnxseg.pipeline.examined import examine


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
    found = examine(asked.model, Wanted(asked.layout, asked.output))
    if asked.as_json:
        print_json(found.to_json())
    else:
        show("\n\n".join(finding_text(one, asked.brief) for one in found.findings))
        show(f"\n{found.verdict}.")
    raise typer.Exit(ExitCode.DONE if found.ok else ExitCode.FAILED)


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
