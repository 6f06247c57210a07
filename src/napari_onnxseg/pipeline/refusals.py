"""Choices that a model cannot follow, refused before anything is read."""

from __future__ import annotations

from napari_onnxseg.cards.card import Head, ModelCard
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.settle import refuse_volumes
from napari_onnxseg.tiling.axis import per_axis


def refuse_misfits(card: ModelCard, job: SegmentJob, heads: tuple[Head, ...]) -> None:
    """Raise for a model of another task or rank, and for numbers outside their range.

    Parameters
    ----------
    card : ModelCard
        The model.
    job : SegmentJob
        The user's choices.
    heads : tuple of Head
        The outputs that are wanted.

    Raises
    ------
    ChoiceError
        Naming the first thing that does not fit.
    """
    if any(head.task == "matting" for head in heads):
        raise ChoiceError(
            f"'{card.name}' cuts out one subject and gives no classes; "
            "use the cut-out (matte) instead, or a semantic model here."
        )
    refuse_volumes(card)
    for name in ("batch", "workers"):
        value = getattr(job, name)
        if value is not None and value < 1:
            raise ChoiceError(f"The number of {name} must be at least 1, got {value}.")
    if job.threshold is not None and not 0 < job.threshold < 1:
        raise ChoiceError(f"The threshold must lie between 0 and 1, got {job.threshold}.")
    _refuse_without_classes(card, job, heads)
    if any(head.scores == "labels" for head in heads):
        _refuse_scores(card, job)
    for head in heads if job.objects else ():
        if head.objects and head.objects.border in (head.objects.inside, 0):
            raise ChoiceError(
                f"The card of '{card.name}' separates objects by inside {head.objects.inside} and "
                f"border {head.objects.border}, which must be two classes above 0; correct its "
                "'objects'."
            )
        if head.objects and head.objects.inside == 0:
            raise ChoiceError(
                f"The card of '{card.name}' takes class 0, the background, for the inside of "
                "objects; correct its 'objects'."
            )
    if job.objects and not any(head.objects for head in heads):
        raise ChoiceError(
            f"The card of '{card.name}' has no rule for separating objects; "
            "run without objects, or add an 'objects' entry to the card."
        )


def _refuse_without_classes(card: ModelCard, job: SegmentJob, heads: tuple[Head, ...]) -> None:
    """Raise for whatever needs classes when the outputs are images only."""
    if any(head.task == "semantic" for head in heads):
        return
    wanted = {
        "apply a threshold": job.threshold is not None,
        "give a confidence": job.confidence,
        "separate objects": job.objects,
    }
    for what, asked in wanted.items():
        if asked:
            raise ChoiceError(
                f"'{card.name}' gives values and no classes, which is nothing to {what}; "
                "leave that out."
            )


def _refuse_scores(card: ModelCard, job: SegmentJob) -> None:
    """Raise for whatever needs scores when the model gives class ids only."""
    blended = job.overlap is not None and any(
        per_axis("overlap", job.overlap, len(card.input.sides))
    )
    wanted = {
        "blend": blended,
        "apply a threshold": job.threshold is not None,
        "give a confidence": job.confidence,
        "separate objects": job.objects,
    }
    for what, asked in wanted.items():
        if asked:
            raise ChoiceError(
                f"'{card.name}' gives class ids and no scores, which is too little to {what}; "
                "leave that out, or export the model without its ArgMax."
            )
