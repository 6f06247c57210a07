"""Models of ZEISS arivis and ZEN: ``.czann`` packages.

References
----------
`czmodel <https://pypi.org/project/czmodel>`_, specification 1.x of ``model.json``: NHWC,
colour as blue, green, red, values divided by the largest of their dtype, ``MinOverlap`` in
total over both sides.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import ClassInfo, Suggested
from napari_onnxseg.cards.description import Description, TensorHints
from napari_onnxseg.cards.packages import unpack
from napari_onnxseg.cards.values import Entries, named_classes, shortened
from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.normalize import Normalization

SUFFIX = ".czann"

MOST_BYTES = 4 << 20
"""Size of a description that is read."""

_SEMANTIC = ("singleclasssemanticsegmentation", "multiclasssemanticsegmentation")
_REGRESSION = "regression"
_KNOWN = frozenset(
    {"Id", "Type", "InputShape", "OutputShape", "MinOverlap", "Classes", "ModelName", "Scaling"}
)
_LAYOUTS: Mapping[int, Any] = {3: "NHWC", 4: "NDHWC"}
_OTHERS = {
    "instance": "finds instances, which takes more than a class for each pixel",
    "classification": "classifies whole pictures",
    "detection": "detects boxes",
}


@dataclass(frozen=True, slots=True)
class Package:
    """A model that came in a package.

    Parameters
    ----------
    model : Path
        The ONNX file, unpacked.
    told : Description
        What the package says of it.
    """

    model: Path
    told: Description


def read_czann(path: Path) -> Package:
    """Unpack a ``.czann`` file and read what it says.

    Parameters
    ----------
    path : Path
        The package.

    Returns
    -------
    Package
        Model and description; a model that gives no classes or values is described by its
        refusal.

    Raises
    ------
    ModelError
        When the package is damaged, harmful or incomplete, or holds no ONNX model.
    """
    folder = unpack(path)
    description, model = folder / "model.json", folder / "model.model"
    require_members(path, description, model)
    told = _described(_content(description, path), path)
    return Package(model, told.known_from("package"))


def require_members(package: Path, *files: Path) -> None:
    """Raise when a package lacks a file, or its network is no ONNX.

    Parameters
    ----------
    package : Path
        The package, for the message.
    *files : Path
        What it must hold, unpacked; the network is the last.

    Raises
    ------
    ModelError
        Naming what is missing.
    """
    for file in files:
        if not file.is_file():
            raise ModelError(f"The package '{package}' holds no '{file.name}'; export it again.")
    if zipfile.is_zipfile(files[-1]):
        raise ModelError(
            f"The package '{package}' holds a TensorFlow model; export it again as ONNX."
        )


def read_text(path: Path, package: Path) -> str:
    """Return a description in UTF-8, without a byte order mark.

    Parameters
    ----------
    path : Path
        The file.
    package : Path
        The package it is part of, for the message.

    Returns
    -------
    str
        Its text.

    Raises
    ------
    ModelError
        When it is too large or no UTF-8.
    """
    if path.stat().st_size > MOST_BYTES:
        raise ModelError(f"'{path.name}' of the package '{package}' is too large to be read.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ModelError(f"'{path.name}' of the package '{package}' is not in UTF-8.") from None


def _content(path: Path, package: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(read_text(path, package))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ModelError(
            f"'{path.name}' of the package '{package}' is not valid JSON ({error})."
        ) from None
    if not isinstance(content, dict):
        raise ModelError(f"'{path.name}' of the package '{package}' holds no named entries.")
    return content


def _described(content: Mapping[str, Any], path: Path) -> Description:
    entries = Entries(content, f"the package '{path.name}'")
    kind = entries.text("Type")
    is_image = kind.lower() == _REGRESSION
    if kind.lower() not in _SEMANTIC and not is_image:
        return Description(refusal=_refusal(kind))
    shape = tuple(map(int, entries.numbers("InputShape")))
    told = Description(
        name=path.stem,
        title=entries.text("ModelName"),
        description=entries.text("ModelDescription"),
        task="image" if is_image else "semantic",
        tensors=TensorHints(
            input_layout=_LAYOUTS.get(len(shape)),
            channels=shape[-1] if len(shape) in _LAYOUTS and shape[-1] > 0 else None,
        ),
        colour_order="BGR",
        normalization=Normalization("dtype_max"),
        classes=() if is_image else _classes(entries.names("Classes")),
        pixel_size=_pixel_size(entries),
        suggested=_suggested(entries, shape),
        extra=_extra(content),
    )
    return replace(told, notes=tuple(entries.notes))


def _refusal(kind: str) -> str:
    what = next((text for word, text in _OTHERS.items() if word in kind.lower()), "")
    told = f"it {what}" if what else "it is none of the types that are known"
    return (
        f"This ZEISS model is of the type '{shortened(kind) or 'none'}': {told}; "
        "choose a model for semantic segmentation or regression."
    )


def _classes(names: tuple[str, ...]) -> tuple[ClassInfo, ...]:
    """Return the classes; the first is the background, whatever it is called."""
    return tuple(
        replace(entry, colour=None) if entry.id == 0 else entry for entry in named_classes(names)
    )


def _suggested(entries: Entries, shape: tuple[int, ...]) -> Suggested | None:
    overlap = entries.numbers("MinOverlap")
    fits = len(overlap) == len(shape) - 1 and all(
        0 <= both < side for both, side in zip(overlap, shape, strict=False)
    )
    if overlap and len(shape) in _LAYOUTS and not fits:
        entries.notes.append(
            f"'MinOverlap' of the package is {list(overlap)}, not one number an axis from 0 to "
            f"below {list(shape[:-1])}; it was left aside."
        )
    found = Suggested(
        tile=shape[:-1] if len(shape) in _LAYOUTS and min(shape) > 0 else None,
        halo=tuple(ceil(both / 2) for both in overlap) if fits and overlap else None,
    )
    return found if found != Suggested() else None


def _pixel_size(entries: Entries) -> tuple[float, str] | None:
    """Return the side of a square pixel; one metre is what exporters write for unknown."""
    sides = entries.numbers("Scaling")
    if not sides or len(set(sides)) > 1 or not 0 < sides[0] < 1:
        return None
    return sides[0] * 1e6, "µm"


def _extra(content: Mapping[str, Any]) -> dict[str, str]:
    known = _KNOWN | {"ModelDescription"}
    return {str(key): str(value) for key, value in content.items() if key not in known}
