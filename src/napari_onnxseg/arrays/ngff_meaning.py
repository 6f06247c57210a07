"""What a result in an OME-Zarr group means: axes, pixel size, classes; and NGFF's words for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal

from napari_onnxseg.arrays.colours import class_rgb
from napari_onnxseg.arrays.placing import METRES, SECONDS, Placing
from napari_onnxseg.arrays.reduce import Reduction
from napari_onnxseg.arrays.store_folders import OWN_KEY
from napari_onnxseg.errors import ChoiceError

VERSION = "0.5"
"""Of the OME-NGFF specification; zarr format 3."""

_ORDER = "TQCSZYX"  # time, other, channel, space: what NGFF demands
_RGBA = (("red", "FF0000"), ("green", "00FF00"), ("blue", "0000FF"), ("alpha", "FFFFFF"))

SMALL = 512
"""Levels are added until the longest side in pixels is no longer than this."""

Kind = Literal["labels", "image", "rgba"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the array of a result means.

    Parameters
    ----------
    axes : str
        One letter an axis: T, Z, C, Y, X, S for the last one of RGBA, Q for one other.
    kind : {"labels", "image", "rgba"}
        Decides how coarser levels are made and what is said of classes.
    scale, translate : tuple of float, optional
        World units per pixel and world position of the first pixel's centre, one entry per
        axis that is no channel.
    units : tuple of str, optional
        Names of the world units, one entry per axis that is no channel.
    names : mapping of int to str, optional
        Names by class.
    colours : mapping of int to (str or None), optional
        ``#rrggbb`` by class, None for a transparent one.
    spatial_ndim : int, optional
        How many of Z, Y, X are halved from level to level: 2 or 3.

    Raises
    ------
    ChoiceError
        When OME-Zarr has no place for such axes.
    """

    axes: str
    kind: Kind = "labels"
    scale: tuple[float, ...] | None = None
    translate: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    colours: Mapping[int, str | None] = field(default_factory=dict)
    spatial_ndim: int = 2

    def __post_init__(self) -> None:
        letters = set(self.axes)
        crowded = len({"C", "S", "Q"} & letters) > 1 or not {"Y", "X"} <= letters
        if len(letters) != len(self.axes) or letters - set(_ORDER) or crowded:
            raise ChoiceError(
                f"OME-Zarr has no place for the axes '{self.axes}': it holds T, one of channels or "
                "another, Z, Y and X, each once; use a plain .zarr or .npy."
            )

    @property
    def order(self) -> tuple[int, ...]:
        """Axes of the result in the order in which NGFF wants them stored."""
        return tuple(sorted(range(len(self.axes)), key=lambda axis: _ORDER.index(self.axes[axis])))

    @property
    def stored(self) -> str:
        """Letters of the axes as they are stored."""
        return "".join(self.axes[axis] for axis in self.order)

    @property
    def halved(self) -> tuple[int, ...]:
        """Stored axes that are halved from level to level."""
        spatial = [axis for axis, letter in enumerate(self.stored) if letter in "ZYX"]
        return tuple(spatial[-self.spatial_ndim :])

    @property
    def channel(self) -> int:
        """Stored axis of channels, or 0."""
        return max(self.stored.find("S"), self.stored.find("C"), 0)

    @property
    def reduction(self) -> Reduction:
        """How coarser levels are made."""
        rules: dict[Kind, Reduction] = {"labels": "majority", "image": "mean", "rgba": "cutout"}
        return rules[self.kind]

    def attributes(self, name: str, levels: int) -> dict[str, Any]:
        """Return the attributes of the group.

        Parameters
        ----------
        name : str
            Of the image.
        levels : int
            How many there are.

        Returns
        -------
        dict of str to object
            JSON-able: ``"ome"`` by the specification, and our own.
        """
        ome: dict[str, Any] = {"version": VERSION, "multiscales": [self._multiscale(name, levels)]}
        if self.kind == "labels":
            ome["image-label"] = _image_label(self.names, self.colours)
        if self.kind == "rgba":
            ome["omero"] = {"channels": [_channel(label, colour) for label, colour in _RGBA]}
        own = {"axes": self.axes, "kind": self.kind, "spatial_ndim": self.spatial_ndim}
        return {"ome": ome, OWN_KEY: own}

    def _multiscale(self, name: str, levels: int) -> dict[str, Any]:
        """Return the entry that lists axes and levels."""
        placed = self._placed()
        axes = [_axis(letter, placed[letter][2]) for letter in self.stored]
        datasets = [{"path": str(n), **self._transformations(placed, n)} for n in range(levels)]
        return {"name": name, "axes": axes, "datasets": datasets, "type": self.reduction}

    def _placed(self) -> dict[str, tuple[float, float, str]]:
        """Return scale, translation and unit by the letter of the axis."""
        kept = [letter for letter in self.axes if letter not in "CS"]
        placing = Placing.of(self.scale or (1.0,) * len(kept), self.units, len(kept))
        assert placing is not None  # a scale was given
        offsets = self.translate or (0.0,) * len(kept)
        known = zip(placing.scale, offsets, placing.units, strict=True)
        return {
            "C": (1.0, 0.0, "pixel"),
            "S": (1.0, 0.0, "pixel"),
            **dict(zip(kept, known, strict=True)),
        }

    def _transformations(
        self, placed: Mapping[str, tuple[float, float, str]], level: int
    ) -> dict[str, Any]:
        """Return scale and translation of a level; its first pixel covers several of level 0."""
        factors = [2**level if axis in self.halved else 1 for axis in range(len(self.axes))]
        facts = [(*placed[letter], f) for letter, f in zip(self.stored, factors, strict=True)]
        return {
            "coordinateTransformations": [
                {"type": "scale", "scale": [size * f for size, _, _, f in facts]},
                {
                    "type": "translation",
                    "translation": [first + size * (f - 1) / 2 for size, first, _, f in facts],
                },
            ]
        }


