"""What ``segment`` and ``matte`` ask about files, as records that Typer reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from napari_onnxseg.cli.places import FORMATS
from napari_onnxseg.errors import ChoiceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Images in, results out, and how to tell about it.

    Parameters
    ----------
    inputs : list of Path
        Images and folders of images.
    out : Path
        A file for one image, a folder otherwise.
    format : str or None
        Format of results in a folder.
    plan : bool
        Say what would be done, and do nothing.
    as_json : bool
        Print one JSON object instead of lines.

    Raises
    ------
    ChoiceError
        When the format is unknown.
    """

    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT...", help="Images, or folders of images.", show_default=False
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="A .png, .tif or .npy file for one image; a folder otherwise.",
            show_default=False,
        ),
    ]
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"Format of results in a folder: {', '.join(FORMATS)}; by default as the image.",
            show_default=False,
        ),
    ] = None
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would be done, and do nothing.")
    ] = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ChoiceError(f"'{self.format}' is not a format; use {', '.join(FORMATS)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOutFiles(Files):
    """The same, with what only cut-outs have.

    Parameters
    ----------
    inputs, out, format, plan, as_json : object
        As for `Files`.
    compression : int
        Level of PNG compression, 0 to 9.

    Raises
    ------
    ChoiceError
        When the level lies outside 0 to 9.
    """

    compression: Annotated[
        int, typer.Option("--compression", help="PNG compression, 0 (fast) to 9 (small).")
    ] = 6

    def __post_init__(self) -> None:
        # A slotted dataclass is made anew, so that super() without arguments does not find it.
        Files.__post_init__(self)
        if not 0 <= self.compression <= 9:
            raise ChoiceError(f"The compression must lie between 0 and 9, got {self.compression}.")
