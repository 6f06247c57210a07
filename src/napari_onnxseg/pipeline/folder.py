"""A run over many images, one pipeline behind three doors; a bad image never stops the rest."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.folder_crew import Crew
from napari_onnxseg.pipeline.folder_find import find_images
from napari_onnxseg.pipeline.folder_job import FolderJob
from napari_onnxseg.pipeline.folder_ledger import LEDGER, Entry, Ledger, work_of
from napari_onnxseg.pipeline.folder_outcome import DONE_BEFORE, ImageOutcome
from napari_onnxseg.pipeline.folder_places import (
    Place,
    is_one_file,
    place_results,
    refuse_collisions,
    refuse_existing,
)
from napari_onnxseg.pipeline.folder_summary import Summary
from napari_onnxseg.pipeline.folder_task import FolderStep, Task


@dataclass(slots=True)
class Folder:
    """A run over many images, settled and not yet begun; made by `prepare`.

    Parameters
    ----------
    job : FolderJob
        Files in and out.
    task : Segmenting or CuttingOut
        What is done to each image.
    places : list of Place
        Images to do, and where their results go.
    told : list of ImageOutcome
        What is known before: what is no image, and what was done before.
    ledger : Ledger or None
        Remembers what is finished; None where there is one file only.
    """

    job: FolderJob
    task: Task
    places: list[Place]
    told: list[ImageOutcome]
    ledger: Ledger | None

    @property
    def total(self) -> int:
        """All images: those to do, and those done before."""
        return len(self.places) + sum(o.error == DONE_BEFORE for o in self.told)

    def outcomes(self, cancel: Cancel | None = None) -> Iterator[ImageOutcome]:
        """Work through the images.

        Parameters
        ----------
        cancel : Cancel, optional
            Ends the run from another thread, also inside native code.

        Yields
        ------
        ImageOutcome
            One an image, in their order.
        """
        with closing(self.steps(cancel)) as steps:
            for step in steps:
                if step.outcome is not None:
                    yield step.outcome

    def steps(
        self, cancel: Cancel | None = None, *, only_plan: bool = False
    ) -> Generator[FolderStep, None, None]:
        """Work through the images, and tell now and then how far each is.

        Parameters
        ----------
        cancel : Cancel, optional
            Ends the run from another thread, also inside native code.
        only_plan : bool, optional
            Say what would be done with each image, and do nothing.

        Yields
        ------
        FolderStep
            With the outcome of an image, in their order; and without one while all go on.

        Raises
        ------
        RunError
            When the disk takes neither the ledger nor the summary.
        """
        crew = Crew(self.task, self.job.at_once, cancel or Cancel(), only_plan)
        steps = crew.work(self.places, self.total)
        summary, done = self._summary(), 0
        try:
            for outcome in self.told:
                done += outcome.error == DONE_BEFORE
                yield self._kept(FolderStep(done, self.total, outcome=outcome), summary)
            for step in steps:
                done += step.outcome is not None
                yield self._kept(replace(step, done=done), summary)
        finally:
            steps.close()
            if self.ledger is not None:
                self.ledger.close()

    def _kept(self, step: FolderStep, summary: Summary | None) -> FolderStep:
        """Write down what is finished before it is told."""
        outcome = step.outcome
        if outcome is not None:
            if outcome.status == "done" and self.ledger is not None:
                self.ledger.add(outcome.source, outcome.outputs, _kept_row(outcome))
            if summary is not None and outcome.status != "planned":
                summary.add(outcome)
        return step

    def _summary(self) -> Summary | None:
        """Begin the summary that was asked for."""
        path = self.job.summary
        return None if path is None else Summary(path, self.task.columns)


def prepare(job: FolderJob, task: Task, *, only_plan: bool = False) -> Folder:
    """Settle which images come in and where each result goes, and refuse what cannot be.

    Parameters
    ----------
    job : FolderJob
        Files in and out.
    task : Segmenting or CuttingOut
        What is done to each image.
    only_plan : bool, optional
        Nothing will be written, so that results which are there do not matter.

    Returns
    -------
    Folder
        Ready to begin.

    Raises
    ------
    ChoiceError
        When there is no image, results would meet, or they are there already and neither
        ``resume`` nor ``overwrite`` was chosen.
    FileFormatError
        When nothing can be written to the folder of results.
    """
    found = find_images(job.inputs, job.pattern, job.out)
    images = [thing for thing in found if not thing.why_not]
    if not images:
        fitting = f" that fits '{job.pattern}'" if job.pattern else ""
        raise ChoiceError(f"There is no image{fitting} in {', '.join(map(str, job.inputs))}.")
    single = is_one_file(job.inputs, job.out, job.format)
    if single:
        places = [Place(images[0].path, job.out)]
    else:
        places = place_results(images, job, model=task.card.name, floats=task.floats)
    refuse_collisions(places, task.extras)
    for place in places:
        task.check(place)
    told = [ImageOutcome(f.path, "skipped", error=f.why_not) for f in found if f.why_not]
    if single or only_plan:
        return Folder(job, task, places, told, None)
    return _remembering(job, task, places, told)


def _remembering(
    job: FolderJob, task: Task, places: list[Place], told: list[ImageOutcome]
) -> Folder:
    """Leave out what an earlier run has finished, or refuse results that are there."""
    goes_on = job.resume and (job.out / LEDGER).is_file()
    if not job.overwrite and not goes_on:
        refuse_existing(places, task.extras, resume=job.resume)
    ledger = Ledger(job.out, work_of(task.card, task.choices, job.format))
    if not job.resume:
        ledger.entries.clear()
        return Folder(job, task, places, told, ledger)
    finished = {place: ledger.finished(place.source, place.target) for place in places}
    ledger.entries.clear()  # memory does not grow with what was done before
    kept = [_before(job, place, entry) for place, entry in finished.items() if entry]
    left = [place for place, entry in finished.items() if not entry]
    return Folder(job, task, left, [*told, *kept], ledger)


def _before(job: FolderJob, place: Place, entry: Entry) -> ImageOutcome:
    """Return the outcome of an image that was done before, with what was counted then."""
    row = dict(entry.row)
    device, seconds = row.pop("device", ""), row.pop("seconds", None)
    return ImageOutcome(
        place.source,
        "skipped",
        outputs={str(n): job.out / file for n, file in enumerate(entry.files)},
        device=device,
        seconds={} if seconds is None else {"total": seconds},
        row=row,
        error=DONE_BEFORE,
    )


def _kept_row(outcome: ImageOutcome) -> dict[str, Any]:
    """Return what the summary of a later run tells of an image."""
    seconds = outcome.seconds.get("total")
    return {"device": outcome.device, "seconds": seconds and round(seconds, 4), **outcome.row}
