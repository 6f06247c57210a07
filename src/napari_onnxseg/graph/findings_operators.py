"""Findings about operators: training mode, change of size, and what makes seams."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from napari_onnxseg.graph import advice
from napari_onnxseg.graph.findings import Finding, listed
from napari_onnxseg.graph.hard_sizes import words
from napari_onnxseg.graph.subject import Subject
from napari_onnxseg.graph.training import switches, trains

RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli")
MIXING = ("InstanceNormalization", "MatMul", "Softmax", "LayerNormalization", "Attention")
"""Operators of group norm and attention, which work behind a reshape."""

LOST = "no longer is a picture"
COVERED = ("places its samples", "training mode", "brings every picture")
"""Parts of phrases that have a finding of their own."""


def about_training(subject: Subject) -> Iterator[Finding]:
    """Look for operators that were exported as they train."""
    constants = {
        **switches(subject.model.graph),
        **(subject.graph.constants if subject.graph else {}),
    }
    found = [n for n in subject.nodes if trains(n, subject.facts.opset, constants)]
    for op_type, code, meaning in (
        (
            "BatchNormalization",
            "norm-training",
            "Each tile is normalised by its own mean and spread: the same object looks different "
            "in every tile, and seams show.",
        ),
        (
            "Dropout",
            "dropout-training",
            "Random channels are set to zero, unless the runtime takes the layer out itself: the "
            "answer changes from run to run.",
        ),
    ):
        names = [words(node) for node in found if node.op_type == op_type]
        if names:
            title = f"In training mode: {listed(names)}."
            yield Finding("error", code, title, meaning, advice.INFERENCE, mendable=True)
    random = [words(node) for node in subject.nodes if node.op_type in RANDOM]
    if random:
        yield Finding(
            "error",
            "random",
            f"The network draws random numbers: {listed(random)}.",
            "The answer changes from run to run.",
            advice.INFERENCE,
        )


def about_resizes(subject: Subject) -> Iterator[Finding]:
    """Look at where resizes place their samples."""
    resizes = [n for n in subject.nodes if n.op_type in ("Resize", "Upsample")]
    corners, asymmetric, crops, shifted = [], [], [], []
    for node in resizes:
        mode, where, rounding = resize_modes(node, subject.facts.opset)
        if where == "align_corners":
            corners.append(words(node))
        elif where == "tf_crop_and_resize":
            crops.append(words(node))
        elif mode == "nearest" and shifts(where, rounding):
            shifted.append(words(node))
        elif mode != "nearest" and where == "asymmetric":
            asymmetric.append(words(node))
    yield from _resize_findings(corners, asymmetric + shifted, crops, subject.facts.opset >= 11)


def about_seams(subject: Subject) -> Iterator[Finding]:
    """Name the operators that keep tiles from equalling the whole picture."""
    if subject.view is None or subject.graph is None:
        return
    phrases = [b for b in subject.view.breakers if not any(part in b for part in COVERED)]
    if not phrases:
        return
    lost = {phrase.split()[0] for phrase in phrases if LOST in phrase} & set(MIXING)
    told = [phrase for phrase in phrases if LOST not in phrase] or phrases
    told += [f"{kind} works on all pixels" for kind in sorted(lost)]
    kinds = lost or {phrase.split()[0] for phrase in told}
    names = [words(node) for node in subject.graph.nodes if node.op_type in kinds]
    yield Finding(
        "warning",
        "seams",
        f"Tiles cannot equal the whole picture: {'; '.join(told)} ({listed(names)}).",
        "Neighbouring tiles give slightly different scores; they overlap and are blended, which "
        "hides seams but does not remove the difference.",
        advice.LOCAL_NORM,
    )


def resize_modes(node: onnx.NodeProto, opset: int) -> tuple[str, str, str]:
    """Return interpolation, placing of samples and rounding of a resize.

    Parameters
    ----------
    node : onnx.NodeProto
        A Resize or Upsample.
    opset : int
        Before 11 samples lie on corners of pixels.

    Returns
    -------
    tuple of str
        ``mode``, ``coordinate_transformation_mode`` and ``nearest_mode``.
    """
    given = {a.name: a.s.decode() for a in node.attribute if a.type == onnx.AttributeProto.STRING}
    mode = given.get("mode", "nearest")
    if opset < 11 or node.op_type == "Upsample":
        return mode, "asymmetric", "floor"
    where = given.get("coordinate_transformation_mode", "half_pixel")
    return mode, where, given.get("nearest_mode", "round_prefer_floor")


def shifts(where: str, rounding: str) -> bool:
    """Tell whether doubling by nearest neighbours moves the picture.

    Parameters
    ----------
    where, rounding : str
        ``coordinate_transformation_mode`` and ``nearest_mode`` of a Resize.

    Returns
    -------
    bool
        Whether the second pair of pixels shows anything but the second pixel.
    """
    corner = where == "asymmetric"
    positions = [i / 2 if corner else (i + 0.5) / 2 - 0.5 for i in range(2, 6)]
    round_up = {"floor": 0.0, "ceil": 0.999, "round_prefer_ceil": 0.5}.get(rounding, 0.499)
    return [int(p + round_up) for p in positions] != [1, 1, 2, 2]


def _resize_findings(
    corners: list[str], shifted: list[str], crops: list[str], mendable: bool
) -> Iterator[Finding]:
    if corners:
        yield Finding(
            "warning",
            "resize-corners",
            f"Corners are aligned in {listed(corners)}.",
            "Where a sample lies depends on the size of the tile, so that tiles differ a little "
            "from the whole picture; they are blended.",
            advice.HALF_PIXEL,
            mendable=mendable,
        )
    if shifted:
        yield Finding(
            "warning",
            "resize-shifted",
            f"Samples do not lie on the centres of pixels in {listed(shifted)}.",
            "Contours lie up to half a coarse pixel too far up and left (or down and right), "
            "unless the network was trained that way.",
            advice.HALF_PIXEL,
            mendable=mendable,
        )
    if crops:
        yield Finding(
            "error",
            "resize-crop",
            f"A region is cut out by place in {listed(crops)}.",
            "Every tile is cut at the same place; the answer does not lie over the picture.",
            advice.HALF_PIXEL,
        )
