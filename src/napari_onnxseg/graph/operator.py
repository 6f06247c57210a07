"""One operator of a graph as the walk sees it: its tensors and the picture's axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import helper

from napari_onnxseg.graph.fold import StaticGraph
from napari_onnxseg.graph.reach import HERE, Reach
from napari_onnxseg.types import AnyArray

EVERYWHERE = "looks at the whole picture"


class Breaks(Exception):  # noqa: N818 - a finding, not an error
    """Why tiles cannot equal the whole picture behind an operator."""


@dataclass(frozen=True, slots=True)
class Local:
    """A local operator.

    Parameters
    ----------
    axes : tuple of int
        Where the spatial axes lie in the output.
    reach : tuple of Reach
        One per spatial axis.
    """

    axes: tuple[int, ...]
    reach: tuple[Reach, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """One node, with what is known of its tensors.

    Parameters
    ----------
    node : onnx.NodeProto
        The node.
    graph : StaticGraph
        Shapes and constants.
    axes : tuple of int
        Where the spatial axes lie in the input that carries the picture.
    source : str
        Name of that input.
    free : bool
        Whether the sides of the model's input are free.
    """

    node: onnx.NodeProto
    graph: StaticGraph
    axes: tuple[int, ...]
    source: str
    free: bool

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute, text decoded."""
        for found in self.node.attribute:
            if found.name == name:
                value = helper.get_attribute_value(found)
                return value.decode() if isinstance(value, bytes) else value
        return default

    def constant(self, position: int) -> AnyArray | None:
        """Return the value of an input that is constant, else None."""
        names = self.node.input
        name = names[position] if position < len(names) else ""
        return self.graph.constants.get(name)

    @property
    def before(self) -> tuple[int, ...]:
        """Shape of the picture's input."""
        return self._shape(self.source)

    @property
    def after(self) -> tuple[int, ...]:
        """Shape of the first output."""
        return self._shape(self.node.output[0])

    def same(self) -> Local:
        """Return the answer of an operator that looks at the same element only."""
        return Local(self.axes, (HERE,) * len(self.axes))

    def numbers(self, position: int, default: Sequence[int] | None = None) -> list[int]:
        """Return a constant input as integers; the default when it is left out."""
        value = self.constant(position)
        if value is not None:
            return [int(number) for number in value.ravel()]
        given = position < len(self.node.input) and self.node.input[position]
        if given or default is None:
            raise Breaks("takes its numbers from the picture")
        return list(default)

    def named_axes(self, rank: int, default: list[int]) -> list[int]:
        """Return the axes named by attribute or second input, ascending."""
        given = self.attribute("axes")
        chosen = list(given) if given is not None else self.numbers(1, default=default)
        if not chosen and self.attribute("noop_with_empty_axes", 0):
            return []
        return sorted(axis % rank for axis in (chosen or default))

    def refuse_spatial(self, axes: Iterable[int]) -> None:
        """Raise when one of these axes of the input is the picture's."""
        if any(axis in self.axes for axis in axes):
            raise Breaks(EVERYWHERE)

    def _shape(self, name: str) -> tuple[int, ...]:
        if name not in self.graph.shapes:
            raise Breaks("has a size that the graph does not tell")
        return self.graph.shapes[name]
