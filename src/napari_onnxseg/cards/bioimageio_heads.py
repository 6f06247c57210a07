"""Whether an output of a bioimage.io model holds classes or an image."""

from __future__ import annotations

import re
from dataclasses import dataclass

from napari_onnxseg.cards.bioimageio_rdf import Rdf, Tensor
from napari_onnxseg.cards.card import ClassInfo, ScoreKind, Task
from napari_onnxseg.cards.values import is_background, named_classes
from napari_onnxseg.prepare.steps import Step

_IMAGE_TAGS = """denoising image-restoration restoration super-resolution image-reconstruction
image-translation image-to-image in-silico-labeling in-silico-staining virtual-staining
deblurring deconvolution regression image-enhancement n2v noise2void care self-supervised"""
_SEMANTIC_TAGS = """semantic-segmentation segmentation instance-segmentation
foreground-segmentation cell-segmentation"""
_GENERIC = re.compile(
    r"(channel|output|class|label|prob|probability|probabilities|mask|raw_intensity)_?\d*"
)
_IMAGE_OPS = ("scale_mean_variance", "zero_mean_unit_variance", "scale_range", "standardize")


@dataclass(frozen=True, slots=True)
class Judged:
    """What an output is taken for.

    Parameters
    ----------
    task : {"semantic", "image"}
        Classes or values.
    certain : bool
        Whether the description says so, in operations or values rather than in words.
    scores : str or None
        What the numbers are once ``after`` is done.
    after : tuple of Step
        What is done to them.
    threshold : float or None
        Probability above which a pixel is foreground.
    classes : tuple of ClassInfo
        Of classes.
    channels : tuple of str
        Of an image.
    notes : tuple of str
        Sentences for the user.
    """

    task: Task
    certain: bool
    scores: ScoreKind | None = None
    after: tuple[Step, ...] = ()
    threshold: float | None = None
    classes: tuple[ClassInfo, ...] = ()
    channels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def judged(tensor: Tensor, rdf: Rdf) -> Judged:
    """Say what an output is.

    Parameters
    ----------
    tensor : Tensor
        The output.
    rdf : Rdf
        The model, whose tags are looked at where operations and values leave it open.

    Returns
    -------
    Judged
        A guess carries a note.
    """
    task, certain, why = _task(tensor, rdf)
    note = () if certain else (_guess(tensor, task, why),)
    if task == "image":
        return Judged(
            "image", certain, "values", tensor.steps, channels=_channels(tensor), notes=note
        )
    scores, after, threshold = _scored(tensor)
    return Judged("semantic", certain, scores, after, threshold, _classes(tensor), notes=note)


def _task(tensor: Tensor, rdf: Rdf) -> tuple[Task, bool, str]:
    """Return classes or image, whether that is sure, and why."""
    ops = [step.op for step in tensor.steps]
    several = (tensor.channels or 1) > 1
    if any(op in _IMAGE_OPS for op in ops):
        return "image", True, ""
    if several and any(op in ("binarize", "sigmoid") for op in ops) and "softmax" not in ops:
        if _has_background(tensor) and "binarize" not in ops:
            return "semantic", False, "one of its channels is the background"
        return "image", False, "each of its channels is decided for itself"
    if "softmax" in ops or (not several and {"binarize", "sigmoid"} & set(ops)):
        return "semantic", True, ""
    if tensor.values and not several and tensor.dtype.startswith(("uint", "bool")):
        return "semantic", True, ""
    return _by_words(tensor, rdf, several)


def _by_words(tensor: Tensor, rdf: Rdf, several: bool) -> tuple[Task, bool, str]:
    """Judge by tags and names."""
    tags = {tag.lower().replace(" ", "-").replace("_", "-") for tag in rdf.tags}
    if found := sorted(tags & set(_IMAGE_TAGS.split())):
        return "image", False, f"of the tag '{found[0]}'"
    if _has_background(tensor):
        return "semantic", False, "one of its channels is the background"
    found = sorted(tags & set(_SEMANTIC_TAGS.split()))
    if found and (not several or found[0] == "semantic-segmentation"):
        return "semantic", False, f"of the tag '{found[0]}'"
    return "image", False, "nothing says that it holds classes"


def _guess(tensor: Tensor, task: Task, why: str) -> str:
    what = "classes" if task == "semantic" else "an image"
    other = "image" if task == "semantic" else "semantic"
    return (
        f"'{tensor.name}' is taken for {what}, because {why}; if that is wrong, put "
        f'{{"task": "{other}"}} into a card.'
    )


def _scored(tensor: Tensor) -> tuple[ScoreKind | None, tuple[Step, ...], float | None]:
    """Return what the numbers are, what is done to them, and the threshold."""
    steps = tensor.steps
    if steps and steps[-1].op == "binarize" and len(steps[-1].threshold) == 1:
        before, threshold = steps[:-1], steps[-1].threshold[0]
        bounded = bool(before) and before[-1].op == "sigmoid"
        if (bounded or (not before and _is_unit(tensor, ranged=False))) and 0 < threshold < 1:
            return "probabilities", before, threshold
        return "probabilities", steps, None
    if any(step.op in ("sigmoid", "softmax", "binarize") for step in steps):
        return "probabilities", steps, None
    if tensor.values and tensor.dtype.startswith(("uint", "bool")):
        return "labels", tuple(step for step in steps if step.op != "cast"), None
    return ("probabilities" if _is_unit(tensor) else None), steps, None


def _is_unit(tensor: Tensor, *, ranged: bool = True) -> bool:
    """Tell whether an output is said to hold numbers from 0 to 1."""
    named = any("prob" in name.lower() for name in (tensor.name, *tensor.channel_names))
    return named if not ranged else (tensor.low, tensor.high) == (0, 1)


def _classes(tensor: Tensor) -> tuple[ClassInfo, ...]:
    """Return classes with names that somebody thought of."""
    if tensor.values and not all(re.fullmatch(r"-?[\d.]+", value) for value in tensor.values):
        return named_classes(tensor.values)
    names = _thought_of(tensor.channel_names)
    if len(names) == 1:
        return named_classes(("background", *names))
    return named_classes(names)


def _channels(tensor: Tensor) -> tuple[str, ...]:
    return _thought_of(tensor.channel_names)


def _thought_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names, unless all of them say nothing."""
    return () if all(_GENERIC.fullmatch(name.lower()) for name in names) else names


def _has_background(tensor: Tensor) -> bool:
    return any(is_background(name) for name in tensor.channel_names)
