"""What became of each image of a run over many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from napari_onnxseg.errors import OnnxSegError

Status = Literal["done", "planned", "failed", "skipped"]

NOT_STARTED = "not started"
"""Why an image was skipped after something ended the run."""

DONE_BEFORE = "done before"
"""Why an image was skipped that an earlier run has finished."""


@dataclass(frozen=True, slots=True)
class ImageOutcome:
    """What became of one image.

    Parameters
    ----------
    source : Path
        The image.
    status : {"done", "planned", "failed", "skipped"}
        Skipped: no image, done before, or not started because of what happened earlier.
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
    row : mapping of str to (str, int or float)
        Pixels, share and area of each class, and objects, as in the summary.
    error : str
        Why it failed or was skipped.
    fault : BaseException or None
        What was raised, when it failed.
    """

    source: Path
    status: Status
    outputs: Mapping[str, Path] = field(default_factory=dict)
    plan: str = ""
    device: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    row: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    fault: BaseException | None = None

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


def failed(source: Path, fault: BaseException) -> ImageOutcome:
    """Return the outcome of an image that could not be done.

    Parameters
    ----------
    source : Path
        The image.
    fault : BaseException
        What was raised.

    Returns
    -------
    ImageOutcome
        With the reason in one line.
    """
    return ImageOutcome(source, "failed", error=describe(fault), fault=fault)


def describe(fault: BaseException) -> str:
    """Return one line for people; faults that are not ours name their type.

    Parameters
    ----------
    fault : BaseException
        What was raised.

    Returns
    -------
    str
        A sentence.
    """
    text = " ".join(str(fault).split())
    if isinstance(fault, OnnxSegError) and text:
        return text
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__
