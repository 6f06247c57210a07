"""Likely answers side by side, each with a small picture of what it leads to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QRect, QRectF, QSize, Qt, Signal
from qtpy.QtGui import (
    QColor,
    QImage,
    QKeyEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPalette,
    QPen,
    QPixmap,
)
from qtpy.QtWidgets import QAbstractButton, QButtonGroup, QGridLayout, QSizePolicy, QWidget

from napari_onnxseg.plugin.model_details import faint

COLUMNS = 3
PICTURE_PX = 58
"""Height of a small picture."""

ACCENT = "#5a78e0"
"""Blue that stands out on dark and on light themes."""


class Tile(QAbstractButton):
    """An answer: its name, and above it a picture once there is one.

    Parameters
    ----------
    name : str
        What is shown.
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(name)
        self.setAccessibleName(name)
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._picture: QPixmap | None = None
        self._roomy = False

    @property
    def has_picture(self) -> bool:
        """Whether a picture is shown."""
        return self._picture is not None

    def make_room(self, roomy: bool) -> None:
        """Leave room for a picture, or show the name alone.

        Parameters
        ----------
        roomy : bool
            Whether there will be one.
        """
        self._roomy = roomy
        self._picture = None
        self.updateGeometry()
        self.update()

    def show_picture(self, pixels: NDArray[np.uint8]) -> None:
        """Show what the answer leads to.

        Parameters
        ----------
        pixels : numpy.ndarray
            (H, W, 3) uint8.
        """
        data = np.ascontiguousarray(pixels)
        height, width, _ = data.shape
        image = QImage(data.data, width, height, 3 * width, QImage.Format.Format_RGB888)
        self._picture = QPixmap.fromImage(image.copy())
        self._roomy = True
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return room for the name, and the picture where there is one."""
        line = self.fontMetrics().height() + 8
        return QSize(64, line + PICTURE_PX + 4 if self._roomy else line)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what is needed in a narrow dock."""
        return self.sizeHint()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the arrow keys to all answers together."""
        if event.key() in _STEPS:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw picture and name, and a ring around the answer that is chosen."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        outer = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        text = self.palette().color(QPalette.ColorRole.WindowText)
        self._ground(painter, outer, text)
        line = self.fontMetrics().height() + 6
        if self._roomy:
            self._draw_picture(painter, self.rect().adjusted(4, 4, -4, -line), text)
        painter.setPen(text if self.isChecked() else QColor(faint(self)))
        name = self.rect().adjusted(4, self.height() - line - 1, -4, -1)
        words = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, name.width()
        )
        painter.drawText(name, Qt.AlignmentFlag.AlignCenter, words)
        painter.end()

    def _ground(self, painter: QPainter, outer: QRectF, text: QColor) -> None:
        """Draw the ground, and the ring of what is chosen or has the keyboard."""
        ground = QColor(text)
        ground.setAlphaF(0.12 if self.underMouse() or self.isChecked() else 0.06)
        painter.setBrush(ground)
        painter.setPen(Qt.PenStyle.NoPen)
        if self.isChecked():
            painter.setPen(QPen(QColor(ACCENT), 2))
        elif self.hasFocus():
            painter.setPen(QPen(QColor(faint(self)), 1, Qt.PenStyle.DotLine))
        painter.drawRoundedRect(outer, 4, 4)

    def _draw_picture(self, painter: QPainter, room: QRect, text: QColor) -> None:
        """Fill the room with the middle of the picture, or with a faint ground."""
        frame = QPainterPath()
        frame.addRoundedRect(QRectF(room), 2, 2)
        painter.save()
        painter.setClipPath(frame)
        if self._picture is None:
            ground = QColor(text)
            ground.setAlphaF(0.06)
            painter.fillRect(room, ground)
        else:
            wide = self._picture.scaled(
                room.size(),
                Qt.AspectRatioMode.KeepAspectRatioByExpanding,
                Qt.TransformationMode.SmoothTransformation,
            )
            left = (wide.width() - room.width()) // 2
            top = (wide.height() - room.height()) // 2
            painter.drawPixmap(room, wide, QRect(left, top, room.width(), room.height()))
        painter.restore()


class LookTiles(QWidget):
    """One of several answers; arrow keys move between them.

    Parameters
    ----------
    columns : int
        Answers side by side.
    """

    changed = Signal()
    """Emitted when another answer is chosen by the user."""

    def __init__(self, columns: int = COLUMNS, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns = columns
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self._on_clicked)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(6)
        self.tiles: list[Tile] = []

    @property
    def index(self) -> int:
        """Which answer is chosen."""
        return self._group.checkedId()

    def offer(self, names: Sequence[str], chosen: int) -> None:
        """Replace the answers without a signal.

        Parameters
        ----------
        names : sequence of str
            What is shown.
        chosen : int
            Which is chosen at first.
        """
        for tile in self.tiles:
            self._group.removeButton(tile)
            self._grid.removeWidget(tile)
            tile.setParent(None)
            tile.deleteLater()
        self.tiles = [Tile(name) for name in names]
        for number, tile in enumerate(self.tiles):
            self._group.addButton(tile, number)
            self._grid.addWidget(tile, number // self._columns, number % self._columns)
        self.select(chosen)

    def select(self, index: int) -> None:
        """Choose an answer without a signal.

        Parameters
        ----------
        index : int
            Which one.
        """
        self.tiles[index].setChecked(True)
        self._reach(index)

    def choose(self, index: int) -> None:
        """Choose an answer as the user would.

        Parameters
        ----------
        index : int
            Which one.
        """
        self.tiles[index].setChecked(True)
        self._on_clicked(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Choose the neighbour that an arrow key points to."""
        step = _STEPS.get(event.key())
        moved = self.index + (self._columns if step == "down" else 0)
        moved -= self._columns if step == "up" else 0
        moved += {"left": -1, "right": 1}.get(step or "", 0)
        if step is None:
            super().keyPressEvent(event)
        elif 0 <= moved < len(self.tiles) and moved != self.index:
            self.choose(moved)
            self.tiles[moved].setFocus(Qt.FocusReason.TabFocusReason)

    def _on_clicked(self, index: int) -> None:
        self._reach(index)
        self.changed.emit()

    def _reach(self, index: int) -> None:
        """Let the tabulator stop at the chosen answer alone."""
        for number, tile in enumerate(self.tiles):
            policy = Qt.FocusPolicy.StrongFocus if number == index else Qt.FocusPolicy.ClickFocus
            tile.setFocusPolicy(policy)


_STEPS = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
}
