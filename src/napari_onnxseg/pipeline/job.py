"""What a user can choose, what a run reports, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from napari_onnxseg.cards.card import Head, ModelCard
from napari_onnxseg.pipeline.choices import settle_choices
from napari_onnxseg.pipeline.pixel_size import PixelSize
from napari_onnxseg.prepare.channels import ColourOrder
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.tiling.region import Region
from napari_onnxseg.types import AnyArray, Batch, Rgba, Scores

Sides = int | tuple[int, ...]


class Predictor(Protocol):
    """Anything that turns (N, C, ...) input into (N, K, ...) float32, one array an output."""

    def __call__(self, batch: Batch, /) -> Scores | Sequence[Scores]:
        """Run the network once."""
        ...


@dataclass(frozen=True, slots=True)
class SegmentJob:
    """Every choice of a run over tiles; None means: decided from model and image.

    Parameters
    ----------
    model : str or Path
        Name in the catalogue, or an ``.onnx`` file.
    device : str
        ``"auto"``, ``"cpu"``, ``"gpu"``, ``"cuda"``, ``"cuda:1"`` or another provider's
        name. ``"auto"`` may fall back to the CPU and says so; any other name either runs
        there or raises `DeviceError`.
    tile, halo, overlap : int or tuple of int, optional
        Pixels per spatial axis: what the network sees, what is thrown away on each inner
        side, and what neighbours share and blend.
    batch : int, optional
        Tiles per run of the network; capped by a fixed batch of the model.
    workers : int, optional
        Tiles worked on at once.
    index : tuple of (int or None), optional
        Which planes: one entry per leading axis, an int picks, None takes all.
    channel_axis : int, optional
        Axis of the image that holds channels; never guessed from the shape.
    rgb : bool, optional
        Whether the last axis holds red, green, blue (and alpha); must be said when the
        last axis has 3 or 4 entries, and is never guessed.
    channels : tuple of int, optional
        Image channel fed to each model channel, in order.
    colour_order : {"RGB", "BGR"}, optional
        Overrides the card.
    normalization : Normalization, optional
        Overrides the card.
    statistics : {"image", "plane"}
        Measure intensity statistics over the whole image, or for each plane of a stack.
    nodata : float, optional
        Pixels of this value are no data, as NaN always is.
    pixel_size : str or tuple, optional
        Side of the image's pixels with its unit, such as ``"0.25 um"``, ``"5 x 6 cm"`` (rows,
        columns) or ``((0.25, 0.25), "um")``; needed to bring it to the resolution that a
        model was trained at.
    resample : bool, optional
        False works at the image's own resolution, in tiles. None brings the image to the
        resolution, or the size of a whole picture, that the model was trained at, where that
        is known; True does so too, and refuses a run where the pixel size is missing.
    threshold : float, optional
        For one-channel models: foreground where the probability exceeds it; None takes the
        card's suggestion, or one half. For several classes: class 0 where the best is less
        likely; None takes the card's suggestion, or none.
    confidence : bool
        Also return the probability of the chosen class.
    objects : bool
        Also return separate objects, when the card says how.
    heads : tuple of str, optional
        Names of the outputs that are wanted, of a model with several; None for all.
    region : Region, optional
        Part of each plane in pixels, inside it; results cover that part only. Where tiles are
        exact they hold what a run on the whole gives there. Statistics are still those of the
        whole image.
    store : str or Path, optional
        Folder whose name ends in ``.zarr``: class labels or an image go there as OME-Zarr, other
        results beside it; nothing is held in memory but the tiles at work. A journal inside
        lets `resume` go on after any end of the run.
    resume : bool
        Go on with the run that was begun in ``store``; one of another job, model or image is
        refused.

    Raises
    ------
    ChoiceError
        When a choice is of another kind; numbers out of range are refused by the plan.
    """

    model: str | Path
    device: str = "auto"
    tile: Sides | None = None
    halo: Sides | None = None
    overlap: Sides | None = None
    batch: int | None = None
    workers: int | None = None
    index: tuple[int | None, ...] | None = None
    channel_axis: int | None = None
    rgb: bool | None = None
    channels: tuple[int, ...] | None = None
    colour_order: ColourOrder | None = None
    normalization: Normalization | None = None
    statistics: Literal["image", "plane"] = "image"
    nodata: float | None = None
    pixel_size: PixelSize | None = None
    resample: bool | None = None
    threshold: float | None = None
    confidence: bool = False
    objects: bool = False
    heads: tuple[str, ...] | None = None
    region: Region | None = None
    store: str | Path | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        settle_choices(self)


@dataclass(frozen=True, slots=True)
class MatteJob:
    """Every choice of a background removal; None means: decided from model and image.

    Parameters
    ----------
    model : str or Path
        Name in the catalogue, or an ``.onnx`` file.
    device : str
        As in `SegmentJob`.
    feather_px : float
        Standard deviation of a Gaussian on the alpha at the model's side; 0, 3 or 5.
    threshold : float, optional
        Cut the alpha to 0 or 1 there; None keeps it soft.
    background : str, optional
        None keeps the background transparent; ``"white"``, a colour name or ``#rrggbb``
        puts the subject on that colour, opaque.
    workers : int, optional
        Threads of the model.
    index : tuple of (int or None), optional
        As in `SegmentJob`.
    channel_axis : int, optional
        As in `SegmentJob`.
    rgb : bool, optional
        As in `SegmentJob`.
    channels : tuple of int, optional
        As in `SegmentJob`.
    colour_order : {"RGB", "BGR"}, optional
        Overrides the card.
    normalization : Normalization, optional
        Overrides the card.
    nodata : float, optional
        As in `SegmentJob`; such pixels come out transparent.

    Raises
    ------
    ChoiceError
        When a choice is of another kind; numbers out of range are refused by the plan.
    """

    model: str | Path = "u2netp"
    device: str = "auto"
    feather_px: float = 0.0
    threshold: float | None = None
    background: str | None = None
    workers: int | None = None
    index: tuple[int | None, ...] | None = None
    channel_axis: int | None = None
    rgb: bool | None = None
    channels: tuple[int, ...] | None = None
    colour_order: ColourOrder | None = None
    normalization: Normalization | None = None
    nodata: float | None = None

    def __post_init__(self) -> None:
        settle_choices(self)


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a run.

    Parameters
    ----------
    done, total : int
        Steps finished and planned (tiles, for a segmentation).
    index : tuple of int
        Plane of the stack, one entry per leading axis of the result.
    regions : tuple of Region
        The blocks of that plane that are now final, in pixels.
    stage : str
        What is being done, for people: ``"loading"``, ``"statistics"``, ``"tiles"``,
        ``"objects"``.
    """

    done: int
    total: int
    index: tuple[int, ...] = ()
    regions: tuple[Region, ...] = ()
    stage: str = "tiles"


