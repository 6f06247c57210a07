"""Operations of a bioimage.io description as steps, with the meaning the specification gives.

References
----------
`bioimage.io model specification <https://bioimage-io.github.io/spec-bioimage-io>`_ 0.4 and
0.5: ``axes`` are those that statistics are taken over together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from napari_onnxseg.cards.bioimageio_context import Context
from napari_onnxseg.cards.bioimageio_node import Node, fault
from napari_onnxseg.cards.values import shortened
from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.steps import Step

_FLOATS = ("float32", "float64")
_DTYPES = (
    *_FLOATS,
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
_NOT_PIXELWISE = {
    "cellpose_flow_dynamics": (
        "follows flows to separate objects, which takes the program Cellpose; take the operation "
        "out of a copy of the description, and its flows and probabilities are shown as images"
    ),
    "stardist_postprocessing": (
        "makes objects of star-shaped polygons, which takes the program StarDist; take the "
        "operation out of a copy of the description, and distances and probabilities are shown "
        "as images"
    ),
}


def steps_of(context: Context, nodes: Sequence[Node]) -> tuple[Step, ...]:
    """Return the steps for all operations of a tensor.

    Parameters
    ----------
    context : Context
        What they refer to.
    nodes : sequence of Node
        Their entries.

    Returns
    -------
    tuple of Step
        Casts that change nothing are left out.

    Raises
    ------
    ModelError
        Naming the operation or the entry that cannot be done.
    """
    steps = [_step(context, node) for node in nodes]
    return tuple(step for step in steps if step.op != "cast" or step.dtype not in _FLOATS)


def _step(context: Context, node: Node) -> Step:
    key = "id" if context.version >= (0, 5) else "name"
    name = node.text(key) or node.text("name") or node.text("id")
    if name == "custom" or node.has("callable"):
        program = node.text("source") or "a program"
        raise ModelError(
            f"'{node.where}' in the description of the model runs '{shortened(program)}' of "
            "its author, and programs from models are never run here; ask the author for a "
            "network that includes it."
        )
    if name in _NOT_PIXELWISE:
        raise ModelError(
            f"The operation '{name}' of the model {_NOT_PIXELWISE[name]}; "
            "or run the model in that program."
        )
    if name not in _READERS:
        known = ", ".join(sorted(_READERS))
        raise fault(node.place(key), name or None, f"known operations are {known}")
    node.only("id", "name", "kwargs")
    try:
        return _READERS[name](context, node.node("kwargs"))
    except ModelError as error:
        if "description of the model" in str(error):
            raise
        raise ModelError(f"'{node.where}' in the description of the model: {error}") from None


def _cast(context: Context, kwargs: Node) -> Step:
    kwargs.only("dtype")
    dtype = kwargs.required("dtype")
    if dtype not in _DTYPES:
        raise fault(kwargs.place("dtype"), dtype, f"known are {', '.join(_DTYPES)}")
    return Step("cast", dtype=dtype)


def _binarize(context: Context, kwargs: Node) -> Step:
    kwargs.only("threshold", "axis")
    context.along(kwargs, "threshold")
    return Step("binarize", threshold=_numbers(kwargs, "threshold"))


def _clip(context: Context, kwargs: Node) -> Step:
    kwargs.only("min", "max", "min_percentile", "max_percentile", "axes")
    percentiles = kwargs.number("min_percentile"), kwargs.number("max_percentile")
    measured = percentiles != (None, None)
    return Step(
        "clip",
        low=kwargs.number("min"),
        high=kwargs.number("max"),
        low_percentile=percentiles[0],
        high_percentile=percentiles[1],
        per_channel=measured and context.per_channel(kwargs),
    )


def _scale_linear(context: Context, kwargs: Node) -> Step:
    kwargs.only("axes", "axis", "gain", "offset")
    context.along(kwargs, "gain", "offset")
    gain, offset = kwargs.numbers("gain") or (1.0,), kwargs.numbers("offset") or (0.0,)
    return Step("scale_linear", gain=gain, offset=offset)


def _sigmoid(context: Context, kwargs: Node) -> Step:
    kwargs.only()
    return Step("sigmoid")


def _softmax(context: Context, kwargs: Node) -> Step:
    kwargs.only("axis")
    axis = kwargs.text("axis", "channel")
    if axis not in [axis.name for axis in context.tensor.axes if axis.kind == "channel"]:
        raise fault(kwargs.place("axis"), axis, "only the axis of the channels can be used")
    return Step("softmax")


def _fixed(context: Context, kwargs: Node) -> Step:
    kwargs.only("mean", "std", "axis", "axes", "mode", "eps")
    context.along(kwargs, "mean", "std")
    return Step("standardize", mean=_numbers(kwargs, "mean"), std=_numbers(kwargs, "std"))


def _variance(context: Context, kwargs: Node) -> Step:
    if context.version < (0, 5):
        fixed = kwargs.has("mean") or kwargs.has("std")
        if kwargs.text("mode", "fixed" if fixed else "per_sample") == "fixed":
            return _fixed(context, kwargs)
    _require_mode(context, kwargs)
    kwargs.only("axes", "eps", *(("mode", "mean", "std") if context.version < (0, 5) else ()))
    return Step(
        "zero_mean_unit_variance", per_channel=context.per_channel(kwargs), eps=_eps(kwargs)
    )


def _scale_range(context: Context, kwargs: Node) -> Step:
    _require_mode(context, kwargs)
    kwargs.only(
        *("mode", "axes", "min_percentile", "max_percentile", "eps", "reference_tensor"),
    )
    return Step.from_json(
        {
            "op": "scale_range",
            "low_percentile": _or(kwargs.number("min_percentile"), 0.0),
            "high_percentile": _or(kwargs.number("max_percentile"), 100.0),
            "per_channel": context.per_channel(kwargs),
            "eps": _eps(kwargs),
            "reference": context.reference(kwargs),
        }
    )


def _scale_mean_variance(context: Context, kwargs: Node) -> Step:
    _require_mode(context, kwargs)
    kwargs.only("mode", "reference_tensor", "axes", "eps")
    kwargs.required("reference_tensor")
    return Step.from_json(
        {
            "op": "scale_mean_variance",
            "per_channel": context.per_channel(kwargs),
            "eps": _eps(kwargs),
            "reference": context.reference(kwargs),
        }
    )


_READERS: Mapping[str, Callable[[Context, Node], Step]] = {
    "ensure_dtype": _cast,
    "binarize": _binarize,
    "clip": _clip,
    "scale_linear": _scale_linear,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "fixed_zero_mean_unit_variance": _fixed,
    "zero_mean_unit_variance": _variance,
    "scale_range": _scale_range,
    "scale_mean_variance": _scale_mean_variance,
}


def _require_mode(context: Context, kwargs: Node) -> None:
    """Raise for a mode that version 0.4 does not know."""
    mode = kwargs.text("mode", "per_sample")
    if context.version < (0, 5) and mode not in ("per_sample", "per_dataset"):
        raise fault(kwargs.place("mode"), mode, "known are fixed, per_sample and per_dataset")


def _numbers(kwargs: Node, key: str) -> tuple[float, ...]:
    """Return numbers that must be there."""
    found = kwargs.numbers(key)
    if not found:
        raise fault(kwargs.place(key), None, "a number is needed")
    return found


def _eps(kwargs: Node) -> float:
    return _or(kwargs.number("eps"), 1e-6)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
