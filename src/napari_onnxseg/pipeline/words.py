"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence


def px_words(sides: Sequence[int]) -> str:
    """Return ``512 × 640 px``, or ``48 px`` when all sides are equal and short to say."""
    if len(set(sides)) == 1 and sides[0] < 256:
        return f"{sides[0]} px"
    return " × ".join(str(s) for s in sides) + " px"


def count_words(number: int, noun: str) -> str:
    """Return ``1 plane``, ``12 planes``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def bytes_words(number: float) -> str:
    """Return ``350 MB``, ``2.4 GB``."""
    if number >= 1e9:
        return f"{number / 1e9:.1f} GB"
    return f"{max(1, round(number / 1e6))} MB"
