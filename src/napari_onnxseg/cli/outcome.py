"""What became of each image, and how that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from napari_onnxseg.cli.faults import ExitCode
from napari_onnxseg.cli.screen import print_json, say, show

Status = Literal["done", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one image.

    Parameters
    ----------
    source : Path
        The image.
    status : {"done", "failed", "skipped"}
        Skipped: a file in a folder that is no image.
    outputs : mapping of str to Path
        Files written, by kind.
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
    device: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    code: ExitCode = ExitCode.DONE

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON; what does not apply is left out."""
        content: dict[str, Any] = {"input": str(self.source), "status": self.status}
        if self.status != "done":
            return {**content, "reason": self.error}
        return {
            **content,
            "outputs": {kind: str(path) for kind, path in self.outputs.items()},
            "device": self.device,
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
            "record": dict(self.record),
        }

    def line(self) -> str:
        """Return the outcome in one line for people."""
        if self.status != "done":
            return f"{self.source}: {self.status}: {self.error}"
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
        failed when anything failed or no image was found; otherwise done.
    """
    codes = {outcome.code for outcome in outcomes} - {ExitCode.DONE}
    for stopping in (ExitCode.CANCELLED, ExitCode.DEVICE):
        if stopping in codes:
            return stopping
    any_done = any(outcome.status == "done" for outcome in outcomes)
    if not any_done:
        return ExitCode.USAGE if codes == {ExitCode.USAGE} else ExitCode.FAILED
    return ExitCode.FAILED if codes else ExitCode.DONE


def tell(outcomes: Sequence[Outcome], command: str, as_json: bool) -> ExitCode:
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
        print_json(
            {
                "command": command,
                "exit_code": int(code),
                **{status: counts[status] for status in ("done", "failed", "skipped")},
                "results": [outcome.to_json() for outcome in outcomes],
            }
        )
    elif len(outcomes) != 1:
        say(f"{counts['done']} done, {counts['failed']} failed, {counts['skipped']} skipped")
    return code


def tell_one(outcome: Outcome, told: set[str]) -> None:
    """Print one image's line, and each note that was not printed before."""
    if outcome.status == "done":
        show(outcome.line())
    else:
        say(
            "[red]failed[/red] " if outcome.status == "failed" else "[dim]skipped[/dim] ",
            f"{outcome.source}: {outcome.error}",
        )
    for note in outcome.notes:
        if note not in told:
            say("[yellow]note[/yellow] ", note)
            told.add(note)
