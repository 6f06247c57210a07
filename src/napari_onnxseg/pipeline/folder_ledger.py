"""What a run over many images has finished, so that another run can go on."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.errors import ChoiceError, FileFormatError
from napari_onnxseg.pipeline.journal import Journal
from napari_onnxseg.pipeline.record import plain

LEDGER = ".onnxseg-folder.jsonl"
"""File of the ledger, in the folder of results."""

WAIT_S = 1.0
"""Time after which finished images are written down together; what a dying process has not
written down is done again, which gives the same files."""

MANY = 256
"""Images that are written down at once, however fast they come."""

_ELSEWHERE = ("workers", "batch", "device")
"""Choices that decide where and how fast a result is made, not what it is."""

_IDENTITY = {"onnxseg": "results of a folder"}
_IMAGES, _WORK = "images ", "work "


@dataclass(frozen=True, slots=True)
class Entry:
    """One finished image.

    Parameters
    ----------
    source : str
        The image, absolute.
    stamp : tuple of int
        Its time of change and its size.
    work : str
        Which model and which choices made the result.
    files : mapping of str to int
        Files of the result, below the folder of results, and their sizes.
    row : mapping
        Its row of the summary.
    """

    source: str
    stamp: tuple[int, int]
    work: str
    files: Mapping[str, int]
    row: Mapping[str, Any]


class Ledger:
    """The finished images of a folder of results.

    Parameters
    ----------
    out : Path
        The folder of results; made when it is missing.
    work : mapping
        What makes a result what it is, JSON-able; from `work_of`.

    Raises
    ------
    FileFormatError
        When nothing can be written there.
    """

    def __init__(self, out: Path, work: Mapping[str, Any]) -> None:
        self.out, self.key = out, key_of(work)
        self._is_new, self._made_folder = not (out / LEDGER).is_file(), not out.exists()
        self._journal, self.entries = _opened(out)
        self._waiting: list[Entry] = []
        self._written_at = time.monotonic()
        if f"{_WORK}{self.key}" not in self._journal.facts:
            self._journal.fact(f"{_WORK}{self.key}", dict(work))

    def finished(self, source: Path, target: Path) -> Entry | None:
        """Return what is known of an image that is done, complete, and unchanged since.

        Parameters
        ----------
        source, target : Path
            The image and its first result.

        Returns
        -------
        Entry or None
            None when it has to be done.

        Raises
        ------
        ChoiceError
            When the result was made by another model or with other choices.
        """
        entry = self.entries.get(self._named(target))
        if entry is None:
            return None
        if entry.work != self.key:
            raise ChoiceError(self._other_work(target, entry))
        same = entry.source == os.path.abspath(source) and entry.stamp == stamp_of(source)
        return entry if same and self._is_complete(entry) else None

    def add(self, source: Path, files: Mapping[str, Path], row: Mapping[str, Any]) -> None:
        """Take down an image whose results are written.

        Parameters
        ----------
        source : Path
            The image.
        files : mapping of str to Path
            Its results.
        row : mapping
            Its row of the summary.

        Raises
        ------
        RunError
            When the disk takes no more.
        """
        sizes = {self._named(path): stamp_of(path)[1] for path in files.values()}
        source_stamp = stamp_of(source)
        self._waiting.append(Entry(os.path.abspath(source), source_stamp, self.key, sizes, row))
        if len(self._waiting) >= MANY or time.monotonic() - self._written_at > WAIT_S:
            self.flush()

    def flush(self) -> None:
        """Write down what is waiting.

        Raises
        ------
        RunError
            When the disk takes no more.
        """
        waiting, self._waiting = self._waiting, []
        self._written_at = time.monotonic()
        if waiting:
            self._is_new = False
            name = f"{_IMAGES}{time.time_ns()}"
            self._journal.fact(name, [_listed(entry) for entry in waiting])
            del self._journal.facts[name]  # on disk; memory does not grow with the folder

    def close(self) -> None:
        """Write down what is waiting; a new ledger without an image goes as it came.

        Raises
        ------
        RunError
            When the disk takes no more.
        """
        self.flush()
        if self._is_new:
            (self.out / LEDGER).unlink(missing_ok=True)
            if self._made_folder and not any(self.out.iterdir()):
                self.out.rmdir()

    def _named(self, path: Path) -> str:
        """Return the name of a result inside the folder."""
        return path.relative_to(self.out).as_posix()

    def _is_complete(self, entry: Entry) -> bool:
        """Tell whether all files are there, of the size they were written with."""
        try:
            return all(stamp_of(self.out / f)[1] == size for f, size in entry.files.items())
        except OSError:
            return False

    def _other_work(self, target: Path, entry: Entry) -> str:
        """Say what differs between the run before and this one."""
        before = self._journal.facts.get(f"{_WORK}{entry.work}", {})
        now = self._journal.facts[f"{_WORK}{self.key}"]
        names = [k for k in {**before, **now} if before.get(k) != now.get(k)]
        changed = "; ".join(
            f"{k} was {_short(before.get(k))}, now {_short(now.get(k))}" for k in names
        )
        return (
            f"'{target}' was made with another model or other choices ({changed}): finish the run "
            "as it was begun, choose another folder, or make everything anew with overwrite "
            "(--overwrite)."
        )


def work_of(card: ModelCard, choices: Mapping[str, Any], form: str | None) -> dict[str, Any]:
    """Return what makes a result what it is: model, card and choices.

    Parameters
    ----------
    card : ModelCard
        The model.
    choices : mapping of str to object
        Fields of the job that the user chose.
    form : str or None
        Format that the user chose.

    Returns
    -------
    dict
        JSON-able.
    """
    bare = replace(card, path=Path(card.path.name), notes=())
    described = hashlib.sha256(repr(bare).encode()).hexdigest()[:16]
    kept = {k: plain(v) for k, v in choices.items() if k not in (*_ELSEWHERE, "model")}
    return {"model": f"{card.name} ({described})", "format": form, **kept}


def key_of(work: Mapping[str, Any]) -> str:
    """Return a short name for work; equal for equal work."""
    text = json.dumps(work, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stamp_of(path: Path) -> tuple[int, int]:
    """Return when a file was changed and how large it is; of a folder, of all its files.

    Parameters
    ----------
    path : Path
        A file, or a store.

    Returns
    -------
    tuple of int
        Nanoseconds, bytes.

    Raises
    ------
    OSError
        When it is not there.
    """
    seen = path.stat()
    if not path.is_dir():
        return seen.st_mtime_ns, seen.st_size
    inside = [file.stat() for file in path.rglob("*") if file.is_file()]
    return max((s.st_mtime_ns for s in inside), default=0), sum(s.st_size for s in inside)


def results_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the results that a ledger in a folder names, each with its image.

    Parameters
    ----------
    folder : Path
        Any folder.

    Yields
    ------
    tuple of str
        Result, below the folder; image, absolute.
    """
    if (folder / LEDGER).is_file():
        try:
            journal = Journal.resume(folder / LEDGER, _IDENTITY)
        except (ChoiceError, OSError):
            return
        for entry in _entries(journal):
            yield from ((file, entry.source) for file in entry.files)


