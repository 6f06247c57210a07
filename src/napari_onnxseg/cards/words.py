"""What is known of a model in words for people, the same behind every door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from napari_onnxseg.cards.card import (
    ClassInfo,
    Geometry,
    Head,
    ModelCard,
    ObjectRule,
    ScoreKind,
    Sizing,
    Suggested,
    Task,
    TensorSpec,
)
from napari_onnxseg.prepare.step_words import chain_words

ORIGINS: Mapping[str, str] = {
    "user": "set by you",
    "card": "from its card",
    "package": "from its package",
    "metadata": "from its metadata",
    "file name": "a guess by the file name",
    "graph": "from the graph",
    "probe": "from a trial run",
    "assumed": "a guess",
}
"""Where a fact came from."""

DOES: Mapping[Task, str] = {
    "semantic": "Gives each pixel a class",
    "matting": "Cuts out one subject",
    "image": "Gives each pixel values",
}
"""What a model of each task does."""

SCORES: Mapping[ScoreKind, str] = {
    "logits": "logits, made probabilities by us",
    "probabilities": "probabilities",
    "labels": "class numbers",
    "values": "values, kept as they are",
}
"""What an output holds."""


def px(sides: Iterable[int | None]) -> str:
    """Return pixels per axis, once when all are equal, ``any`` where they are free.

    Parameters
    ----------
    sides : iterable of (int or None)
        One an axis.

    Returns
    -------
    str
        Such as ``"64 px"`` or ``"64 × 96 px"``.
    """
    words = ["any" if side is None else str(side) for side in sides]
    return f"{words[0] if len(set(words)) == 1 else ' × '.join(words)} px"


def tensor_words(tensor: TensorSpec) -> str:
    """Return channels, size, name and type of a tensor.

    Parameters
    ----------
    tensor : TensorSpec
        The tensor.

    Returns
    -------
    str
        Such as ``"3 channels, any size (input: float32 NCHW)"``.
    """
    count = tensor.channels if "C" in tensor.layout else 1
    channels = "any channels" if count is None else f"{count} channel{'s' * (count != 1)}"
    size = "any size" if set(tensor.sides) == {None} else px(tensor.sides)
    batch = "" if tensor.batch is None else f", {tensor.batch} at a time"
    return f"{channels}, {size}{batch} ({tensor.name}: {tensor.dtype} {tensor.layout})"


def sizing_words(sizing: Sizing | None) -> str:
    """Return what a whole picture is brought to; nothing for None."""
    if sizing is None:
        return ""
    shape = "on the shorter side" if sizing.keep_aspect else "square"
    steps = f", in multiples of {sizing.multiple} px" if sizing.multiple > 1 else ""
    return f"{sizing.side_px} px {shape}{steps}"


def class_words(info: ClassInfo) -> str:
    """Return a class as ``1 nucleus #33bb88``."""
    return f"{info.id} {info.name}" + (f" {info.colour}" if info.colour else "")


def object_words(rule: ObjectRule | None) -> str:
    """Return how objects are separated; nothing for None."""
    if rule is None:
        return ""
    seeds = f"seeds above {rule.seed_threshold:g}, " if rule.method == "watershed" else ""
    return (
        f"{rule.method}: {seeds}foreground above {rule.foreground_threshold:g}, "
        f"at least {rule.min_area_px} px"
    )


def suggested_words(suggested: Suggested | None) -> str:
    """Return what the author runs a model with; nothing for None."""
    if suggested is None:
        return ""
    tile = f"tile {px(suggested.tile)}" if suggested.tile else ""
    halo = f"halo {px(suggested.halo)}" if suggested.halo else ""
    cut = f"threshold {suggested.threshold:g}" if suggested.threshold else ""
    return ", ".join(text for text in (tile, halo, cut) if text)


def pixel_words(pixel_size: tuple[float, str] | None) -> str:
    """Return the side of a pixel; nothing for None."""
    return f"{pixel_size[0]:g} {pixel_size[1]}" if pixel_size else ""


def after_words(head: Head) -> str:
    """Return what is done to the numbers of an output; nothing for none."""
    return chain_words(head.after) if head.after else ""


def head_words(head: Head) -> str:
    """Return an output in a line: what it gives, of which classes, from which tensor.

    Parameters
    ----------
    head : Head
        The output.

    Returns
    -------
    str
        One line.
    """
    named = ", ".join(map(class_words, head.classes)) or ", ".join(head.channels)
    after = after_words(head)
    parts = (
        DOES[head.task],
        SCORES[head.scores],
        named,
        f"then {after}" if after else "",
        object_words(head.objects),
        tensor_words(head.output),
    )
    return "; ".join(part for part in parts if part)


def ratio_words(geometry: Geometry) -> str:
    """Return how large an answer is; nothing where it is as large as the picture."""
    if prod(geometry.ratio) == 1:
        return ""
    return f"{' × '.join(map(str, geometry.ratio))} pixels for one of the picture"


def tiles_words(card: ModelCard) -> str:
    """Return whether tiles equal the whole picture.

    Parameters
    ----------
    card : ModelCard
        The model.

    Returns
    -------
    str
        A sentence without a full stop.
    """
    geometry = card.geometry
    if card.task == "matting":
        return "None: the whole picture is brought to the size of the model"
    ratio = ratio_words(geometry)
    scaled = f"; the answer has {ratio}" if ratio else ""
    if not geometry.exact:
        why = "; ".join(geometry.breakers)
        return f"Blended where they meet, because exact ones are impossible: {why}{scaled}"
    return (
        f"Equal the whole picture exactly, with a halo of {px(geometry.halo)} "
        f"and sides in multiples of {px(geometry.multiple)}{scaled}"
    )
