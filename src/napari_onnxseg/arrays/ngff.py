"""Results as OME-Zarr (OME-NGFF 0.5): a pyramid that fills while the run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.ngff_meaning import Meaning, level_shapes
from napari_onnxseg.arrays.reduce import halve
from napari_onnxseg.arrays.stale import Spans, Stale, chunks_of, parts_of
from napari_onnxseg.arrays.store import Form, Where, ZarrSink, spans_of
from napari_onnxseg.arrays.store_folders import OWN_KEY, make_room, read_attributes, writing
from napari_onnxseg.arrays.turned import TurnedArray
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray


@dataclass(frozen=True, slots=True)
class PyramidSink:
    """A result with all its coarser levels, in an OME-Zarr group on disk.

    Parameters
    ----------
    path : Path
        Folder of the group.
    meaning : Meaning
        Axes and kind of the result.
    levels : tuple of ZarrSink
        Full resolution first, axes in the order of NGFF.
    stale : Stale
        Which chunks `catch_up` has to make.
    """

    path: Path
    meaning: Meaning
    levels: tuple[ZarrSink, ...]
    stale: Stale = field(default_factory=Stale, repr=False, compare=False)

    @classmethod
    def create(
        cls,
        path: str | Path,
        form: Form,
        meaning: Meaning,
        *,
        replace: bool = False,
    ) -> PyramidSink:
        """Make an empty result.

        Parameters
        ----------
        path : str or Path
            Folder of the group.
        form : Form
            Shape in the order of ``meaning.axes``, dtype, and sides of a chunk in pixels on
            the spatial axes alone; of channels a chunk has all.
        meaning : Meaning
            Axes, pixel size and classes.
        replace : bool, optional
            Remove an older store at the path first.

        Returns
        -------
        PyramidSink
            All background.

        Raises
        ------
        ChoiceError
            When something is at the path already.
        RunError
            When it cannot be written.
        """
        import zarr

        path = Path(path)
        make_room(path, replace=replace)
        forms = _level_forms(form, meaning)
        with writing(path):
            about = meaning.attributes(path.name.split(".")[0], len(forms))
            zarr.create_group(str(path), zarr_format=3, overwrite=True, attributes=about)
        named = ["c" if letter == "S" else letter.lower() for letter in meaning.stored]
        levels = tuple(
            ZarrSink.create(path / str(n), level, dimensions=named) for n, level in enumerate(forms)
        )
        return cls(path, meaning, levels)

    @classmethod
    def resume(cls, path: str | Path, form: Form, meaning: Meaning) -> PyramidSink:
        """Open a result that was begun, to go on with it or to edit it.

        Parameters
        ----------
        path : str or Path
            Folder of the group.
        form : Form
            What the run would make; chunks are not compared when they are None.
        meaning : Meaning
            What the run would make.

        Returns
        -------
        PyramidSink
            With the blocks that were written.

        Raises
        ------
        ChoiceError
            When there is no such result, or it was made for another run.
        """
        path = Path(path)
        levels = tuple(
            ZarrSink.resume(path / str(n), level)
            for n, level in enumerate(_level_forms(form, meaning))
        )
        own = read_attributes(path).get(OWN_KEY, {})
        wanted = {"axes": meaning.axes, "kind": meaning.kind, "spatial_ndim": meaning.spatial_ndim}
        if {name: own.get(name) for name in wanted} != wanted:
            raise ChoiceError(
                f"The result in '{path}' is not what this run makes: it has {own}, not {wanted}."
            )
        return cls(path, meaning, levels)

    @classmethod
    def reopen(cls, path: str | Path) -> PyramidSink:
        """Open a finished result of this package to edit it.

        Parameters
        ----------
        path : str or Path
            Folder of the group.

        Returns
        -------
        PyramidSink
            Ready for `write` and `refresh`; pixel size and classes stay as they are stored.

        Raises
        ------
        ChoiceError
            When it was not written by this package.
        """
        import zarr

        own = read_attributes(path).get(OWN_KEY)
        if not own:
            raise ChoiceError(f"'{path}' was not written by this package; it is not changed.")
        meaning = Meaning(own["axes"], own["kind"], spatial_ndim=own["spatial_ndim"])
        full = zarr.open_array(str(Path(path) / "0"), mode="r")
        shape = [full.shape[meaning.order.index(axis)] for axis in range(full.ndim)]
        return cls.resume(path, Form(tuple(shape), full.dtype), meaning)

    @property
    def array(self) -> Any:
        """The result at full resolution, in the order of ``meaning.axes``."""
        return self.arrays[0]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All levels, in the order of ``meaning.axes``; what a viewer takes."""
        order = self.meaning.order
        if order == tuple(range(len(order))):
            return tuple(level.array for level in self.levels)
        back = tuple(order.index(axis) for axis in range(len(order)))
        return tuple(TurnedArray(level.array, back) for level in self.levels)

    def write(self, index: Sequence[int | slice], region: Region, block: AnyArray) -> None:
        """Store one finished block.

        Parameters
        ----------
        index : sequence of (int or slice)
            Position on each leading axis of the result, or a slice that the block has.
        region : Region
            Where the block belongs, in pixels, inside the plane.
        block : numpy.ndarray
            (sliced axes..., *region.shape, trailing axes...), of a dtype that fits.

        Raises
        ------
        RunError
            When shape or dtype do not fit the result, or the disk is full.
        """
        shape = self.array.shape
        spans = spans_of((*index, *region.slices), shape, block, self.levels[0].array.dtype)
        whole = block.reshape(tuple(b - a for a, b in spans))
        stored = tuple(spans[axis] for axis in self.meaning.order)
        self.levels[0].put(stored, whole.transpose(self.meaning.order))
        if len(self.levels) > 1:
            self.stale.add(self._coarser(stored), self.levels[1].array.chunks)

    def read(self, index: Sequence[int | slice], region: Region) -> AnyArray:
        """Return what a region holds now, as `ZarrSink.read` does."""
        found: AnyArray = np.asarray(self.array[(*index, *region.slices)])
        return found

    def settle(self) -> None:
        """Come back when full resolution is on disk; coarser levels can be made from it."""
        self.levels[0].settle()

    def catch_up(self) -> None:
        """Bring the coarser levels up to date where blocks were written since the last time.

        Each chunk of a coarser level is made once, however many blocks fell into it: call it
        now and then while a run goes on, from one thread, and once at the end.

        Raises
        ------
        RunError
            When the disk is full.
        """
        changed = self.stale.take()
        for number in range(1, len(self.levels)):
            finer, coarser = self.levels[number - 1], self.levels[number]
            nearby: set[tuple[int, ...]] = set()
            for place in changed:
                facts = zip(place, coarser.array.chunks, coarser.array.shape, strict=True)
                spans = tuple((p * side, min((p + 1) * side, n)) for p, side, n in facts)
                self._halve(finer, coarser, spans)
                nearby |= set(chunks_of(self._coarser(spans), coarser.array.chunks))
            changed = nearby

    def refresh(
        self, index: Sequence[int | slice] | None = None, region: Region | None = None
    ) -> None:
        """Make the coarser levels anew where something was edited, or everywhere.

        Parameters
        ----------
        index : sequence of (int or slice), optional
            Planes that changed; all without it.
        region : Region, optional
            Where they changed, in pixels of full resolution; everywhere without it.

        Raises
        ------
        RunError
            When the disk is full.
        """
        shape = self.array.shape
        inner = () if region is None else region.slices
        leading = len(shape) - ("S" in self.meaning.axes) - max(len(inner), 2)
        picks: Where = (*((slice(None),) * leading if index is None else index), *inner)
        whole = tuple((0, n) for n in shape)
        spans = tuple(map(_span, picks, shape)) + whole[len(picks) :]
        self._refresh(tuple(spans[axis] for axis in self.meaning.order))

    def _refresh(self, spans: Spans) -> None:
        """Make every coarser level anew where a part of the finest has changed."""
        for finer, coarser in pairwise(self.levels):
            spans = self._coarser(spans)
            for part in parts_of(spans, coarser.array.chunks):
                self._halve(finer, coarser, part)

    def _coarser(self, spans: Spans) -> Spans:
        """Return spans in pixels of the next level."""
        return tuple(
            (a // 2, ceil(b / 2)) if axis in self.meaning.halved else (a, b)
            for axis, (a, b) in enumerate(spans)
        )

    def _halve(self, finer: ZarrSink, coarser: ZarrSink, spans: Spans) -> None:
        """Make one block of a coarser level; the last to come sees what the others wrote."""
        halved = self.meaning.halved
        source = tuple(
            slice(2 * a, min(2 * b, n)) if axis in halved else slice(a, b)
            for axis, ((a, b), n) in enumerate(zip(spans, finer.array.shape, strict=True))
        )
        with coarser.locks.over(spans, coarser.array.chunks), writing(self.path):
            block = np.asarray(finer.array[source])
            smaller = halve(block, halved, self.meaning.reduction, self.meaning.channel)
            coarser.array[tuple(slice(*span) for span in spans)] = smaller


def _level_forms(form: Form, meaning: Meaning) -> list[Form]:
    """Return the form of every level as it is stored: a chunk has one plane, all channels."""
    if len(form.shape) != len(meaning.axes):
        raise ChoiceError(
            f"The result has shape {form.shape}, which does not fit its axes '{meaning.axes}'."
        )
    stored = tuple(form.shape[axis] for axis in meaning.order)
    chunks = None
    if form.chunks is not None:
        sides = [n if a in "CS" else 1 for a, n in zip(meaning.stored, stored, strict=True)]
        chunks = (*sides[: len(sides) - len(form.chunks)], *form.chunks)
    return [Form(shape, form.dtype, chunks) for shape in level_shapes(stored, meaning.halved)]


def _span(pick: int | slice, length: int) -> tuple[int, int]:
    """Return the span of one entry of an index."""
    if isinstance(pick, slice):
        return pick.indices(length)[:2]
    return int(pick), int(pick) + 1
