"""What the folder widget does off the main thread: looking, running, opening."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from napari.layers import Image, Labels, Layer

from napari_onnxseg.arrays.files import ImageFile, read_image, read_labels
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.errors import ChoiceError, OnnxSegError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.folder import Folder, prepare
from napari_onnxseg.pipeline.folder_find import find_images
from napari_onnxseg.pipeline.folder_job import FolderJob
from napari_onnxseg.pipeline.folder_matte import CuttingOut
from napari_onnxseg.pipeline.folder_outcome import ImageOutcome
from napari_onnxseg.pipeline.folder_places import place_results
from napari_onnxseg.pipeline.folder_segment import Segmenting
from napari_onnxseg.pipeline.folder_task import Task
from napari_onnxseg.plugin.folder_rows import Row
from napari_onnxseg.plugin.results import OPACITY, class_colours, class_names
from napari_onnxseg.plugin.worker import Steps


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look into the inputs found.

    Parameters
    ----------
    rows : list of Row
        The images.
    others : int
        What else lies there.
    example : str
        Where the result of the first image goes.
    plan : str
        What would be done with it.
    """

    rows: list[Row]
    others: int
    example: str
    plan: str


def task_of(card: ModelCard, job: Any, compression: int) -> Task:
    """Return what is done to each image, with the choices that differ from the defaults.

    Parameters
    ----------
    card : ModelCard
        The model.
    job : SegmentJob or MatteJob
        From the form.
    compression : int
        Level of PNG compression.

    Returns
    -------
    Segmenting or CuttingOut
        As the other doors make it.
    """
    values = {f.name: (getattr(job, f.name), f.default) for f in fields(job)}
    chosen = {name: value for name, (value, usual) in values.items() if value != usual}
    choices = {**chosen, "model": job.model}
    if card.task == "matting":
        return CuttingOut(card, choices, compression)
    return Segmenting(card, choices)


def looking(job: FolderJob, task: Task, cancel: Cancel) -> Steps:
    """Find the images and plan the first; a generator of no steps that returns a `Survey`."""
    yield from ()
    found = find_images(job.inputs, job.pattern, job.out)
    cancel.check()
    images = [thing for thing in found if not thing.why_not]
    if not images:
        raise ChoiceError(f"There is no image in {', '.join(map(str, job.inputs))}.")
    rows = [Row(thing.path, (thing.below / thing.path.name).as_posix()) for thing in images]
    first = place_results(images[:1], job, model=task.card.name, floats=task.floats)[0]
    example = first.target.relative_to(job.out).as_posix()
    return Survey(rows, len(found) - len(images), f"→ {example}", _first_plan(task, images[0].path))


def running(
    job: FolderJob, task: Task, told: deque[Folder | ImageOutcome], cancel: Cancel
) -> Steps:
    """Work through the images; what is told comes in a queue, so that nothing is missed."""
    folder = prepare(job, task)
    told.append(folder)
    with closing(folder.steps(cancel)) as steps:
        for step in steps:
            if step.outcome is not None:
                # Pictures and records would make memory grow with the folder.
                told.append(replace(step.outcome, record={}))
            yield step
    return folder.total


def opening(row: Row, card: ModelCard | None, _cancel: Cancel) -> Steps:
    """Read an image and its result; a generator of no steps that returns layers."""
    yield from ()
    layers: list[Layer] = [_image_layer(read_image(row.source), row.source)]
    if row.result is not None and row.result.exists():
        layers.append(_result_layer(row.result, card))
    return layers


def _first_plan(task: Task, path: Path) -> str:
    """Say what would be done with an image, or why it cannot be."""
    try:
        return task.plan(read_image(path)).words()
    except OnnxSegError as error:
        return f"{path.name}: {error}"


def _image_layer(image: ImageFile, path: Path) -> Image:
    """Make the layer of an image as it is."""
    if image.channel_axis is None:
        return Image(image.data, name=path.stem, rgb=image.rgb, **_placed(image))
    return Image(image.data, name=path.stem, rgb=False)


def _result_layer(path: Path, card: ModelCard | None) -> Layer:
    """Make the layer of a result: classes in their colours, or colours, or values."""
    image = read_labels(path)
    name = f"{path.stem} [result]"
    if image.rgb or image.data.dtype.kind not in "ui" or image.channel_axis is not None:
        return Image(image.data, name=name, rgb=image.rgb, **_placed(image))
    head = next((head for head in card.heads if head.classes), None) if card else None
    more: Mapping[str, Any] = {}
    if head is not None:
        more = {"colormap": class_colours(head.classes), "features": class_names(head.classes)}
    return Labels(image.data.copy(), name=name, opacity=OPACITY, **more, **_placed(image))


def _placed(image: ImageFile) -> dict[str, Any]:
    """Return pixel size and units as a layer takes them, where the file says so."""
    if image.scale is None or image.channel_axis is not None:
        return {}
    return {"scale": image.scale, **({"units": image.units} if image.units else {})}
