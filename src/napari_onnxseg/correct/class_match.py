"""Which class of another model is which of ours, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from napari_onnxseg.correct.clean import mapped
from napari_onnxseg.correct.edit import check_fits
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.types import AnyArray


@dataclass(frozen=True, slots=True)
class ClassConflict:
    """A class of the other model that nobody but the user can place.

    Parameters
    ----------
    id : int
        Its id there.
    name : str
        Its name there.
    ours : str
        What that id means here.
    free : int
        An id that is free here.
    """

    id: int
    name: str
    ours: str
    free: int

    def words(self) -> str:
        """Return the conflict in one sentence."""
        return (
            f"Class {self.id} is '{self.name}' in the new model and '{self.ours}' in the labels; "
            f"say whether it is the same, or becomes class {self.free}."
        )


@dataclass(frozen=True, slots=True)
class ClassMatch:
    """How the classes of another model are written among ours.

    Parameters
    ----------
    ids : mapping of int to int
        Our id of each class of the other model; conflicts are not in it.
    names : mapping of int to str
        All names afterwards, by our id, new classes included.
    conflicts : tuple of ClassConflict
        To be decided by the user; see `decided`.
    """

    ids: Mapping[int, int]
    names: Mapping[int, str]
    conflicts: tuple[ClassConflict, ...] = field(default=())

    def decided(self, answers: Mapping[int, int]) -> ClassMatch:
        """Return the match with conflicts decided.

        Parameters
        ----------
        answers : mapping of int to int
            Our id of a class of the other model.

        Returns
        -------
        ClassMatch
            Conflicts without an answer stay.
        """
        ids, names = {**self.ids, **answers}, dict(self.names)
        for conflict in self.conflicts:
            if conflict.id in answers:
                names.setdefault(answers[conflict.id], conflict.name)
        left = tuple(c for c in self.conflicts if c.id not in answers)
        return ClassMatch(ids, names, left)


def match_classes(ours: Mapping[int, str], theirs: Mapping[int, str]) -> ClassMatch:
    """Match the classes of two models by their names.

    Case, spaces, hyphens and underscores do not count. Background, class 0, is background. A
    name that is new here keeps its id where that is free; where it means something else here,
    that is a conflict, which is returned and not decided.

    Parameters
    ----------
    ours, theirs : mapping of int to str
        Names by id, of the labels and of the new prediction. A class without a name is known
        by its id.

    Returns
    -------
    ClassMatch
        What is sure, and what is not.
    """
    known: dict[str, list[int]] = {}
    for number, name in ours.items():
        known.setdefault(_plain(number, name), []).append(number)
    wanted = [_plain(number, name) for number, name in theirs.items()]
    ids, names = {0: 0}, dict(ours)
    conflicts: list[ClassConflict] = []
    open_ = []
    for number, name in sorted(theirs.items()):
        same = known.get(_plain(number, name), [])
        if number == 0:
            names.setdefault(0, name)
        elif len(same) == 1 and wanted.count(_plain(number, name)) == 1:
            ids[number] = same[0]
        else:
            open_.append((number, name))
    for number, name in open_:
        if number not in names and number not in ids.values():
            ids[number] = number
            names[number] = name
        else:
            free = max({0, *names, *theirs, *(c.free for c in conflicts)}) + 1
            conflicts.append(ClassConflict(number, name, names.get(number, ""), free))
    return ClassMatch(ids, names, tuple(conflicts))


def translated(prediction: Any, ids: Mapping[int, int] | None, dtype: np.dtype[Any]) -> AnyArray:
    """Return the classes of a prediction as ours.

    Parameters
    ----------
    prediction : array-like
        Any shape, integers.
    ids : mapping of int to int or None
        Our id of each class; None when they are the same.
    dtype : numpy.dtype
        Of our labels.

    Returns
    -------
    numpy.ndarray
        Same shape, of that dtype.

    Raises
    ------
    ChoiceError
        When there is a class that ``ids`` does not know.
    ImageError
        When a class does not fit the dtype.
    """
    values = np.asarray(prediction)
    if ids is not None:
        unknown = set(np.unique(values).tolist()) - set(ids)
        if unknown:
            raise ChoiceError(
                f"The new prediction has class {min(unknown)}, and nobody has said which class of "
                "the labels that is."
            )
        values = mapped(values.astype(np.int64), ids)
    check_fits(dtype, int(values.max(initial=0)))
    return values.astype(dtype, copy=False)


@dataclass(frozen=True, slots=True)
class Renumbered:
    """A label image of any size seen with other ids.

    Parameters
    ----------
    labels : array-like
        Integers.
    ids : mapping of int to int
        New id of each old one; others stay.
    """

    labels: Any
    ids: Mapping[int, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels on each axis."""
        return tuple(self.labels.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always int64."""
        return np.dtype(np.int64)

    def __getitem__(self, index: Any) -> AnyArray:
        """Return the part at a tuple of ints and slices."""
        return mapped(np.asarray(self.labels[index], np.int64), self.ids)


def likely_ids(confusion: NDArray[np.int64], ids: Sequence[int]) -> dict[int, int]:
    """Return which id of the prediction each id of the truth seems to stand for.

    Parameters
    ----------
    confusion : numpy.ndarray
        (K, K) pixels, rows the truth and columns the prediction.
    ids : sequence of int
        Of rows and columns.

    Returns
    -------
    dict of int to int
        Those that differ, when with them at least twice as many pixels are right and most of
        all are; else nothing.
    """
    rows, columns = linear_sum_assignment(confusion, maximize=True)
    right, could = int(np.trace(confusion)), int(confusion[rows, columns].sum())
    if could < 2 * right or 2 * could < int(confusion.sum()):
        return {}
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return {ids[i]: ids[j] for i, j in pairs if i != j and confusion[i, j]}


def _plain(number: int, name: str) -> str:
    """Return what is compared of a name."""
    word = "".join(letter for letter in name.casefold() if letter not in " -_")
    return word or f"class{number}"
