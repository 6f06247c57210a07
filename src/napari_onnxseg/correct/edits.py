"""What people changed since a prediction, and how it outlives the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_onnxseg.correct.class_match import translated
from napari_onnxseg.correct.edit import Edit, Step
from napari_onnxseg.correct.pairs import blocks, check_alike
from napari_onnxseg.correct.pixel_set import PixelSet
from napari_onnxseg.correct.scope import Scope, allowed, permitted
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Mask


@dataclass(frozen=True, slots=True)
class EditSummary:
    """What was edited, in numbers.

    Parameters
    ----------
    boxes : tuple of Region
        Boxes around edited pixels, one a block, in row-major order.
    count_px : int
        Edited pixels.
    gained, lost : mapping of int to int
        Pixels that each class has won and lost by editing; those confirmed as they were count
        in neither.
    """

    boxes: tuple[Region, ...]
    count_px: int
    gained: Mapping[int, int]
    lost: Mapping[int, int]

    def words(self, names: Mapping[int, str] | None = None) -> str:
        """Return the numbers in one sentence."""
        if not self.count_px:
            return "Nothing was edited."
        known = names or {}
        parts = [
            f"{known.get(i, f'class {i}')} +{self.gained.get(i, 0)} −{self.lost.get(i, 0)}"
            for i in sorted({*self.gained, *self.lost})
        ]
        return f"{self.count_px} px edited: {', '.join(parts) or 'all confirmed as they were'}."


@dataclass(frozen=True, slots=True)
class Merge:
    """A new prediction on its way under existing edits; one step for the user.

    Parameters
    ----------
    labels : Step
        What changes in the labels.
    kept : Step
        What changes in the kept prediction.
    carried : PixelSet
        Edits as they are known afterwards.
    before : PixelSet
        Edits as they were known before.
    """

    labels: Step
    kept: Step
    carried: PixelSet
    before: PixelSet


class Edits:
    """Knows what people changed of a label image.

    A pixel is edited when it differs from the kept prediction, or when it was edited before
    an earlier run: only so does an edit outlive a run that happens to agree with it.

    Parameters
    ----------
    labels : array-like
        The labels that people edit; numpy or zarr, of any size.
    kept : array-like
        The prediction as it was written; same shape.
    carried : PixelSet, optional
        Edits from before earlier runs, and those confirmed.

    Raises
    ------
    ImageError
        When the two do not fit.
    """

    def __init__(self, labels: Any, kept: Any, carried: PixelSet | None = None) -> None:
        check_alike(labels, kept)
        self.labels = labels
        self.kept = kept
        self.carried = carried or PixelSet(tuple(labels.shape))

    def mask(self, region: Region) -> Mask:
        """Return which pixels of a region are edited.

        Parameters
        ----------
        region : Region
            Inside the image; only this is read.

        Returns
        -------
        numpy.ndarray
            Of region.shape, bool.
        """
        now, then = self._read(region)
        return np.asarray((now != then) | self.carried.within(region), bool)

    def confirm(self, region: Region, mask: Mask | bool = True) -> None:
        """Take pixels for edited, whatever they are: a person has looked at them.

        Parameters
        ----------
        region : Region
            Box.
        mask : numpy.ndarray or bool, optional
            Of region.shape, bool: which pixels of it.
        """
        self.carried.add(region, mask)

    def summary(self, within: Region | None = None) -> EditSummary:
        """Count what was edited, block by block.

        Parameters
        ----------
        within : Region, optional
            Where to look; the whole image when left out.

        Returns
        -------
        EditSummary
            Boxes, and pixels by class.
        """
        boxes, total = [], 0
        gained: dict[int, int] = {}
        lost: dict[int, int] = {}
        for region in self._blocks(within):
            now, then = self._read(region)
            edited = (now != then) | self.carried.within(region)
            if not edited.any():
                continue
            changed = Edit.of(region, edited, np.zeros_like(edited))
            boxes.append(changed.region)
            total += len(changed)
            for counts, values in ((gained, now), (lost, then)):
                for label, n in zip(
                    *np.unique(values[now != then], return_counts=True), strict=True
                ):
                    counts[int(label)] = counts.get(int(label), 0) + int(n)
        return EditSummary(tuple(boxes), total, gained, lost)

    def revert(self, scope: Scope | None = None) -> Step:
        """Bring the prediction back.

        Parameters
        ----------
        scope : Scope, optional
            Where; everywhere when left out.

        Returns
        -------
        Step
            To be applied to the labels; call `forget` with the same scope after that.
        """
        scope = scope or Scope()
        regions = self._blocks(scope.within(self.labels.shape))
        return Step.of(allowed(scope, region, *self._read(region)) for region in regions)

    def forget(self, scope: Scope | None = None) -> None:
        """Take pixels for not edited that are as they were predicted.

        Parameters
        ----------
        scope : Scope, optional
            Where; everywhere when left out.
        """
        scope = scope or Scope()
        for region in self._blocks(scope.within(self.labels.shape)):
            now, then = self._read(region)
            mask = now == then
            if scope.mask is not None:
                origin = region if scope.region is None else region.relative_to(scope.region)
                mask &= scope.mask[origin.slices]
            self.carried.remove(region, mask)

    def merge(
        self,
        fresh: Any,
        scope: Scope | None = None,
        *,
        ids: Mapping[int, int] | None = None,
        at: Region | None = None,
    ) -> Merge:
        """Put a new prediction under the edits: it is written only where nobody has edited.

        Parameters
        ----------
        fresh : array-like
            The new prediction, of the whole image, or of the part that was run.
        scope : Scope, optional
            Where it may be written; locked classes stay.
        ids : mapping of int to int, optional
            Our id of each of its classes, see `match_classes`; all of them then.
        at : Region, optional
            Where ``fresh`` lies; the whole image when left out.

        Returns
        -------
        Merge
            Nothing is changed yet; pass it to `keep` once its labels are written.

        Raises
        ------
        ChoiceError
            When the new prediction does not fit, or has a class that ``ids`` does not know.
        ImageError
            When a class does not fit the dtype of the labels.
        """
        whole = Region.of_shape(self.labels.shape)
        at = whole if at is None else at
        if tuple(fresh.shape) != at.shape or not whole.contains(at):
            raise ChoiceError(
                f"The new prediction has {tuple(fresh.shape)} px, but {at.shape} px within "
                f"{whole.shape} are needed."
            )
        scope = scope or Scope()
        carried, above, below = self.carried.copy(), [], []
        for region in self._blocks(scope.within(self.labels.shape).intersect(at)):
            now, then = self._read(region)
            values = translated(fresh[region.relative_to(at).slices], ids, now.dtype)
            edited = (now != then) | carried.within(region)
            if edited.any():
                carried.add(region, edited)
            after = permitted(scope, region, now, np.where(edited, now, values))
            above.append(Edit.of(region, now, after))
            under = np.where(edited, values, after)  # what nobody edited equals the labels
            below.append(allowed(Scope(scope.region, scope.mask), region, then, under))
        return Merge(Step.of(above), Step.of(below), carried, self.carried.copy())

    def keep(self, merge: Merge) -> None:
        """Take a merge for done: its prediction is the kept one from now on.

        Parameters
        ----------
        merge : Merge
            Whose labels were applied.
        """
        merge.kept.apply(self.kept)
        self.carried = merge.carried.copy()

    def unkeep(self, merge: Merge) -> None:
        """Take a merge for undone: the prediction before is the kept one again.

        Parameters
        ----------
        merge : Merge
            The last one that was kept, whose labels were undone.
        """
        merge.kept.undo(self.kept)
        self.carried = merge.before.copy()

    def _read(self, region: Region) -> tuple[AnyArray, AnyArray]:
        """Return labels and kept prediction of a region."""
        now, then = (np.asarray(image[region.slices]) for image in (self.labels, self.kept))
        return now, then

    def _blocks(self, within: Region | None) -> Iterator[Region]:
        """Yield blocks of the image, cut to a region."""
        whole = Region.of_shape(self.labels.shape)
        within = whole if within is None else within.intersect(whole)
        for block in blocks(within.shape):
            yield block.shift(within.start)
