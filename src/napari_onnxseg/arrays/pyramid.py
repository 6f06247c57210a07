"""Images with several levels: which one to use, and where its pixels lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log, prod
from typing import Any

from napari_onnxseg.arrays.axes import dtype_of, find_channel_axis, shape_of
from napari_onnxseg.arrays.source import ArrayLike
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.tiling.region import Region

Floats = tuple[float, ...]

_ROUNDING = 1e-6  # of a pixel


@dataclass(frozen=True, slots=True)
class Levels:
    """The same image at several resolutions; made by `as_levels`.

    Parameters
    ----------
    arrays : tuple of array-like
        Full resolution first, all with the same axes.
    factors : tuple of tuple of float
        Per level and axis of a result (all but the channels): how many pixels of level 0 a
        pixel is long.
    offsets : tuple of tuple of float
        Per level and axis of a result: where, in pixels of level 0, the centre of the level's
        first pixel lies.
    channel_axis : int or None
        Axis of channels, not negative.
    """

    arrays: tuple[ArrayLike, ...]
    factors: tuple[Floats, ...]
    offsets: tuple[Floats, ...]
    channel_axis: int | None = None

    def __len__(self) -> int:
        return len(self.arrays)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Lengths of every level on the axes of a result."""
        return tuple(_without(a.shape, self.channel_axis) for a in self.arrays)

    def check(self, level: int) -> int:
        """Return a level that exists, negative ones counted from the coarsest.

        Parameters
        ----------
        level : int
            As the user gave it.

        Returns
        -------
        int
            From 0.

        Raises
        ------
        ChoiceError
            When there is no such level.
        """
        if not -len(self) <= level < len(self):
            raise ChoiceError(
                f"There is no level {level}; the image has {len(self)}, 0 to {len(self) - 1}."
            )
        return level % len(self)

    def nearest(self, pixel_size: float, wanted: float, spatial_ndim: int = 2) -> int:
        """Choose the level whose pixels are nearest in size to what a model wants.

        Parameters
        ----------
        pixel_size : float
            Of level 0, in any unit.
        wanted : float
            Pixel size of the model, in the same unit.
        spatial_ndim : int, optional
            How many of the last axes count.

        Returns
        -------
        int
            The level with the smallest ratio to what is wanted; of equals the finer one.

        Raises
        ------
        ChoiceError
            When a size is not positive.
        """
        if not all(isfinite(size) and size > 0 for size in (pixel_size, wanted)):
            raise ChoiceError(
                f"Pixel sizes must be positive numbers, got {pixel_size} and {wanted}."
            )
        wished = wanted / pixel_size
        away = [abs(log(self.factor(level, spatial_ndim) / wished)) for level in range(len(self))]
        return min(range(len(self)), key=lambda level: (round(away[level], 9), level))

    def smallest_over(self, values: int) -> int:
        """Choose the coarsest level that still has enough values, such as for statistics.

        Parameters
        ----------
        values : int
            Pixels times planes that are enough.

        Returns
        -------
        int
            0 when none but the finest has.
        """
        enough = [n for n, shape in enumerate(self.shapes) if prod(shape) >= values]
        return max(enough, default=0)

    def factor(self, level: int, spatial_ndim: int = 2) -> float:
        """Return the downsampling of a level as one number.

        Parameters
        ----------
        level : int
            From 0.
        spatial_ndim : int, optional
            How many of the last axes count.

        Returns
        -------
        float
            The geometric mean over these axes.
        """
        sides = self.factors[level][-spatial_ndim:]
        return float(prod(sides) ** (1 / len(sides)))

    def placed(
        self, level: int, scale: Sequence[float], translate: Sequence[float]
    ) -> tuple[Floats, Floats]:
        """Return where a result at some level lies, given where level 0 does.

        Parameters
        ----------
        level : int
            Of the result.
        scale, translate : sequence of float
            World units per pixel of level 0, and world position of its first pixel's centre,
            per axis of a result.

        Returns
        -------
        scale : tuple of float
            World units per pixel of the level.
        translate : tuple of float
            World position of its first pixel's centre. Where an image is also turned or
            sheared, multiply `factors` and `offsets` into its matrix instead.
        """
        scale, translate = list(scale), list(translate)
        sized = zip(scale, self.factors[level], strict=True)
        moved = zip(translate, scale, self.offsets[level], strict=True)
        return tuple(s * f for s, f in sized), tuple(t + s * o for t, s, o in moved)

    def region_at(self, level: int, region: Region) -> Region:
        """Return the pixels of a level that touch a region of level 0.

        Parameters
        ----------
        level : int
            From 0.
        region : Region
            In pixels of level 0, on the last axes of a result.

        Returns
        -------
        Region
            In pixels of the level, inside it.
        """
        ndim = region.ndim
        facts = zip(
            region.start,
            region.stop,
            self.factors[level][-ndim:],
            self.offsets[level][-ndim:],
            strict=True,
        )
        # edges: pixel i of the level covers offset + (i -+ 1/2) factor, pixel centres being whole
        edges = [((a - 0.5 - o) / f + 0.5, (b - 0.5 - o) / f + 0.5) for a, b, f, o in facts]
        found = Region(
            tuple(floor(a + _ROUNDING) for a, _ in edges),
            tuple(ceil(b - _ROUNDING) for _, b in edges),
        )
        return found.intersect(Region.of_shape(self.shapes[level][-ndim:]))


