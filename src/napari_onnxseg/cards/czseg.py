"""Older models of ZEISS ZEN: ``.czseg`` and ``.czmodel`` packages, described in XML.

References
----------
`czmodel 1.x and 2.x <https://pypi.org/project/czmodel/2.0.0>`_, legacy format: an XML file
with a byte order mark beside the ONNX file of the same name; ``BorderSize`` is per side.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from napari_onnxseg.cards.card import ClassInfo, Suggested
from napari_onnxseg.cards.czann import Package, read_text, require_members
from napari_onnxseg.cards.description import Description, TensorHints
from napari_onnxseg.cards.packages import unpack
from napari_onnxseg.cards.values import Entries, is_background
from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.normalize import Normalization

SUFFIXES = (".czseg", ".czmodel")

BORDER_PX = 64
"""What is not trusted on each side when the file does not say."""

_KNOWN = """Id ModelName Description Status FeatureExtractor Postprocessing ColorHandling Channels
TrainingClasses BorderSize ScaleInputsByBitdepth TotalTileHeight TotalTileWidth"""


def read_czseg(path: Path) -> Package:
    """Unpack a ``.czseg`` or ``.czmodel`` file and read what it says.

    Parameters
    ----------
    path : Path
        The package.

    Returns
    -------
    Package
        Model and description.

    Raises
    ------
    ModelError
        When the package is damaged, harmful or incomplete, or holds no ONNX model.
    """
    folder = unpack(path)
    descriptions = sorted(folder.glob("*.xml"))
    if len(descriptions) != 1:
        raise ModelError(
            f"The package '{path}' holds {len(descriptions)} XML descriptions instead of one."
        )
    model = descriptions[0].with_suffix(".model")
    require_members(path, descriptions[0], model)
    root = parse_xml(read_text(descriptions[0], path), path)
    return Package(model, _described(root, path).known_from("package"))


def parse_xml(text: str, package: Path) -> ElementTree.Element:
    """Parse XML that may neither define nor fetch anything.

    Parameters
    ----------
    text : str
        The description.
    package : Path
        The package it is part of, for the message.

    Returns
    -------
    xml.etree.ElementTree.Element
        The root.

    Raises
    ------
    ModelError
        When it is not well-formed, or holds a document type or entities.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ModelError(
            f"The description in the package '{package}' defines entities, which a model has no "
            "need of; it is not read."
        )
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise ModelError(
            f"The description in the package '{package}' is not valid XML ({error})."
        ) from None


def _described(root: ElementTree.Element, path: Path) -> Description:
    given = {child.tag: (child.text or "").strip() for child in root}
    entries = Entries({key: text for key, text in given.items() if text}, f"'{path.name}'")
    scaled = entries.flag("ScaleInputsByBitdepth")
    told = Description(
        name=path.stem,
        title=entries.text("ModelName"),
        description=entries.text("Description"),
        task="semantic",
        tensors=TensorHints(input_layout="NHWC", channels=_channels(root, entries)),
        colour_order="BGR",
        normalization=Normalization("none" if scaled is False else "dtype_max"),
        classes=_classes(root),
        suggested=_suggested(entries),
        extra={key: text for key, text in entries.given.items() if key not in _KNOWN.split()},
    )
    return replace(told, notes=(*entries.notes, *_habits(entries)))


def _channels(root: ElementTree.Element, entries: Entries) -> int | None:
    """Return the channels of the input, where the pixel types agree on them."""
    if entries.text("ColorHandling") == "ConvertToMonochrome":
        return 1
    kinds = [item.get("PixelType", "").lower() for item in root.iterfind("Channels/Item")]
    counts = {3 if "bgr" in kind or "rgb" in kind else 1 for kind in kinds if kind}
    return counts.pop() if len(counts) == 1 else None


def _classes(root: ElementTree.Element) -> tuple[ClassInfo, ...]:
    """Return the classes, the first of which has the value 1 in the file and the id 0 here."""
    found = [_class(item) for item in root.iterfind("TrainingClasses/Item")]
    classes = sorted((entry for entry in found if entry), key=lambda entry: entry.id)
    if [entry.id for entry in classes] != list(range(len(classes))):
        return ()
    return tuple(
        replace(entry, colour=None) if entry.id == 0 and is_background(entry.name) else entry
        for entry in classes
    )


def _class(item: ElementTree.Element) -> ClassInfo | None:
    entries = Entries(dict(item.attrib), "")
    value = entries.whole("LabelValue")
    if value is None:
        return None
    parts = [entries.number(f"col{letter}", above=-1, most=255) or 0 for letter in "RGB"]
    colour = "#" + "".join(f"{round(part):02x}" for part in parts)
    return ClassInfo(value - 1, entries.text("Name") or f"class {value - 1}", colour)


def _suggested(entries: Entries) -> Suggested:
    border = entries.number("BorderSize", above=-1, most=4096)
    halo = BORDER_PX if border is None else round(border)
    height, width = entries.whole("TotalTileHeight"), entries.whole("TotalTileWidth")
    return Suggested(tile=(height, width) if height and width else None, halo=(halo, halo))


def _habits(entries: Entries) -> list[str]:
    """Say what ZEN does after the network and this package does not."""
    step = entries.text("Postprocessing")
    if step.lower() in ("", "none", "no"):
        return []
    return [f"ZEN applies '{step}' to the finished map; here it is left as it is."]
