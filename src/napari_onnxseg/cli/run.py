"""One verb over many images: read, plan, run, write; a bad file never stops the rest."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import typer

from napari_onnxseg.arrays.files import ImageFile, is_image, read_image
from napari_onnxseg.cli.bar import Bar
from napari_onnxseg.cli.faults import ExitCode, describe, exit_code
from napari_onnxseg.cli.files import Files
from napari_onnxseg.cli.interrupt import ctrl_c_sets
from napari_onnxseg.cli.outcome import Outcome, Teller, summarise
from napari_onnxseg.cli.places import (
    Place,
    find_files,
    is_one_file,
    place_results,
    refuse_collisions,
)
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline import job
from napari_onnxseg.pipeline.cancel import Cancel


class Plan(Protocol):
    """What is settled before a pixel is read."""

    @property
    def indices(self) -> tuple[tuple[int, ...], ...]:
        """The planes of the result."""
        ...

    def words(self) -> str:
        """Return the plan in two lines for people."""
        ...


class Verb(Protocol):
    """What differs between segmenting and cutting out."""

    @property
    def name(self) -> str:
        """The verb as typed."""
        ...

    @property
    def floats(self) -> bool:
        """Whether results hold floats: a format that is left open is then TIFF, not PNG."""
        ...

    @property
    def extras(self) -> tuple[str, ...]:
        """Other results of each image, as `Place.beside` names them."""
        ...

    def check(self, place: Place, planes: int = 1) -> None:
        """Raise for files that cannot hold the result, before the model runs."""
        ...

    def plan(self, image: ImageFile) -> Plan:
        """Return what would be done with an image."""
        ...

    def story(self, image: ImageFile, cancel: Cancel) -> Generator[job.Progress, None, Any]:
        """Return the run over one image, not yet begun."""
        ...

    def write(self, place: Place, image: ImageFile, result: Any) -> dict[str, Path]:
        """Write the result and return the files by kind."""
        ...


@dataclass(frozen=True, slots=True)
class _Desk:
    """What every image of a run shares."""

    verb: Verb
    bar: Bar
    cancel: Cancel
    teller: Teller
    only_plan: bool


def run(verb: Verb, files: Files) -> None:
    """Run a verb over every image and exit with the code of the whole.

    Parameters
    ----------
    verb : Verb
        What to do with each image.
    files : Files
        Images in, results out.

    Raises
    ------
    ChoiceError
        Before anything runs, when files and choices do not fit together.
    typer.Exit
        Always, with the exit code.
    """
    images, others = _sorted_out(files.inputs)
    places = _placed(verb, files, images)
    bar, cancel = Bar(shown=not files.as_json, images=len(places)), Cancel()
    teller = Teller(silent=files.as_json)
    desk = _Desk(verb, bar, cancel, teller, only_plan=files.plan)
    outcomes = []
    with ctrl_c_sets(cancel):
        for outcome in _outcomes(desk, others, places):
            teller.tell(outcome)
            outcomes.append(outcome)
    raise typer.Exit(summarise(outcomes, verb.name, files.as_json))


def _sorted_out(inputs: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the images, and what lies beside them in folders but is no image."""
    found = find_files(inputs)
    images = [path for path, named in found.items() if named or is_image(path)]
    if not images:
        raise ChoiceError(f"There is no image in {', '.join(map(str, inputs))}.")
    return images, [path for path in found if path not in set(images)]


def _placed(verb: Verb, files: Files, images: Sequence[Path]) -> list[Place]:
    """Decide every result's file, and refuse what cannot hold it."""
    if is_one_file(files.inputs, files.out, files.format):
        places = [Place(images[0], files.out)]
    else:
        places = place_results(images, files.out, files.format, floats=verb.floats)
    refuse_collisions(places, verb.extras)
    for place in places:
        verb.check(place)
    return places


def _outcomes(desk: _Desk, others: Sequence[Path], places: Sequence[Place]) -> Iterator[Outcome]:
    """Work through the images; stop where the next would end the same way."""
    for path in others:
        yield Outcome(path, "skipped", error="not an image")
    stopped = False
    for place in places:
        if stopped:
            yield Outcome(place.source, "skipped", error="not started")
            continue
        outcome = _one(desk, place)
        stopped = outcome.code in (ExitCode.CANCELLED, ExitCode.DEVICE)
        yield outcome


def _one(desk: _Desk, place: Place) -> Outcome:
    """Read, plan, run and write one image; whatever goes wrong becomes its outcome."""
    try:
        return _done(desk, place)
    except (Exception, KeyboardInterrupt) as error:  # the next image deserves its chance
        return Outcome(place.source, "failed", error=describe(error), code=exit_code(error))


def _done(desk: _Desk, place: Place) -> Outcome:
    """Read, plan, run and write one image."""
    image = read_image(place.source)
    plan = desk.verb.plan(image)
    desk.verb.check(place, len(plan.indices))
    if desk.only_plan:
        return Outcome(place.source, "planned", plan=plan.words(), notes=image.notes)
    desk.teller.announce(plan.words())
    result = desk.bar.follow(place.source.name, desk.verb.story(image, desk.cancel))
    desk.cancel.check()
    place.target.parent.mkdir(parents=True, exist_ok=True)
    return Outcome(
        place.source,
        "done",
        outputs=desk.verb.write(place, image, result),
        plan=plan.words(),
        device=result.device,
        seconds=result.seconds,
        notes=(*image.notes, *result.notes),
        record=result.record,
    )
