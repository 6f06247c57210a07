"""A result beside what it should be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_onnxseg.cards.bioimageio_rdf import Tolerance
from napari_onnxseg.types import AnyArray

PLAIN = Tolerance()
"""What the specification allows."""


@dataclass(frozen=True, slots=True)
class OutputProof:
    """One output beside the test tensor of the package.

    Parameters
    ----------
    name : str
        In the description.
    shape : tuple of int
        Of the test tensor.
    difference : float
        Largest absolute difference; infinite where one of both is no number.
    mismatched : float
        Elements in a million that differ by more than is allowed.
    tolerance : Tolerance
        What is allowed.
    trouble : str
        Why it cannot be compared, or nothing.
    beside : str
        What it is compared with.
    """

    name: str
    shape: tuple[int, ...] = ()
    difference: float = 0.0
    mismatched: float = 0.0
    tolerance: Tolerance = PLAIN
    trouble: str = ""
    beside: str = "the test tensor"

    @property
    def ok(self) -> bool:
        """Whether it is what the author got."""
        return not self.trouble and self.mismatched <= self.tolerance.per_million

    def words(self) -> str:
        """Return the comparison in a sentence.

        Returns
        -------
        str
            Verdict, largest difference and how many elements differ.
        """
        if self.trouble:
            return f"'{self.name}' cannot be compared: {self.trouble}"
        verdict = "agrees with" if self.ok else "differs from"
        return (
            f"'{self.name}' {verdict} {self.beside}: largest difference {self.difference:.3g}, "
            f"{self.mismatched:.4g} of a million elements differ by more than "
            f"{self.tolerance.absolute:g} + {self.tolerance.relative:g} of the value (allowed: "
            f"{self.tolerance.per_million:g})."
        )


def compared(name: str, found: AnyArray, wanted: AnyArray, tolerance: Tolerance) -> OutputProof:
    """Compare a result with a test tensor.

    Parameters
    ----------
    name : str
        Of the output.
    found, wanted : numpy.ndarray
        Of any shape; another shape cannot be compared.
    tolerance : Tolerance
        What may differ.

    Returns
    -------
    OutputProof
        The comparison.
    """
    if found.shape != wanted.shape:
        trouble = f"its shape is {found.shape}, that of the test tensor {wanted.shape}."
        return OutputProof(name, wanted.shape, tolerance=tolerance, trouble=trouble)
    a, e = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - e)
        same = (a == e) | (np.isnan(a) & np.isnan(e))
        wrong = ~same & ~(gap <= tolerance.absolute + tolerance.relative * np.abs(e))
    gap = np.where(same, 0.0, np.nan_to_num(gap, nan=np.inf, posinf=np.inf))
    share = 1e6 * int(np.count_nonzero(wrong)) / max(wrong.size, 1)
    return OutputProof(name, wanted.shape, float(gap.max(initial=0)), share, tolerance)


def tiled_tolerance(wanted: AnyArray) -> Tolerance:
    """Return how far a result in tiles may differ from that in one piece.

    Parameters
    ----------
    wanted : numpy.ndarray
        The result in one piece.

    Returns
    -------
    Tolerance
        Whole numbers may differ where scores are equal but for rounding.
    """
    whole = wanted.dtype.kind in "iub"
    return Tolerance(0 if whole else 1e-4, 0 if whole else 1e-5, 100 if whole else 0)
