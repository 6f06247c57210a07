"""The command ``onnxseg``: its verbs, each of which imports its work only when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from napari_onnxseg.cli.asked import AddAsked, CheckAsked, MendAsked, with_record
from napari_onnxseg.cli.evaluate import EvaluateAsked
from napari_onnxseg.cli.faults import told
from napari_onnxseg.cli.files import CutOutFiles, Files
from napari_onnxseg.cli.options import OPTIONS, with_choices
from napari_onnxseg.cli.screen import show
from napari_onnxseg.pipeline.job import MatteJob, SegmentJob

app = typer.Typer(
    name="onnxseg",
    help="Run ONNX segmentation and background-removal models on images of any size.",
    epilog="Exit codes: 0 all done, 1 something failed, 2 wrong usage, 3 device refused,"
    " 130 cancelled.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
models = typer.Typer(help="The models that can be used by name.", no_args_is_help=True)
app.add_typer(models, name="models")

Model = Annotated[str, typer.Argument(help="Name in the list, or a model file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def _version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        show(f"onnxseg {version('napari-onnxseg')}")
        raise typer.Exit


@app.callback()
def _app(
    shown: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Run ONNX segmentation and background-removal models on images of any size."""


@app.command("segment")
@with_choices(SegmentJob, Files)
def _segment(files: Files, choices: Mapping[str, Any]) -> None:
    """Segment images into classes; writes one label image for each."""
    from napari_onnxseg.cli.segment import segment_files

    segment_files(files, choices)


@app.command("matte")
@with_choices(
    MatteJob,
    CutOutFiles,
    threshold=replace(OPTIONS["threshold"], help="Cut the alpha to 0 or 1 there; soft by default."),
    workers=replace(OPTIONS["workers"], help="Threads of the model."),
)
def _matte(files: CutOutFiles, choices: Mapping[str, Any]) -> None:
    """Cut the main subject out of images; writes one image with alpha for each."""
    from napari_onnxseg.cli.matte import matte_files

    matte_files(files, choices)


@models.command("list")
def _list(as_json: AsJson = False) -> None:
    """List the models that can be used by name."""
    from napari_onnxseg.cli.listing import list_all

    with told(as_json):
        list_all(as_json)


@models.command("show")
def _show(
    model: Model,
    as_json: AsJson = False,
) -> None:
    """Show everything a run knows about a model, and where each fact came from."""
    from napari_onnxseg.cli.showing import show_one

    with told(as_json):
        show_one(model, as_json)


@models.command("describe")
def _describe(
    model: Model,
    write: Annotated[
        bool, typer.Option("--write", help="Keep it beside the model, or in your folder.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write it to this file instead.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a card that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print a first card for a model, and say what nobody has stated."""
    from napari_onnxseg.cli.describing import describe_one

    with told(as_json):
        describe_one(model, out, write=write, force=force, as_json=as_json)


@models.command("edit")
def _edit(
    model: Model,
    changes: Annotated[
        list[str],
        typer.Argument(
            metavar="ENTRY=VALUE...",
            help="As in the card: classes.1.name=nucleus, input.colour_order=BGR, ...",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Change entries of the card of a model; an empty value takes an entry away."""
    from napari_onnxseg.cli.editing import edit_one

    with told(as_json):
        edit_one(model, changes, as_json)


@models.command("add")
@with_record(AddAsked)
def _add(asked: AddAsked) -> None:
    """Copy a model with its card and weights into your folder, so that it has a name."""
    from napari_onnxseg.cli.adding import add_one

    add_one(asked)


@models.command("download")
def _download(
    name: Annotated[str, typer.Argument(help="Name in the list.")],
    mirror: Annotated[
        str | None,
        typer.Option(help="Address of a folder with the published files.", metavar="URL"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    non_commercial: Annotated[
        bool,
        typer.Option("--non-commercial", help="Accept terms that forbid commercial use."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring a published model onto this computer; its size and terms are shown first."""
    from napari_onnxseg.cli.downloads import download_one

    with told(as_json):
        download_one(name, mirror, yes, non_commercial, as_json)


@models.command("remove")
def _remove(
    name: Annotated[str, typer.Argument(help="Name in the list.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be deleted, and delete nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a model of your own folder, with its cards and weights."""
    from napari_onnxseg.cli.downloads import remove_one

    with told(as_json):
        remove_one(name, yes, dry_run, as_json)


@models.command("check")
@with_record(CheckAsked)
def _check(asked: CheckAsked) -> None:
    """Say what is wrong with a model file, what it means, and how to export it again."""
    from napari_onnxseg.cli.checking import check_file

    check_file(asked)


@models.command("mend")
@with_record(MendAsked)
def _mend(asked: MendAsked) -> None:
    """Write a mended copy of a model file; what is not asked for is done where provable."""
    from napari_onnxseg.cli.mending import mend_file

    mend_file(asked)


@app.command("evaluate")
@with_record(EvaluateAsked)
def _evaluate(asked: EvaluateAsked) -> None:
    """Compare predicted labels with true ones, class by class or object by object."""
    from napari_onnxseg.cli.evaluating import evaluate_files

    evaluate_files(asked)


@models.command("test")
def _test(
    model: Model,
    device: Annotated[str, typer.Option(help="What to run on.")] = "auto",
    validate: Annotated[
        bool,
        typer.Option(
            "--validate", help="Hold its description against the whole specification first."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the test tensors that came with a model, and compare with what its author got."""
    from napari_onnxseg.cli.proving import prove_one

    with told(as_json):
        prove_one(model, device, validate, as_json)


@app.command("doctor")
def _doctor(as_json: AsJson = False) -> None:
    """Examine what this computer can run models on."""
    from napari_onnxseg.cli.doctor import examine_all

    with told(as_json):
        examine_all(as_json)
