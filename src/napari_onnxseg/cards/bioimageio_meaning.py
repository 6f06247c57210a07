"""From a bioimage.io description to what a run needs to know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import cast, get_args

from napari_onnxseg.cards.bioimageio_heads import Judged, judged
from napari_onnxseg.cards.bioimageio_rdf import Axis, Rdf, Tensor
from napari_onnxseg.cards.card import Layout, Suggested
from napari_onnxseg.cards.description import Description, HeadHints, TensorHints
from napari_onnxseg.cards.values import shortened
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import GraphFacts
from napari_onnxseg.prepare.normalize import Normalization

_LETTERS = {"batch": "N", "channel": "C"}
_SPACE = {"z": "D", "y": "H", "x": "W"}
_UNITS = {
    "nanometer": "nm",
    "micrometer": "µm",
    "millimeter": "mm",
    "centimeter": "cm",
    "meter": "m",
    "angstrom": "Å",
}
_RAW = ("uint8", "uint16")
_SMALLEST_TILE_PX = 256


def described(rdf: Rdf, given: Path, facts: GraphFacts) -> Description:
    """Say what a description tells of a network.

    Parameters
    ----------
    rdf : Rdf
        The description.
    given : Path
        The file that was named.
    facts : GraphFacts
        Declarations of the network, which gives tensors in the same order.

    Returns
    -------
    Description
        What is known for sure has the fact ``package``, what was judged by words ``assumed``.

    Raises
    ------
    ModelError
        When the model takes several images, or gives none.
    """
    source = _one_input(rdf)
    names = _names(rdf, facts)
    maps = [
        (tensor, name) for tensor, name in zip(rdf.outputs, names, strict=True) if tensor.is_map
    ]
    if not maps:
        raise _no_map(rdf)
    heads = [(judged(tensor, rdf), tensor, name) for tensor, name in maps]
    main, first, output_name = heads[0]
    told = Description(
        name=_short(rdf, given),
        title=rdf.name,
        description=rdf.description,
        licence=rdf.licence,
        origin=_origin(rdf),
        task=main.task,
        tensors=TensorHints(
            input_name=facts.inputs[0].name,
            output_name=output_name,
            input_layout=_layout(source),
            output_layout=_layout(first),
            channels=source.channels,
        ),
        normalization=Normalization("steps", steps=source.steps)
        if source.steps
        else Normalization("none"),
        scores=main.scores,
        classes=main.classes,
        head_name=first.name if first.name != output_name else "",
        channels=main.channels,
        after=main.after,
        others=tuple(_hints(*head) for head in heads[1:]),
        pixel_size=_pixel_size(source),
        suggested=_suggested(source, [tensor for tensor, _ in maps], main.threshold),
        extra=_extra(rdf, source),
    )
    notes = (*rdf.notes, *source.notes, *_notes(rdf, source, heads))
    told = replace(told.known_from("package"), notes=tuple(dict.fromkeys(notes)))
    return told if main.certain else replace(told, facts={**told.facts, "task": "assumed"})


def spatial_letters(tensor: Tensor) -> dict[str, str]:
    """Return D, H or W for the spatial axes, by their names."""
    space = [axis.name for axis in tensor.axes if axis.kind == "space"]
    if set(space) <= set(_SPACE):
        return {name: _SPACE[name] for name in space}
    return dict(zip(space, "DHW"[-len(space) :], strict=False))


def axis_letters(tensor: Tensor) -> str:
    """Return the axes of a tensor as letters, a question mark for those that have none."""
    letters = spatial_letters(tensor) | {
        axis.name: _LETTERS[axis.kind] for axis in tensor.axes if axis.kind in _LETTERS
    }
    return "".join(letters.get(axis.name, "?") for axis in tensor.axes)


def _one_input(rdf: Rdf) -> Tensor:
    """Return the input that takes the picture."""
    needed = [tensor for tensor in rdf.inputs if not tensor.optional] or list(rdf.inputs[:1])
    if len(needed) != 1 or needed[0] is not rdf.inputs[0]:
        names = ", ".join(tensor.name for tensor in rdf.inputs)
        raise ModelError(
            f"The model '{rdf.name}' takes {len(rdf.inputs)} inputs ({names}); only networks that "
            "take one picture can be run."
        )
    _require_order(needed[0])
    return needed[0]


def _require_order(tensor: Tensor) -> None:
    """Raise for axes that no picture has, or that stand the other way round."""
    letters = axis_letters(tensor)
    names = ", ".join(axis.name for axis in tensor.axes)
    if "?" in letters:
        raise ModelError(
            f"'{tensor.name}' in the description has the axes {names}; only batch, channel and "
            "space can be used."
        )
    space = [letter for letter in letters if letter in "DHW"]
    if space != sorted(space):
        raise ModelError(
            f"'{tensor.name}' in the description has the axes {names}; rows must come before "
            "columns, so export the network again with its axes in that order."
        )


def _names(rdf: Rdf, facts: GraphFacts) -> tuple[str, ...]:
    """Return the tensors of the graph that the outputs are."""
    there = tuple(tensor.name for tensor in facts.outputs)
    if len(there) < len(rdf.outputs) or not facts.inputs:
        raise ModelError(
            f"The description of '{rdf.name}' names {len(rdf.outputs)} outputs, but its network "
            f"gives {len(there)}; get the matching pair."
        )
    return there[: len(rdf.outputs)]


def _no_map(rdf: Rdf) -> ModelError:
    first = rdf.outputs[0]
    axes = ", ".join(axis.name for axis in first.axes)
    return ModelError(
        f"The model '{rdf.name}' gives '{first.name}' with the axes {axes}, which is no map of the "
        "picture; only networks that give classes or values for each pixel can be run."
    )


def _hints(head: Judged, tensor: Tensor, name: str) -> HeadHints:
    _require_order(tensor)
    return HeadHints(
        output_name=name,
        name=tensor.name,
        task=head.task,
        layout=_layout(tensor),
        scores=head.scores,
        classes=head.classes,
        channels=head.channels,
        after=head.after,
    )


def _layout(tensor: Tensor) -> Layout | None:
    letters = axis_letters(tensor)
    return cast(Layout, letters) if letters in get_args(Layout) else None


def _short(rdf: Rdf, given: Path) -> str:
    """Return a name for the model: that of a zip file, else that of its folder."""
    return given.stem if given.suffix.lower() == ".zip" else rdf.path.parent.name


def _origin(rdf: Rdf) -> str:
    parts = [", ".join(rdf.authors)] if rdf.authors else []
    return "; ".join([*parts, *(f"cite: {text}" for text in rdf.cite)])


def _pixel_size(tensor: Tensor) -> tuple[float, str] | None:
    """Return the side of a square pixel, where a physical unit is given."""
    planar = [a for a in tensor.axes if spatial_letters(tensor).get(a.name) in ("H", "W")]
    sides = {(axis.scale, axis.unit) for axis in planar}
    if len(sides) != 1:
        return None
    scale, unit = sides.pop()
    return (scale, _UNITS[unit]) if unit in _UNITS else None


def _suggested(source: Tensor, outputs: list[Tensor], threshold: float | None) -> Suggested | None:
    axes = [axis for axis in source.axes if axis.kind == "space"]
    sides = [_side(axis) for axis in axes]
    halo = tuple(max(_halo(axis, source, output) for output in outputs) for axis in axes)
    tile = tuple(side for side in sides if side)
    found = Suggested(
        tile=tile if len(tile) == len(axes) else None,
        halo=halo if any(halo) else None,
        threshold=threshold,
    )
    return found if found != Suggested() else None


def _side(axis: Axis) -> int:
    """Return a side that is allowed: fixed, or the least that is worth a tile; 0 when open."""
    if axis.size or not axis.step:
        return axis.size or 0
    more = max(0, ceil((_SMALLEST_TILE_PX - axis.least) / axis.step))
    return axis.least + more * axis.step


def _halo(axis: Axis, source: Tensor, output: Tensor) -> int:
    """Return the halo of an output along an axis of the input, in pixels of the input."""
    for other in output.axes:
        if other.refers == (source.name, axis.name) or (
            not other.refers and other.name == axis.name
        ):
            return ceil(other.halo * other.scale / axis.scale)
    return 0


def _extra(rdf: Rdf, source: Tensor) -> Mapping[str, str]:
    """Return what else people may want to know."""
    sizes = [_size_words(axis) for axis in source.axes if axis.kind == "space" and axis.step]
    told = {
        "bioimage.io": f"{rdf.nickname} (format {rdf.version})" if rdf.nickname else rdf.version,
        "tags": ", ".join(rdf.tags),
        "documentation": rdf.documentation,
        "input channels": ", ".join(_real(source.channel_names)),
        "sides": ", ".join(dict.fromkeys(sizes)),
    }
    return {**rdf.extra, **{key: shortened(text, 500) for key, text in told.items() if text}}


def _size_words(axis: Axis) -> str:
    return f"{axis.least} + n × {axis.step} px"


def _real(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that somebody thought of."""
    return () if all(re.fullmatch(r"channel_?\d*", name) for name in names) else names


def _notes(rdf: Rdf, source: Tensor, heads: list[tuple[Judged, Tensor, str]]) -> list[str]:
    """Return what the user should read."""
    notes = [note for head, tensor, _ in heads for note in (*head.notes, *tensor.notes)]
    aside = [tensor.name for tensor in rdf.outputs if not tensor.is_map]
    if aside:
        notes.append(f"Left aside, because they are no maps of the picture: {', '.join(aside)}.")
    if source.dtype in _RAW:
        notes.append(
            f"The model is made for {source.dtype} images as the camera gives them; bring images "
            "of another kind to that range first."
        )
    if any(tensor.optional for tensor in rdf.inputs[1:]):
        names = ", ".join(tensor.name for tensor in rdf.inputs[1:])
        notes.append(f"Further inputs are optional and are left out: {names}.")
    return notes
