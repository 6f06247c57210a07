"""What the operations of a bioimage.io tensor refer to: its axes and the inputs."""

from __future__ import annotations

from dataclasses import dataclass, field

from napari_onnxseg.cards.bioimageio_node import Node, fault
from napari_onnxseg.cards.bioimageio_rdf import Axis, Tensor

WHOLE_SET = (
    "A step of the model wants statistics of a whole data set; those of each image are taken."
)
"""Note on statistics that nobody can take from one image."""

_LETTERS = {"b": "batch", "c": "channel", "i": "index", "t": "time"}


@dataclass(slots=True)
class Context:
    """What the operations of one tensor refer to.

    Parameters
    ----------
    tensor : Tensor
        Whose they are.
    inputs : tuple of str
        Names of the inputs of the model.
    version : tuple of int
        Of the format, such as (0, 5).
    notes : list of str
        Sentences for the user, each once.
    """

    tensor: Tensor
    inputs: tuple[str, ...]
    version: tuple[int, int]
    notes: list[str] = field(default_factory=list)

    def per_channel(self, kwargs: Node) -> bool:
        """Tell whether statistics are those of each channel.

        Parameters
        ----------
        kwargs : Node
            Of the operation.

        Returns
        -------
        bool
            False for those of all channels together.

        Raises
        ------
        ModelError
            When they would be taken at each place of an axis for itself.
        """
        reduced = self._reduced(kwargs)
        if kwargs.text("mode") == "per_dataset" or reduced is None or "batch" in reduced:
            self._note(WHOLE_SET)
        if reduced is None:
            return False
        kept = [axis for axis in self._long() if axis.name not in reduced]
        if any(axis.kind != "channel" for axis in kept):
            names = ", ".join(axis.name for axis in kept)
            raise fault(
                kwargs.place("axes"),
                kwargs.given.get("axes"),
                f"that asks for other statistics at each place along {names}, and only those of "
                "the whole image, of each channel or of all together, can be taken",
            )
        return bool(kept)

    def along(self, kwargs: Node, *keys: str) -> None:
        """Raise unless lists of numbers are one a channel.

        Parameters
        ----------
        kwargs : Node
            Of the operation.
        *keys : str
            The lists.

        Raises
        ------
        ModelError
            Naming the entry.
        """
        counts = {len(kwargs.numbers(key)) for key in keys} - {0, 1}
        if not counts:
            return
        axis = self._complement(kwargs) if self.version < (0, 5) else kwargs.text("axis")
        channel = next((axis for axis in self.tensor.axes if axis.kind == "channel"), None)
        if channel is None or axis != channel.name:
            raise fault(
                kwargs.place(keys[0]),
                kwargs.given.get(keys[0]),
                f"a number for each place along '{axis or 'no axis'}' cannot be used, only one "
                "for each channel or one for all",
            )
        if counts != {channel.size or max(counts)}:
            raise fault(
                kwargs.place(keys[0]),
                kwargs.given.get(keys[0]),
                f"one number or {channel.size} are needed",
            )

    def reference(self, kwargs: Node) -> str:
        """Return whose statistics are meant.

        Parameters
        ----------
        kwargs : Node
            Of the operation.

        Returns
        -------
        str
            ``input``, or nothing for what the step is given.

        Raises
        ------
        ModelError
            For any other tensor.
        """
        name = kwargs.text("reference_tensor")
        if name in ("", self.tensor.name):
            return ""
        if name not in self.inputs:
            raise fault(
                kwargs.place("reference_tensor"), name, f"use {', '.join(self.inputs)}, an input"
            )
        return "input"

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _reduced(self, kwargs: Node) -> tuple[str, ...] | None:
        """Return the names of the axes that are taken together; None for all."""
        given = kwargs.given.get("axes")
        if given is None:
            return None
        names = [_LETTERS.get(a, a) for a in given] if isinstance(given, str) else given
        known = {axis.name for axis in self.tensor.axes} | {"batch"}
        if not isinstance(names, list) or not all(name in known for name in map(str, names)):
            raise fault(kwargs.place("axes"), given, f"known axes are {', '.join(sorted(known))}")
        return tuple(map(str, names))

    def _complement(self, kwargs: Node) -> str:
        """Return the axes that version 0.4 means by naming all others."""
        reduced = self._reduced(kwargs)
        return (
            ", ".join(
                a.name
                for a in self.tensor.axes
                if a.kind != "batch" and a.name not in (reduced or ())
            )
            if reduced is not None
            else ""
        )

    def _long(self) -> list[Axis]:
        """Return the axes along which there is more than one number in an image."""
        return [axis for axis in self.tensor.axes if axis.kind != "batch" and axis.size != 1]
