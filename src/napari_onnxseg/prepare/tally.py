"""Count, extremes, mean and spread of values that come in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from napari_onnxseg.prepare.ordering import Counts, count_leading, key_bits, keys_of, value_of
from napari_onnxseg.types import AnyArray


class Tally:
    """What one pass over some values tells.

    Values of up to 16 bit are counted one by one, so that the result does not depend on
    the pieces; of wider ones the moments are kept, and the counts of their leading bits
    where order matters.

    Parameters
    ----------
    dtype : numpy.dtype
        Of the values.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.count, self.mean, self.squares = 0, 0.0, 0.0
        self.minimum, self.maximum = np.inf, -np.inf
        self.leading: Counts | None = None

    def add(self, values: AnyArray, *, ordered: bool) -> None:
        """Take in a piece.

        Parameters
        ----------
        values : numpy.ndarray
            (N,) finite values, N at least 1.
        ordered : bool
            Whether their order will be asked for.
        """
        if ordered or self._counted:
            self._count(count_leading(keys_of(values), key_bits(self.dtype)))
        if not self._counted:
            exact = values.astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                mean = float(exact.mean())
                mean = mean if np.isfinite(mean) else float((exact / exact.size).sum())
                squares = float(np.square(exact - mean).sum())
            self._merge(exact.size, mean, squares)
            self.minimum = min(self.minimum, float(values.min()))
            self.maximum = max(self.maximum, float(values.max()))

    def closed(self) -> Tally:
        """Take the moments from the counts, where these hold every value.

        Returns
        -------
        Tally
            This one.
        """
        if self._counted and self.leading is not None:
            present = np.flatnonzero(self.leading)
            values = np.array([value_of(int(key), self.dtype) for key in present])
            weights = self.leading[present].astype(np.float64)
            self.count = int(self.leading.sum())
            self.mean = float(np.dot(values, weights)) / self.count
            self.squares = float(np.dot(np.square(values - self.mean), weights))
            self.minimum, self.maximum = float(values.min()), float(values.max())
        return self

    def absorb(self, other: Tally) -> None:
        """Take in all that a closed tally knows.

        Parameters
        ----------
        other : Tally
            Of the same dtype.
        """
        self._merge(other.count, other.mean, other.squares)
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        if other.leading is not None:
            self._count(other.leading)

    @property
    def _counted(self) -> bool:
        """Whether the counts hold every value."""
        return key_bits(self.dtype) <= 16

    def _count(self, counts: Counts) -> None:
        """Add counts of leading bits."""
        self.leading = counts if self.leading is None else self.leading + counts

    def _merge(self, count: int, mean: float, squares: float) -> None:
        """Merge moments (Chan, Golub and LeVeque, 1983)."""
        total = self.count + count
        apart = mean - self.mean
        self.mean += apart * (count / total)
        self.squares += squares + apart * apart * (self.count * count / total)
        self.count = total


def joined(tallies: Iterable[Tally]) -> Tally:
    """Return all tallies taken together.

    Parameters
    ----------
    tallies : iterable of Tally
        Closed ones, of one dtype; none gives an empty tally.

    Returns
    -------
    Tally
        A new one.
    """
    together: Tally | None = None
    for tally in tallies:
        together = together or Tally(tally.dtype)
        together.absorb(tally)
    return together or Tally(np.dtype(np.float64))
