"""Write a mended copy of a model: what can be proven is done, the rest is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import onnx

from napari_onnxseg.errors import ChoiceError, ModelError
from napari_onnxseg.graph.check import check
from napari_onnxseg.graph.findings import Report, listed
from napari_onnxseg.graph.findings_geometry import sees_everything
from napari_onnxseg.graph.load import read_model
from napari_onnxseg.graph.mend_files import load_weights, side_file, write_model
from napari_onnxseg.graph.mend_modes import PLACINGS, Placing, place_samples, set_inference
from napari_onnxseg.graph.mend_scores import ENDINGS, Ending, end_with
from napari_onnxseg.graph.mend_sizes import freed, needed
from napari_onnxseg.graph.mend_types import to_float32
from napari_onnxseg.graph.mend_versions import lower_ir, lower_opset
from napari_onnxseg.graph.subject import Limits, Subject, Wanted, subject_of
from napari_onnxseg.graph.surgery import Stuck, prune

CARD_KEY = "onnxseg.card"
"""Entry of the file's metadata that holds its card as JSON."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What to mend; None means: where it can be proven, else leave it and say why.

    Parameters
    ----------
    batch, sides : bool or None
        Free the batch, free the sides.
    inference : bool or None
        Switch training mode off.
    float32 : bool or None
        Turn float64 into float32.
    keep : tuple of str
        Outputs that stay; all when empty.
    activation : {"softmax", "sigmoid", "none"} or None
        How the main output ends; as it is when None.
    resize : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"} or None
        Where linear and cubic resizes place their samples; as they are when None.
    opset : int or None
        Older operator set to declare; the newest that the runtime reads when None.
    external : {"in", "out"} or None
        Whether weights lie in the file or in a side file; as they do when None.
    card : mapping or None
        Card to embed in the file's metadata.
    """

    batch: bool | None = None
    sides: bool | None = None
    inference: bool | None = None
    float32: bool | None = None
    keep: tuple[str, ...] = ()
    activation: Ending | None = None
    resize: Placing | None = None
    opset: int | None = None
    external: Literal["in", "out"] | None = None
    card: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("activation", ENDINGS),
            ("resize", PLACINGS),
            ("external", ("in", "out")),
        ):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                raise ChoiceError(f"{name} is {value!r}; allowed are {', '.join(allowed)}.")


@dataclass(frozen=True, slots=True)
class Mended:
    """A mended copy.

    Parameters
    ----------
    path : Path
        The new file.
    done : tuple of str
        What was changed.
    left : tuple of str
        What was left as it is, and why.
    report : Report
        The check of the new file.
    """

    path: Path
    done: tuple[str, ...]
    left: tuple[str, ...]
    report: Report


@dataclass(slots=True)
class _Draft:
    """A model on its way to being mended."""

    subject: Subject
    wanted: Wanted
    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def attempt(self, asked: bool | None, name: str, act: Callable[[Subject], str]) -> None:
        """Do a repair; when it cannot be proven, raise if it was asked for, else note why."""
        if asked is False:
            return
        try:
            told = act(self.subject)
        except Stuck as stuck:
            if asked:
                raise ChoiceError(
                    f"'{self.subject.path.name}' cannot be mended as asked ({name}): {stuck}; "
                    "leave this out, or export the model again."
                ) from stuck
            self.left.append(f"{name}: {stuck}")
            return
        if told:
            self.done.append(told)
            self.renew(self.subject.model)

    def renew(self, model: onnx.ModelProto) -> None:
        """Examine the changed model anew."""
        self.subject = subject_of(model, self.subject.path, self.wanted)


def mend(
    path: Path,
    out: Path,
    choices: Choices | None = None,
    limits: Limits | None = None,
    wanted: Wanted | None = None,
) -> Mended:
    """Write a mended copy of a model; the original is never changed.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    out : Path
        The new file, which must not exist yet.
    choices : Choices, optional
        What to mend.
    limits : Limits, optional
        What the installed runtime reads; versions above it are lowered where possible.
    wanted : Wanted, optional
        Layout and output, where the graph leaves them open.

    Returns
    -------
    Mended
        The new file, what was done and left, and its check.

    Raises
    ------
    ModelError
        When the file cannot be read.
    ChoiceError
        When something asked for cannot be proven right, or the new file exists.
    FileFormatError
        When the new file cannot be written.
    """
    choices = choices or Choices()
    model = read_model(path)
    outside = choices.external == "out" or (choices.external is None and _is_outside(model))
    _refuse_existing(out, outside)
    load_weights(model, path)
    wanted = wanted or Wanted()
    draft = _Draft(subject_of(model, path, wanted), wanted)
    if draft.subject.malformed:
        raise ModelError(f"'{path.name}' cannot be mended: {draft.subject.malformed}")
    _repair(draft, choices, limits)
    final = draft.subject.model
    if draft.done:
        prune(final.graph, [info.name for info in final.graph.output])
    if _is_outside(read_model(path)) != outside:
        draft.done.append("moved weights " + ("to a side file" if outside else "into the file"))
    _embed(final, choices.card, draft.done)
    write_model(final, out, outside)
    return Mended(out, tuple(draft.done), tuple(draft.left), check(out, limits, wanted))


def _repair(draft: _Draft, choices: Choices, limits: Limits | None) -> None:
    """Take the steps in an order in which each sees what the ones before made."""
    _keep_outputs(draft, choices.keep)
    _lower(draft, choices.opset, limits)
    draft.attempt(choices.float32, "float32", to_float32)
    draft.attempt(choices.inference, "inference mode", set_inference)
    if choices.resize is not None:
        placing = choices.resize
        draft.attempt(True, "resize", lambda subject: place_samples(subject, placing))
    if choices.activation is not None:
        ending = choices.activation
        draft.attempt(True, "activation", lambda subject: end_with(subject, ending))
    _free(draft, choices)


def _keep_outputs(draft: _Draft, keep: tuple[str, ...]) -> None:
    names = [tensor.name for tensor in draft.subject.facts.outputs]
    unknown = [name for name in keep if name not in names]
    if unknown:
        raise ChoiceError(f"The model has no output '{unknown[0]}'; it has {', '.join(names)}.")
    gone = [name for name in names if name not in keep]
    if keep and gone:
        count = prune(draft.subject.model.graph, keep)
        draft.done.append(f"dropped the outputs {listed(gone)} with {count} operators")
        draft.renew(draft.subject.model)


def _lower(draft: _Draft, opset: int | None, limits: Limits | None) -> None:
    """Declare older versions, when asked for or when the runtime wants them."""
    target = opset or (limits.opset if limits else 0)
    if target:
        asked = True if opset else None
        draft.attempt(asked, "operator set", lambda subject: lower_opset(subject, target))
    if limits:
        newest = limits.ir_version
        draft.attempt(None, "file format", lambda subject: lower_ir(subject, newest))


def _free(draft: _Draft, choices: Choices) -> None:
    """Free sides and batch: together where that can be proven, else each on its own."""
    if choices.sides is None and draft.subject.fixed_sides and sees_everything(draft.subject):
        draft.left.append(
            "sides: the network judges the whole picture, at the side it was made for"
        )
        choices = replace(choices, sides=False)
    if choices.sides is not False and choices.batch is not False:
        try:
            told = _freed(draft.subject, batch=True, sides=True)
        except Stuck:
            told = ""
        if told:
            draft.done.append(told)
            draft.renew(draft.subject.model)
    draft.attempt(choices.sides, "sides", lambda s: _freed(s, batch=False, sides=True))
    draft.attempt(choices.batch, "batch", lambda s: _freed(s, batch=True, sides=False))


def _freed(subject: Subject, *, batch: bool, sides: bool) -> str:
    """Free what is asked for in place; nothing when any of it is free already."""
    bound = needed(subject)
    if (batch and not bound[0]) or (sides and not bound[1]):
        return ""
    subject.model.CopyFrom(freed(subject, batch=batch, sides=sides))
    return f"freed {'the batch' * batch}{' and ' * (batch and sides)}{'the sides' * sides}"


def _embed(model: onnx.ModelProto, card: Mapping[str, Any] | None, done: list[str]) -> None:
    """Store a card in the metadata; the hash of the file cannot be part of it."""
    if card is None:
        return
    kept = [entry for entry in model.metadata_props if entry.key != CARD_KEY]
    copies = [(entry.key, entry.value) for entry in kept]
    content = {key: value for key, value in card.items() if key != "sha256"}
    copies.append((CARD_KEY, json.dumps(content, ensure_ascii=False)))
    del model.metadata_props[:]
    for key, value in copies:
        model.metadata_props.add(key=key, value=value)
    done.append("embedded the card")


def _is_outside(model: onnx.ModelProto) -> bool:
    """Tell whether any weights lie in side files."""
    return any(t.data_location == onnx.TensorProto.EXTERNAL for t in model.graph.initializer)


def _refuse_existing(out: Path, outside: bool) -> None:
    for file in (out, side_file(out)) if outside else (out,):
        if file.exists():
            raise ChoiceError(f"'{file}' exists already; choose another name for the copy.")
    if not out.parent.is_dir():
        raise ChoiceError(f"There is no folder '{out.parent}'; make it, or choose another place.")