def as_levels(
    data: Sequence[Any],
    *,
    channel_axis: int | None = None,
    rgb: bool = False,
    factors: Sequence[Sequence[float]] | None = None,
    offsets: Sequence[Sequence[float]] | None = None,
) -> Levels:
    """Check that a sequence of arrays is one image at falling resolutions.

    Parameters
    ----------
    data : sequence of array-like
        Full resolution first.
    channel_axis : int, optional
        Axis of channels in every level, negative ones count from the end.
    rgb : bool, optional
        Whether the last axis holds red, green, blue (and alpha).
    factors, offsets : sequence, optional
        What the file says, as in `Levels`. Without it the factor is the ratio of the lengths,
        whatever it is, and pixel borders meet at the image's corner, as napari shows it.

    Returns
    -------
    Levels
        Nothing is read.

    Raises
    ------
    ImageError
        When the levels differ in dtype, axes or channels, or do not get smaller.
    """
    if not data:
        raise ImageError("A multiscale image needs at least one level, got none.")
    shapes = [shape_of(array) for array in data]
    axis = find_channel_axis(shapes[0], channel_axis, rgb)
    for level in range(1, len(shapes)):
        _check_level(data, shapes, level, axis)
    kept = [_without(shape, axis) for shape in shapes]
    ratios = [_ratios(kept[0], shape) for shape in kept] if factors is None else factors
    checked = tuple(tuple(float(f) for f in level) for level in ratios)
    if offsets is None:
        offsets = [[(f - 1) / 2 for f in level] for level in checked]
    return Levels(tuple(data), checked, tuple(tuple(map(float, o)) for o in offsets), axis)


def _check_level(
    data: Sequence[Any], shapes: Sequence[tuple[int, ...]], level: int, axis: int | None
) -> None:
    """Raise when a level is not the one before it at a lower resolution."""
    finer, shape = shapes[level - 1], shapes[level]
    fault = ""
    if len(shape) != len(finer):
        fault = f"has {len(shape)} axes, the one before it {len(finer)}"
    elif axis is not None and shape[axis] != finer[axis]:
        fault = f"has {shape[axis]} channels, the one before it {finer[axis]}"
    elif dtype_of(data[level]) != dtype_of(data[0]):
        fault = f"holds {data[level].dtype}, the first one {data[0].dtype}"
    elif any(n > before for n, before in zip(shape, finer, strict=True)) or shape == finer:
        fault = f"of shape {shape} is not smaller than the one before it, {finer}"
    if fault:
        raise ImageError(
            f"Level {level} of the multiscale image {fault}; give the levels of one image, the "
            "finest first, or one level alone."
        )


def _ratios(full: Sequence[int], shape: Sequence[int]) -> list[float]:
    """Return how many pixels of the full resolution one pixel is long, per axis."""
    return [n / m for n, m in zip(full, shape, strict=True)]


def _without(shape: Sequence[int], axis: int | None) -> tuple[int, ...]:
    """Return a shape without its channels, in plain ints."""
    return tuple(int(n) for place, n in enumerate(shape) if place != axis)
