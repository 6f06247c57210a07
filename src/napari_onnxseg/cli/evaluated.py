"""How an evaluation is told: tables, JSON, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isinf, isnan
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.cli.screen import print_json, say, show, show_table
from napari_onnxseg.correct.agreement import Agreement, ClassAgreement
from napari_onnxseg.correct.class_match import likely_ids
from napari_onnxseg.correct.evaluate import Evaluation
from napari_onnxseg.correct.objects import ObjectAgreement

_FIGURES = ("iou", "dice", "precision", "recall", "boundary_f", "hausdorff95")
_PIXELS = ("truth_px", "prediction_px", "common_px")
_TITLES = ("IoU", "Dice", "precision", "recall", "boundary F", "Hausdorff 95 %")
_ALL = "all images"
_MANY = 64
"""Classes from which on they are taken for numbers of objects."""

_WIDE = 8
"""Classes up to which all that is confused fits on a screen."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One prediction and its truth, compared.

    Parameters
    ----------
    name : str
        What both are called.
    prediction, truth : Path
        The files.
    evaluation : Evaluation
        What was found.
    unit : str
        Of distances.
    """

    name: str
    prediction: Path
    truth: Path
    evaluation: Evaluation
    unit: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that was compared, and what was not.

    Parameters
    ----------
    images : tuple of Compared
        By name.
    pool : Evaluation or None
        All together.
    unmatched : mapping of str to list of Path
        Images without a partner.
    failed : mapping of str to str
        Why an image could not be compared.
    """

    images: tuple[Compared, ...]
    pool: Evaluation | None
    unmatched: Mapping[str, Sequence[Path]]
    failed: Mapping[str, str]


def tell(report: Report, *, as_json: bool) -> None:
    """Print what was found.

    Parameters
    ----------
    report : Report
        Everything.
    as_json : bool
        As one JSON object instead of tables.
    """
    if as_json:
        print_json(_as_json(report))
    elif report.pool is not None:
        _show(report, report.pool)
        if report.pool.objects is None and len(report.pool.classes.classes) > _MANY:
            say("", "So many classes are rather numbers of objects; compare these with --objects.")
        _say_likely(report.pool.classes)
    for name, why in report.failed.items():
        say("[red]Failed:[/red] ", f"{name}: {why}")
    for side, paths in report.unmatched.items():
        other = "truth" if side == "prediction" else "prediction"
        for path in paths:
            say("[yellow]Left out:[/yellow] ", f"'{path}' has no {other} of its name.")


def write_csv(path: Path, report: Report) -> None:
    """Write all figures, one line a class, or one an image where objects are compared.

    Parameters
    ----------
    path : Path
        The file; replaced once complete.
    report : Report
        What was found.

    Raises
    ------
    FileFormatError
        When it cannot be written.
    """
    lines = list(_lines(report))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    with atomic(path) as file:
        file.write(text.getvalue().encode())


def _lines(report: Report) -> Iterator[dict[str, Any]]:
    """Yield the lines of a table of everything, the pool at the end."""
    for name, evaluation in _named(report):
        if evaluation.objects is not None:
            yield {"image": name, **_object_figures(evaluation.objects)}
            continue
        for entry in evaluation.classes.classes:
            yield {"image": name, "class": entry.id, "name": entry.name, **_class_figures(entry)}


def _named(report: Report) -> Iterator[tuple[str, Evaluation]]:
    """Yield all evaluations with their names, the pool at the end where it says more."""
    for one in report.images:
        yield one.name, one.evaluation
    if report.pool is not None and len(report.images) > 1:
        yield _ALL, report.pool


def _class_figures(entry: ClassAgreement) -> dict[str, Any]:
    """Return the figures of a class; nothing where one is not known."""
    figures = {name: _known(getattr(entry, name)) for name in _FIGURES}
    return {**{name: getattr(entry, name) for name in _PIXELS}, **figures}


def _object_figures(found: ObjectAgreement) -> dict[str, Any]:
    """Return the figures of objects."""
    precision = {f"ap{round(100 * t)}": _known(value) for t, value in found.precision.items()}
    return {
        "truth": found.truth,
        "prediction": found.prediction,
        "count_error": found.count_error,
        "split": found.split,
        "merged": found.merged,
        **precision,
        "mean_ap": _known(found.mean_precision),
    }


def _known(value: float) -> float | str | None:
    """Return a number as JSON and CSV can hold it: infinity as a word, NaN as nothing."""
    if isnan(value):
        return None
    return "inf" if isinf(value) else value


