"""Results on disk: a zarr array that takes blocks from several threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.chunks import ChunkLocks
from napari_onnxseg.arrays.stale import Stale
from napari_onnxseg.arrays.store_folders import OWN_KEY, make_room, to_disk, writing
from napari_onnxseg.errors import ChoiceError, RunError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray

Where = tuple[int | slice, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """Size and kind of a stored result.

    Parameters
    ----------
    shape : tuple of int
        Whole result: leading, spatial, and trailing axes.
    dtype : numpy.dtype
        Of its values; anything that numpy takes for one.
    chunks : tuple of int, optional
        Sides of a chunk on the last axes, leading ones are then 1. None only where a result
        is opened again: its chunks are then as they are.
    """

    shape: tuple[int, ...]
    dtype: Any
    chunks: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        object.__setattr__(self, "dtype", np.dtype(self.dtype))

    @property
    def whole_chunks(self) -> tuple[int, ...]:
        """Sides of a chunk on every axis, none longer than its axis."""
        given = self.chunks or self.shape
        every = (1,) * (len(self.shape) - len(given)) + tuple(given)
        return tuple(max(1, min(int(c), n)) for c, n in zip(every, self.shape, strict=True))


@dataclass(frozen=True, slots=True)
class ZarrSink:
    """A result in a zarr array (format 3) on disk.

    Threads of one process may write any regions at the same time: those that meet in a chunk
    take turns. Processes must keep to whole chunks, see `chunks.slabs` and `chunks.is_aligned`.
    A chunk file is replaced in one step, so that a process that dies leaves whole chunks.

    Parameters
    ----------
    array : zarr.Array
        (leading axes..., spatial axes..., trailing axes...), open for writing; where nothing
        has been written it reads 0 and takes no space.
    path : Path
        Its folder.
    locks : ChunkLocks
        Held while a chunk is changed.
    unsettled : Stale
        Chunks that may not have reached the disk yet.
    """

    array: Any
    path: Path
    locks: ChunkLocks = field(default_factory=ChunkLocks, repr=False, compare=False)
    unsettled: Stale = field(default_factory=Stale, repr=False, compare=False)

    @classmethod
    def create(
        cls,
        path: str | Path,
        form: Form,
        *,
        dimensions: Sequence[str] | None = None,
        replace: bool = False,
    ) -> ZarrSink:
        """Make an empty result.

        Parameters
        ----------
        path : str or Path
            Folder of the array.
        form : Form
            Its shape, dtype and chunks.
        dimensions : sequence of str, optional
            Names of the axes.
        replace : bool, optional
            Remove an older result of this package first.

        Returns
        -------
        ZarrSink
            All background.

        Raises
        ------
        ChoiceError
            When something is there already, or what is to be replaced is none of our results.
        RunError
            When it cannot be written.
        """
        import zarr

        path = Path(path)
        make_room(path, replace=replace)
        with writing(path):
            array = zarr.create_array(
                str(path),
                shape=form.shape,
                dtype=form.dtype,
                chunks=form.whole_chunks,
                compressors=compressor(form.dtype),
                fill_value=0,
                dimension_names=None if dimensions is None else list(dimensions),
                attributes={OWN_KEY: {}},
                zarr_format=3,
                config={"write_empty_chunks": False},
            )
        return cls(array, path)

    @classmethod
    def resume(cls, path: str | Path, form: Form) -> ZarrSink:
        """Open a result that was begun, to go on with it.

        Parameters
        ----------
        path : str or Path
            Folder of the array.
        form : Form
            What the run would make; chunks are not compared when they are None.

        Returns
        -------
        ZarrSink
            With the blocks that were written.

        Raises
        ------
        ChoiceError
            When there is no such array, or it was made for another result.
        """
        import zarr

        path = Path(path)
        try:
            array = zarr.open_array(str(path), mode="r+", config={"write_empty_chunks": False})
        except (OSError, ValueError, KeyError) as fault:
            raise ChoiceError(
                f"There is no result to go on with in '{path}'; start the run anew."
            ) from fault
        wanted: dict[str, Any] = {"shape": form.shape, "dtype": form.dtype}
        if form.chunks is not None:
            wanted["chunks"] = form.whole_chunks
        for name, value in wanted.items():
            found = getattr(array, name)
            if found != value:
                raise ChoiceError(
                    f"The result in '{path}' has {name} {found}, this run makes {value}: it "
                    "belongs to another run, so choose another place or start anew."
                )
        return cls(array, path)

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
            When shape or dtype do not fit the result, or the disk is full; the store then
            holds what it held before, block by block.
        """
        spans = spans_of((*index, *region.slices), self.array.shape, block, self.array.dtype)
        self.put(spans, block.reshape(tuple(b - a for a, b in spans)))

    def put(self, spans: Sequence[tuple[int, int]], block: AnyArray) -> None:
        """Store a block that has every axis, unchecked.

        Parameters
        ----------
        spans : sequence of (int, int)
            First index and one past the last, per axis.
        block : numpy.ndarray
            As long as the spans on every axis.

        Raises
        ------
        RunError
            When the disk is full.
        """
        with writing(self.path), self.locks.over(spans, self.array.chunks):
            self.array[tuple(slice(*span) for span in spans)] = block
        self.unsettled.add(tuple(spans), self.array.chunks)

    def settle(self) -> None:
        """Come back when everything written so far is on disk, also if the power fails.

        Raises
        ------
        RunError
            When the disk is full.
        """
        with writing(self.path):
            for place in self.unsettled.take():
                file = self.path / self.array.metadata.encode_chunk_key(place)
                if file.exists():  # chunks of background have no file
                    to_disk(file)

    def read(self, index: Sequence[int | slice], region: Region) -> AnyArray:
        """Return what a region holds now.

        Parameters
        ----------
        index : sequence of (int or slice)
            Position on each leading axis.
        region : Region
            In pixels, inside the plane.

        Returns
        -------
        numpy.ndarray
            (sliced axes..., *region.shape, trailing axes...).
        """
        found: AnyArray = np.asarray(self.array[(*index, *region.slices)])
        return found


