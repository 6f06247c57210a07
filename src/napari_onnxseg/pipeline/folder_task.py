"""What a run over many images needs to know of what is done to each."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from napari_onnxseg.arrays.files import ImageFile
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.folder_outcome import ImageOutcome
from napari_onnxseg.pipeline.folder_places import Place
from napari_onnxseg.pipeline.job import Progress


class Plan(Protocol):
    """What is settled before a pixel is read."""

    @property
    def indices(self) -> tuple[tuple[int, ...], ...]:
        """The planes of the result."""
        ...

    @property
    def memory_bytes(self) -> int:
        """What a run needs, as an estimate."""
        ...

    def words(self) -> str:
        """Return the plan in two lines for people."""
        ...


class Task(Protocol):
    """What differs between segmenting and cutting out."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def card(self) -> ModelCard:
        """The model."""
        ...

    @property
    def choices(self) -> Mapping[str, Any]:
        """Fields of the job that the user chose."""
        ...

    @property
    def floats(self) -> bool:
        """Whether results hold floats: a format that is left open is then TIFF, not PNG."""
        ...

    @property
    def extras(self) -> tuple[str, ...]:
        """Other results of each image, as `Place.beside` names them."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """What the summary has of each image."""
        ...

    def check(self, place: Place, planes: int = 1) -> None:
        """Raise for files that cannot hold the result, before the model runs."""
        ...

    def plan(self, image: ImageFile, workers: int | None = None) -> Plan:
        """Return what would be done with an image."""
        ...

    def story(
        self, image: ImageFile, cancel: Cancel, workers: int | None = None
    ) -> Generator[Progress, None, Any]:
        """Return the run over one image, not yet begun."""
        ...

    def write(self, place: Place, image: ImageFile, result: Any) -> dict[str, Path]:
        """Write the result and return the files by kind."""
        ...

    def row(self, result: Any, image: ImageFile) -> dict[str, Any]:
        """Count what the summary tells."""
        ...


@dataclass(frozen=True, slots=True)
class FolderStep(Progress):
    """How far a run over many images is.

    Parameters
    ----------
    done, total : int
        Images finished, in any way, and all of them.
    index, regions : tuple
        Empty: a run over many images has no plane of its own.
    stage : str
        What is being done, for people.
    running : tuple of (Path, Progress)
        Those that are being worked on.
    outcome : ImageOutcome or None
        What became of one more image.
    plan : str
        What was decided for the image that was begun last, in words.
    """

    running: tuple[tuple[Path, Progress], ...] = ()
    outcome: ImageOutcome | None = None
    plan: str = ""
    stage: str = "images"
