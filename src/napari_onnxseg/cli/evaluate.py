"""What ``onnxseg evaluate`` asks, as a record that Typer reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from napari_onnxseg.cli.asked import AsJson


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateAsked:
    """Predictions and truth to compare, and how to tell about it.

    Parameters
    ----------
    prediction, truth : Path
        Two label images, or two folders of them with the same names.
    names, model : str
        Names of the classes: written out, or those of a model; or nothing.
    truth_ids : str
        Other ids of the truth, or nothing.
    ignore : list of int
        Labels of the truth that say nothing.
    scale : str
        World units per pixel; the file says by default.
    tolerance : float or None
        World units within which outlines count as met.
    foreground : bool
        Take everything that is not 0 for one class.
    objects : bool
        The images hold numbers of objects.
    csv, difference : Path or None
        Files to write.
    as_json : bool
        Print one JSON object instead of tables.
    """

    prediction: Annotated[
        Path,
        typer.Argument(metavar="PRED", help="Label image, or a folder.", show_default=False),
    ]
    truth: Annotated[
        Path,
        typer.Argument(
            metavar="TRUTH",
            help="Label image, or a folder with the same names.",
            show_default=False,
        ),
    ]
    names: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Names of the classes from 0 on; or 1=nucleus,5=debris.",
            show_default=False,
        ),
    ] = ""
    model: Annotated[
        str, typer.Option("--model", "-m", help="Take the names of this model.", show_default=False)
    ] = ""
    truth_ids: Annotated[
        str,
        typer.Option(
            metavar="OLD=NEW,...",
            help="Give classes of the truth other ids first: 0=1,1=2,5=255.",
            show_default=False,
        ),
    ] = ""
    ignore: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", help="Label of the truth that says nothing; may be repeated."),
    ] = None
    scale: Annotated[
        str,
        typer.Option(
            metavar="NUMBER,NUMBER,...",
            help="World units per pixel, one for all axes or one each; the file says by default.",
            show_default=False,
        ),
    ] = ""
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="World units within which outlines count as met; two pixels by default.",
            show_default=False,
        ),
    ] = None
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Take everything that is not 0 for one class.")
    ] = False
    objects: Annotated[
        bool, typer.Option("--objects", help="The images hold numbers of objects, not classes.")
    ] = False
    csv: Annotated[Path | None, typer.Option("--csv", help="Write all figures to this file.")] = (
        None
    )
    difference: Annotated[
        Path | None,
        typer.Option(
            "--difference",
            help="Write where they differ (1 missed, 2 false, 3 wrong): a .png, .tif or .npy"
            " file, or a folder for several images.",
        ),
    ] = None
    as_json: AsJson = False