def spans_of(
    where: Where, shape: Sequence[int], block: AnyArray, dtype: np.dtype[Any]
) -> tuple[tuple[int, int], ...]:
    """Return the span on every axis of a result, after checking that a block fits there.

    Parameters
    ----------
    where : tuple of (int or slice)
        Index of the first axes; the others are whole.
    shape : sequence of int
        Of the result.
    block : numpy.ndarray
        What shall go there; axes that are picked by an int are missing.
    dtype : numpy.dtype
        Of the result.

    Returns
    -------
    tuple of (int, int)
        First index and one past the last, per axis.

    Raises
    ------
    RunError
        When shape or dtype do not fit.
    """
    picks = (*where, *(slice(None),) * (len(shape) - len(where)))
    spans, sides = [], []
    for pick, length in zip(picks, shape, strict=True):
        span = pick if isinstance(pick, slice) else slice(int(pick), int(pick) + 1)
        start, stop, _ = span.indices(length)
        spans.append((start, stop))
        if isinstance(pick, slice):
            sides.append(stop - start)
    if tuple(sides) != block.shape or not np.can_cast(block.dtype, dtype):
        raise RunError(
            f"A block of {block.dtype} {block.shape} does not fit the {dtype} {tuple(sides)} of "
            f"the result at {where}."
        )
    return tuple(spans)


def compressor(dtype: Any) -> Any:
    """Return the compression of results: zstd, after sorting the bytes of wide values.

    Parameters
    ----------
    dtype : dtype-like
        Dtype of the result.

    Returns
    -------
    zarr.codecs.BloscCodec
        For zarr format 3; part of its specification, so that every reader knows it.
    """
    from zarr.codecs import BloscCodec

    wide = np.dtype(dtype).itemsize > 1
    return BloscCodec(cname="zstd", clevel=3, shuffle="shuffle" if wide else "noshuffle")
