"""What is known of background-removal networks by the names their files are published under.

References
----------
The sizes and intensities are those that `rembg <https://github.com/danielgatis/rembg>`_ and
`MODNet <https://github.com/ZHKKKe/MODNet>`_ feed these networks with. Two of their habits
are left out on purpose: dividing by the brightest pixel instead of the full range, and
stretching each alpha from its minimum to its maximum, which makes a subject of nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from napari_onnxseg.cards.card import ClassInfo, Fact, ScoreKind, Sizing, Task, TensorSpec
from napari_onnxseg.cards.description import Description, TensorHints
from napari_onnxseg.prepare.normalize import Normalization

IMAGENET = Normalization("mean_std", mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
"""U²-Net, BiRefNet and their relatives."""

HALF = Normalization("mean_std", mean=(0.5, 0.5, 0.5), std=(1.0, 1.0, 1.0))
"""IS-Net: the unit image minus one half."""

IMAGENET_MEAN = Normalization("mean_std", mean=IMAGENET.mean, std=(1.0, 1.0, 1.0))
"""IS-Net for drawings: only the mean is taken off."""

SYMMETRIC = Normalization("symmetric")
"""MODNet: -1..1."""

CLOTHES = (
    ClassInfo(0, "background", None),
    ClassInfo(1, "upper body", "#e6553a"),
    ClassInfo(2, "lower body", "#3a8fe6"),
    ClassInfo(3, "full body", "#4bbf6b"),
)
"""Classes of the network that finds clothes on people."""


@dataclass(frozen=True, slots=True)
class Family:
    """Networks that are fed and read alike.

    Parameters
    ----------
    pattern : str
        Regular expression over the lower-case name, anywhere in it, between separators.
    normalization : Normalization
        What they were trained on.
    sizing : Sizing
        What a picture is brought to when their sides are free.
    scores : {"logits", "probabilities"}
        What their output holds when the graph does not show it.
    classes : tuple of ClassInfo
        Of a semantic network; empty for one that gives an alpha.
    """

    pattern: str
    normalization: Normalization
    sizing: Sizing
    scores: ScoreKind = "probabilities"
    classes: tuple[ClassInfo, ...] = ()

    @property
    def task(self) -> Task:
        """Classes, or the opacity of one subject."""
        return "semantic" if self.classes else "matting"

    def names(self, name: str) -> bool:
        """Tell whether a file of that name (without suffix) belongs here."""
        return bool(re.search(rf"(^|[^a-z0-9])({self.pattern})($|[^a-z0-9])", name.lower()))


FAMILIES = (
    Family("u2net[-_]cloth[-_]seg", IMAGENET, Sizing(768), "logits", CLOTHES),
    Family("u2netp?|silueta", IMAGENET, Sizing(320)),
    Family("isnet[-_]?anime", IMAGENET_MEAN, Sizing(1024)),
    Family("isnet|(dis|ben)[-_]custom|rmbg[-_]?1[._]4", HALF, Sizing(1024)),
    Family("birefnet", IMAGENET, Sizing(1024), "logits"),
    Family("rmbg([-_]?2([._]0)?)?", IMAGENET, Sizing(1024)),
    Family("modnet", SYMMETRIC, Sizing(512, keep_aspect=True, multiple=32)),
)
"""The first whose name fits is meant."""


def family_of(name: str) -> Family | None:
    """Find the family a file name speaks of.

    Parameters
    ----------
    name : str
        Name without suffix, in any case.

    Returns
    -------
    Family or None
        None for every other name.
    """
    return next((family for family in FAMILIES if family.names(name)), None)


def describe(name: str, fact: Fact = "file name") -> Description:
    """Say what a name tells about a model.

    Parameters
    ----------
    name : str
        Of the file without suffix, or of the published model.
    fact : Fact
        How far the name can be trusted.

    Returns
    -------
    Description
        Task, intensities, scores, classes and size; empty for an unknown name.
    """
    family = family_of(name)
    if family is None:
        return Description()
    return Description(
        task=family.task,
        tensors=TensorHints(first_output=True),
        normalization=family.normalization,
        scores=family.scores,
        classes=family.classes,
        sizing=family.sizing,
        facts=dict.fromkeys(("task", "normalization", "scores", "classes", "sizing"), fact),
    )


def fits(told: Description, source: TensorSpec, target: TensorSpec) -> bool:
    """Tell whether a graph can be what a name says.

    Parameters
    ----------
    told : Description
        From `describe`.
    source, target : TensorSpec
        Input and output of the graph.

    Returns
    -------
    bool
        True for flat colour in and the right number of maps out, as far as they are declared.
    """
    maps = len(told.classes) or 1
    return (
        source.spatial_ndim == 2
        and source.channels in (3, None)
        and "C" in target.layout
        and target.channels in (maps, None)
    )
