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
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.values import Entries, named_classes, parse_text
from napari_onnxseg.graph.inspect import GraphFacts
from napari_onnxseg.prepare.normalize import Normalization

_OWN_KEYS = """tile_size tiles_size tiles_overlap standardization_mean standardization_std
seg_thresh seg_small_segment reg_output_scaling det_conf det_iou_thresh det_type"""

KEYS = frozenset({*_OWN_KEYS.split(), "model_type", "names", "class_names", "resolution"})
"""All keys that are read."""

WHERE = "the metadata of the file"

_KINDS = {
    "detector": "detects boxes",
    "regressor": "gives measured values instead of classes",
    "recognition": "compares image parts",
    "superresolution": "enlarges images",
}


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
    if kind != "segmentor" and not set(given) & set(_OWN_KEYS.split()):
        return Description()
    return _segmentor(Entries(_first_head(given), WHERE), facts).known_from("metadata")


def _refusal(kind: str) -> str:
    return (
        f"This model was made for Deepness as a {kind.capitalize()}: it {_KINDS[kind]}, and only "
        "networks that give a class or an opacity for each pixel can be run."
    )


def _first_head(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep the class names of the first output, where each of several has its own."""
    heads = given.get("class_names")
    if isinstance(heads, list) and heads and isinstance(heads[0], Mapping):
        return {**given, "class_names": heads[0]}
    return given


def _segmentor(entries: Entries, facts: GraphFacts) -> Description:
    resolution = entries.number("resolution")
    told = Description(
        task="semantic",
        colour_order="RGB",
        scores="probabilities" if _single(facts) else None,
        normalization=_normalization(entries),
        classes=named_classes(entries.names("class_names", "names")),
        pixel_size=(resolution, "cm") if resolution else None,
        suggested=_suggested(entries),
    )
    return replace(told, notes=(*entries.notes, *_habits(entries, facts)))


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


def _habits(entries: Entries, facts: GraphFacts) -> list[str]:
    """Say what Deepness does after the network and this package does not."""
    notes = []
    if "seg_thresh" in entries.given and not _single(facts):
        notes.append(
            "Deepness gives pixels whose best class is below its threshold to class 0; here the "
            "best class is taken."
        )
    if entries.whole("seg_small_segment"):
        notes.append("Deepness smooths the finished map with a median filter; here it is not.")
    return notes


def _single(facts: GraphFacts) -> bool:
    """Tell whether the first output is one map, a probability by Deepness' rule."""
    dims = facts.outputs[0].dims
    return len(dims) == 3 or (len(dims) == 4 and dims[1] == 1)
