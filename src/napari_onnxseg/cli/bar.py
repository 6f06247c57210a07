"""A progress bar on standard error, only where someone is watching."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

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
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[stage]}"),
            TimeRemainingColumn(),
            console=errors(),
            transient=True,
            disable=not shown or not errors().is_terminal,
        )
        self._images, self._count = images, 0

    @contextmanager
    def drawn(self) -> Iterator[Bar]:
        """Draw the bar while the block runs."""
        with self._progress:
            yield self

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
        task = self._progress.add_task(where + name, total=None, stage="loading")
        try:
            return self._drain(task, story)
        finally:
            story.close()
            self._progress.remove_task(task)

    def _drain(self, task: TaskID, story: Generator[job.Progress, None, Any]) -> Any:
        """Show every step and return what the story returns."""
        while True:
            try:
                step = next(story)
            except StopIteration as end:
                return end.value
            self._progress.update(task, completed=step.done, total=step.total, stage=step.stage)