def level_shapes(shape: Sequence[int], halved: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the shape of every level, full resolution first.

    Parameters
    ----------
    shape : sequence of int
        Full resolution.
    halved : sequence of int
        Axes that are halved, rounded up.

    Yields
    ------
    tuple of int
        Until the halved axes are no longer than 512.
    """
    level = tuple(int(n) for n in shape)
    yield level
    while max(level[axis] for axis in halved) > SMALL:
        level = tuple(ceil(n / 2) if axis in halved else n for axis, n in enumerate(level))
        yield level


def result_axes(leading: int, units: Sequence[str] | None = None, spatial_ndim: int = 2) -> str:
    """Name the axes of a result whose image did not name them.

    Parameters
    ----------
    leading : int
        Axes before the spatial ones.
    units : sequence of str, optional
        Of all axes; a leading axis in units of time is time.
    spatial_ndim : int, optional
        2 or 3.

    Returns
    -------
    str
        Such as ``"TZYX"``.

    Raises
    ------
    ChoiceError
        When there are more axes than letters.
    """
    timed = units is not None and len(units) > 0 and units[0] in SECONDS
    names = ("", "T", "TQ") if spatial_ndim == 3 else ("", "T" if timed else "Z", "TZ", "TQZ")
    if leading >= len(names):
        raise ChoiceError(
            f"OME-Zarr holds 5 axes at most, the result has {leading + spatial_ndim}; "
            "use a plain .zarr or .npy."
        )
    return names[leading] + "ZYX"[-spatial_ndim:]


def _axis(letter: str, unit: str) -> dict[str, str]:
    """Return NGFF's word for one axis."""
    if letter in "CS":
        return {"name": "c", "type": "channel"}
    if letter == "Q":
        return {"name": "q", "type": "other"}
    known = unit in (SECONDS if letter == "T" else METRES)
    kind = "time" if letter == "T" else "space"
    return {"name": letter.lower(), "type": kind, **({"unit": unit} if known else {})}


def _image_label(names: Mapping[int, str], colours: Mapping[int, str | None]) -> dict[str, Any]:
    """Return colours and names of the classes."""
    numbers = sorted({*names, *colours})
    if not numbers:
        return {"version": VERSION}
    shown = {0: None, **colours}
    coloured = [
        {"label-value": n, "rgba": [*class_rgb(n, shown), 0 if shown.get(n, "") is None else 255]}
        for n in numbers
    ]
    named = [{"label-value": n, "class": names[n]} for n in sorted(names)]
    return {"version": VERSION, "colors": coloured, **({"properties": named} if named else {})}


def _channel(label: str, colour: str) -> dict[str, Any]:
    """Return how a viewer shows one channel of a cut-out."""
    window = {"start": 0, "end": 255, "min": 0, "max": 255}
    return {"label": label, "color": colour, "active": label != "alpha", "window": window}
