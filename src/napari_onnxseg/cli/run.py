"""One verb over many images: read, run, write; a bad file never stops the rest."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import typer

from napari_onnxseg.arrays.files import ImageFile, is_image, read_image
from napari_onnxseg.cli.bar import Bar
from napari_onnxseg.cli.faults import ExitCode, describe, exit_code
from napari_onnxseg.cli.files import Files
from napari_onnxseg.cli.interrupt import ctrl_c_sets
from napari_onnxseg.cli.outcome import Outcome, tell, tell_one
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


class Verb(Protocol):
    """What differs between segmenting and cutting out."""

    @property
    def name(self) -> str:
        """The verb as typed."""
        ...

    def check(self, place: Place) -> None:
        """Raise for files that cannot hold the result, before the model runs."""
        ...

    def story(self, image: ImageFile, cancel: Cancel) -> Generator[job.Progress, None, Any]:
        """Return the run over one image, not yet begun."""
        ...

    def write(self, place: Place, image: ImageFile, result: Any) -> dict[str, Path]:
        """Write the result and return the files by kind."""
        ...


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
    outcomes = [Outcome(path, "skipped", error="not an image") for path in others]
    told: set[str] = set()
    bar, cancel = Bar(shown=not files.as_json, images=len(places)), Cancel()
    with ctrl_c_sets(cancel), bar.drawn():
        for outcome in _outcomes(verb, places, bar, cancel):
            outcomes.append(outcome)
            if not files.as_json:
                tell_one(outcome, told)
    raise typer.Exit(tell(outcomes, verb.name, files.as_json))


def _sorted_out(inputs: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the images, and what lies beside them in folders but is no image."""
    found = find_files(inputs)
    images = [path for path, named in found.items() if named or is_image(path)]
    if not images:
        raise ChoiceError(f"There is no image in {', '.join(map(str, inputs))}.")
    return images, [path for path in found if path not in set(images)]


def _placed(verb: Verb, files: Files, images: Sequence[Path]) -> list[Place]:
    """Decide every result's file, refuse what cannot hold it, and make the folder."""
    if is_one_file(files.inputs, files.out, files.format):
        places = [Place(images[0], files.out)]
        refuse_collisions(places)
    else:
        places = place_results(images, files.out, files.format)
    for place in places:
        verb.check(place)
    for folder in {place.target.parent for place in places}:
        folder.mkdir(parents=True, exist_ok=True)
    return places


def _outcomes(verb: Verb, places: Sequence[Place], bar: Bar, cancel: Cancel) -> Iterator[Outcome]:
    """Work through the images; stop where the next would end the same way."""
    stopped = ""
    for place in places:
        if stopped:
            yield Outcome(place.source, "skipped", error=stopped)
            continue
        outcome = _one(verb, place, bar, cancel)
        if outcome.code in (ExitCode.CANCELLED, ExitCode.DEVICE):
            stopped = "not started"
        yield outcome


def _one(verb: Verb, place: Place, bar: Bar, cancel: Cancel) -> Outcome:
    """Read, run and write one image; whatever goes wrong becomes its outcome."""
    try:
        image = read_image(place.source)
        result = bar.follow(place.source.name, verb.story(image, cancel))
        cancel.check()
        outputs = verb.write(place, image, result)
    except (Exception, KeyboardInterrupt) as error:  # the next image deserves its chance
        return Outcome(place.source, "failed", error=describe(error), code=exit_code(error))
    return Outcome(
        place.source,
        "done",
        outputs=outputs,
        device=result.device,
        seconds=result.seconds,
        notes=(*image.notes, *result.notes),
        record=result.record,
    )