def _as_json(report: Report) -> dict[str, Any]:
    """Return everything as one JSON object."""
    images = [
        {
            "name": one.name,
            "prediction": str(one.prediction),
            "truth": str(one.truth),
            "unit": one.unit,
            **_evaluation_json(one.evaluation),
        }
        for one in report.images
    ]
    return {
        "images": images,
        "pooled": None if report.pool is None else _evaluation_json(report.pool),
        "unmatched": {side: list(map(str, paths)) for side, paths in report.unmatched.items()},
        "failed": dict(report.failed),
    }


def _evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return one evaluation as JSON."""
    found = evaluation.classes
    content: dict[str, Any] = {
        "classes": [{"id": c.id, "name": c.name, **_class_figures(c)} for c in found.classes],
        "confusion": found.confusion.tolist(),
        "accuracy": _known(found.accuracy),
        "mean_iou": _known(found.mean_iou),
    }
    if evaluation.objects is not None:
        content["objects"] = _object_figures(evaluation.objects)
    return content


def _show(report: Report, pool: Evaluation) -> None:
    """Print tables: the pool by class, images by their means, and what is confused."""
    unit = ", ".join(sorted({one.unit for one in report.images}))
    titles = (*_TITLES[:-1], f"{_TITLES[-1]} ({unit})")
    rows = [
        (c.name, f"{c.id}", f"{c.truth_px}", *(_short(getattr(c, name)) for name in _FIGURES))
        for c in pool.classes.classes
    ]
    show_table(("class", "id", "true px", *titles), rows)
    show(f"\n{_means(pool.classes)}.\n")
    if pool.objects is not None:
        show_table(*_object_table(report))
    elif len(report.images) > 1:
        rows = [
            (one.name, _short(one.evaluation.classes.accuracy), _short(found.mean_iou))
            for one in report.images
            if (found := one.evaluation.classes)
        ]
        show_table(("image", "accuracy", "mean IoU"), rows)
    _show_confusion(pool.classes)


def _object_table(report: Report) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Return titles and rows of a table of objects."""
    titles = ("objects of", "true", "found", "AP 0.5", "AP 0.75", "mean AP", "split", "merged")
    rows = [
        (
            name,
            f"{found.truth}",
            f"{found.prediction}",
            *(_short(n) for n in (found.precision[0.5], found.precision[0.75])),
            _short(found.mean_precision),
            f"{found.split}",
            f"{found.merged}",
        )
        for name, evaluation in _named(report)
        if (found := evaluation.objects) is not None
    ]
    return titles, rows


def _show_confusion(found: Agreement) -> None:
    """Print the worst confusions in words."""
    ids = [entry.id for entry in found.classes]
    names = {entry.id: entry.name for entry in found.classes}
    wrong = [
        (int(found.confusion[i, j]), ours, theirs)
        for i, ours in enumerate(ids)
        for j, theirs in enumerate(ids)
        if i != j and found.confusion[i, j]
    ]
    if not wrong:
        return
    if len(ids) <= _WIDE:
        _show_matrix(found)
    total = int(found.confusion.sum())
    rows = [
        (f"{100 * count / total:.2f} %", f"{names[ours]}", "taken for", f"{names[theirs]}")
        for count, ours, theirs in sorted(wrong, reverse=True)[:5]
    ]
    show("\nMost often wrong:")
    show_table(("", "", "", ""), rows)


def _say_likely(found: Agreement) -> None:
    """Say when the truth seems to use other ids."""
    ids = likely_ids(found.confusion, [entry.id for entry in found.classes])
    if ids:
        text = ",".join(f"{old}={new}" for old, new in ids.items())
        say("", f"The truth seems to number its classes otherwise; try --truth-ids {text}")


def _show_matrix(found: Agreement) -> None:
    """Print what became of each true class, in percent of it."""
    names = [entry.name for entry in found.classes]
    rows = [
        (name, *(f"{100 * count / max(1, int(row.sum())):.1f}" for count in row.tolist()))
        for name, row in zip(names, found.confusion, strict=True)
    ]
    show("\nOf each true class (line), percent predicted as (column):")
    show_table(("", *names), rows)


def _means(found: Agreement) -> str:
    """Return the figures over all classes in words."""
    accuracy = f"{100 * found.accuracy:.2f} %" if isfinite(found.accuracy) else "no"
    return f"{accuracy} of the pixels are right, mean IoU {_short(found.mean_iou)}"


def _short(value: float) -> str:
    """Return a figure for a table."""
    if isnan(value):
        return "–"
    return "∞" if isinf(value) else f"{value:.3f}"
