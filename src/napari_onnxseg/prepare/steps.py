"""A chain of pixelwise operations, as descriptions of models list them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.step_values import parsed, problem

Op = Literal[
    "cast",
    "binarize",
    "clip",
    "scale_linear",
    "sigmoid",
    "softmax",
    "standardize",
    "zero_mean_unit_variance",
    "scale_range",
    "scale_mean_variance",
]

ENTRIES: Mapping[str, tuple[str, ...]] = {
    "cast": ("dtype",),
    "binarize": ("threshold",),
    "clip": ("low", "high", "low_percentile", "high_percentile", "per_channel"),
    "scale_linear": ("gain", "offset"),
    "sigmoid": (),
    "softmax": (),
    "standardize": ("mean", "std"),
    "zero_mean_unit_variance": ("per_channel", "eps"),
    "scale_range": ("low_percentile", "high_percentile", "per_channel", "eps", "reference"),
    "scale_mean_variance": ("per_channel", "eps", "reference"),
}
"""What each operation can be told."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a chain; entries that its operation does not use keep their default.

    Parameters
    ----------
    op : str
        ``cast`` to ``dtype``; ``binarize`` x > threshold; ``clip`` to low..high, or to
        percentiles of the image; ``scale_linear`` gain x + offset; ``sigmoid``; ``softmax``
        over channels; ``standardize`` (x - mean) / std of a training set;
        ``zero_mean_unit_variance`` (x - m) / (s + eps) of the image; ``scale_range``
        (x - lo) / (hi - lo + eps) of percentiles of the image, not clipped;
        ``scale_mean_variance`` (x - m) / (s + eps) (s_ref + eps) + m_ref.
    gain, offset, mean, std, threshold : tuple of float
        One value, or one a channel.
    low, high : float or None
        Bounds of ``clip``, in the units of its input.
    low_percentile, high_percentile : float or None
        Percentiles of ``clip`` and ``scale_range``, in [0, 100], linearly interpolated.
        ``scale_range`` takes 0 and 100 where they are None.
    per_channel : bool
        Statistics of each channel by itself instead of all channels together.
    eps : float
        Added to a divisor.
    reference : {"", "input"}
        Whose statistics: those of what the step is given, or of the image before the first
        step.
    dtype : str
        Numpy name, for ``cast``.

    Raises
    ------
    ModelError
        Naming the entry that is missing, not used by the operation, or not allowed.
    """

    op: Op
    gain: tuple[float, ...] = (1.0,)
    offset: tuple[float, ...] = (0.0,)
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    threshold: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    low_percentile: float | None = None
    high_percentile: float | None = None
    per_channel: bool = False
    eps: float = 1e-6
    reference: Literal["", "input"] = ""
    dtype: str = ""

    def __post_init__(self) -> None:
        if self.op not in get_args(Op):
            raise ModelError(f"The step {self.op!r} is unknown; use {', '.join(get_args(Op))}.")
        for field in fields(self)[1:]:
            value = parsed(self.op, field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            if value != field.default and field.name not in ENTRIES[self.op]:
                raise ModelError(_unused(self.op, field.name))
        fault = problem(self)
        if fault:
            raise ModelError(f"The step '{self.op}' {fault}.")

    @property
    def percentiles(self) -> tuple[float | None, float | None]:
        """The low and the high percentile that the step asks for, None where it asks for none."""
        if self.op == "scale_range":
            low, high = self.low_percentile, self.high_percentile
            return (0.0 if low is None else low), (100.0 if high is None else high)
        return self.low_percentile, self.high_percentile

    @property
    def needs_statistics(self) -> bool:
        """Whether what the step is given, or the image before the chain, must be measured."""
        measured = ("zero_mean_unit_variance", "scale_range", "scale_mean_variance")
        return self.op in measured or self.percentiles != (None, None)

    @property
    def needs_reference(self) -> bool:
        """Whether the image before the chain must be measured."""
        return self.reference == "input"

    @property
    def only_refers(self) -> bool:
        """Whether the image before the chain is all that must be measured."""
        return self.needs_reference and self.op != "scale_mean_variance"

    @property
    def keeps_floats(self) -> bool:
        """Whether it casts to a float that holds whatever is worked on."""
        return self.dtype in ("float32", "float64")

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Step:
        """Read the form of the model card.

        Parameters
        ----------
        given : mapping
            ``op``, and its entries by name.

        Returns
        -------
        Step
            The checked record.

        Raises
        ------
        ModelError
            Naming the entry that is unknown, missing or not allowed.
        """
        if not isinstance(given, Mapping):
            raise ModelError(f"A step must be an object with an 'op', got {given!r}.")
        if "op" not in given:
            raise ModelError(f"A step names no 'op'; use {', '.join(get_args(Op))}.")
        op = given["op"]
        used = ENTRIES.get(op, ()) if isinstance(op, str) else ()
        for key in given:
            if op in get_args(Op) and key not in ("op", *used):
                raise ModelError(_unused(op, key))
        return cls(**given) if op in get_args(Op) else cls(op)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON-able form: the operation and what differs from the defaults."""
        told: dict[str, Any] = {"op": self.op}
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if value != field.default:
                told[field.name] = _plain(value)
        return told


def chain_of(given: Iterable[Step | Mapping[str, Any]]) -> tuple[Step, ...]:
    """Return a chain from steps or their JSON form.

    Parameters
    ----------
    given : iterable of Step or mapping
        In the order in which they are done.

    Returns
    -------
    tuple of Step
        Checked.

    Raises
    ------
    ModelError
        Naming the entry that is unknown, missing or not allowed.
    """
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise ModelError(f"Steps must be a list of objects that each name an 'op', got {given!r}.")
    return tuple(step if isinstance(step, Step) else Step.from_json(step) for step in given)


def needs_statistics(steps: Iterable[Step]) -> bool:
    """Tell whether a chain must see the whole image before it can be applied to a part."""
    return any(step.needs_statistics for step in steps)


def needs_reference(steps: Iterable[Step]) -> bool:
    """Tell whether a chain needs the statistics of the image before the first step."""
    return any(step.needs_reference for step in steps)


def _unused(op: str, key: str) -> str:
    """Say what an operation can be told."""
    allowed = ", ".join(ENTRIES[op]) or "no entries"
    return f"The step '{op}' has no entry '{key}'; allowed are {allowed}."


def _plain(value: Any) -> Any:
    """One number for one, a list for several."""
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    return value
