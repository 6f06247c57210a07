"""Mend a model and run the copy beside the original."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from napari_onnxseg.errors import ModelError, OnnxSegError
from napari_onnxseg.graph.findings_geometry import tile_sides
from napari_onnxseg.graph.mend import Choices, Mended, mend
from napari_onnxseg.graph.mend_files import side_file
from napari_onnxseg.graph.subject import Subject, Wanted, read_subject
from napari_onnxseg.runtime.bare import Bare, limits, noise
from napari_onnxseg.types import AnyArray


@dataclass(frozen=True, slots=True)
class Comparison:
    """A mended copy beside its original, on the same random picture.

    Parameters
    ----------
    difference : float or None
        Largest difference of scores over all common outputs; None when the original does
        not run.
    changed_px : int or None
        Pixels whose class differs; None where there are no classes to compare.
    pixels : int
        Pixels compared.
    trouble : str
        Why there is no difference to tell.
    larger : str
        The larger size at which the copy ran too, where it is free.
    """

    difference: float | None
    changed_px: int | None = None
    pixels: int = 0
    trouble: str = ""
    larger: str = ""

    def words(self) -> str:
        """Return the comparison in a sentence.

        Returns
        -------
        str
            Difference of scores and labels, and the larger size.
        """
        if self.difference is None:
            told = f"The original cannot be run beside it: {self.trouble}"
        else:
            told = f"Largest difference of scores to the original: {self.difference:.3g}"
            if self.changed_px is not None:
                told += f"; {self.changed_px} of {self.pixels} labels differ"
        return told + (f"; runs at {self.larger} too" if self.larger else "") + "."


def mend_beside(
    path: Path, out: Path, choices: Choices | None = None, wanted: Wanted | None = None
) -> tuple[Mended, Comparison]:
    """Write a mended copy of a model, and compare its answers with the original's.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    out : Path
        The new file, which must not exist yet.
    choices : Choices, optional
        What to mend.
    wanted : Wanted, optional
        Layout and output, where the graph leaves them open.

    Returns
    -------
    tuple of Mended and Comparison
        The copy, and how its answers differ.

    Raises
    ------
    ModelError
        When the original cannot be read, or the copy does not run; nothing is left then.
    ChoiceError
        When something asked for cannot be proven right, or the new file exists.
    """
    mended = mend(path, out, choices, limits(), wanted)
    try:
        return mended, compare(path, out, wanted)
    except OnnxSegError as error:
        out.unlink()
        side_file(out).unlink(missing_ok=True)
        raise ModelError(f"The mended copy of '{path.name}' does not run: {error}") from error


def compare(original: Path, copy: Path, wanted: Wanted | None = None) -> Comparison:
    """Run two models on the same random picture.

    Parameters
    ----------
    original, copy : Path
        The ``.onnx`` files; outputs are paired by name.
    wanted : Wanted, optional
        Layout and output, where the graph leaves them open.

    Returns
    -------
    Comparison
        How the answers differ.

    Raises
    ------
    OnnxSegError
        When the copy does not run.
    """
    old, new = read_subject(original, wanted), read_subject(copy, wanted)
    model = Bare(copy)
    if old.probe is None or old.view is None or new.probe is None:
        return Comparison(None, trouble="the layout of its input is not known")
    picture = noise(old, _sides(old, new), old.probe.batch)
    answers = model.run(new.probe.input, _typed(picture, new))
    larger = _larger(model, old, new)
    try:
        before = Bare(original).run(old.probe.input, picture)
    except OnnxSegError as error:
        return Comparison(None, trouble=str(error).rstrip("."), larger=larger)
    return _difference(before, answers, old, larger)


def _sides(old: Subject, new: Subject) -> tuple[int, ...]:
    """Return the sides of the original where they are fixed, else of a tile of the copy."""
    view = old.view if old.fixed_sides else new.view or old.view
    return tile_sides(old, view) if view else ()


def _typed(picture: AnyArray, subject: Subject) -> AnyArray:
    return picture.astype(subject.source.dtype if subject.source else picture.dtype)


def _larger(model: Bare, old: Subject, new: Subject) -> str:
    """Run two pictures of twice the first side when the copy allows what the original did not."""
    if new.probe is None or new.view is None or old.probe is None:
        return ""
    pairs = zip(old.probe.dims, new.probe.dims, strict=True)
    freed = [before is not None and after is None for before, after in pairs]
    batch = new.probe.dims[new.probe.layout.index("N")] or 2
    if not any(freed):
        return ""
    sides = list(_sides(old, new))
    if freed[new.probe.axes[0]]:
        sides[0] *= 2
    model.run(new.probe.input, noise(new, sides, batch))
    return f"{batch} pictures of {' x '.join(map(str, sides))} px"


def _difference(
    before: dict[str, AnyArray], after: dict[str, AnyArray], old: Subject, larger: str
) -> Comparison:
    """Compare all common outputs, and the classes of the main one."""
    common = [name for name in after if name in before]
    if any(before[name].shape != after[name].shape for name in common):
        return Comparison(None, trouble="it gives another shape", larger=larger)
    gaps = [_gap(before[name], after[name]) for name in common]
    main, axis = old.target.name if old.target else "", old.channel_axis
    changed = pixels = None
    if main in common and (axis is None or before[main].shape[axis] > 1):
        one, other = (_classes(answers[main], axis) for answers in (before, after))
        changed, pixels = int(np.count_nonzero(_unlike(one, other))), one.size
    return Comparison(max(gaps, default=0.0), changed, pixels or 0, larger=larger)


def _gap(one: AnyArray, other: AnyArray) -> float:
    """Return the largest difference; values that are no numbers must agree."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    good = np.isfinite(a)
    return float(np.max(np.abs(a[good] - b[good]), initial=0))


def _classes(answer: AnyArray, axis: int | None) -> AnyArray:
    return answer if axis is None else answer.argmax(axis)


def _unlike(one: AnyArray, other: AnyArray) -> AnyArray:
    """Return where values differ; two that are no numbers are alike."""
    differs: AnyArray = (one != other) & ~((one != one) & (other != other))
    return differs
