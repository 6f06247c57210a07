"""What became of the images, and how that is told."""

from __future__ import annotations

import json
from collections import Counter
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import get_args

from napari_onnxseg.cli.faults import ExitCode, exit_code
from napari_onnxseg.cli.screen import as_plain, say, show
from napari_onnxseg.pipeline.folder_outcome import DONE_BEFORE, ImageOutcome, Status

IN_MEMORY_BYTES = 1 << 20
"""Outcomes up to this size wait in memory for the end of the run, more of them on disk."""


class Tally:
    """Counts what became of images; memory does not grow with their number.

    Parameters
    ----------
    command : str
        Name of the verb.
    as_json : bool
        One JSON object on standard output, or a line of counts on standard error.
    """

    def __init__(self, command: str, as_json: bool) -> None:
        self._command, self._as_json = command, as_json
        self._counts: Counter[str] = Counter()
        self._codes: set[ExitCode] = set()
        self._before = 0
        self._kept = SpooledTemporaryFile(IN_MEMORY_BYTES, "w+", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> Tally:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._kept.close()

    @property
    def code(self) -> ExitCode:
        """The exit code of the whole run.

        Cancelled and device faults first; usage when nothing worked for that reason alone;
        failed when anything failed; otherwise done.
        """
        for stopping in (ExitCode.CANCELLED, ExitCode.DEVICE):
            if stopping in self._codes:
                return stopping
        if not self._codes:
            return ExitCode.DONE
        worked = self._counts["done"] or self._counts["planned"] or self._before
        only_usage = self._codes == {ExitCode.USAGE} and not worked
        return ExitCode.USAGE if only_usage else ExitCode.FAILED

    def add(self, outcome: ImageOutcome) -> None:
        """Count an image.

        Parameters
        ----------
        outcome : ImageOutcome
            What became of it.
        """
        if self._as_json:
            text = json.dumps(outcome.to_json(), ensure_ascii=False, default=as_plain)
            self._kept.write(f"{',' if self._counts else ''}\n    {text}")
        self._counts[outcome.status] += 1
        self._before += outcome.error == DONE_BEFORE
        if outcome.fault is not None:
            self._codes.add(exit_code(outcome.fault))

    def tell(self) -> None:
        """Print what the run came to."""
        if self._as_json:
            self._tell_json()
        elif self._counts.total() > 1:
            counts = [
                f"{n:,} {status}" for status in get_args(Status) if (n := self._counts[status])
            ]
            before = f" ({self._before:,} of them done before)" if self._before else ""
            say(", ".join(counts) + before)

    def _tell_json(self) -> None:
        """Print one object, the images in it one a line."""
        numbers = {"exit_code": int(self.code), **{s: self._counts[s] for s in get_args(Status)}}
        head = "".join(f'  "{name}": {number},\n' for name, number in numbers.items())
        show(f'{{\n  "command": "{self._command}",\n{head}  "results": [', end="")
        self._kept.seek(0)
        while piece := self._kept.read(IN_MEMORY_BYTES):
            show(piece, end="")
        show("\n  ]\n}")


class Teller:
    """Says what happens, each sentence once; a plan again when another came between.

    Parameters
    ----------
    silent : bool
        Say nothing at all.
    """

    def __init__(self, silent: bool) -> None:
        self._silent = silent
        self._said: set[str] = set()
        self._plan = ""

    def tell(self, outcome: ImageOutcome) -> None:
        """Say what became of an image, its plan if it is another, and the notes of its run.

        Parameters
        ----------
        outcome : ImageOutcome
            What became of it.
        """
        if self._silent or outcome.error == DONE_BEFORE:
            return
        if outcome.status in ("done", "planned"):
            if outcome.status == "done":
                self.announce(outcome.plan)
            show(line(outcome))
        else:
            colour = "red" if outcome.status == "failed" else "dim"
            say(f"[{colour}]{outcome.status}[/{colour}] ", f"{outcome.source}: {outcome.error}")
        for note in outcome.notes:
            self._once("[yellow]note[/yellow] ", note)

    def announce(self, plan: str) -> None:
        """Say what is done, when it is not what was done before.

        Parameters
        ----------
        plan : str
            In words.
        """
        if plan and not self._silent and plan != self._plan:
            self._plan = plan
            say("[dim]plan[/dim] ", " | ".join(plan.splitlines()))

    def _once(self, markup: str, text: str) -> None:
        """Say a sentence that was not said before."""
        if text not in self._said:
            self._said.add(text)
            say(markup, text)


def line(outcome: ImageOutcome) -> str:
    """Return a finished or planned image in one line for people.

    Parameters
    ----------
    outcome : ImageOutcome
        What became of it.

    Returns
    -------
    str
        Where it came from, where it went, on what and for how long.
    """
    if outcome.status == "planned":
        return f"{outcome.source}: {outcome.plan}"
    files = ", ".join(str(path) for path in outcome.outputs.values())
    return f"{outcome.source} -> {files}  ({outcome.device}, {outcome.seconds['total']:.2f} s)"
