"""Try out what the graph promises: how far a pixel reaches, and which shifts change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from napari_onnxseg.graph.findings_geometry import px
from napari_onnxseg.graph.probe import Probe
from napari_onnxseg.graph.receptive import Receptive
from napari_onnxseg.graph.subject import Subject
from napari_onnxseg.runtime.bare import Bare, noise
from napari_onnxseg.types import AnyArray

LARGEST_PX = {2: 768, 3: 96}
"""Sides of the trial, at most, by number of spatial axes."""

STRONG = 100.0
"""How much one pixel is changed."""

TOLERANCE = 1e-4
"""Difference of scores, relative to the largest, that counts as rounding."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What was seen when the model ran.

    Parameters
    ----------
    seen : tuple of int
        How far a changed pixel reached, by axis, pixels.
    faults : tuple of str
        What contradicts the graph, in words.
    coarsest : bool
        Whether the answer follows the picture on the grid only, not on a finer one.
    skipped : str
        Why nothing, or not all, was tried.
    """

    seen: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    coarsest: bool = False
    skipped: str = ""


def try_geometry(bare: Bare, subject: Subject) -> Trial:
    """Change a pixel, and move the picture, and compare with what the graph promises.

    Parameters
    ----------
    bare : Bare
        The model.
    subject : Subject
        What its graph says.

    Returns
    -------
    Trial
        What was seen.

    Raises
    ------
    RunError
        When the model fails.
    """
    probe, view = subject.probe, subject.view
    if probe is None or view is None:
        return Trial(skipped="the way of the picture through the network is not known")
    if view.breakers:
        return Trial(skipped="tiles are not exact in any case")
    sides = _sides(probe, view)
    if max(sides) > LARGEST_PX[len(sides)]:
        return Trial(skipped=f"it would take a picture of {px(sides)}")
    bench = _Bench(bare, subject, probe, view, sides)
    seen = bench.reach()
    faults = [
        f"axis {axis}: a pixel reaches {far} px, the graph says {view.radius[axis]} px"
        for axis, far in enumerate(seen)
        if far > view.radius[axis]
    ]
    if any(probe.dims[axis] for axis in probe.axes):
        return Trial(seen, tuple(faults), skipped="the sides are fixed")
    for axis, multiple in enumerate(view.multiple):
        if not bench.follows(axis, multiple):
            faults.append(f"axis {axis}: the answer changes when the picture moves {multiple} px")
    finer = list(_finer(view))
    coarsest = bool(finer) and not any(bench.follows(*step) for step in finer)
    return Trial(seen, tuple(faults), coarsest)


def _finer(view: Receptive) -> Iterator[tuple[int, int]]:
    """Yield axis and step of each finer grid on which the output has whole pixels too."""
    for axis, multiple in enumerate(view.multiple):
        steps = [multiple // prime for prime in (2, 3, 5, 7) if multiple % prime == 0]
        yield from ((axis, s) for s in steps if (s * view.ratio[axis]).denominator == 1)


def _sides(probe: Probe, view: Receptive) -> tuple[int, ...]:
    """Return sides that leave room for the view of a pixel, on the grid."""
    given = [probe.dims[axis] or side for axis, side in zip(probe.axes, view.sides, strict=True)]
    numbers = zip(given, view.radius, view.multiple, view.shrink, strict=True)
    return tuple(
        fixed or ceil((2 * (radius + shrink) + 5 * multiple) / multiple) * multiple
        for fixed, radius, multiple, shrink in numbers
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    """A model and the size at which it is tried."""

    bare: Bare
    subject: Subject
    probe: Probe
    view: Receptive
    sides: tuple[int, ...]

    def reach(self) -> tuple[int, ...]:
        """Return how far a changed pixel reaches, for the first and last phase of the grid."""
        picture = self._noise(0)
        still = self._scores(picture)
        seen = [0] * len(self.sides)
        for phase in (0, -1):
            grid = zip(self.sides, self.view.multiple, strict=True)
            centre = [side // 2 // step * step + phase for side, step in grid]
            changed = self._scores(self._poked(picture, centre))
            same = (changed == still) | (np.isnan(changed) & np.isnan(still))
            differs = ~same.all(axis=0)
            for axis in range(len(seen)):
                found = np.flatnonzero(differs.any(axis=_others(axis, differs.ndim))).tolist()
                seen[axis] = max([seen[axis], *(self._far(axis, i, centre[axis]) for i in found)])
        return tuple(seen)

    def follows(self, axis: int, step: int) -> bool:
        """Tell whether the answer moves with the picture, away from the borders."""
        moved = int(self.view.ratio[axis] * step)
        wide = self._noise(step, axis)
        first, second = (self._scores(self._cut(wide, axis, start)) for start in (0, step))
        inner = self._inner(axis, first.shape[1 + axis], moved)
        one = np.take(first, inner + moved, axis=1 + axis)
        other = np.take(second, inner, axis=1 + axis)
        largest = np.max(np.abs(one), initial=1, where=np.isfinite(one))
        return np.allclose(one, other, rtol=0, atol=TOLERANCE * float(largest), equal_nan=True)

    def _noise(self, more: int, axis: int = 0) -> AnyArray:
        """Return random pixels, longer along one axis."""
        sides = [side + more * (i == axis) for i, side in enumerate(self.sides)]
        batch = self.probe.dims[self.probe.layout.index("N")] or 1
        return noise(self.subject, sides, batch)

    def _poked(self, picture: AnyArray, centre: list[int]) -> AnyArray:
        """Return a copy with one pixel changed in all channels."""
        index: list[int | slice] = [slice(None)] * picture.ndim
        for axis, place in zip(self.probe.axes, centre, strict=True):
            index[axis] = place
        changed = picture.copy()
        old = changed[tuple(index)]
        strong = 255 - old if picture.dtype.kind in "iu" else old + STRONG
        changed[tuple(index)] = strong
        return changed

    def _cut(self, wide: AnyArray, axis: int, start: int) -> AnyArray:
        """Return a part of a long picture with the sides of the trial."""
        indices = start + np.arange(self.sides[axis])
        return np.take(wide, indices, axis=self.probe.axes[axis])

    def _scores(self, picture: AnyArray) -> AnyArray:
        """Run the model; (K, ...) float64, all batches and classes along the first axis."""
        answer = self.bare.run(self.probe.input, picture)[self.probe.output].astype(np.float64)
        axes = self.view.output_axes
        moved = np.moveaxis(answer, axes, range(answer.ndim - len(axes), answer.ndim))
        return moved.reshape(-1, *moved.shape[answer.ndim - len(axes) :])

    def _far(self, axis: int, place: int, pixel: int) -> int:
        """Return how far an output element lies from an input pixel."""
        scale, shrink = 1 / self.view.ratio[axis], self.view.shrink[axis]
        first = floor(place * scale) + shrink
        last = ceil((place + 1) * scale) - 1 + shrink
        return max(first - pixel, pixel - last, 0)

    def _inner(self, axis: int, length: int, step: int) -> AnyArray:
        """Return output elements that look at no border, before and after a step."""
        reach = Fraction(self.view.radius[axis]) * self.view.ratio[axis]
        border = ceil(reach) + 1
        return np.arange(border, max(border, length - border - step))


def _others(axis: int, ndim: int) -> tuple[int, ...]:
    return tuple(other for other in range(ndim) if other != axis)
