"""Where a result is kept: in memory while it is small, else in a store on disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from napari_onnxseg.arrays.ngff import PyramidSink
from napari_onnxseg.arrays.ngff_meaning import Meaning
from napari_onnxseg.arrays.sink import MemorySink
from napari_onnxseg.arrays.store import Form, ZarrSink
from napari_onnxseg.arrays.store_folders import remove_store
from napari_onnxseg.errors import RunError

PREFIX = "onnxseg-"
"""Temporary folders begin with it."""

_LEAST_FREE_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Keeping:
    """The place of one result, decided before the run.

    Parameters
    ----------
    shape : tuple of int
        Whole result.
    dtype : numpy.dtype
        Of its values.
    path : Path or None
        Folder of the store; None for memory.
    temporary : bool
        Whether the folder is ours to remove.
    words : str
        One sentence for the user.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    path: Path | None
    temporary: bool
    words: str

    def open(
        self, chunks: Sequence[int], meaning: Meaning | None = None, *, replace: bool = False
    ) -> MemorySink | ZarrSink | PyramidSink:
        """Make the empty result.

        Parameters
        ----------
        chunks : sequence of int
            Sides of a chunk in pixels on the spatial axes, as `chunks.chunk_sides` chooses
            them; memory needs none.
        meaning : Meaning, optional
            What the axes are; a store is then an OME-Zarr pyramid, which viewers show at any
            size, and a plain array without it.
        replace : bool, optional
            Remove an older store at the path first.

        Returns
        -------
        MemorySink, ZarrSink or PyramidSink
            All background.

        Raises
        ------
        ChoiceError
            When something is at the path already.
        RunError
            When it does not fit.
        """
        if self.path is None:
            return MemorySink.zeros(self.shape, self.dtype)
        form = Form(self.shape, self.dtype, tuple(chunks))
        if meaning is not None:
            return PyramidSink.create(self.path, form, meaning, replace=replace)
        return ZarrSink.create(self.path, form, replace=replace)

    def remove(self) -> None:
        """Remove the store when it is temporary; a result that the user named stays."""
        if self.temporary and self.path is not None:
            remove_store(self.path)
            shutil.rmtree(self.path.parent, ignore_errors=True)


def where_to_put(
    shape: Sequence[int],
    dtype: DTypeLike,
    budget_bytes: int,
    path: str | Path | None = None,
    *,
    folder: str | Path | None = None,
) -> Keeping:
    """Decide where a result is kept.

    Parameters
    ----------
    shape : sequence of int
        Whole result.
    dtype : dtype-like
        Of its values.
    budget_bytes : int
        What the result may take of the memory.
    path : str or Path, optional
        Where the user wants a store, whatever its size.
    folder : str or Path, optional
        Where temporary stores go; the system's folder for them otherwise.

    Returns
    -------
    Keeping
        Nothing is made yet but an empty temporary folder.

    Raises
    ------
    RunError
        When the disk has next to no room.
    """
    shape = tuple(int(n) for n in shape)
    size = prod(shape) * np.dtype(dtype).itemsize
    if path is None and size <= budget_bytes:
        words = f"The result takes {_amount(size)} and is kept in memory."
        return Keeping(shape, np.dtype(dtype), None, False, words)
    temporary = path is None
    place = _temporary(folder) if path is None else Path(path)
    free = _free_bytes(place)
    if free < _LEAST_FREE_BYTES:
        raise RunError(
            f"'{place}' has {_amount(free)} left for a result of {_amount(size)} before "
            "compression; make room, or choose another place."
        )
    why = f", more than {_amount(budget_bytes)} of memory" if temporary else ""
    words = (
        f"The result takes up to {_amount(size)}{why}: it is kept {'for now ' * temporary}in "
        f"'{place}', where {_amount(free)} are free."
    )
    return Keeping(shape, np.dtype(dtype), place, temporary, words)


def _temporary(folder: str | Path | None) -> Path:
    """Make an empty folder of our own and return the path of a store in it."""
    try:
        return Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder)) / "result.zarr"
    except OSError as fault:
        raise RunError(
            f"There is no folder for a temporary result ({fault.strerror or fault}); "
            "name a place for it."
        ) from fault


def _free_bytes(path: Path) -> int:
    """Return the room on the disk that a path would be on."""
    existing = next((p for p in (path, *path.absolute().parents) if p.exists()), Path.cwd())
    return shutil.disk_usage(existing).free


def _amount(size: float) -> str:
    """Return an amount of memory in words."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
