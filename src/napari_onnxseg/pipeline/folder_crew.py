"""Threads that work through images: some run, others are read or written beside them."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from napari_onnxseg.arrays.files import ImageFile, read_image
from napari_onnxseg.errors import CancelledError, DeviceError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.folder_gate import Gate
from napari_onnxseg.pipeline.folder_outcome import NOT_STARTED, ImageOutcome, failed
from napari_onnxseg.pipeline.folder_places import Place
from napari_onnxseg.pipeline.folder_task import FolderStep, Plan, Task
from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.pipeline.tile_size import BUDGET_BYTES
from napari_onnxseg.runtime.doctor import physical_cores

TICK_S = 0.1
"""How often a run tells how far it is while no image is finished."""

BESIDE = 2
"""Images that are being read or written while others run."""

AHEAD = 4
"""Images in hand per thread, most of them finished and waiting for their turn to be told."""

LARGE_WORDS = "Large images are worked on one at a time, each with all cores."


@dataclass(frozen=True, slots=True)
class _Ready:
    """An image that was read, with its plan and how it is to run."""

    image: Any
    plan: Plan
    workers: int | None
    alone: bool


class Crew:
    """The threads of a run: some images run, others are read or written beside them.

    Parameters
    ----------
    task : Segmenting or CuttingOut
        What is done to each image.
    at_once : int or None
        Images that may run together; None takes half of the cores.
    cancel : Cancel
        Ends the run.
    only_plan : bool
        Say what would be done with each image, and do nothing.
    """

    def __init__(self, task: Task, at_once: int | None, cancel: Cancel, only_plan: bool) -> None:
        self.task, self.cancel, self.only_plan = task, cancel, only_plan
        self.most = at_once or max(1, physical_cores() // 2)
        self.gate = Gate(self.most)
        self.live: dict[Path, Progress] = {}
        self.plan = ""
        self._last: tuple[Any, _Ready | None] = (None, None)
        self.stopped = Event()
        self._begun = Event()

    def work(self, places: Sequence[Place], total: int) -> Generator[FolderStep, None, None]:
        """Keep a few images in hand; give their outcomes in order, and the time between.

        Parameters
        ----------
        places : sequence of Place
            The images to do.
        total : int
            What the steps say.

        Yields
        ------
        FolderStep
            With an outcome for each image; `done` is left to the caller.
        """
        threads = max(1, min(self.most + BESIDE, len(places)))
        coming = enumerate(places)
        pool = ThreadPoolExecutor(threads, thread_name_prefix="onnxseg-image")
        try:
            hand = self._submitted(pool, islice(coming, 1))
            while hand:
                if not wait(list(islice(hand, 1)), timeout=TICK_S).done:
                    yield self._step(total)
                    continue
                outcome = hand.popleft().result()
                room = AHEAD * threads if self._begun.is_set() or self.only_plan else 1
                hand += self._submitted(pool, islice(coming, room - len(hand)))
                yield self._step(total, outcome)
        except BaseException:
            self.cancel.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _step(self, total: int, outcome: ImageOutcome | None = None) -> FolderStep:
        """Return how far each image is that is being worked on."""
        running = tuple(self.live.copy().items())
        return FolderStep(0, total, running=running, outcome=outcome, plan=self.plan)

    def _submitted(
        self, pool: ThreadPoolExecutor, places: Iterable[tuple[int, Place]]
    ) -> deque[Future[ImageOutcome]]:
        """Hand some images to the threads; only one until a run has shown what it runs on."""
        hand: deque[Future[ImageOutcome]] = deque()
        for number, place in places:
            self.gate.expect(number)
            hand.append(pool.submit(self._one, number, place))
        return hand

    def _one(self, number: int, place: Place) -> ImageOutcome:
        """Read, plan, run and write one image; whatever goes wrong becomes its outcome."""
        try:
            return self._done(number, place)
        except Exception as error:  # the next image deserves its chance
            if isinstance(error, (CancelledError, DeviceError)):
                self.stopped.set()
            return failed(place.source, error)
        finally:
            self.live.pop(place.source, None)
            self.gate.forget(number)

    def _done(self, number: int, place: Place) -> ImageOutcome:
        """Read, plan, run and write one image."""
        if self._is_over():
            return ImageOutcome(place.source, "skipped", error=NOT_STARTED)
        image = read_image(place.source)
        ready = self._ready(image)
        self.task.check(place, len(ready.plan.indices))
        if self.only_plan:
            plan = ready.plan.words()
            return ImageOutcome(place.source, "planned", plan=plan, notes=image.notes)
        self.plan = ready.plan.words()
        result = self._run(number, place, ready)
        if result is None:
            return ImageOutcome(place.source, "skipped", error=NOT_STARTED)
        place.target.parent.mkdir(parents=True, exist_ok=True)
        large = (LARGE_WORDS,) if ready.alone else ()
        return ImageOutcome(
            place.source,
            "done",
            outputs=self.task.write(place, image, result),
            plan=ready.plan.words(),
            device=result.device,
            seconds=result.seconds,
            notes=(*image.notes, *result.notes, *large),
            record=result.record,
            row=self.task.row(result, image),
        )

    def _ready(self, image: ImageFile) -> _Ready:
        """Plan an image; one that looks like the last is planned like it, pixels do not matter."""
        data = image.data
        looks = (data.shape, str(data.dtype), image.axes, image.rgb, image.channel_axis,
                 image.scale, image.units, isinstance(data, np.ndarray))  # fmt: skip
        before, ready = self._last
        if ready is None or before != looks:
            ready = self._decided(image)
            self._last = (looks, replace(ready, image=None))
        return replace(ready, image=image)

    def _decided(self, image: ImageFile) -> _Ready:
        """Decide whether an image runs beside others, on one thread, or alone with all."""
        plan = self.task.plan(image)
        if self.most == 1 or self.only_plan:
            return _Ready(image, plan, None, alone=False)
        small = self.task.plan(image, 1)
        held = image.data.nbytes if isinstance(image.data, np.ndarray) else 0
        fits = small.memory_bytes + held <= BUDGET_BYTES / self.most
        if fits and self._is_same(plan, small):
            return _Ready(image, small, 1, alone=False)
        return _Ready(image, plan, None, alone=True)

    def _is_same(self, plan: Plan, small: Plan) -> bool:
        """Tell whether one thread gives what all would give: the same tiles, or exact ones."""
        tiles, others = getattr(plan, "tiles", None), getattr(small, "tiles", None)
        return tiles == others or self.task.card.geometry.exact

    def _run(self, number: int, place: Place, ready: _Ready) -> Any:
        """Run one image when there is a place for it; None when the run is over by then.

        An image for which the memory does not suffice beside others is tried once more alone.
        """
        try:
            return self._passed(number, place, ready)
        except MemoryError:
            if ready.alone or self.most == 1:
                raise
        return self._passed(number, place, replace(ready, alone=True))

    def _passed(self, number: int, place: Place, ready: _Ready) -> Any:
        """Run one image behind the gate."""
        with self.gate.passing(number, alone=ready.alone):
            if self._is_over():
                return None
            with closing(self.task.story(ready.image, self.cancel, ready.workers)) as story:
                result = self._followed(place, story)
            self.cancel.check()
            if not self._begun.is_set():
                self._begun.set()
                if _is_accelerated(result.device):
                    self.gate.narrow()
            return result

    def _followed(self, place: Place, story: Generator[Progress, None, Any]) -> Any:
        """Return what a story gives back, keeping its latest step for whoever looks."""
        while True:
            try:
                self.live[place.source] = next(story)
            except StopIteration as end:
                return end.value

    def _is_over(self) -> bool:
        """Tell whether no other image may begin."""
        return self.stopped.is_set() or self.cancel.requested


def _is_accelerated(device: str) -> bool:
    """Tell whether a label names a GPU or another accelerator."""
    return not device.startswith(("CPU", "the predictor"))
