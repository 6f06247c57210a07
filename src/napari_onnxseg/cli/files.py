"""What ``segment`` and ``matte`` ask about files, as records that Typer reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from napari_onnxseg.pipeline.folder_job import DEFAULT_NAME, FORMATS, FolderJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Images in, results out, and how to tell about it.

    Parameters
    ----------
    inputs : list of Path
        Images and folders of images.
    out : Path
        A file for one image, a folder otherwise.
    format, pattern, name, at_once, resume, overwrite, summary : object
        As for `FolderJob`.
    plan : bool
        Say what would be done, and do nothing.
    as_json : bool
        Print one JSON object instead of lines.

    Raises
    ------
    ChoiceError
        When a choice on files is outside what is allowed.
    """

    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT...",
            help="Images, or folders of images with their sub-folders.",
            show_default=False,
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
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="GLOB",
            help="Which files of folders are taken, such as '*.tif' or 'plate1/*.tif'.",
            show_default=False,
        ),
    ] = None
    name: Annotated[
        str,
        typer.Option(
            "--name",
            help="How results are called: {stem}, {name}, {parent}, {model}, {index}, {suffix}.",
        ),
    ] = DEFAULT_NAME
    at_once: Annotated[
        int | None,
        typer.Option(
            "--at-once",
            metavar="N",
            help="Images worked on at once; half of the cores by default.",
            show_default=False,
        ),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what an earlier run has finished.")
    ] = False
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Make everything anew, also what is there.")
    ] = False
    summary: Annotated[
        Path | None,
        typer.Option(
            "--summary",
            metavar="FILE",
            help="A .csv or .json file with one row an image, written as the run goes.",
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
        self.job()

    def job(self) -> FolderJob:
        """Return the choices on files as the pipeline takes them.

        Returns
        -------
        FolderJob
            Checked.
        """
        return FolderJob(
            self.inputs, self.out, self.pattern, self.name, self.format, self.at_once,
            self.resume, self.overwrite, self.summary,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOutFiles(Files):
    """The same, with what only cut-outs have.

    Parameters
    ----------
    inputs, out, format, pattern, name, at_once, resume, overwrite, summary : object
        As for `Files`.
    plan, as_json : bool
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

    def job(self) -> FolderJob:
        """Return the choices on files as the pipeline takes them.

        Returns
        -------
        FolderJob
            Checked.
        """
        # A slotted dataclass is made anew, so that super() without arguments does not find it.
        return replace(Files.job(self), compression=self.compression)
