"""What a run into a store writes down, so that nothing that was done is lost."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.arrays.store_folders import check_room, remove_unfinished
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.fingerprint import fingerprint
from napari_onnxseg.pipeline.journal import NAME, Journal
from napari_onnxseg.pipeline.plan import SegmentPlan
from napari_onnxseg.pipeline.record import model_record, plain, versions
from napari_onnxseg.pipeline.shelf import Shelf, aside
from napari_onnxseg.tiling.plan import TilePlan
from napari_onnxseg.tiling.stitch import rows_to_do

EVERY_S = 2.0
"""Seconds of work that the end of the process can cost."""

LEVELS_S = 10.0
"""Seconds after which coarser levels may lag behind."""

_FREE = ("model", "device", "batch", "workers", "store", "resume")
"""Choices that do not change a result, or are told apart by something better."""

Position = tuple[int, ...]


@dataclass(slots=True)
class Log:
    """Keeps the journal of a run; does nothing for results in memory.

    Parameters
    ----------
    tiles : TilePlan
        Geometry of one plane.
    shelf : Shelf
        Where the results go.
    once : bool
        Whether statistics are those of the whole image.
    downwards : bool
        Whether a plane can only be done from its top, so that a run that goes on does its
        planes anew.
    journal : Journal or None
        None for results in memory.
    waiting : mapping of tuple of int to list of int
        Finished parts that the journal does not know yet.
    noted, levels : float
        When the journal was written, and coarser levels made, the last time.
    """

    tiles: TilePlan
    shelf: Shelf
    once: bool = True
    downwards: bool = False
    journal: Journal | None = None
    waiting: dict[Position, list[int]] = field(default_factory=dict)
    noted: float = 0.0
    levels: float = 0.0

    @classmethod
    def of(cls, plan: SegmentPlan, stack: ImageStack, device: str) -> Log:
        """Prepare the log of a run.

        Parameters
        ----------
        plan : SegmentPlan
            The decisions.
        stack : ImageStack
            The image.
        device : str
            What really runs the model.

        Returns
        -------
        Log
            With its journal on disk; of a run that goes on, with what was done.

        Raises
        ------
        ChoiceError
            When the run cannot go on, saying what differs, or the store is taken.
        """
        job = plan.job
        path = None if job.store is None else Path(job.store)
        shelf = Shelf(plan.part, _steps(plan), path, len(plan.heads) > 1)
        once, downwards = job.statistics == "image", plan.tiles.blends and bool(plan.resolution)
        if path is None:
            return cls(plan.tiles, shelf)
        journal = _journal(path, _identity(plan, stack, device), job.resume)
        shelf.resume = any(journal.done.values())
        now = time.monotonic()
        return cls(plan.tiles, shelf, once, downwards, journal, noted=now, levels=now)

    @property
    def resumed(self) -> bool:
        """Whether an earlier run has done a part."""
        return self.shelf.resume

    @property
    def leave_out(self) -> Mapping[Position, Collection[int]]:
        """Numbers of tiles that need not be done, by plane."""
        done = self.journal.done if self.journal else {}
        return {position: self._left_out(numbers) for position, numbers in done.items()}

    @property
    def tiles_done(self) -> int:
        """How many tiles need not be done."""
        return sum(map(len, self.leave_out.values()))

    def measured(self, stats: Any) -> None:
        """Keep what was measured over the image; of a run that goes on it must be what it was.

        Parameters
        ----------
        stats : object
            Statistics, JSON-able once they are plain.

        Raises
        ------
        ChoiceError
            When the image has changed.
        """
        if self.journal is None or stats is None or not self.once:
            return
        found, before = plain(stats), self.journal.facts.get("statistics")
        if before is None:
            self.journal.fact("statistics", found)
        elif before != Journal.as_kept(found):
            raise ChoiceError(
                f"The image is not the one that the run in '{self.shelf.path}' was begun with: "
                "its intensities differ; choose another place, or start anew."
            )

    def note(self, position: Position, numbers: Collection[int]) -> None:
        """Write down finished parts, now or within seconds.

        Parameters
        ----------
        position : tuple of int
            The plane.
        numbers : collection of int
            Of tiles, or of bands where they are blended.

        Raises
        ------
        RunError
            When the disk takes no more.
        """
        if self.journal is None or self.downwards:
            return
        self.waiting.setdefault(position, []).extend(numbers)
        now = time.monotonic()
        if now - self.noted >= EVERY_S:
            self._write()
        if now - self.levels >= LEVELS_S:
            self.shelf.catch_up()
            self.levels = time.monotonic()

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Write down what is finished, however the tiles come to an end."""
        try:
            yield
        finally:
            self._write()

    def finish(self) -> None:
        """Complete the stores, and remove what only a run that goes on needs."""
        self.shelf.close()
        if self.journal is not None:
            self.journal.path.unlink(missing_ok=True)
            shutil.rmtree(self.journal.path.parent, ignore_errors=True)

    def _write(self) -> None:
        """Bring blocks to the disk, and then the news of them."""
        if self.journal is None or not self.waiting:
            return
        self.shelf.settle()
        for position, numbers in self.waiting.items():
            self.journal.tiles(position, numbers)
        self.waiting.clear()
        self.noted = time.monotonic()

    def _left_out(self, numbers: Collection[int]) -> Collection[int]:
        """Return tiles, of which the finished parts are known."""
        if not self.tiles.blends:
            return numbers
        width = len(self.tiles) // self.tiles.grid[0]
        needed = set(rows_to_do(self.tiles, numbers))
        rows = [row for row in range(self.tiles.grid[0]) if row not in needed]
        return [row * width + i for row in rows for i in range(width)]


def _steps(plan: SegmentPlan) -> tuple[int, ...]:
    """Return how far tiles lie apart on each axis, in pixels of the result."""
    sides = zip(plan.tiles.axes, plan.part.shape, plan.shape, plan.tiles.shape, strict=True)
    return tuple(
        max(1, axis.step * image // model) if axis.count > 1 else n
        for axis, n, image, model in sides
    )


def _journal(path: Path, identity: Mapping[str, Any], resume: bool) -> Journal:
    """Open the journal of a run that goes on, or begin one where the store is free."""
    file = aside(path) / NAME
    if resume:
        journal = Journal.resume(file, identity)
        for store in (path, *aside(path).glob("*.zarr")):
            remove_unfinished(store)
        return journal
    if file.exists():
        raise ChoiceError(
            f"A run into '{path}' was begun and did not come to its end; go on with it (resume), "
            f"or remove '{path}' and '{file.parent}'."
        )
    check_room(path, replace=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    return Journal.begin(file, identity)


def _identity(plan: SegmentPlan, stack: ImageStack, device: str) -> dict[str, Any]:
    """Return what must be the same for a run to give the same result."""
    job, tiles = plan.job, plan.tiles
    chosen = {f.name: getattr(job, f.name) for f in fields(job) if f.name not in _FREE}
    model = model_record(plan.card)
    return {
        "model": {"sha256": model["sha256"], "classes": model["classes"]},
        "job": {name: plain(value) for name, value in chosen.items() if value is not None},
        "outputs": [plain(head) for head in plan.heads],
        "normalization": plan.normalization.to_json(),
        "channels": plain(plan.channels),
        "tiles": {
            name: list(getattr(tiles, name))
            for name in ("shape", "padded", "tile", "halo", "overlap", "multiple", "shrink")
        },
        "resolution": plan.resolution.record() if plan.resolution else None,
        "image": fingerprint(stack),
        "device": device,
        "versions": dict(versions()),
    }
