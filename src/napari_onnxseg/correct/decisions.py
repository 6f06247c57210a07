"""What was decided about places, and the file that remembers it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.errors import ChoiceError, FileFormatError, OnnxSegError
from napari_onnxseg.tiling.region import Region

Status = Literal["accepted", "skipped"]

FORMAT = 1
"""Of the file that holds decisions."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a place.

    Parameters
    ----------
    status : {"accepted", "skipped"}
        What.
    region : Region
        Where.
    seen : str
        Fingerprint of the labels there at that time.
    """

    status: Status
    region: Region
    seen: str


def decisions_json(decisions: Mapping[str, Decision]) -> dict[str, Any]:
    """Return decisions as JSON.

    Parameters
    ----------
    decisions : mapping of str to Decision
        By identity.

    Returns
    -------
    dict
        For `decisions_of`.
    """
    return {
        "format": FORMAT,
        "decisions": [
            {
                "place": name,
                "status": made.status,
                "start": list(made.region.start),
                "stop": list(made.region.stop),
                "seen": made.seen,
            }
            for name, made in decisions.items()
        ],
    }


def decisions_of(content: Any) -> dict[str, Decision]:
    """Read decisions from JSON.

    Parameters
    ----------
    content : object
        As `decisions_json` gives it.

    Returns
    -------
    dict of str to Decision
        By identity.

    Raises
    ------
    ChoiceError
        When it is something else.
    """
    try:
        if content["format"] != FORMAT:
            raise ChoiceError(
                f"The decisions are of format {content['format']}, but {FORMAT} is known; update "
                "napari-onnxseg."
            )
        return {str(entry["place"]): _decision(entry) for entry in content["decisions"]}
    except (KeyError, TypeError, ValueError) as fault:
        if isinstance(fault, ChoiceError):
            raise
        raise ChoiceError(f"These are no decisions of a review ({fault!r}).") from fault


def save_decisions(path: Path, decisions: Mapping[str, Decision]) -> None:
    """Write decisions to a file.

    Parameters
    ----------
    path : Path
        The file; replaced once complete.
    decisions : mapping of str to Decision
        By identity.

    Raises
    ------
    FileFormatError
        When it cannot be written.
    """
    with atomic(path) as file:
        file.write(json.dumps(decisions_json(decisions), indent=1).encode())


def load_decisions(path: Path) -> dict[str, Decision]:
    """Read decisions from a file.

    Parameters
    ----------
    path : Path
        As `save_decisions` writes it.

    Returns
    -------
    dict of str to Decision
        By identity.

    Raises
    ------
    FileFormatError
        When it cannot be read.
    """
    try:
        return decisions_of(json.loads(path.read_text("utf-8")))
    except (OnnxSegError, ValueError, OSError) as fault:
        raise FileFormatError(f"'{path}' cannot be read as a review: {fault}") from fault


def fingerprint(labels: Any, region: Region) -> str:
    """Return a short text that changes when a label in a region does.

    Parameters
    ----------
    labels : array-like
        Label image; read in the region only.
    region : Region
        Box; only its part inside the image counts.

    Returns
    -------
    str
        The same for the same ids in any dtype.
    """
    inside = region.intersect(Region.of_shape(labels.shape))
    values = np.ascontiguousarray(labels[inside.slices], dtype="<i8")
    return blake2b(values.tobytes(), digest_size=12).hexdigest()


def _decision(entry: Mapping[str, Any]) -> Decision:
    """Read one decision."""
    start, stop = (tuple(int(n) for n in cast(Sequence[Any], entry[k])) for k in ("start", "stop"))
    if entry["status"] not in ("accepted", "skipped"):
        raise ValueError(entry["status"])
    return Decision(entry["status"], Region(start, stop), str(entry["seen"]))
