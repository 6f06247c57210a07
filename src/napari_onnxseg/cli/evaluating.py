"""``onnxseg evaluate``: predicted labels against true ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from napari_onnxseg.arrays.image_file import ImageFile
from napari_onnxseg.arrays.read_files import is_image, read_labels
from napari_onnxseg.arrays.write_files import check_output, write_labels
from napari_onnxseg.cli.evaluate import EvaluateAsked
from napari_onnxseg.cli.evaluate_texts import class_names, read_ids, read_scale
from napari_onnxseg.cli.evaluated import Compared, Report, tell, write_csv
from napari_onnxseg.cli.faults import ExitCode, describe
from napari_onnxseg.correct.class_match import Renumbered
from napari_onnxseg.correct.difference import DIFFERENCE_COLOURS, DIFFERENCE_NAMES
from napari_onnxseg.correct.evaluate import EvaluateJob, Evaluation, evaluate, pooled_evaluation
from napari_onnxseg.errors import ChoiceError, ImageError, OnnxSegError

_SPATIAL = "ZYX"


@dataclass(frozen=True, slots=True)
class Match:
    """A prediction and the truth of the same name.

    Parameters
    ----------
    name : str
        What both are called.
    prediction, truth : Path
        The files.
    """

    name: str
    prediction: Path
    truth: Path


def evaluate_files(asked: EvaluateAsked) -> None:
    """Compare files or folders, and tell about it.

    Parameters
    ----------
    asked : EvaluateAsked
        The files, and how to tell.

    Raises
    ------
    typer.Exit
        With 1 when an image could not be compared.
    ChoiceError
        When nothing can be compared, or a choice is wrong.
    """
    matches, unmatched = match_files(asked.prediction, asked.truth)
    job = EvaluateJob(
        names=class_names(asked.names, asked.model),
        ignore=tuple(asked.ignore or ()),
        tolerance=asked.tolerance,
        foreground=asked.foreground,
        objects=asked.objects,
        draw=asked.difference is not None,
    )
    ids = read_ids(asked.truth_ids)
    targets = _targets(matches, asked)
    found: list[Compared] = []
    failed: dict[str, str] = {}
    for match in matches:
        try:
            found.append(_compare(match, job, asked, (ids, targets.get(match.name))))
        except OnnxSegError as fault:
            failed[match.name] = describe(fault)
    pool = pooled_evaluation([one.evaluation for one in found]) if found else None
    report = Report(tuple(found), pool, unmatched, failed)
    if asked.csv is not None and found:
        write_csv(asked.csv, report)
    tell(report, as_json=asked.as_json)
    if failed:
        raise typer.Exit(ExitCode.FAILED)


def match_files(prediction: Path, truth: Path) -> tuple[list[Match], dict[str, list[Path]]]:
    """Find the truth of each prediction by its name, whatever the suffix.

    Parameters
    ----------
    prediction, truth : Path
        Two files, or two folders.

    Returns
    -------
    matches : list of Match
        Sorted by name.
    unmatched : dict of str to list of Path
        Images of either folder (``"prediction"``, ``"truth"``) that have no partner.

    Raises
    ------
    ChoiceError
        When one is a folder and the other is not, or no name is in both.
    """
    for path in (prediction, truth):
        if not path.exists():
            raise ChoiceError(f"There is no file or folder '{path}'.")
    if is_image(prediction) and is_image(truth):
        return [Match(truth.stem, prediction, truth)], {"prediction": [], "truth": []}
    folder, other = sorted((prediction, truth), key=lambda path: not path.is_dir())
    if folder.is_dir() and (is_image(other) or not other.is_dir()):
        raise ChoiceError(
            f"'{folder}' is a folder and '{other}' a file; compare two files, or two folders."
        )
    if not folder.is_dir():  # two files, one of which is no image: its reader says why
        return [Match(truth.stem, prediction, truth)], {"prediction": [], "truth": []}
    ours, theirs = _by_name(truth), _by_name(prediction)
    common = sorted(ours.keys() & theirs.keys())
    if not common:
        raise ChoiceError(
            f"No image of '{prediction}' has the name of one in '{truth}'; name predictions as "
            "their truth."
        )
    unmatched = {
        "prediction": [theirs[name] for name in sorted(theirs.keys() - ours.keys())],
        "truth": [ours[name] for name in sorted(ours.keys() - theirs.keys())],
    }
    return [Match(name, theirs[name], ours[name]) for name in common], unmatched


def _compare(
    match: Match,
    job: EvaluateJob,
    asked: EvaluateAsked,
    more: tuple[Mapping[int, int], Path | None],
) -> Compared:
    """Compare two files with other ids of the truth, and draw their difference."""
    ids, target = more
    prediction, truth = (_labels(path) for path in (match.prediction, match.truth))
    ndim = len(truth.data.shape)
    spatial = _spatial_ndim(truth if "Q" not in truth.axes else prediction, ndim)
    known = truth if truth.scale is not None else prediction
    scale = read_scale(asked.scale, spatial) if asked.scale else known.scale
    unit = "" if asked.scale or not known.units else known.units[-1]
    fitting = None if scale is None else tuple(scale)[-spatial:]
    known_ids = Renumbered(truth.data, ids) if ids else truth.data
    fitting_job = replace(job, spatial_ndim=spatial, scale=fitting)
    found = evaluate(prediction.data, known_ids, fitting_job)
    if target is not None and found.difference is not None:
        _draw(target, found, known)
    plain = replace(found, difference=None)
    return Compared(match.name, match.prediction, match.truth, plain, unit or "px")


def _labels(path: Path) -> ImageFile:
    """Read a label image, and refuse colours."""
    image = read_labels(path)
    if image.rgb or image.channel_axis is not None:
        raise ImageError(
            f"'{path}' has colours or channels, but labels are one number a pixel; give the "
            "label image."
        )
    return image


def _spatial_ndim(image: ImageFile, ndim: int) -> int:
    """Return how many of the last axes are spatial; those without a name are not."""
    return 3 if ndim > 2 and image.axes[-3:] == _SPATIAL else min(ndim, 2)


def _draw(target: Path, found: Evaluation, image: ImageFile) -> None:
    """Write the difference where it was asked for."""
    assert found.difference is not None
    target.parent.mkdir(parents=True, exist_ok=True)
    write_labels(
        target,
        found.difference,
        colours=DIFFERENCE_COLOURS,
        names=DIFFERENCE_NAMES,
        scale=image.scale,
        units=image.units,
    )


def _targets(matches: Sequence[Match], asked: EvaluateAsked) -> Mapping[str, Path]:
    """Return the file of each difference, none of which may be one of the images."""
    place = asked.difference
    if place is None:
        return {}
    single = len(matches) == 1 and not asked.truth.is_dir()
    if single:
        check_output(place, "labels")
    targets = {m.name: place if single else place / f"{m.name}.png" for m in matches}
    if not single and place.suffix and not place.is_dir():
        raise ChoiceError(f"'{place}' is one file, but {len(matches)} images go in; name a folder.")
    given = {path.resolve() for m in matches for path in (m.prediction, m.truth)}
    for target in targets.values():
        if target.resolve() in given:
            raise ChoiceError(f"The difference would overwrite '{target}'; choose another place.")
    return targets


def _by_name(folder: Path) -> dict[str, Path]:
    """Return the images of a folder by their name."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not is_image(path):
            continue
        name = path.name.split(".ome.")[0] if ".ome." in path.name else path.stem
        if name in found:
            raise ChoiceError(
                f"'{found[name].name}' and '{path.name}' in '{folder}' have one name; keep one."
            )
        found[name] = path
    return found
