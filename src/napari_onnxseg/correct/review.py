"""The queue of places to look at, and how one walks through it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from napari_onnxseg.correct.decisions import Decision, Status, fingerprint
from napari_onnxseg.correct.review_item import ReviewItem, ReviewProgress
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region

COVERED = 0.8
"""Part of a place that a decision must cover to hold for it."""


@dataclass(frozen=True, slots=True)
class Review:
    """A queue and its decisions; each step returns a new one.

    Parameters
    ----------
    items : tuple of ReviewItem
        The queue, worst first.
    decisions : mapping of str to Decision
        By identity; also of places that are no longer in the queue.
    """

    items: tuple[ReviewItem, ...]
    decisions: Mapping[str, Decision] = field(default_factory=dict)

    def decide(self, identity: str, status: Status, labels: Any) -> Review:
        """Return the review with a place accepted or skipped.

        Parameters
        ----------
        identity : str
            Of a place in the queue.
        status : {"accepted", "skipped"}
            What is decided.
        labels : array-like
            The labels as they are now; read in the place only.

        Returns
        -------
        Review
            Decided.

        Raises
        ------
        ChoiceError
            When there is no such place.
        """
        item = next((item for item in self.items if item.identity == identity), None)
        if item is None:
            raise ChoiceError(f"There is no place '{identity}' in the queue.")
        made = Decision(status, item.region, fingerprint(labels, item.region))
        return replace(self, decisions={**self.decisions, identity: made})

    def reopen(self, identity: str) -> Review:
        """Return the review with a place undecided again."""
        kept = {name: made for name, made in self.decisions.items() if name != identity}
        return replace(self, decisions=kept)

    def waiting(self, label: int | None = None) -> tuple[ReviewItem, ...]:
        """Return the places that nobody has decided, of one class or of all."""
        return tuple(
            item
            for item in self.items
            if item.identity not in self.decisions and label in (None, item.label)
        )

    def after(
        self, identity: str | None, *, label: int | None = None, back: bool = False
    ) -> ReviewItem | None:
        """Return the next undecided place in the queue, from the start again at its end.

        Parameters
        ----------
        identity : str or None
            The place shown now; None for the worst of all.
        label : int, optional
            Only places of this class.
        back : bool, optional
            Go backwards, and stop at decided places too.

        Returns
        -------
        ReviewItem or None
            None when nothing is left.
        """
        queue = [item for item in self.items if label in (None, item.label)]
        names = [item.identity for item in queue]
        start = names.index(identity) if identity in names else (0 if back else -1)
        if back:
            return queue[(start - 1) % len(queue)] if queue else None
        turned = queue[start + 1 :] + queue[: start + 1]
        open_ = (item for item in turned if item.identity not in self.decisions)
        return next((item for item in open_ if item.identity != identity), None)

    def progress(self, label: int | None = None) -> ReviewProgress:
        """Return how far the review is, of one class or of all."""
        queue = [item for item in self.items if label in (None, item.label)]
        done = [item for item in queue if item.identity in self.decisions]
        accepted = [i for i in done if self.decisions[i.identity].status == "accepted"]
        total, part = (sum(item.share for item in items) for items in (queue, done))
        share = part / total if total else float(len(done) == len(queue))
        return ReviewProgress(len(done), len(accepted), len(queue), min(1.0, share))

    def accepted(self) -> tuple[Region, ...]:
        """Return the boxes that were accepted, in the queue or not."""
        made = self.decisions.values()
        return tuple(d.region for d in made if d.status == "accepted")

    def rematched(
        self, items: Iterable[ReviewItem], labels: Any
    ) -> tuple[Review, tuple[Decision, ...]]:
        """Return the review of another queue, such as after a new prediction.

        Parameters
        ----------
        items : iterable of ReviewItem
            The new queue.
        labels : array-like
            The labels as they are now; read where something was decided.

        Returns
        -------
        review : Review
            Decisions hold where the labels are as they were seen; a place counts as decided
            when decisions of one kind cover most of it.
        changed : tuple of Decision
            Decisions that do not hold, because labels changed there since.
        """
        holds = {n: d for n, d in self.decisions.items() if _unchanged(d, labels)}
        gone = tuple(d for n, d in self.decisions.items() if n not in holds)
        queue = tuple(items)
        decisions, known = dict(holds), _Boxes(list(holds.values()))
        for item in queue:
            made = None if item.identity in decisions else known.covering(item.region)
            if made is not None:
                seen = fingerprint(labels, item.region)
                decisions[item.identity] = Decision(made.status, item.region, seen)
        return Review(queue, decisions), gone


def _unchanged(made: Decision, labels: Any) -> bool:
    """Tell whether the labels are as they were seen."""
    return made.region.ndim == len(labels.shape) and fingerprint(labels, made.region) == made.seen


class _Boxes:
    """Finds the decision that covers most of a box, quickly among many."""

    def __init__(self, made: list[Decision]) -> None:
        self._made = made
        self._start = np.array([one.region.start for one in made])
        self._stop = np.array([one.region.stop for one in made])

    def covering(self, region: Region) -> Decision | None:
        """Return the first decision that holds for a box."""
        if not self._made:
            return None
        sides = np.minimum(self._stop, region.stop) - np.maximum(self._start, region.start)
        common = np.maximum(sides, 0).prod(axis=1)
        found = np.flatnonzero(common >= COVERED * max(1, region.size))
        return self._made[found[0]] if len(found) else None
