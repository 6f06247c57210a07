"""What a user chooses for a run over many images, besides the job of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_onnxseg.errors import ChoiceError

FORMATS = ("png", "tif", "npy")
"""Formats of results, by suffix."""

SUMMARIES = (".csv", ".json")
"""Formats of summaries, by suffix."""

DEFAULT_NAME = "{stem}{suffix}"
"""Each result is called as its image is."""

MOST_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class FolderJob:
    """Which images come in, where results go, and what happens to those that are there.

    Parameters
    ----------
    inputs : sequence of Path
        Images, and folders of images; one alone may be given as it is.
    out : Path
        A folder; made when it is missing. Of a single image it may be a file.
    pattern : str, optional
        Which files of folders are taken, such as ``"*.tif"`` or ``"plate1/*.tif"``.
    name : str
        How results are called: ``{stem}``, ``{name}``, ``{parent}``, ``{model}``,
        ``{index}`` and ``{suffix}`` stand for the image's.
    format : str, optional
        ``"png"``, ``"tif"`` or ``"npy"``; None follows each image.
    at_once : int, optional
        Images worked on at the same time; None takes half of the cores.
    resume : bool
        Keep what an earlier run has finished.
    overwrite : bool
        Make everything anew, also what is there.
    summary : Path, optional
        A ``.csv`` or ``.json`` file with one row an image, written as the run goes.
    compression : int
        Level of PNG compression of cut-outs, 0 to 9.

    Raises
    ------
    ChoiceError
        When a choice is outside what is allowed.
    """

    inputs: Sequence[Path]
    out: Path
    pattern: str | None = None
    name: str = DEFAULT_NAME
    format: str | None = None
    at_once: int | None = None
    resume: bool = False
    overwrite: bool = False
    summary: Path | None = None
    compression: int = 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _paths(self.inputs))
        object.__setattr__(self, "out", Path(self.out))
        if self.summary is not None:
            object.__setattr__(self, "summary", Path(self.summary))
        self._check()

    def _check(self) -> None:
        """Raise for the first choice that is outside what is allowed."""
        if not self.inputs:
            raise ChoiceError("No image and no folder was given; name at least one.")
        if self.format is not None and self.format not in FORMATS:
            raise ChoiceError(f"'{self.format}' is not a format; use {', '.join(FORMATS)}.")
        if self.at_once is not None and not 1 <= self.at_once <= MOST_AT_ONCE:
            raise ChoiceError(
                f"From 1 to {MOST_AT_ONCE} images can be worked on at once, got {self.at_once}."
            )
        if self.resume and self.overwrite:
            raise ChoiceError(
                "To resume keeps results and to overwrite replaces them; choose one of the two."
            )
        if self.summary is not None and self.summary.suffix.lower() not in SUMMARIES:
            raise ChoiceError(f"The summary '{self.summary}' must end in .csv or .json.")
        if not 0 <= self.compression <= 9:
            raise ChoiceError(f"The compression must lie between 0 and 9, got {self.compression}.")


def _paths(given: Any) -> tuple[Path, ...]:
    """Return paths; one alone is one path, not its letters."""
    return tuple(
        Path(path) for path in ((given,) if isinstance(given, (str, os.PathLike)) else given)
    )
