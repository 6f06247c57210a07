"""What a run has finished, written down as it goes, so that another run can go on."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.errors import ChoiceError, RunError

NAME = "onnxseg-run.jsonl"
"""File of the journal, inside the folder of the result."""

Position = tuple[int, ...]


@dataclass(slots=True)
class Journal:
    """One line for each thing done; a line counts once it is whole.

    Blocks are written to the result before their tiles are written here. A run that dies in
    between does those tiles again, which gives the same blocks.

    Parameters
    ----------
    path : Path
        The file.
    identity : mapping
        What must be the same for another run to go on, JSON-able, by name.
    done : mapping of tuple of int to set of int
        Numbers of the finished tiles of each plane.
    facts : mapping
        Other things that are to be the same, such as measured statistics, by name.
    """

    path: Path
    identity: Mapping[str, Any]
    done: dict[Position, set[int]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def begin(cls, path: Path, identity: Mapping[str, Any]) -> Journal:
        """Start a journal.

        Parameters
        ----------
        path : Path
            The file; the folder exists.
        identity : mapping
            What must be the same for another run to go on, JSON-able, by name.

        Returns
        -------
        Journal
            Empty, on disk.

        Raises
        ------
        FileFormatError
            When it cannot be written.
        """
        with atomic(path) as file:
            file.write(_line({"identity": identity}))
            file.flush()
            os.fsync(file.fileno())
        return cls(path, _plain(identity))

    @classmethod
    def resume(cls, path: Path, identity: Mapping[str, Any]) -> Journal:
        """Open the journal of a run that did not come to its end.

        Parameters
        ----------
        path : Path
            The file.
        identity : mapping
            That of the run which is to go on.

        Returns
        -------
        Journal
            With what was done; what a dying process left half written is cut off.

        Raises
        ------
        ChoiceError
            When there is no journal, it is damaged, or it belongs to another run; the message
            names what differs.
        """
        try:
            content = path.read_bytes()
        except OSError as fault:
            raise ChoiceError(
                f"There is no run to go on with in '{path.parent}'; start it anew."
            ) from fault
        entries, whole = _entries(content)
        if not entries or "identity" not in entries[0]:
            raise ChoiceError(f"The journal '{path}' is damaged; start the run anew.")
        journal = cls(path, entries[0]["identity"])
        journal._refuse_another(_plain(identity))
        os.truncate(path, whole)
        for entry in entries[1:]:
            journal._take(entry)
        return journal

    @staticmethod
    def as_kept(value: Any) -> Any:
        """Return a value as it comes back from a journal.

        Parameters
        ----------
        value : object
            JSON-able.

        Returns
        -------
        object
            Lists for tuples, texts for keys.
        """
        return json.loads(json.dumps(value))

    def tiles(self, position: Position, numbers: Iterable[int]) -> None:
        """Write down finished tiles, whose blocks are in the result already.

        Parameters
        ----------
        position : tuple of int
            The plane.
        numbers : iterable of int
            Tiles of its plan.

        Raises
        ------
        RunError
            When the disk takes no more.
        """
        self._write({"plane": list(position), "tiles": [int(number) for number in numbers]})

    def fact(self, name: str, value: Any) -> None:
        """Write down what another run must not measure again.

        Parameters
        ----------
        name : str
            Of the fact.
        value : object
            JSON-able.

        Raises
        ------
        RunError
            When the disk takes no more.
        """
        self._write({"fact": name, "value": value})

    def _write(self, entry: Mapping[str, Any]) -> None:
        """Append one line, and come back when it is on disk."""
        line = _line(entry)
        try:
            with open(self.path, "r+b") as file:
                end = file.seek(0, os.SEEK_END)
                _append(file.fileno(), line, end)
        except OSError as fault:
            raise RunError(
                f"The journal '{self.path}' cannot be written: {fault.strerror or fault}; make "
                "room there and run again, which goes on from here."
            ) from fault
        self._take(_plain(entry))

    def _take(self, entry: Mapping[str, Any]) -> None:
        """Add one entry to what is known."""
        if "fact" in entry:
            self.facts[entry["fact"]] = entry["value"]
        elif "plane" in entry:
            self.done.setdefault(tuple(entry["plane"]), set()).update(entry["tiles"])

    def _refuse_another(self, identity: Mapping[str, Any]) -> None:
        """Raise for the journal of a run that would give another result."""
        for name in {**self.identity, **identity}:
            before, now = self.identity.get(name), identity.get(name)
            if before != now:
                raise ChoiceError(
                    f"The run in '{self.path.parent}' was begun with {name} "
                    f"{_shown(before, now)}: finish it as it was begun, choose another place, "
                    "or start anew."
                )


def _append(file: int, line: bytes, end: int) -> None:
    """Write a line at the end of a file; what could not be written whole is taken back."""
    try:
        written = os.pwrite(file, line, end) if hasattr(os, "pwrite") else _write_at(file, line)
        if written < len(line):
            raise OSError(0, "only a part of a line could be written")
        os.fsync(file)
    except OSError:
        os.ftruncate(file, end)
        raise


def _write_at(file: int, line: bytes) -> int:
    """Write where the file stands, on systems without a positioned write."""
    return os.write(file, line)


def _line(entry: Mapping[str, Any]) -> bytes:
    """Return an entry as a line that tells whether it is whole."""
    text = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _entries(content: bytes) -> tuple[list[dict[str, Any]], int]:
    """Return the whole lines of a journal, up to the first that is not, and their length."""
    entries, whole = [], 0
    for line in content.splitlines(keepends=True):
        mark, _, text = line.rstrip(b"\n").partition(b" ")
        if not line.endswith(b"\n") or mark != b"%08x" % zlib.crc32(text):
            break
        entries.append(json.loads(text))
        whole += len(line)
    return entries, whole


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON makes of a mapping, so that it compares equal after reading."""
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain


def _shown(before: Any, now: Any) -> str:
    """Return two values for people, or of two mappings the first entry that differs."""
    if isinstance(before, dict) and isinstance(now, dict):
        name = next(k for k in {**before, **now} if before.get(k) != now.get(k))
        return f"'{name}' {_shown(before.get(name), now.get(name))}"
    return f"{json.dumps(before)}, now it is {json.dumps(now)}"
