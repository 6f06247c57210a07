"""``onnxseg models test``: whether a model gives here what its author got."""

from __future__ import annotations

import typer

from napari_onnxseg.cards.bioimageio_zoo import validated
from napari_onnxseg.cards.sources import locate
from napari_onnxseg.cli.faults import ExitCode
from napari_onnxseg.cli.screen import print_json, say, show
from napari_onnxseg.pipeline.proof import prove


def prove_one(model: str, device: str, validate: bool, as_json: bool) -> None:
    """Run the test tensors of a package, and exit with 1 when a result differs.

    Parameters
    ----------
    model : str
        Name in the list, or a package.
    device : str
        What to run on.
    validate : bool
        Hold the description against the whole specification first.
    as_json : bool
        Print one JSON object instead of lines.

    Raises
    ------
    typer.Exit
        Always, with the exit code.
    """
    faults = validated(locate(model).given) if validate else ()
    proof = prove(model, device)
    if as_json:
        print_json({**proof.to_json(), "faults": list(faults)})
    else:
        for fault in faults:
            say("[red]not valid[/red] ", fault)
        for output in proof.outputs:
            say("[green]ok[/green] " if output.ok else "[red]differs[/red] ", output.words())
        for note in proof.notes:
            say("[yellow]note[/yellow] ", note)
        verdict = "gives what its author got" if proof.ok else "does not give what its author got"
        show(f"'{proof.model}' {verdict} (on {proof.device}).")
    raise typer.Exit(ExitCode.DONE if proof.ok and not faults else ExitCode.FAILED)
