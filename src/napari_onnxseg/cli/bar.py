"""A progress bar on standard error, only where someone is watching."""

from __future__ import annotations

from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from napari_onnxseg.cli.screen import errors
from napari_onnxseg.pipeline.folder_task import FolderStep


class Bar:
    """Shows how many images are done and how long the rest takes; of one image, its tiles.

    Parameters
    ----------
    shown : bool
        Draw nothing when False.
    """

    def __init__(self, shown: bool) -> None:
        self._progress = _progress(shown and errors().is_terminal)
        self._task = self._progress.add_task("", total=None, stage="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def show(self, step: FolderStep) -> None:
        """Show how far a run is.

        Parameters
        ----------
        step : FolderStep
            The latest one.
        """
        running = dict(step.running)
        source, last = next(iter(running.items()), (None, None))
        if step.total == 1 and last is not None:
            done, total, stage = last.done, last.total, last.stage
        else:
            more = f" and {len(running) - 1} more" if len(running) > 1 else ""
            done, total, stage = step.done, step.total, f"{last.stage}{more}" if last else ""
        named = "" if source is None else source.name
        self._progress.update(
            self._task, description=named, completed=done, total=total, stage=stage
        )

    def close(self) -> None:
        """Take the bar away; nothing is left of it."""
        self._progress.stop()


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
