"""A place to look at, and how far one is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from napari_onnxseg.tiling.region import Region

Kind = Literal["zone", "tile", "object"]


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A place to look at.

    Parameters
    ----------
    identity : str
        Tells it from all others of the queue, and finds it again.
    kind : {"zone", "tile", "object"}
        What it is.
    region : Region
        Box around it, pixels.
    label : int
        Its class, or the number of the object.
    size : float
        Area or volume, world units.
    doubt : float
        Mean doubt, in [0, 1].
    share : float
        Its part of all doubt in the image, in [0, 1].
    reason : str
        Why it is in the queue, beyond doubt.
    """

    identity: str
    kind: Kind
    region: Region
    label: int
    size: float
    doubt: float
    share: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """How far a review is.

    Parameters
    ----------
    done, accepted, total : int
        Places decided, accepted among them, and all.
    share : float
        Part of the queue's doubt that is decided, in [0, 1].
    """

    done: int
    accepted: int
    total: int
    share: float

    def words(self) -> str:
        """Return such as "12 of 80, 31 % of the doubt"."""
        return f"{self.done} of {self.total}, {100 * self.share:.0f} % of the doubt"


def identity_of(kind: Kind, region: Region) -> str:
    """Return the identity of a place.

    Parameters
    ----------
    kind : {"zone", "tile", "object"}
        What it is.
    region : Region
        Box around it.

    Returns
    -------
    str
        The same for the same box.
    """
    spans = (f"{a}:{b}" for a, b in zip(region.start, region.stop, strict=True))
    return f"{kind} {','.join(spans)}"
