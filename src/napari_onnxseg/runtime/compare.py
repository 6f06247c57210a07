"""Mend a model and run the copy beside the original."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from napari_onnxseg.errors import ModelError, OnnxSegError
from napari_onnxseg.graph.example import example
from napari_onnxseg.graph.findings_geometry import tile_sides
from napari_onnxseg.graph.mend import Choices, Mended, mend
from napari_onnxseg.graph.mend_files import side_file
from napari_onnxseg.graph.mend_sizes import needed
from napari_onnxseg.graph.subject import Subject, Wanted, read_subject
from napari_onnxseg.graph.surgery import Stuck
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
    found = _difference(before, answers, larger)
    main, axis = old.probe.output, new.channel_axis
    return _with_labels(found, before[main], answers[main], axis) if main in answers else found


def _sides(old: Subject, new: Subject) -> tuple[int, ...]:
    """Return the sides that the original is bound to, else those of a tile of the copy."""
    bound = _bound(old)
    if bound:
        return bound
    view = old.view if old.fixed_sides else new.view or old.view
    return tile_sides(old, view) if view else ()


def _bound(old: Subject) -> tuple[int, ...]:
    """Return the size of the exporter's example, where the graph alone is bound to it."""
    if old.probe is None or old.fixed_sides or not needed(old)[1]:
        return ()
    try:
        dims = example(old, old.probe)
    except Stuck:
        return ()
    return tuple(dims[axis] for axis in old.probe.axes)


def _typed(picture: AnyArray, subject: Subject) -> AnyArray:
    return picture.astype(subject.source.dtype if subject.source else picture.dtype)


def _larger(model: Bare, old: Subject, new: Subject) -> str:
    """Run two pictures of twice the first side when the copy allows what the original did not."""
    if new.probe is None or new.view is None or old.probe is None:
        return ""
    pairs = zip(old.probe.dims, new.probe.dims, strict=True)
    freed = [before is not None and after is None for before, after in pairs]
    batch = new.probe.dims[new.probe.layout.index("N")] or 2
    bound = bool(_bound(old)) and not _bound(new)
    if not any(freed) and not bound:
        return ""
    sides = list(_sides(old, new))
    if freed[new.probe.axes[0]] or bound:
        sides[0] *= 2
    model.run(new.probe.input, noise(new, sides, batch))
    return f"{batch} pictures of {' x '.join(map(str, sides))} px"


def _difference(before: dict[str, AnyArray], after: dict[str, AnyArray], larger: str) -> Comparison:
    """Compare all common outputs."""
    common = [name for name in after if name in before]
    if any(before[name].shape != after[name].shape for name in common):
        return Comparison(None, trouble="it gives another shape", larger=larger)
    gaps = [_gap(before[name], after[name]) for name in common]
    return Comparison(max(gaps, default=0.0), larger=larger)


def _with_labels(
    found: Comparison, before: AnyArray, after: AnyArray, axis: int | None
) -> Comparison:
    """Add how many pixels have another class, where the output tells classes."""
    whole = before.dtype.kind in "iu"
    if found.difference is None or not (whole or (axis is not None and before.shape[axis] > 1)):
        return found
    one, other = (answer if whole else answer.argmax(axis) for answer in (before, after))
    return replace(found, changed_px=int(np.count_nonzero(one != other)), pixels=one.size)


def _gap(one: AnyArray, other: AnyArray) -> float:
    """Return the largest difference; values that are no numbers must agree."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    good = np.isfinite(a)
    return float(np.max(np.abs(a[good] - b[good]), initial=0))
