"""Read zarr arrays and OME-Zarr groups, zarr 2 and 3, without reading a pixel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.image_file import ImageFile
from napari_onnxseg.arrays.placing import unit_name
from napari_onnxseg.arrays.pyramid import Levels, as_levels
from napari_onnxseg.arrays.store_folders import OWN_KEY
from napari_onnxseg.arrays.turned import TurnedArray
from napari_onnxseg.errors import FileFormatError, ImageError

_KNOWN = "TCZYX"

Floats = list[float]


def read_zarr(path: Path) -> ImageFile:
    """Open a zarr array, a pyramid of arrays, or an OME-Zarr image of version 0.1 to 0.5.

    Parameters
    ----------
    path : Path
        Folder of the store, or a zip file of one.

    Returns
    -------
    ImageFile
        Its data reads what it is asked for.

    Raises
    ------
    FileFormatError
        When there is no image in it, naming what is.
    """
    import zarr

    node = zarr.open(_store(path), mode="r")
    if isinstance(node, zarr.Array):
        return _plain([node], path)
    attributes = dict(node.attrs)
    ome = attributes.get("ome", attributes)
    if "multiscales" in ome:
        return _multiscale(node, ome, attributes.get(OWN_KEY, {}))
    if "bioformats2raw.layout" in ome and "0" in node:
        return _first_of_several(path, node)
    if "plate" in ome or "well" in ome:
        raise FileFormatError(_no_image(path, "a plate or a well", _images(ome)))
    arrays = [array for _, array in sorted(node.arrays())]
    if not arrays:
        raise FileFormatError(_no_image(path, "a group", sorted(node.group_keys())))
    return _plain(arrays, path)


def _store(path: Path) -> Any:
    """Return what zarr opens: a folder, or a zip file of one."""
    if path.is_dir():
        return str(path)
    from zarr.storage import ZipStore

    return ZipStore(path, mode="r")


def _plain(arrays: Sequence[Any], path: Path) -> ImageFile:
    """Return an array, or arrays of falling size, that say little about themselves."""
    levels = None
    if len(arrays) > 1:
        try:
            levels = as_levels(sorted(arrays, key=lambda array: -array.size))
        except ImageError:
            names = sorted(array.basename for array in arrays)
            raise FileFormatError(_no_image(path, "a group of several arrays", names)) from None
    data = arrays[0] if levels is None else levels.arrays[0]
    axes = _named(data)
    channel = axes.find("C")
    if levels is not None and channel >= 0:
        levels = as_levels(levels.arrays, channel_axis=channel)
    return ImageFile(data, axes, channel_axis=channel if channel >= 0 else None, levels=levels)


def _named(array: Any) -> str:
    """Return the letters of an array's axes, where it names them."""
    names = getattr(array.metadata, "dimension_names", None)
    names = names or array.attrs.get("_ARRAY_DIMENSIONS")
    if not names:
        return "YX"[-array.ndim :].rjust(array.ndim, "Q") if array.ndim else ""
    letters = [str(name or "").upper() for name in names]
    known = [letter if letter in _KNOWN and len(letter) == 1 else "Q" for letter in letters]
    return "".join(known)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of multiscales, in plain numbers."""

    axes: str
    units: tuple[str, ...]
    paths: tuple[str, ...]
    scales: tuple[Floats, ...]
    translations: tuple[Floats, ...]
    moved: bool

    @classmethod
    def of(cls, entry: Mapping[str, Any], ndim: int) -> _Entry:
        """Read an entry of any version."""
        listed = entry.get("axes") or list("tczyx"[-ndim:])
        axes = [axis if isinstance(axis, Mapping) else {"name": axis} for axis in listed]
        outer = entry.get("coordinateTransformations", ())
        datasets = entry["datasets"]
        inner = [data.get("coordinateTransformations", ()) for data in datasets]
        placed = [_placed((*steps, *outer), len(axes)) for steps in inner]
        return cls(
            "".join(_letter(axis) for axis in axes),
            tuple(unit_name(str(axis.get("unit", ""))) for axis in axes),
            tuple(data["path"] for data in datasets),
            tuple(scale for scale, _ in placed),
            tuple(translation for _, translation in placed),
            any(step["type"] == "translation" for steps in inner for step in steps),
        )


def _letter(axis: Mapping[str, Any]) -> str:
    """Return the letter of an axis: its type counts, then its name."""
    name = str(axis["name"]).upper()
    if axis.get("type") in ("channel", "time"):
        return {"channel": "C", "time": "T"}[axis["type"]]
    return name if name in _KNOWN and len(name) == 1 else "Q"


def _placed(steps: Sequence[Mapping[str, Any]], ndim: int) -> tuple[Floats, Floats]:
    """Put transformations together, in order."""
    scale, translation = [1.0] * ndim, [0.0] * ndim
    for step in steps:
        if step["type"] == "scale":
            factors = [float(value) for value in step["scale"]]
            scale = [a * b for a, b in zip(scale, factors, strict=True)]
            translation = [a * b for a, b in zip(translation, factors, strict=True)]
        elif step["type"] == "translation":
            added = [float(value) for value in step["translation"]]
            translation = [a + b for a, b in zip(translation, added, strict=True)]
        elif step["type"] != "identity":
            raise ImageError(f"the transformation '{step['type']}' is not known")
    return scale, translation


def _multiscale(node: Any, ome: Mapping[str, Any], own: Mapping[str, Any]) -> ImageFile:
    """Return the first image of an OME-Zarr group."""
    listed = ome["multiscales"]
    arrays = [node[data["path"]] for data in listed[0]["datasets"]]
    entry = _Entry.of(listed[0], arrays[0].ndim)
    notes = []
    if len(listed) > 1:
        notes.append(f"The group holds {len(listed)} images; only the first is read.")
    axes, rgb = entry.axes, own.get("kind") == "rgba" and "C" in entry.axes
    channel: int | None = axes.index("C") if "C" in axes else None
    kept = [place for place in range(len(axes)) if place != channel]
    if rgb and channel is not None:
        arrays = [TurnedArray(array, (*kept, channel)) for array in arrays]
        axes, channel = "".join(axes[place] for place in kept) + "S", None
    levels, more = _levels(arrays, entry, kept, rgb=rgb, channel=channel)
    scale = tuple(entry.scales[0][place] for place in kept)
    translate = tuple(entry.translations[0][place] for place in kept)
    return ImageFile(
        arrays[0],
        axes,
        rgb=rgb,
        channel_axis=channel,
        scale=scale,
        units=tuple(entry.units[place] for place in kept),
        notes=(*notes, *more),
        translate=translate if any(translate) else None,
        levels=levels,
    )


def _levels(
    arrays: Sequence[Any], entry: _Entry, kept: Sequence[int], *, rgb: bool, channel: int | None
) -> tuple[Levels | None, list[str]]:
    """Return the levels where the file says they are, unless that cannot be."""
    if len(arrays) == 1:
        return None, []
    measured = as_levels(arrays, channel_axis=channel, rgb=rgb)
    first, base = entry.scales[0], entry.translations[0]
    factors = [[scale[p] / first[p] for p in kept] for scale in entry.scales]
    if not all(map(_fits, factors, measured.shapes, measured.shapes[:1] * len(arrays))):
        note = "The file's levels do not have the pixel sizes that it gives; their shapes count."
        return measured, [note]
    offsets = None  # without a word on it pixel borders meet at the corner, as napari shows it
    if entry.moved:
        offsets = [[(t[p] - base[p]) / first[p] for p in kept] for t in entry.translations]
    placed = as_levels(arrays, channel_axis=channel, rgb=rgb, factors=factors, offsets=offsets)
    return placed, []


def _fits(factors: Sequence[float], shape: Sequence[int], full: Sequence[int]) -> bool:
    """Tell whether a level of such pixels covers the image to within one of them."""
    return all(abs(f * n - m) <= f + 1 for f, n, m in zip(factors, shape, full, strict=True))


def _first_of_several(path: Path, node: Any) -> ImageFile:
    """Return the first image of a collection."""
    from dataclasses import replace

    image = read_zarr(path / "0")
    others = sum(name.isdigit() for name in node.group_keys())
    note = f"'{path.name}' holds {others} images; only '{path.name}/0' is read."
    return replace(image, notes=(*image.notes, note)) if others > 1 else image


def _images(ome: Mapping[str, Any]) -> list[str]:
    """Return the paths of wells or of their images."""
    entries = ome.get("plate", {}).get("wells") or ome.get("well", {}).get("images") or []
    return [str(entry.get("path", "")) for entry in entries]


def _no_image(path: Path, what: str, names: Sequence[str]) -> str:
    """Say what a store is, and what in it may be given instead."""
    inside = f", such as '{path.name}/{names[0]}'" if names else ""
    several = f" ({', '.join(names[:6])}{', …' if len(names) > 6 else ''})" if names else ""
    return f"'{path}' is {what}, no single image{several}; give one image in it{inside}."
