"""A progress bar on standard error, only where someone is watching."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from napari_onnxseg.cli.screen import errors
from napari_onnxseg.pipeline import job


class Bar:
    """Shows one image at a time, and which of how many it is.

    Parameters
    ----------
    shown : bool
        Draw nothing when False.
    images : int
        How many images there are.
    """

    def __init__(self, shown: bool, images: int) -> None:
        self._shown, self._images, self._count = shown, images, 0

    def follow(self, name: str, story: Generator[job.Progress, None, Any]) -> Any:
        """Run a story to its end, showing each step.

        Parameters
        ----------
        name : str
            The image.
        story : generator
            Yields progress, returns a result; closed whatever happens.

        Returns
        -------
        object
            What the story returns.
        """
        self._count += 1
        where = f"[{self._count}/{self._images}] " if self._images > 1 else ""
        progress = _progress(self._shown and errors().is_terminal)
        task = progress.add_task(where + name, total=None, stage="loading")
        try:
            with progress:
                return _drain(progress, task, story)
        finally:
            story.close()


def _progress(shown: bool) -> Progress:
    """Return a bar that leaves nothing behind and keeps its hands off standard output."""
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[stage]}"),
        TimeRemainingColumn(),
        console=errors(),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not shown,
    )


def _drain(progress: Progress, task: TaskID, story: Generator[job.Progress, None, Any]) -> Any:
    """Show every step and return what the story returns."""
    while True:
        try:
            step = next(story)
        except StopIteration as end:
            return end.value
        progress.update(task, completed=step.done, total=step.total, stage=step.stage)
