"""``onnxseg models download`` and ``remove``: published models, brought and taken away."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from napari_onnxseg.cards.belongings import belongings, remove
from napari_onnxseg.cards.catalog import user_folder
from napari_onnxseg.cards.download import Transfer, address, download
from napari_onnxseg.cards.offers import offer
from napari_onnxseg.cards.pins import read_pin
from napari_onnxseg.cli.screen import errors, print_json, say, show
from napari_onnxseg.errors import CancelledError, ChoiceError


def download_one(
    name: str, mirror: str | None, yes: bool, non_commercial: bool, as_json: bool
) -> None:
    """Show the terms of a published model, ask, and bring it into the user's folder.

    Parameters
    ----------
    name : str
        Its name.
    mirror : str or None
        Address of a folder with the published files.
    yes : bool
        Do not ask.
    non_commercial : bool
        Terms that forbid commercial use are accepted.
    as_json : bool
        Print one JSON object instead of a sentence.
    """
    offered = offer(name)
    path = user_folder() / f"{name}.onnx"
    if not path.exists():
        say("", offered.terms())
        say("", f"fetched from: {address(offered, mirror)}")
        say("", f"kept in: {path.parent}")
        if not (offered.non_commercial and not non_commercial):
            _ask("Download it?", yes)
    story = download(offered, mirror=mirror, accept_non_commercial=non_commercial)
    path = follow(name, story)
    if as_json:
        print_json({"model": name, "path": path, "sha256": read_pin(path)})
    else:
        say("", f"'{name}' is ready: {path}")


def remove_one(name: str, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Delete a model of the user's folder with what belongs to it.

    Parameters
    ----------
    name : str
        Its name.
    yes : bool
        Do not ask.
    dry_run : bool
        Only say what would be deleted.
    as_json : bool
        Print one JSON object instead of lines.
    """
    files = belongings(name)
    if not dry_run:
        say("", f"To be deleted: {', '.join(map(str, files))}")
        _ask("Delete?", yes)
        files = remove(name)
    if as_json:
        print_json({"model": name, "removed": [str(path) for path in files], "dry_run": dry_run})
    else:
        show("\n".join(f"{'would delete' if dry_run else 'deleted'} {path}" for path in files))


def _ask(question: str, yes: bool) -> None:
    """Raise unless the user agrees; where nobody can answer, say how to agree."""
    if yes:
        return
    if not _someone_is_here():
        raise ChoiceError("Nobody is here to be asked; add --yes to agree.")
    if not typer.confirm(question, err=True):
        raise CancelledError("Nothing was done.")


def _someone_is_here() -> bool:
    return sys.stdin.isatty()


def follow(name: str, story: Generator[Transfer, None, Path]) -> Path:
    """Run a transfer to its end under a bar.

    Parameters
    ----------
    name : str
        What is shown beside the bar.
    story : generator of Transfer
        The transfer.

    Returns
    -------
    Path
        Where the file is.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    shown = errors().is_terminal
    with Progress(*columns, console=errors(), transient=True, disable=not shown) as bar:
        task = bar.add_task(name, total=None)
        try:
            while True:
                step = next(story)
                words = name if step.stage == "downloading" else f"{name} ({step.stage})"
                bar.update(
                    task, description=words, completed=step.done_bytes, total=step.total_bytes
                )
        except StopIteration as end:
            found: Path = end.value
            return found
        finally:
            story.close()
