"""The list of images of a folder: two small pictures, a name, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qtpy.QtCore import QAbstractListModel, QModelIndex, QRect, QSize, Qt, Signal
from qtpy.QtGui import QColor, QPainter, QPalette
from qtpy.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from napari_onnxseg.pipeline.folder_outcome import DONE_BEFORE, ImageOutcome
from napari_onnxseg.pipeline.folder_task import FolderStep
from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.plugin.foot import ERROR_COLOUR
from napari_onnxseg.plugin.thumbnails import Thumbnails
from napari_onnxseg.plugin.words import duration_words

PICTURE_PX = 40
"""Side of the small pictures."""

GAP_PX = 6
ROW_PX = PICTURE_PX + 2 * GAP_PX
DONE_COLOUR = "#3fb950"
BUSY_COLOUR = "#4c9be8"
QUIET = 0.62
"""Opacity of what is said under a name."""


@dataclass(frozen=True, slots=True)
class Row:
    """One image of the list.

    Parameters
    ----------
    source : Path
        The image.
    below : str
        Its name, seen from the folder that was chosen.
    status : str
        ``"ready"``, ``"waiting"``, ``"running"``, or as an `ImageOutcome` says.
    words : str
        What became of it.
    result : Path or None
        Its first result.
    """

    source: Path
    below: str
    status: str = "ready"
    words: str = "ready"
    result: Path | None = None


class FolderRows(QAbstractListModel):
    """All images of a run, however many; pictures are made of those in sight only."""

    repainted = Signal()
    """Emitted when a row reads differently; `dataChanged` would lay out all rows anew."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: list[Row] = []
        self._places: dict[Path, int] = {}
        self._running: set[Path] = set()

    def rowCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802 - Qt's name
        """Return how many images there are."""
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return an image's row for the painter, its name, or all about it."""
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{row.below}: {row.words}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{row.source}\n{row.words}"
        return None

    def offer(self, rows: Sequence[Row]) -> None:
        """Show other images.

        Parameters
        ----------
        rows : sequence of Row
            In their order.
        """
        self.beginResetModel()
        self.rows = list(rows)
        self._places = {row.source: number for number, row in enumerate(self.rows)}
        self._running = set()
        self.endResetModel()

    def wait(self) -> None:
        """Let all images wait for a run that begins."""
        self.offer([replace(row, status="waiting", words="waiting") for row in self.rows])

    def show_step(self, step: FolderStep) -> None:
        """Show how far the images are that are being worked on.

        Parameters
        ----------
        step : FolderStep
            The latest.
        """
        now = dict(step.running)
        for source in self._running - set(now):
            self._change(source, "waiting", "waiting", only=("running",))
        for source, progress in now.items():  # of one that has ended meanwhile, the end stays
            words = _progress_words(progress)
            self._change(source, "running", words, only=("waiting", "running"))
        self._running = set(now)

    def show_outcome(self, outcome: ImageOutcome) -> None:
        """Show what became of an image.

        Parameters
        ----------
        outcome : ImageOutcome
            Its end.
        """
        self._running.discard(outcome.source)
        result = next(iter(outcome.outputs.values()), None)
        status = "done" if outcome.error == DONE_BEFORE else outcome.status
        self._change(outcome.source, status, _outcome_words(outcome), result=result)

    def _change(
        self,
        source: Path,
        status: str,
        words: str,
        *,
        only: tuple[str, ...] = (),
        result: Path | None = None,
    ) -> None:
        """Change one row, when it is of a status that is meant."""
        number = self._places.get(source)
        if number is None or (only and self.rows[number].status not in only):
            return
        row = self.rows[number]
        self.rows[number] = replace(row, status=status, words=words, result=result or row.result)
        self.repainted.emit()


