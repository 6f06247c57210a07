"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence


def px_words(sides: Sequence[int]) -> str:
    """Return ``512 × 640 px``."""
    return " × ".join(str(s) for s in sides) + " px"


def width_words(sides: Sequence[int]) -> str:
    """Return ``48 px`` for a width that is the same on each axis, else ``32 × 48 px``."""
    return px_words(sides[:1] if len(set(sides)) == 1 else sides)


def count_words(number: int, noun: str) -> str:
    """Return ``1 plane``, ``12 planes``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def bytes_words(number: float) -> str:
    """Return ``350 MB``, ``2.4 GB``."""
    if number >= 1e9:
        return f"{number / 1e9:.1f} GB"
    return f"{max(1, round(number / 1e6))} MB"
