"""Folders from Python: one call, outcomes as they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.folder import prepare
from napari_onnxseg.pipeline.folder_job import FolderJob
from napari_onnxseg.pipeline.folder_matte import CuttingOut
from napari_onnxseg.pipeline.folder_outcome import ImageOutcome
from napari_onnxseg.pipeline.folder_segment import Segmenting
from napari_onnxseg.pipeline.job import MatteJob, SegmentJob
from napari_onnxseg.pipeline.known import known_model


def segment_folder(
    inputs: Path | str | Sequence[Path | str],
    out: Path | str,
    model: str | Path,
    *,
    cancel: Cancel | None = None,
    **choices: Any,
) -> Iterator[ImageOutcome]:
    """Run a model over many images; writes the results of each as files.

    Parameters
    ----------
    inputs : path or sequence of paths
        Images, and folders of images; sub-folders are taken and kept.
    out : path
        The folder of results.
    model : str or Path
        Name in the catalogue, or an ``.onnx`` file.
    cancel : Cancel, optional
        Ends the run from another thread, also inside native code.
    **choices
        The other fields of `FolderJob`, such as ``pattern``, ``name``, ``resume`` or
        ``summary``, and of `SegmentJob`, such as ``device`` or ``objects``.

    Returns
    -------
    iterator of ImageOutcome
        What became of each image, in their order, as they are finished.

    Raises
    ------
    ChoiceError
        At once, when files and choices do not fit together; what befalls one image later is
        in its outcome.

    Examples
    --------
    >>> for outcome in segment_folder("plates", "labels", "unet-nuclei"):  # doctest: +SKIP
    ...     print(outcome.source, outcome.status, outcome.error)
    """
    files, chosen = _divided(inputs, out, choices)
    SegmentJob(model, **chosen)
    chosen = {"model": model, **{k: v for k, v in chosen.items() if v is not None}}
    return prepare(files, Segmenting(known_model(model, cancel=cancel), chosen)).outcomes(cancel)


def matte_folder(
    inputs: Path | str | Sequence[Path | str],
    out: Path | str,
    model: str | Path = "u2netp",
    *,
    cancel: Cancel | None = None,
    **choices: Any,
) -> Iterator[ImageOutcome]:
    """Cut the subject out of many images; writes the results as files.

    Parameters
    ----------
    inputs : path or sequence of paths
        Images, and folders of images; sub-folders are taken and kept.
    out : path
        The folder of results.
    model : str or Path
        Name in the catalogue, or an ``.onnx`` file.
    cancel : Cancel, optional
        Ends the run from another thread, also inside native code.
    **choices
        The other fields of `FolderJob`, such as ``name`` or ``resume``, and of `MatteJob`,
        such as ``feather_px``.

    Returns
    -------
    iterator of ImageOutcome
        What became of each image, in their order, as they are finished.

    Raises
    ------
    ChoiceError
        At once, when files and choices do not fit together; what befalls one image later is
        in its outcome.

    Examples
    --------
    >>> done = list(matte_folder("photographs", "cut-outs"))  # doctest: +SKIP
    """
    files, chosen = _divided(inputs, out, choices)
    MatteJob(model, **chosen)
    chosen = {"model": model, **{k: v for k, v in chosen.items() if v is not None}}
    card = known_model(model, cancel=cancel)
    return prepare(files, CuttingOut(card, chosen, files.compression)).outcomes(cancel)


def _divided(
    inputs: Any, out: Path | str, choices: Mapping[str, Any]
) -> tuple[FolderJob, dict[str, Any]]:
    """Part the choices on files from those on the model."""
    names = {entry.name for entry in fields(FolderJob)}
    files = {name: value for name, value in choices.items() if name in names}
    chosen = {name: value for name, value in choices.items() if name not in names}
    if chosen.get("store") is not None:
        raise ChoiceError(
            "A store holds the result of one image; leave 'store' away, results of folders are "
            "files in 'out'."
        )
    return FolderJob(inputs, Path(out), **files), chosen
