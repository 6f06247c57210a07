"""Which outputs of a model a run uses, and one geometry that suits them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil, lcm

from napari_onnxseg.cards.card import Geometry, Head, ModelCard
from napari_onnxseg.errors import ChoiceError


def choose_heads(card: ModelCard, names: tuple[str, ...] | None) -> tuple[Head, ...]:
    """Return the outputs that a run gives back.

    Parameters
    ----------
    card : ModelCard
        The model.
    names : tuple of str or None
        Names of outputs, or of their tensors; None for all.

    Returns
    -------
    tuple of Head
        In the order of the card, each once.

    Raises
    ------
    ChoiceError
        Naming what there is, when an output of that name is not.
    """
    if names is None:
        return card.heads
    known = {name for head in card.heads for name in (head.name, head.output.name)}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        there = ", ".join(f"'{head.name}'" for head in card.heads)
        asked = f"There is no output '{unknown[0]}'" if unknown else "No output was chosen"
        raise ChoiceError(f"{asked} of '{card.name}'; choose among {there}.")
    return tuple(head for head in card.heads if {head.name, head.output.name} & set(names))


def channel_names(head: Head, count: int) -> tuple[str, ...]:
    """Return a name for each channel of an image; none for one channel that nobody named.

    Parameters
    ----------
    head : Head
        The output.
    count : int
        Its channels.

    Returns
    -------
    tuple of str
        Those of the card, the others ``channel 1``, ``channel 2``, and so on.
    """
    if count == 1:
        return ()
    named = head.channels[:count]
    return (*named, *(f"channel {n + 1}" for n in range(len(named), count)))


def tiled_as(card: ModelCard, heads: Sequence[Head]) -> ModelCard:
    """Return the model as tiles see it: one geometry, in which every output is exact.

    Parameters
    ----------
    card : ModelCard
        The model.
    heads : sequence of Head
        Its outputs that are used.

    Returns
    -------
    ModelCard
        With the geometry of all, and as class ids when one of them gives these, because
        such tiles cannot be blended.
    """
    whole = any(head.scores == "labels" for head in heads)
    geometry = heads[0].geometry if len(heads) == 1 else _joint(heads)
    return replace(card, geometry=geometry, scores="labels" if whole else heads[0].scores)


def _joint(heads: Sequence[Head]) -> Geometry:
    """Return the geometry of several outputs of one run."""
    views = [head.geometry for head in heads]
    multiple = tuple(lcm(*sides) for sides in zip(*(v.multiple for v in views), strict=True))
    shrink = _largest(v.shrink for v in views)
    halo = tuple(
        s if h <= s else ceil(h / m) * m
        for h, m, s in zip(_largest(v.halo for v in views), multiple, shrink, strict=True)
    )
    more = sum(4.0 * (head.output.planes or 1) for head in heads[1:])
    return Geometry(
        multiple=multiple,
        halo=halo,
        radius=_largest(v.radius for v in views),
        ratio=tuple(min(sides) for sides in zip(*(v.ratio for v in views), strict=True)),
        shrink=shrink,
        breakers=tuple(dict.fromkeys(words for v in views for words in v.breakers)),
        bytes_per_px=max(v.bytes_per_px for v in views) + more,
    )


def _largest(sides: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the largest side of each axis."""
    return tuple(max(axis) for axis in zip(*sides, strict=True))
