"""``onnxseg doctor``: what this computer can run models on."""

from __future__ import annotations

import typer

from napari_onnxseg.cli.faults import ExitCode
from napari_onnxseg.cli.screen import print_json, show_table
from napari_onnxseg.runtime.doctor import examine


def examine_all(as_json: bool) -> None:
    """Print what was examined, and exit with 1 when something does not work.

    Parameters
    ----------
    as_json : bool
        As one JSON object instead of a table.

    Raises
    ------
    typer.Exit
        Always, with the exit code.
    """
    report = examine()
    if as_json:
        print_json(report.to_json())
    else:
        show_table(("", "", ""), [(line.status, line.name, line.text) for line in report.lines])
    raise typer.Exit(ExitCode.DONE if report.ok else ExitCode.FAILED)
