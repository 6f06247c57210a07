"""How the axes of a reshaped array come from those before: for any size, from one example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from napari_onnxseg.graph.surgery import Stuck


@dataclass(frozen=True, slots=True)
class Length:
    """One axis of a reshaped array: a number times the lengths of some axes before.

    Parameters
    ----------
    factor : int
        The number.
    axes : tuple of int
        Axes of the array before, which grow with the picture or the batch.
    """

    factor: int = 1
    axes: tuple[int, ...] = ()

    def of(self, before: Sequence[int]) -> int:
        """Return the length for one shape of the array before."""
        return self.factor * prod(before[axis] for axis in self.axes)


def lengths(before: Sequence[int], after: Sequence[int], moving: set[int]) -> list[Length]:
    """Tell how each axis after a reshape comes from those before.

    Axes are split and joined in the order of memory, as a reshape does. Only an axis that
    keeps its length may be split: how a side of the picture is split cannot be told from one
    example.

    Parameters
    ----------
    before, after : sequence of int
        Shapes at one size.
    moving : set of int
        Axes before that grow with the picture or the batch.

    Returns
    -------
    list of Length
        One per axis after.

    Raises
    ------
    Stuck
        When there is more than one way to read the example.
    """
    rest = [(length, axis if axis in moving else None) for axis, length in enumerate(before)]
    found = [_take(rest, need) for need in after]
    if any(axis is not None or length > 1 for length, axis in rest):
        raise Stuck("cannot be laid over the axes before it")
    return found


def _take(rest: list[tuple[int, int | None]], need: int) -> Length:
    """Use up leading axes until their product is the length needed."""
    factor = 1
    axes: list[int] = []
    if need == 1 and rest and rest[0][0] == 1:
        _, axis = rest.pop(0)
        return Length(1, () if axis is None else (axis,))
    while need > 1:
        if not rest:
            raise Stuck("cannot be laid over the axes before it")
        length, axis = rest[0]
        if need % length == 0:
            rest.pop(0)
            need //= length
            if axis is None:
                factor *= length
            else:
                axes.append(axis)
        elif length % need == 0 and axis is None:
            rest[0] = (length // need, None)
            factor, need = factor * need, 1
        else:
            raise Stuck("splits a side of the picture into numbers of its own")
    return Length(factor, tuple(axes))