def _opened(out: Path) -> tuple[Journal, dict[str, Entry]]:
    """Open the ledger of a folder, or begin one; a damaged one counts for nothing."""
    path = out / LEDGER
    if path.is_file():
        try:
            journal = Journal.resume(path, _IDENTITY)
        except ChoiceError:
            pass
        else:
            found = {next(iter(e.files)): e for e in _entries(journal)}
            for name in [name for name in journal.facts if name.startswith(_IMAGES)]:
                del journal.facts[name]
            return journal, found
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise FileFormatError(
            f"The folder '{out}' cannot be made: {fault.strerror or fault}; choose another place."
        ) from fault
    return Journal.begin(path, _IDENTITY), {}


def _entries(journal: Journal) -> Iterator[Entry]:
    """Give the images that a journal names, the latest last."""
    for name, listed in journal.facts.items():
        if name.startswith(_IMAGES):
            for source, stamp, work, files, row in listed:
                yield Entry(source, tuple(stamp), work, files, row)


def _listed(entry: Entry) -> list[Any]:
    """Return an entry as JSON keeps it."""
    return [entry.source, list(entry.stamp), entry.work, dict(entry.files), dict(entry.row)]


def _short(value: Any) -> str:
    """Return a choice for people."""
    return "not chosen" if value is None else str(value)
