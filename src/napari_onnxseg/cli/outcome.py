"""What became of each image, and how that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from napari_onnxseg.cli.faults import ExitCode
from napari_onnxseg.cli.screen import print_json, say, show

Status = Literal["done", "planned", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one image.

    Parameters
    ----------
    source : Path
        The image.
    status : {"done", "planned", "failed", "skipped"}
        Skipped: no image, or not started because of what happened before.
    outputs : mapping of str to Path
        Files written, by kind.
    plan : str
        What was decided before, in words.
    device : str
        What really ran.
    seconds : mapping of str to float
        Time of each stage.
    notes : tuple of str
        Sentences for the user.
    record : mapping
        The run in JSON-able form.
    error : str
        Why it failed or was skipped.
    code : ExitCode
        What this image alone would exit with.
    """

    source: Path
    status: Status
    outputs: Mapping[str, Path] = field(default_factory=dict)
    plan: str = ""
    device: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    code: ExitCode = ExitCode.DONE

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON; what does not apply is left out."""
        content: dict[str, Any] = {
            "input": str(self.source),
            "status": self.status,
            "reason": self.error,
            "outputs": {kind: str(path) for kind, path in self.outputs.items()},
            "plan": self.plan,
            "device": self.device,
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
            "record": dict(self.record),
        }
        return {name: value for name, value in content.items() if value or self._always(name)}

    def _always(self, name: str) -> bool:
        """Tell whether an entry is there even when it is empty."""
        return name == "reason" if self.error else name == "notes" and self.status == "done"

    def line(self) -> str:
        """Return a finished image in one line for people."""
        if self.status == "planned":
            return f"{self.source}: {self.plan}"
        files = ", ".join(str(path) for path in self.outputs.values())
        return f"{self.source} -> {files}  ({self.device}, {self.seconds['total']:.2f} s)"


def total_code(outcomes: Sequence[Outcome]) -> ExitCode:
    """Return the exit code of the whole run.

    Parameters
    ----------
    outcomes : sequence of Outcome
        One for each image.

    Returns
    -------
    ExitCode
        Cancelled and device faults first; usage when nothing worked for that reason alone;
        failed when anything failed; otherwise done.
    """
    codes = {outcome.code for outcome in outcomes} - {ExitCode.DONE}
    for stopping in (ExitCode.CANCELLED, ExitCode.DEVICE):
        if stopping in codes:
            return stopping
    if not codes:
        return ExitCode.DONE
    worked = any(outcome.status in ("done", "planned") for outcome in outcomes)
    return ExitCode.USAGE if codes == {ExitCode.USAGE} and not worked else ExitCode.FAILED


def summarise(outcomes: Sequence[Outcome], command: str, as_json: bool) -> ExitCode:
    """Print the summary and return the exit code.

    Parameters
    ----------
    outcomes : sequence of Outcome
        One for each image.
    command : str
        Name of the verb.
    as_json : bool
        One JSON object on standard output, or a line of counts on standard error.

    Returns
    -------
    ExitCode
        As `total_code`.
    """
    code = total_code(outcomes)
    counts = Counter(outcome.status for outcome in outcomes)
    if as_json:
        content = {"command": command, "exit_code": int(code)}
        content |= {status: counts[status] for status in get_args(Status)}
        print_json({**content, "results": [outcome.to_json() for outcome in outcomes]})
    elif len(outcomes) > 1:
        say(
            ", ".join(f"{counts[status]} {status}" for status in get_args(Status) if counts[status])
        )
    return code


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

    def announce(self, plan: str) -> None:
        """Say what is about to be done, when it is not what was done before."""
        if not self._silent and plan != self._plan:
            self._plan = plan
            say("[dim]plan[/dim] ", " | ".join(plan.splitlines()))

    def tell(self, outcome: Outcome) -> None:
        """Say what became of an image, and the notes of its run."""
        if self._silent:
            return
        if outcome.status in ("done", "planned"):
            show(outcome.line())
        else:
            colour = "red" if outcome.status == "failed" else "dim"
            say(f"[{colour}]{outcome.status}[/{colour}] ", f"{outcome.source}: {outcome.error}")
        for note in outcome.notes:
            self._once("[yellow]note[/yellow] ", note)

    def _once(self, markup: str, text: str) -> None:
        """Say a sentence that was not said before."""
        if not self._silent and text not in self._said:
            self._said.add(text)
            say(markup, text)
