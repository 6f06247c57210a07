"""The card of a folder of training pairs: what a training needs to know of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.cards.card import ClassInfo, ModelCard
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.prepare.channels import ColourOrder
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.tiling.region import Region

CARD = "pairs.json"
"""Name of the card in its folder."""

FORMAT = 1
KIND = "onnxseg training pairs"


@dataclass(frozen=True, slots=True)
class PairFacts:
    """What is true for all pairs.

    Parameters
    ----------
    classes : tuple of ClassInfo
        By ascending id, background first.
    normalization : Normalization or None
        What the model was trained on, as its own card says it.
    colour_order : {"RGB", "BGR"}
        Order in which the model takes colours; the images are RGB.
    model, sha256 : str
        Which model predicted the labels that were corrected.
    scale : tuple of float or None
        World units per pixel.
    unit : str
        Their name.
    """

    classes: tuple[ClassInfo, ...] = ()
    normalization: Normalization | None = None
    colour_order: ColourOrder = "RGB"
    model: str = ""
    sha256: str = ""
    scale: tuple[float, ...] | None = None
    unit: str = ""

    @classmethod
    def of(
        cls, card: ModelCard, scale: tuple[float, ...] | None = None, unit: str = ""
    ) -> PairFacts:
        """Return the facts of a model.

        Parameters
        ----------
        card : ModelCard
            The model that predicted.
        scale : tuple of float, optional
            World units per pixel of the images.
        unit : str, optional
            Their name.

        Returns
        -------
        PairFacts
            The same facts that the card states.
        """
        return cls(
            card.classes,
            card.normalization,
            card.colour_order,
            card.name,
            card.sha256,
            scale,
            unit,
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """One image and its labels.

    Parameters
    ----------
    split : str
        ``train`` or ``val``.
    image, labels : str
        Paths in the folder, with ``/``.
    sample : str
        Name of the image it was cut from.
    box : Region
        Where in that image, pixels; it may reach beyond, the labels are ``ignore`` there.
    reviewed : float
        Part of its pixels that was accepted, in (0, 1].
    """

    split: str
    image: str
    labels: str
    sample: str
    box: Region
    reviewed: float


@dataclass(frozen=True, slots=True)
class PairCard:
    """A folder of training pairs.

    Parameters
    ----------
    pairs : tuple of Pair
        All of them.
    ignore : int
        Label of pixels nobody has looked at.
    axes : str
        Of the images, such as ``"YX"``, ``"YXS"`` (colours), ``"CYX"``.
    facts : mapping of str to object
        Everything else, as it stands in the file.
    """

    pairs: tuple[Pair, ...]
    ignore: int
    axes: str
    facts: Mapping[str, Any]

    @property
    def normalization(self) -> Normalization | None:
        """What the images are to be normalised with, as the model's card says it."""
        told = self.facts["input"]["normalization"]
        return None if told is None else Normalization.from_json(told)

    @property
    def names(self) -> dict[int, str]:
        """Names of the classes by id."""
        return {int(entry["id"]): str(entry["name"]) for entry in self.facts["classes"]}


def facts_json(facts: PairFacts) -> dict[str, Any]:
    """Return the facts of all pairs as JSON."""
    told = facts.normalization
    return {
        "classes": [{"id": c.id, "name": c.name, "colour": c.colour} for c in facts.classes],
        "input": {
            "normalization": None if told is None else told.to_json(),
            "colour_order": facts.colour_order,
        },
        "model": {"name": facts.model, "sha256": facts.sha256},
        "scale": None if facts.scale is None else list(facts.scale),
        "unit": facts.unit,
    }


def write_pair_card(folder: Path, card: PairCard) -> None:
    """Write the card of a folder.

    Parameters
    ----------
    folder : Path
        Where the pairs are.
    card : PairCard
        What is known.

    Raises
    ------
    FileFormatError
        When it cannot be written.
    """
    pairs = [
        {
            "split": pair.split,
            "image": pair.image,
            "labels": pair.labels,
            "sample": pair.sample,
            "start": list(pair.box.start),
            "stop": list(pair.box.stop),
            "reviewed": pair.reviewed,
        }
        for pair in card.pairs
    ]
    head = {"kind": KIND, "format": FORMAT, "ignore": card.ignore, "axes": card.axes}
    with atomic(folder / CARD) as file:
        content = {**head, **card.facts, "pairs": pairs}
        file.write(json.dumps(content, ensure_ascii=False, indent=1).encode())


def read_pairs(folder: str | Path) -> PairCard:
    """Read the card of a folder of pairs.

    Parameters
    ----------
    folder : str or Path
        As `export_pairs` fills it.

    Returns
    -------
    PairCard
        What is in it.

    Raises
    ------
    FileFormatError
        When there is no such card.
    """
    path = Path(folder) / CARD
    try:
        content = json.loads(path.read_text("utf-8"))
        kind, version = content.pop("kind"), content.pop("format")
        if kind != KIND or version != FORMAT:
            raise ValueError(f"it is {kind!r}, format {version!r}")
        pairs = tuple(map(_pair, content.pop("pairs")))
        return PairCard(pairs, int(content.pop("ignore")), str(content.pop("axes")), content)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise FileFormatError(
            f"'{path}' is no card of training pairs ({fault}); name a folder that was exported."
        ) from fault


def _pair(entry: Mapping[str, Any]) -> Pair:
    """Read one pair."""
    box = Region(tuple(map(int, entry["start"])), tuple(map(int, entry["stop"])))
    split, image, labels, sample = (str(entry[k]) for k in ("split", "image", "labels", "sample"))
    return Pair(split, image, labels, sample, box, float(entry["reviewed"]))
