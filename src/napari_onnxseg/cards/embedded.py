"""What the metadata of an ONNX file says: our own card, or another tool's entries.

References
----------
Ultralytics writes Python literals (``names``, ``task``, ``stride``); OpenVINO's Model API,
OTX and Geti write ``model_info ...`` entries on the 0..255 scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from napari_onnxseg.cards import deepness
from napari_onnxseg.cards.card import Sizing
from napari_onnxseg.cards.description import Description, TensorHints
from napari_onnxseg.cards.layers import layered
from napari_onnxseg.cards.native import parse_text as parse_card
from napari_onnxseg.cards.values import (
    Entries,
    as_number,
    is_background,
    named_classes,
    parse_text,
    shortened,
)
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import GraphFacts
from napari_onnxseg.graph.mend import CARD_KEY
from napari_onnxseg.prepare.normalize import Normalization

MODEL_INFO = "model_info "
"""How OTX and Geti begin their keys."""

_FEATURES = ("feature_vector", "saliency_map")
"""Outputs that explain an answer."""

_ULTRALYTICS = frozenset({"task", "names", "stride", "imgsz"})
_NOT_SEMANTIC = {
    "detect": "an object detector",
    "segment": "an instance detector",
    "classify": "a classifier of whole pictures",
    "pose": "a pose detector",
    "obb": "a detector of turned boxes",
}


def describe(facts: GraphFacts) -> Description:
    """Say what the metadata of a file tells, in whatever form it is written.

    Parameters
    ----------
    facts : GraphFacts
        Declarations of the file.

    Returns
    -------
    Description
        The card of this project first, then the other forms; entries that no form knows
        are in its ``extra``.

    Raises
    ------
    ModelError
        When the embedded card cannot be used.
    """
    found = [(form, form.describe(facts)) for form in _FORMS]
    used = [form for form, told in found if told != Description()]
    told = layered(*(told for _, told in found))
    free = {
        key: text
        for key, text in facts.metadata.items()
        if not any(form.owns(key) for form in used)
    }
    return replace(told, extra=free)


def _own(facts: GraphFacts) -> Description:
    """Read the card of this project."""
    text = facts.metadata.get(CARD_KEY)
    if text is None:
        return Description()
    try:
        return replace(parse_card(text), sha256="").known_from("metadata")
    except ModelError as error:
        raise ModelError(
            f"The card in the metadata of the file ('{CARD_KEY}') cannot be used: {error}"
        ) from None


def _ultralytics(facts: GraphFacts) -> Description:
    """Read what the exporter of Ultralytics writes; almost all its networks find instances."""
    if not set(facts.metadata) >= _ULTRALYTICS:
        return Description()
    given = {key: parse_text(text) for key, text in facts.metadata.items()}
    entries = Entries(given, "the metadata of the file")
    task = entries.text("task").lower()
    if task != "semantic":
        what = _NOT_SEMANTIC.get(task, f"a network for '{shortened(task)}'")
        refusal = (
            f"This is {what} of Ultralytics, not a segmentation net: its output is no class for "
            "each pixel; export a semantic segmentation network instead."
        )
        return Description(refusal=refusal).known_from("metadata")
    told = Description(
        title=entries.text("description"),
        licence=entries.text("license"),
        task="semantic",
        colour_order="RGB",
        normalization=Normalization("unit"),
        classes=named_classes(entries.names("names")),
    )
    return replace(told, notes=tuple(entries.notes)).known_from("metadata")


def _model_api(facts: GraphFacts) -> Description:
    """Read the entries that OTX, Geti and the Model API share."""
    given = {
        key.removeprefix(MODEL_INFO): text
        for key, text in facts.metadata.items()
        if key.startswith(MODEL_INFO)
    }
    kind = given.get("model_type", "")
    if not given:
        return Description()
    if kind and "segmentation" not in kind.lower().replace("maskrcnn", "instance"):
        refusal = (
            f"This is a '{shortened(kind)}' network of OTX or Geti; only networks that give a "
            "class for each pixel (Segmentation) can be run."
        )
        return Description(refusal=refusal).known_from("metadata")
    entries = Entries(given, "the metadata of the file")
    names = [name.replace("_", " ") for name in entries.text("labels").split()]
    turned = entries.flag("reverse_input_channels")
    told = Description(
        task="semantic" if kind else None,
        tensors=TensorHints(output_name=_map_output(facts)),
        colour_order="BGR" if turned else "RGB",
        normalization=_by_bytes(entries),
        classes=named_classes(_with_background(names, facts)) if names else (),
        sizing=_squeezed(entries, facts),
    )
    return replace(told, notes=(*entries.notes, *_habits(entries))).known_from("metadata")


def _by_bytes(entries: Entries) -> Normalization:
    """Return the mean and scale of 8-bit values, as a share of the full range."""
    mean, scale = entries.numbers("mean_values"), entries.numbers("scale_values")
    if not mean and not scale:
        return Normalization("none")
    mean = mean or (0.0,) * len(scale)
    scale = scale or (1.0,) * len(mean)
    if len(mean) == len(scale) and all(value > 0 for value in scale):
        return Normalization(
            "mean_std", mean=tuple(m / 255 for m in mean), std=tuple(s / 255 for s in scale)
        )
    entries.notes.append(
        f"The mean and scale values in {entries.where} do not belong together; "
        "they were left aside."
    )
    return Normalization("none")


def _with_background(names: list[str], facts: GraphFacts) -> list[str]:
    """Put the background before the names, where the list leaves it out."""
    dims = facts.outputs[0].dims
    counted = len(dims) == 4 and len(names) in (dims[1], dims[-1])
    return names if counted or is_background(names[0]) else ["background", *names]


def _squeezed(entries: Entries, facts: GraphFacts) -> Sizing | None:
    """Return the side that whole pictures were brought to, when it is declared."""
    dims = facts.inputs[0].dims[1:] if facts.inputs else ()
    sides = [dim for dim in dims if isinstance(dim, int) and dim > 4]
    if entries.text("resize_type") == "crop" or len(sides) != 2 or sides[0] != sides[1]:
        return None
    return Sizing(sides[0])


def _map_output(facts: GraphFacts) -> str:
    """Return the output that is not the feature vector, when there is one of each."""
    maps = [tensor.name for tensor in facts.outputs if tensor.name not in _FEATURES]
    return maps[0] if len(maps) == 1 < len(facts.outputs) else ""


def _habits(entries: Entries) -> list[str]:
    """Say what may differ from what the Model API does."""
    notes = []
    if entries.flag("reverse_input_channels"):
        notes.append(
            "The file asks for reversed channels, taken for blue, green, red; if the result looks "
            "wrong, choose RGB."
        )
    cut, blur = (as_number(entries.given.get(key)) for key in ("soft_threshold", "blur_strength"))
    if cut and cut > 0 and blur != -1:
        notes.append(
            "The Model API smooths the scores and gives pixels whose best class is below its "
            "threshold to class 0; here the best class is taken."
        )
    return notes


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to write metadata, and the keys that belong to it."""

    describe: Callable[[GraphFacts], Description]
    owns: Callable[[str], bool]


_FORMS = (
    _Form(_own, lambda key: key == CARD_KEY),
    _Form(deepness.describe, lambda key: key in deepness.KEYS),
    _Form(_ultralytics, lambda key: key in _ULTRALYTICS | {"description", "license"}),
    _Form(_model_api, lambda key: key.startswith(MODEL_INFO)),
)