@dataclass(frozen=True, slots=True)
class HeadResult:
    """What one output of a model gives back.

    Parameters
    ----------
    head : Head
        What it means.
    labels : numpy.ndarray or None
        (..., Y, X) uint8 (up to 256 classes) or uint16, class ids, writable.
    confidence : numpy.ndarray or None
        (..., Y, X) uint8, probability of the chosen class times 255.
    objects : numpy.ndarray or None
        (..., Y, X) int32, 0 background, one id an object.
    image : numpy.ndarray or None
        (..., Y, X) float32 of one channel, else (..., C, Y, X); NaN where there is no data.
    limits : tuple of (float, float)
        Smallest and largest finite value of each channel.
    """

    head: Head
    labels: AnyArray | None = None
    confidence: AnyArray | None = None
    objects: AnyArray | None = None
    image: AnyArray | None = None
    limits: tuple[tuple[float, float], ...] = ()

    @property
    def name(self) -> str:
        """What the output is called."""
        return self.head.name


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """What a run over tiles gives back.

    Parameters
    ----------
    heads : tuple of HeadResult
        Each output that was wanted, in the order of the card.
    card : ModelCard
        The model.
    device : str
        What really ran, such as ``"CPU"`` or ``"CUDA 0 (NVIDIA ...)"``.
    seconds : mapping of str to float
        Time of each stage; ``"total"`` is the wall clock.
    notes : tuple of str
        Sentences for the user: fallbacks, guesses, non-finite scores, a diagnosis.
    record : mapping
        The run in JSON-able form, for ``layer.metadata["onnxseg"]`` and side files.
    """

    heads: tuple[HeadResult, ...]
    card: ModelCard
    device: str
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> Any:
        """Class ids of the first output that gives classes, (..., Y, X); None without one."""
        return self._first("labels")

    @property
    def confidence(self) -> Any:
        """Confidence of the first output that gives classes, as it was asked for, or None."""
        return self._first("confidence")

    @property
    def objects(self) -> Any:
        """Objects of the first output that has a rule for them, as asked for, or None."""
        return self._first("objects")

    @property
    def image(self) -> Any:
        """Values of the first output that is an image, (..., [C,] Y, X); None without one."""
        return self._first("image")

    def _first(self, what: str) -> Any:
        """Return the first array of a kind."""
        found = (getattr(head, what) for head in self.heads)
        return next((array for array in found if array is not None), None)


@dataclass(frozen=True, slots=True)
class MatteResult:
    """What a background removal gives back.

    Parameters
    ----------
    rgba : numpy.ndarray
        (..., Y, X, 4) uint8, straight alpha.
    card : ModelCard
        The model.
    device : str
        What really ran.
    seconds : mapping of str to float
        Time of each stage; ``"total"`` is the wall clock.
    notes : tuple of str
        Sentences for the user.
    record : mapping
        The run in JSON-able form.
    """

    rgba: Rgba
    card: ModelCard
    device: str
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
