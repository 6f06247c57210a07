"""One row an image, appended as the run goes, whole at any moment."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.errors import RunError
from napari_onnxseg.pipeline.folder_outcome import ImageOutcome

COLUMNS = ("input", "status", "reason", "files", "seconds", "device")
"""What every row has; pixels, share and area of each class, and objects follow."""

_END = b"\n]\n"


class Summary:
    """A summary on disk.

    Parameters
    ----------
    path : Path
        Ends in ``.csv`` or ``.json``; an older file is replaced.
    columns : sequence of str
        What rows have besides `COLUMNS`, from the model.

    Raises
    ------
    FileFormatError
        When it cannot be written.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, (*COLUMNS, *columns)
        self._is_json = path.suffix.lower() == ".json"
        self._rows = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as file:
            file.write(b"[" + _END if self._is_json else _csv_line(self.columns))

    def add(self, outcome: ImageOutcome) -> None:
        """Append the row of an image.

        Parameters
        ----------
        outcome : ImageOutcome
            What became of it.

        Raises
        ------
        RunError
            When the disk takes no more.
        """
        row = row_of(outcome)
        try:
            self._append(self._json(row) if self._is_json else self._csv(row))
        except OSError as fault:
            raise RunError(
                f"The summary '{self.path}' cannot be written: {fault.strerror or fault}; make "
                "room there and go on with resume (--resume)."
            ) from fault
        self._rows += 1

    def _append(self, text: bytes) -> None:
        """Write at the end, over the bracket that closes a list, in one piece."""
        with open(self.path, "r+b", buffering=0) as file:
            file.seek(-len(_END) if self._is_json else 0, os.SEEK_END)
            place = file.tell()
            if file.write(text) < len(text):
                file.truncate(place)
                raise OSError(0, "only a part of a row could be written")

    def _json(self, row: Mapping[str, Any]) -> bytes:
        """Return a row and what closes the list."""
        text = json.dumps(row, ensure_ascii=False)
        return (",\n" if self._rows else "\n").encode() + text.encode() + _END

    def _csv(self, row: Mapping[str, Any]) -> bytes:
        """Return a row; lists are joined."""
        flat = {**row, "files": ";".join(row["files"])}
        return _csv_line([flat.get(column, "") for column in self.columns])


def row_of(outcome: ImageOutcome) -> dict[str, Any]:
    """Return the row of an image.

    Parameters
    ----------
    outcome : ImageOutcome
        What became of it.

    Returns
    -------
    dict
        JSON-able, with the entries of `COLUMNS` and what was counted.
    """
    total = outcome.seconds.get("total")
    return {
        "input": str(outcome.source),
        "status": outcome.status,
        "reason": outcome.error,
        "files": [str(path) for path in outcome.outputs.values()],
        "seconds": None if total is None else round(total, 4),
        "device": outcome.device,
        **outcome.row,
    }


def _csv_line(values: Sequence[Any]) -> bytes:
    """Return one line of a table."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["" if v is None else v for v in values])
    return text.getvalue().encode()