class RowPainter(QStyledItemDelegate):
    """Draws image and result side by side, the name, and what became of it.

    Parameters
    ----------
    pictures : Thumbnails
        The small pictures.
    """

    def __init__(self, pictures: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pictures = pictures

    def sizeHint(  # noqa: N802 - Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex
    ) -> QSize:
        """Return one height for all rows."""
        return QSize(option.rect.width(), ROW_PX)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        """Draw one row."""
        row: Row = index.data(Qt.ItemDataRole.UserRole)
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, option.palette.brush(QPalette.ColorRole.Highlight))
        left, top = option.rect.left() + GAP_PX, option.rect.top() + GAP_PX
        self._picture(painter, QRect(left, top, PICTURE_PX, PICTURE_PX), row.source)
        left += PICTURE_PX + GAP_PX
        result = row.result if row.status == "done" else None
        self._picture(painter, QRect(left, top, PICTURE_PX, PICTURE_PX), result, labels=True)
        left += PICTURE_PX + 2 * GAP_PX
        room = QRect(left, top, option.rect.right() - left - GAP_PX, PICTURE_PX)
        self._words(painter, option, room, row)
        painter.restore()

    def _picture(
        self, painter: QPainter, frame: QRect, path: Path | None, labels: bool = False
    ) -> None:
        """Draw a small picture in the middle of its frame, or the empty frame."""
        painter.fillRect(frame, QColor(128, 128, 128, 40))
        picture = None if path is None else self._pictures.get(path, labels=labels)
        if picture is not None and not picture.isNull():
            size = picture.size().scaled(frame.size(), Qt.AspectRatioMode.KeepAspectRatio)
            inner = QRect(frame.topLeft(), size)
            inner.moveCenter(frame.center())
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawPixmap(inner, picture)

    def _words(
        self, painter: QPainter, option: QStyleOptionViewItem, room: QRect, row: Row
    ) -> None:
        """Write the name, and under it what became of the image."""
        half = room.height() // 2
        upper = QRect(room.left(), room.top(), room.width(), half)
        lower = QRect(room.left(), room.top() + half, room.width(), half)
        metrics, elide = option.fontMetrics, Qt.TextElideMode
        colour = option.palette.color(QPalette.ColorRole.Text)
        painter.setPen(colour)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(
            upper, middle, metrics.elidedText(row.below, elide.ElideMiddle, upper.width())
        )
        painter.setPen(_status_colour(row.status, colour))
        painter.drawText(
            lower, middle, metrics.elidedText(row.words, elide.ElideRight, lower.width())
        )


def row_list(rows: FolderRows, pictures: Thumbnails) -> QListView:
    """Make the list of images.

    Parameters
    ----------
    rows : FolderRows
        What it shows.
    pictures : Thumbnails
        The small pictures.

    Returns
    -------
    QListView
        As fast for 20,000 images as for 20.
    """
    view = QListView()
    view.setModel(rows)
    view.setItemDelegate(RowPainter(pictures, view))
    view.setUniformItemSizes(True)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setMinimumHeight(2 * ROW_PX)
    view.setToolTip("Double click opens an image with its result.")
    pictures.ready.connect(view.viewport().update)
    rows.repainted.connect(view.viewport().update)
    return view


def _status_colour(status: str, text: QColor) -> QColor:
    """Return the colour of what is said under a name."""
    named = {"done": DONE_COLOUR, "failed": ERROR_COLOUR, "running": BUSY_COLOUR}.get(status)
    if named is not None:
        return QColor(named)
    quiet = QColor(text)
    quiet.setAlphaF(QUIET)
    return quiet


def _progress_words(progress: Progress) -> str:
    """Say how far one image is."""
    if progress.stage != "tiles" or progress.total < 2:
        return f"{progress.stage} …"
    return f"{100 * progress.done // max(progress.total, 1)} % of {progress.total} tiles"


def _outcome_words(outcome: ImageOutcome) -> str:
    """Say what became of an image, in a few words."""
    total = outcome.seconds.get("total")
    if outcome.status == "done" and total is not None:
        return f"done in {duration_words(total)} · {outcome.device}"
    words = outcome.error.removeprefix(f"'{outcome.source}' ")
    return words.replace(str(outcome.source), outcome.source.name) or outcome.status
