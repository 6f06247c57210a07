"""Small pictures of image files, made off the main thread, a bounded number of them kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QObject, Signal
from qtpy.QtGui import QColor, QImage, QPixmap

from napari_onnxseg.arrays.files import ImageFile, read_image
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.plugin.card_jobs import background
from napari_onnxseg.plugin.worker import Outcome, Steps, Watch

SIDE_PX = 80
"""Longer side of a small picture, twice what is shown, for fine screens."""

KEPT = 400
"""Small pictures in memory, about 10 MB."""

WANTED = 48
"""Pictures waited for; what was scrolled out of sight is forgotten."""

TOGETHER = 6
"""Pictures made in one go."""

Colours = Mapping[int, str | None]


class Thumbnails(QObject):
    """Small pictures by file; those that are missing are made and announced.

    Parameters
    ----------
    parent : QObject, optional
        Qt owner.
    """

    ready = Signal()
    """Emitted when there are more pictures than before."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.colours: Colours = {}
        self._kept: OrderedDict[Path, QPixmap | None] = OrderedDict()
        self._wanted: OrderedDict[Path, bool] = OrderedDict()
        self._watch: Watch | None = None

    def get(self, path: Path, *, labels: bool = False) -> QPixmap | None:
        """Return the small picture of a file; None while it is not there.

        Parameters
        ----------
        path : Path
            The file.
        labels : bool
            Whether whole numbers in it are classes, shown in the colours of the model.

        Returns
        -------
        QPixmap or None
            None also for a file that cannot be read.
        """
        if path in self._kept:
            self._kept.move_to_end(path)
            return self._kept[path]
        self._wanted[path] = labels
        self._wanted.move_to_end(path)
        while len(self._wanted) > WANTED:
            self._wanted.popitem(last=False)
        self._make()
        return None

    def forget(self, path: Path | None = None) -> None:
        """Make a picture anew when it is asked for again; all without a path.

        Parameters
        ----------
        path : Path, optional
            The file.
        """
        if path is None:
            self._kept.clear()
        else:
            self._kept.pop(path, None)

    def stop(self) -> None:
        """Want nothing more."""
        self._wanted.clear()
        if self._watch is not None:
            self._watch.cancel()

    def _make(self) -> None:
        """Make the pictures that were asked for last, unless some are being made."""
        if self._watch is None and self._wanted:
            count = min(TOGETHER, len(self._wanted))
            wanted = [self._wanted.popitem() for _ in range(count)]
            self._watch = Watch(background(making, wanted, dict(self.colours)), self)
            self._watch.ended.connect(self._on_made)
            self._watch.start()

    def _on_made(self, outcome: Outcome) -> None:
        """Keep the new pictures, let the oldest go, and go on."""
        self._watch = None
        for path, pixels in (outcome.value or {}).items():
            self._kept[path] = None if pixels is None else _pixmap(pixels)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        self.ready.emit()
        self._make()


def making(wanted: Sequence[tuple[Path, bool]], colours: Colours, cancel: Cancel) -> Steps:
    """Make small pictures; a generator of no steps that returns them by file."""
    yield from ()
    made: dict[Path, NDArray[np.uint8] | None] = {}
    for path, labels in wanted:
        cancel.check()
        try:
            made[path] = small_picture(read_image(path), colours if labels else None)
        except Exception:  # a file that cannot be read has no picture; the run says why
            made[path] = None
    return made


def small_picture(image: ImageFile, colours: Colours | None = None) -> NDArray[np.uint8]:
    """Return the middle plane of an image, small, in colours.

    Parameters
    ----------
    image : ImageFile
        Read or opened; only what is shown is looked at.
    colours : mapping of int to (str or None), optional
        Colours of classes, for an image of whole numbers.

    Returns
    -------
    numpy.ndarray
        (rows, columns, 4) uint8.
    """
    plane = _plane(image)
    if plane.shape[-1] == 1:
        grey = plane[..., 0]
        if colours is not None and grey.dtype.kind in "ui":
            return _coloured(grey, colours)
        plane = np.repeat(_stretched(grey)[..., None], 3, axis=-1)
    shown = _stretched(plane[..., :4]) if plane.dtype != np.uint8 else plane[..., :4]
    if shown.shape[-1] == 2:
        shown = np.concatenate([shown, shown[..., :1]], axis=-1)
    if shown.shape[-1] == 3:
        shown = np.concatenate([shown, np.full_like(shown[..., :1], 255)], axis=-1)
    return np.ascontiguousarray(shown)


def _plane(image: ImageFile) -> NDArray[Any]:
    """Read every so many pixels of the middle plane, channels last."""
    data, ndim = image.data, len(image.data.shape)
    channel = ndim - 1 if image.rgb else image.channel_axis
    spatial = [axis for axis in range(ndim) if axis != channel][-2:]
    step = max(1, -(-max(data.shape[axis] for axis in spatial) // SIDE_PX))
    picked = tuple(
        slice(None, None, step) if axis in spatial
        else slice(0, 4) if axis == channel
        else data.shape[axis] // 2
        for axis in range(ndim)
    )  # fmt: skip
    plane = np.asarray(data[picked])
    if channel is None:
        return plane[..., None]
    before = sum(1 for axis in range(channel) if axis in spatial)
    return np.moveaxis(plane, before, -1)


def _stretched(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Bring values from their smallest to their largest to 0..255."""
    known = np.nan_to_num(values.astype(np.float32), posinf=0, neginf=0)
    low, high = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
    return ((known - low) * (255 / ((high - low) or 1))).astype(np.uint8)


def _coloured(labels: NDArray[Any], colours: Colours) -> NDArray[np.uint8]:
    """Show class ids in their colours; unknown ones in one of eight of their own."""
    shown = np.zeros((*labels.shape, 4), np.uint8)
    for number in np.unique(labels):
        text = colours.get(int(number))
        known = QColor(text) if text else QColor.fromHsv(int(number) * 47 % 360, 170, 230)
        if int(number) or text:
            shown[labels == number] = known.red(), known.green(), known.blue(), 255
    return shown


def _pixmap(pixels: NDArray[np.uint8]) -> QPixmap:
    """Return pixels as Qt draws them."""
    rows, columns, _ = pixels.shape
    image = QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGBA8888)
    return QPixmap.fromImage(image)
