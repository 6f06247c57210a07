"""Edits that outlive a crash: each is kept in a file as soon as it is made."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.correct.edit import Edit
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.tiling.region import Region

ABOUT = "about.json"


@dataclass(frozen=True, slots=True)
class Recovery:
    """The edits of one label image since it was last saved.

    Parameters
    ----------
    folder : Path
        Of this image alone; made by `start`.
    about : mapping of str to object
        What the image is, for people and for finding it again; JSON-able.
    """

    folder: Path
    about: Mapping[str, Any]

    @classmethod
    def start(cls, root: Path, about: Mapping[str, Any]) -> Recovery:
        """Begin to keep the edits of an image.

        Parameters
        ----------
        root : Path
            Where all images have their folders.
        about : mapping of str to object
            JSON-able: file, layer, shape, ...

        Returns
        -------
        Recovery
            With a folder of its own.

        Raises
        ------
        FileFormatError
            When it cannot be written.
        """
        folder = root / secrets.token_hex(8)
        folder.mkdir(parents=True)
        with atomic(folder / ABOUT) as file:
            file.write(json.dumps(dict(about)).encode())
        return cls(folder, dict(about))

    def record(self, edit: Edit) -> None:
        """Keep an edit; it survives as soon as this returns.

        Parameters
        ----------
        edit : Edit
            One that was applied.

        Raises
        ------
        FileFormatError
            When it cannot be written.
        """
        numbers = self._numbers()
        with atomic(self._file(numbers[-1] + 1 if numbers else 0)) as file:
            np.savez(
                file,
                start=np.array(edit.region.start, np.int64),
                stop=np.array(edit.region.stop, np.int64),
                where=edit.where,
                old=edit.old,
                new=edit.new,
            )

    def forget_last(self) -> None:
        """Drop the last edit, because it was undone."""
        for number in self._numbers()[-1:]:
            self._file(number).unlink(missing_ok=True)

    def edits(self) -> Iterator[Edit]:
        """Yield the edits in their order.

        Yields
        ------
        Edit
            As they were recorded.

        Raises
        ------
        FileFormatError
            When one is damaged; those before it were given.
        """
        for number in self._numbers():
            yield _read(self._file(number))

    def restore(self, labels: Any) -> int:
        """Apply all edits to the image as it was saved.

        Parameters
        ----------
        labels : array-like
            Writable.

        Returns
        -------
        int
            How many edits there were.

        Raises
        ------
        FileFormatError
            When one is damaged; those before it were applied.
        """
        count = 0
        for edit in self.edits():
            edit.apply(labels)
            count += 1
        return count

    def __len__(self) -> int:
        return len(self._numbers())

    def clear(self) -> None:
        """Remove the folder, because the image was saved or closed."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, number: int) -> Path:
        """Return the file of an edit."""
        return self.folder / f"{number:08d}.npz"

    def _numbers(self) -> list[int]:
        """Return the numbers of all complete edits."""
        return sorted(int(path.stem) for path in self.folder.glob("[0-9]*.npz"))


def left_behind(root: Path) -> list[Recovery]:
    """Find the edits of images that were not closed properly.

    Parameters
    ----------
    root : Path
        Where all images have their folders.

    Returns
    -------
    list of Recovery
        Those with an edit, the newest first; folders that say nothing are passed over.
    """
    found = []
    for file in root.glob(f"*/{ABOUT}"):
        try:
            about = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        recovery = Recovery(file.parent, about)
        if isinstance(about, dict) and len(recovery):
            found.append((file.parent.stat().st_mtime, recovery))
    return [recovery for _, recovery in sorted(found, key=lambda pair: -pair[0])]


def _read(path: Path) -> Edit:
    """Read one edit."""
    try:
        with np.load(path, allow_pickle=False) as file:
            region = Region(tuple(map(int, file["start"])), tuple(map(int, file["stop"])))
            return Edit(region, file["where"], file["old"], file["new"])
    except Exception as fault:  # whatever numpy meets in a damaged file
        raise FileFormatError(f"'{path}' does not hold an edit ({fault}).") from fault
