"""Which tensors of a graph are used, and what their axes mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from napari_onnxseg.cards.card import Fact, Layout, TensorSpec
from napari_onnxseg.cards.description import TensorHints
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import GraphFacts, TensorFacts
from napari_onnxseg.graph.layout import LAYOUTS, Evidence, plausible_layouts
from napari_onnxseg.graph.receptive import Receptive


def choose_input(facts: GraphFacts, hints: TensorHints) -> TensorFacts:
    """Return the input that takes the picture.

    Parameters
    ----------
    facts : GraphFacts
        The declarations of the file.
    hints : TensorHints
        The card, which may name it.

    Returns
    -------
    TensorFacts
        The one input.

    Raises
    ------
    ModelError
        When there is not exactly one input, or none of that name.
    """
    if hints.input_name:
        named(facts.inputs, hints.input_name, "input")
    if len(facts.inputs) != 1:
        names = ", ".join(tensor.name for tensor in facts.inputs) or "none"
        raise ModelError(
            f"The model has {len(facts.inputs)} inputs ({names}); "
            "only networks that take one picture can be used."
        )
    return facts.inputs[0]


def named(tensors: Sequence[TensorFacts], name: str, kind: str) -> TensorFacts:
    """Return the tensor that a description names.

    Parameters
    ----------
    tensors : sequence of TensorFacts
        Those of the graph.
    name : str
        The one that is meant.
    kind : {"input", "output"}
        For the message.

    Returns
    -------
    TensorFacts
        That one.

    Raises
    ------
    ModelError
        When the graph has none of that name.
    """
    for tensor in tensors:
        if tensor.name == name:
            return tensor
    names = ", ".join(tensor.name for tensor in tensors)
    raise ModelError(f"The description names the {kind} '{name}', the model has {names}.")


def input_spec(
    tensor: TensorFacts, hints: TensorHints, seen: Evidence | None
) -> tuple[TensorSpec, Fact, str]:
    """Say what the axes of the input mean.

    Parameters
    ----------
    tensor : TensorFacts
        The input.
    hints : TensorHints
        The card, which may state the layout.
    seen : Evidence or None
        What the first convolution shows.

    Returns
    -------
    tuple of TensorSpec, str and str
        The input, where its layout came from, and a note on a contradiction or nothing.

    Raises
    ------
    ModelError
        When the rank is unusual or the layout cannot be told.
    """
    rank = len(tensor.dims)
    if tensor.dtype not in NUMBERS:
        raise ModelError(
            f"The input '{tensor.name}' takes {_type_words(tensor)}; only networks that take whole "
            "numbers or float16, float32 or float64 can be used."
        )
    if rank not in (4, 5):
        raise ModelError(
            f"The input '{tensor.name}' has {rank} axes {list(tensor.dims)}; needed are batch, "
            "channels, rows and columns (or batch, channels, depth, rows and columns)."
        )
    if seen and not _fits(tensor, seen.layout, seen.channels):
        seen = None
    shapes = plausible_layouts(tensor.dims)
    graph = (seen.layout if seen else None) or (shapes[0] if len(shapes) == 1 else None)
    layout = graph or hints.input_layout
    if layout is None or (rank, layout.find("C")) not in LAYOUTS or len(layout) != rank:
        raise _ambiguous(tensor)
    spec = _spec(tensor, cast(Layout, layout), seen.channels if seen else hints.channels)
    note = _contradiction("input", hints.input_layout, layout)
    if hints.channels not in (None, spec.channels):
        note += f" The description says {hints.channels} channels, the graph takes {spec.channels}."
    return spec, "graph" if graph else "card", note.strip()


def output_spec(
    tensor: TensorFacts, view: Receptive, told: Layout | None, channels_known: bool
) -> tuple[TensorSpec, str]:
    """Say what the axes of the output mean, from the way the picture takes through the graph.

    Parameters
    ----------
    tensor : TensorFacts
        The output.
    view : Receptive
        Where the spatial axes went.
    told : str or None
        What a description says of its layout.
    channels_known : bool
        Whether the channels of the input are known, so that inferred ones can be trusted.

    Returns
    -------
    tuple of TensorSpec and str
        The output, and a note on a contradiction or nothing.

    Raises
    ------
    ModelError
        When the axes lie in an order that no layout describes.
    """
    if tensor.dtype not in (*NUMBERS, "bool"):
        raise ModelError(
            f"The output '{tensor.name}' gives {_type_words(tensor)}; only networks that give "
            "numbers can be used."
        )
    axes = view.output_axes
    rank = len(view.output_dims) or len(tensor.dims)
    others = [axis for axis in range(rank) if axis not in axes]
    letters = dict(zip(axes, "DHW"[-len(axes) :], strict=True)) | dict(
        zip(others, "NC", strict=False)
    )
    layout = "".join(letters.get(axis, "?") for axis in range(rank))
    if layout not in ("NCHW", "NHWC", "NCDHW", "NDHWC", "NHW", "NDHW"):
        raise ModelError(
            f"The axes of the output '{tensor.name}' are {_order(letters, rank)}; needed are "
            "batch, classes, rows and columns, or batch, rows, columns and classes."
        )
    dims = tensor.dims if len(tensor.dims) == rank else (None,) * rank
    position = layout.find("C")
    trusted = position >= 0 and channels_known and bool(view.output_dims)
    inferred = view.output_dims[position] if trusted else None
    whole = TensorFacts(tensor.name, tensor.dtype, dims)
    spec, note = (
        _spec(whole, cast(Layout, layout), inferred),
        _contradiction("output", told, layout),
    )
    if inferred in (None, spec.channels):
        return spec, note
    declared = (
        f"The file declares {spec.channels} channels for '{tensor.name}', its operators give "
        f"{inferred}, which counts."
    )
    return replace(spec, channels=inferred), f"{note} {declared}".strip()


def _spec(tensor: TensorFacts, layout: Layout, channels: int | None) -> TensorSpec:
    numbers = [dim if isinstance(dim, int) else None for dim in tensor.dims]
    position = layout.find("C")
    declared = numbers[position] if position >= 0 else None
    return TensorSpec(
        name=tensor.name,
        dtype=tensor.dtype,
        layout=layout,
        batch=numbers[0],
        channels=declared or channels,
        sides=tuple(numbers[layout.index(axis)] for axis in "DHW" if axis in layout),
    )


NUMBERS = (
    *("float16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
"""Element types that a picture can be fed as."""

_AXES = {"N": "batch", "C": "classes", "D": "depth", "H": "rows", "W": "columns"}


def _type_words(tensor: TensorFacts) -> str:
    return {"object": "texts", "bool": "yes or no"}.get(tensor.dtype, tensor.dtype)


def _order(letters: Mapping[int, str], rank: int) -> str:
    """Return the axes of a tensor in words."""
    return ", ".join(_AXES.get(letters.get(axis, "?"), "another") for axis in range(rank))


def _fits(tensor: TensorFacts, layout: str, channels: int | None) -> bool:
    """Tell whether declared dims allow what a convolution says."""
    declared = tensor.dims[layout.index("C")]
    return channels is None or not isinstance(declared, int) or declared == channels


def _contradiction(kind: str, card: str | None, graph: str) -> str:
    if card in (None, graph):
        return ""
    return (
        f"The description says that the {kind} is {card}, but the graph shows {graph}, which is "
        "used."
    )


def _ambiguous(tensor: TensorFacts) -> ModelError:
    choices = " or ".join(name for (rank, _), name in LAYOUTS.items() if rank == len(tensor.dims))
    return ModelError(
        f"Which axis of the input '{tensor.name}' {list(tensor.dims)} holds channels cannot be "
        f"told from the graph; state it in a card beside the model, as in "
        f'{{"format": 1, "input": {{"layout": "..."}}}} with {choices}.'
    )
