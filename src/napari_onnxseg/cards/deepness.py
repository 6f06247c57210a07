"""Models for Deepness, the QGIS plugin: what they say in the metadata of the ONNX file.

References
----------
`Deepness: model metadata <https://qgis-plugin-deepness.readthedocs.io>`_. Pixels are
divided by 255 whatever the raster holds; mean and standard deviation follow when both are
given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from napari_onnxseg.cards.card import Suggested
from napari_onnxseg.cards.description import Description, HeadHints, TensorHints
from napari_onnxseg.cards.values import Entries, named_classes, parse_text
from napari_onnxseg.graph.inspect import GraphFacts, TensorFacts
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.steps import Step

_OWN_KEYS = """tile_size tiles_size tiles_overlap standardization_mean standardization_std
seg_thresh seg_small_segment reg_output_scaling det_conf det_iou_thresh det_type"""

KEYS = frozenset({*_OWN_KEYS.split(), "model_type", "names", "class_names", "resolution"})
"""All keys that are read."""

WHERE = "the metadata of the file"

_KINDS = {
    "detector": "detects boxes",
    "recognition": "compares image parts",
    "superresolution": "enlarges images",
}
_KNOWN = ("segmentor", "regressor")


def describe(facts: GraphFacts) -> Description:
    """Say what the metadata of a Deepness model tells.

    Parameters
    ----------
    facts : GraphFacts
        Declarations of the file.

    Returns
    -------
    Description
        Empty when the model is not made for Deepness. Entries that are of another kind than
        Deepness allows are left aside with a note.
    """
    given = {key: parse_text(text) for key, text in facts.metadata.items() if key in KEYS}
    kind = str(given.get("model_type", "")).strip().lower()
    if kind in _KINDS:
        return Description(refusal=_refusal(kind)).known_from("metadata")
    if kind not in _KNOWN and not set(given) & set(_OWN_KEYS.split()):
        return Description()
    heads = [Entries(part, WHERE) for part in _by_head(given, len(facts.outputs))]
    told = _told(heads, facts, regressor=kind == "regressor")
    return told.known_from("metadata")


def _refusal(kind: str) -> str:
    return (
        f"This model was made for Deepness as a {kind.capitalize()}: it {_KINDS[kind]}, and only "
        "networks that give a class, an opacity or a value for each pixel can be run."
    )


def _by_head(given: Mapping[str, Any], count: int) -> list[Mapping[str, Any]]:
    """Return the entries of each output, which may have class names of its own."""
    names = given.get("class_names")
    if isinstance(names, list) and names and isinstance(names[0], Mapping):
        more = [{"class_names": own} for own in names[1:count]]
        return [{**given, "class_names": names[0]}, *more, *({} for _ in range(count - len(names)))]
    return [given, *({} for _ in range(count - 1))]


def _told(heads: list[Entries], facts: GraphFacts, *, regressor: bool) -> Description:
    """Describe the main output, and the others as further ones."""
    entries, *others = heads
    resolution = entries.number("resolution")
    after = _scaling(entries) if regressor else ()
    main = _head_hints(entries, facts.outputs[0], after, regressor=regressor)
    further = tuple(
        _head_hints(own, output, after, regressor=regressor)
        for own, output in zip(others, facts.outputs[1:], strict=True)
        if len(output.dims) in (0, 3, 4)
    )
    told = Description(
        task=main.task,
        tensors=TensorHints(output_name=main.output_name if further else ""),
        colour_order="RGB",
        scores=main.scores,
        normalization=_normalization(entries),
        classes=main.classes,
        channels=main.channels,
        after=after,
        others=further,
        pixel_size=(resolution, "cm") if resolution else None,
        suggested=_suggested(entries),
    )
    return replace(told, notes=(*(n for own in heads for n in own.notes), *_habits(entries)))


def _head_hints(
    entries: Entries, output: TensorFacts, after: tuple[Step, ...], *, regressor: bool
) -> HeadHints:
    """Return what is known of one output: classes with their names, or channels."""
    names = entries.names("class_names", "names")
    if regressor:
        return HeadHints(output.name, task="image", channels=names, after=after)
    single = len(output.dims) == 3 or (len(output.dims) == 4 and output.dims[1] == 1)
    return HeadHints(
        output.name,
        task="semantic",
        scores="probabilities" if single else None,
        classes=named_classes(names),
    )


def _scaling(entries: Entries) -> tuple[Step, ...]:
    """Return the factor of a regressor as a step after the network."""
    factor = entries.number("reg_output_scaling")
    return (Step("scale_linear", gain=(factor,)),) if factor and factor != 1 else ()


def _normalization(entries: Entries) -> Normalization:
    mean, std = (entries.numbers(f"standardization_{what}") for what in ("mean", "std"))
    if not mean and not std:
        return Normalization("divide")
    if len(mean) == len(std) and all(value > 0 for value in std):
        return Normalization("standardize", mean=mean, std=std)
    entries.notes.append(
        "The metadata of the file holds a mean and a standard deviation that do not belong "
        "together; they were left aside."
    )
    return Normalization("divide")


def _suggested(entries: Entries) -> Suggested | None:
    side = entries.whole("tile_size", "tiles_size")
    percent = entries.number("tiles_overlap", above=-1, most=99)
    threshold = entries.number("seg_thresh", above=-1, most=1)
    halo = ceil(side * percent / 200) if side and percent and percent > 0 else 0
    found = Suggested(
        tile=(side, side) if side else None,
        halo=(halo, halo) if halo else None,
        threshold=threshold if threshold and 0 < threshold < 1 else None,
    )
    return found if found != Suggested() else None


def _habits(entries: Entries) -> list[str]:
    """Say what Deepness does after the network and this package does not."""
    if entries.whole("seg_small_segment"):
        return ["Deepness smooths the finished map with a median filter; here it is not."]
    return []
