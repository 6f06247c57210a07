"""Where the arrays of a run are kept: in memory, or in stores on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import DTypeLike

from napari_onnxseg.arrays.chunks import chunk_sides
from napari_onnxseg.arrays.ngff import PyramidSink
from napari_onnxseg.arrays.ngff_meaning import Kind, Meaning, result_axes
from napari_onnxseg.arrays.sink import MemorySink
from napari_onnxseg.arrays.store import Form, ZarrSink
from napari_onnxseg.cards.card import Head
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.prepare.steps import needs_statistics
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray

SUFFIX = ".zarr"

ASIDE = ".onnxseg"
"""Ends the name of the folder for what is only needed while a run goes on."""

_ASIDE = ("inside", "foreground")


class Shelved(Protocol):
    """An array that is written block by block and can be read back."""

    @property
    def array(self) -> Any:
        """The whole, indexed as numpy arrays are."""
        ...

    def write(self, index: tuple[int, ...], region: Region, block: AnyArray, /) -> None:
        """Store one finished block of one plane."""
        ...


@dataclass(slots=True)
class Shelf:
    """The places of all results of a run.

    Parameters
    ----------
    part : Region
        What of each plane the results cover, in pixels of the image.
    steps : tuple of int
        How far tiles lie apart on each axis, in pixels of the image; decides chunks.
    path : Path or None
        Store of the first result; None for memory.
    several : bool
        Whether there are several outputs, which then have their names in the names of stores.
    resume : bool
        Whether the stores are there already; otherwise what an earlier try has left of them
        is made anew.
    opened : list of (ZarrSink or PyramidSink)
        Stores in use.
    """

    part: Region
    steps: tuple[int, ...]
    path: Path | None = None
    several: bool = False
    resume: bool = False
    opened: list[ZarrSink | PyramidSink] = field(default_factory=list)

    def of(self, number: int, head: Head, leading: tuple[int, ...]) -> Place:
        """Return the place of one output.

        Parameters
        ----------
        number : int
            Of the output in the run.
        head : Head
            The output.
        leading : tuple of int
            Lengths of the axes that are looped over.

        Returns
        -------
        Place
            Nothing is made yet.
        """
        named = f"{number + 1}" if self.several and number else ""
        return Place(self, head, leading, named)

    def catch_up(self) -> None:
        """Bring coarser levels up to date."""
        for sink in self.opened:
            if isinstance(sink, PyramidSink):
                sink.catch_up()

    def settle(self) -> None:
        """Come back when all that was written is on disk."""
        for sink in self.opened:
            sink.settle()

    def close(self) -> None:
        """Make all levels complete, and remove what was only needed while the run went on."""
        for sink in self.opened:
            if isinstance(sink, PyramidSink):
                sink.refresh() if self.resume else sink.catch_up()
        self.settle()


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one output.

    Parameters
    ----------
    shelf : Shelf
        All of them.
    head : Head
        The output.
    leading : tuple of int
        Lengths of the axes that are looped over.
    named : str
        Distinguishes it from other outputs; empty for the first.
    """

    shelf: Shelf
    head: Head
    leading: tuple[int, ...]
    named: str

    def open(self, name: str, dtype: DTypeLike, channels: int | None = None) -> Shelved:
        """Make an array, or open the one that an earlier run has begun.

        Parameters
        ----------
        name : str
            What it holds, as in `HeadResult`.
        dtype : dtype-like
            Of its values.
        channels : int, optional
            Length of an axis of channels before the spatial ones.

        Returns
        -------
        Shelved
            All background, where nothing was written.

        Raises
        ------
        ChoiceError
            When the store is taken, or was made for another run.
        RunError
            When there is no room.
        """
        part = self.shelf.part.shape
        shape = (*self.leading, *(() if channels is None else (channels,)), *part)
        if self.shelf.path is None:
            return MemorySink.zeros(shape, dtype)
        sink = self._store(name, Form(shape, dtype, chunk_sides(part, self.shelf.steps)), channels)
        self.shelf.opened.append(sink)
        return sink

    def _store(self, name: str, form: Form, channels: int | None) -> ZarrSink | PyramidSink:
        """Make or open the store of one array."""
        assert self.shelf.path is not None
        resume = self.shelf.resume
        if name in _ASIDE:
            path = aside(self.shelf.path) / f"{self.named}{name}{SUFFIX}"
            return (
                ZarrSink.resume(path, form) if resume else ZarrSink.create(path, form, replace=True)
            )
        path = beside(self.shelf.path, self.named, "" if name in ("labels", "image") else name)
        meaning = self._meaning(name, channels)
        if resume:
            return PyramidSink.resume(path, form, meaning)
        return PyramidSink.create(path, form, meaning, replace=True)

    def _meaning(self, name: str, channels: int | None) -> Meaning:
        """Say what the axes and values are."""
        kind: Kind = "image" if name in ("image", "confidence") else "labels"
        ndim = self.shelf.part.ndim
        axes = result_axes(len(self.leading), spatial_ndim=ndim)
        if channels is not None:
            axes = f"{axes[:-ndim]}C{axes[-ndim:]}"
        classes = self.head.classes if name == "labels" else ()
        return Meaning(
            axes,
            kind,
            names={c.id: c.name for c in classes},
            colours={c.id: c.colour for c in classes},
            spatial_ndim=ndim,
        )


def beside(path: Path, *words: str) -> Path:
    """Return the store of another result, such as ``a-objects.zarr``.

    Parameters
    ----------
    path : Path
        Store of the first result.
    *words : str
        Added to its name, where they are not empty.

    Returns
    -------
    Path
        In the same folder.
    """
    return path.with_name("-".join([path.name.removesuffix(SUFFIX), *filter(None, words)]) + SUFFIX)


def aside(path: Path) -> Path:
    """Return the folder for what is only needed while a run goes on.

    Parameters
    ----------
    path : Path
        Store of the first result.

    Returns
    -------
    Path
        In the same folder.
    """
    return path.with_name(f".{path.name}{ASIDE}")


def refuse_places(job: SegmentJob, heads: Sequence[Head]) -> None:
    """Raise for places that cannot be.

    Parameters
    ----------
    job : SegmentJob
        The choices.
    heads : sequence of Head
        The outputs that are wanted.

    Raises
    ------
    ChoiceError
        Saying what is missing.
    """
    if job.store is not None and Path(job.store).suffix != SUFFIX:
        raise ChoiceError(f"The store '{job.store}' must have a name that ends in {SUFFIX}.")
    if job.store is not None and any(needs_statistics(head.after) for head in heads):
        raise ChoiceError(
            "The model's output is measured as a whole before it means anything, which is only "
            "done in memory; leave the store out."
        )
    if job.resume and job.store is None:
        raise ChoiceError("Only a run into a store can go on; name the one it was begun in.")
