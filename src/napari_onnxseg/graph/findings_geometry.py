"""Findings about geometry: what tiles the network wants, and the memory they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, prod

from napari_onnxseg.graph import advice
from napari_onnxseg.graph.findings import Finding
from napari_onnxseg.graph.receptive import Receptive
from napari_onnxseg.graph.subject import Subject

FAR_PX = 1024
"""Halo from which tiles are mostly halo."""

TILE_PX = 512
"""Side of the tile for which memory is told."""

MUCH_BYTES = 4 << 30


def about_tiles(subject: Subject) -> Iterator[Finding]:
    """Tell grid, halo and resolution."""
    view = subject.view
    if view is None or not view.output_dims:
        return
    halo = "" if view.breakers else f", halo for exact tiles {px(view.halo)}"
    yield Finding(
        "info",
        "geometry",
        f"Total downsampling {px(view.multiple)}, receptive radius {px(view.radius)}{halo}.",
        "Tiles start and end on this grid, and keep what lies a halo inside them.",
    )
    yield from _far(subject, view)
    yield from _resolution(view)


def about_memory(subject: Subject) -> Iterator[Finding]:
    """Tell the working memory of one tile."""
    view = subject.view
    if view is None or not view.output_dims:
        return
    sides = tile_sides(subject, view)
    size = view.bytes_per_px * prod(sides)
    yield Finding(
        "warning" if size > MUCH_BYTES else "info",
        "memory",
        f"A tile of {' x '.join(map(str, sides))} px takes about {size / 1e6:,.0f} MB.",
        "This much is taken by every tile that is worked on at once.",
        advice.FREE_SIZE if size > MUCH_BYTES else "",
    )


def tile_sides(subject: Subject, view: Receptive) -> tuple[int, ...]:
    """Return the fixed sides, or the smallest on the grid from `TILE_PX`.

    Parameters
    ----------
    subject : Subject
        The model.
    view : Receptive
        Its tiling facts.

    Returns
    -------
    tuple of int
        Sides of a tile, pixels; a fourth of it for volumes.
    """
    probe = subject.probe
    if probe is None:
        return ()
    wanted = TILE_PX if len(probe.axes) == 2 else TILE_PX // 4
    numbers = zip(probe.axes, view.sides, view.multiple, strict=True)
    return tuple(probe.dims[a] or side or ceil(wanted / m) * m for a, side, m in numbers)


def sees_everything(subject: Subject) -> bool:
    """Tell whether one output pixel looks as far as the input is wide, or `FAR_PX`."""
    if subject.view is None or not subject.view.output_dims:
        return False
    return max(subject.view.radius) >= min((*subject.fixed_sides, FAR_PX))


def px(sides: Sequence[int]) -> str:
    """Return pixels per axis, once when all are equal."""
    return (str(sides[0]) if len(set(sides)) == 1 else " x ".join(map(str, sides))) + " px"


def _far(subject: Subject, view: Receptive) -> Iterator[Finding]:
    """Find a network that sees more than a tile."""
    if sees_everything(subject):
        yield Finding(
            "warning",
            "sees-everything",
            f"One output pixel looks {max(view.radius)} px far.",
            "The network judges the picture as a whole: shrink the picture to the model's side "
            "(the cut-out task does), rather than cutting it into tiles.",
        )


def _resolution(view: Receptive) -> Iterator[Finding]:
    """Tell when the output is coarser, finer or smaller than the input."""
    if any(ratio != Fraction(1) for ratio in view.ratio):
        yield Finding(
            "info",
            "other-resolution",
            f"The output has {' x '.join(map(str, view.ratio))} px per input pixel.",
            "Scores are brought to the picture's resolution before they are decoded.",
        )
    if any(view.shrink):
        yield Finding(
            "info",
            "shrinks",
            f"The output lacks {px(view.shrink)} on each side.",
            "The picture is continued by reflection, so that its border is covered too.",
        )
