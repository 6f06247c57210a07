"""The models of the catalogue, two lines each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from qtpy.QtCore import QModelIndex, QRect, QSize, Qt, Signal
from qtpy.QtGui import QColor, QFont, QFontMetrics, QPainter, QResizeEvent
from qtpy.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from napari_onnxseg.cards.card import ClassInfo, ModelCard, Task
from napari_onnxseg.cards.catalog import ModelSummary
from napari_onnxseg.plugin.choosers import quiet
from napari_onnxseg.plugin.model_details import faint
from napari_onnxseg.plugin.model_words import megabytes, summary_line
from napari_onnxseg.runtime.session import devices_of

SUMMARY, LINE, SIZE = (Qt.ItemDataRole.UserRole + number for number in range(3))
"""What an item holds besides its title: the summary, the second line, the size."""

HEADERS = {False: "On this computer", True: "To download"}
PAD_X, PAD_Y = 8, 5

CHIPS, CHIP_PX, CHIP_STEP = 8, 9, 12
"""Colours shown of a model at most, side of each, and from one to the next."""


class ModelsList(QListWidget):
    """Models on this computer, then those that can be brought there."""

    chosen = Signal(object)
    """Emitted with the `ModelSummary` when another one is selected, None for none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._known: dict[Path, tuple[Task, tuple[ClassInfo, ...]]] = {}
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setStyleSheet("QListWidget { background: transparent; }")
        self.setItemDelegate(_TwoLines(self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.setMinimumHeight(130)
        self.currentItemChanged.connect(self._on_current)

    @property
    def summary(self) -> ModelSummary | None:
        """The selected model."""
        item = self.currentItem()
        return None if item is None else item.data(SUMMARY)

    @property
    def names(self) -> list[str]:
        """The models, in the order shown."""
        return [summary.name for summary in self._summaries()]

    def offer(self, summaries: Sequence[ModelSummary], chosen: str | None = None) -> None:
        """Replace what is listed, and say what is selected then.

        Parameters
        ----------
        summaries : sequence of ModelSummary
            Those on this computer first.
        chosen : str, optional
            Name of the model to select; the one selected before when left out, and the first
            when that is gone.
        """
        before = chosen or (self.summary.name if self.summary else "")
        with quiet(self):
            self.clear()
            for absent, title in HEADERS.items():
                group = [s for s in summaries if (s.source == "downloadable") is absent]
                if group:
                    self.addItem(_header(title))
                for summary in group:
                    self.addItem(_entry(self._as_known(summary)))
        if not self.choose(before) and summaries:
            self.choose(summaries[0].name)
        if not summaries:
            self.chosen.emit(None)

    def choose(self, name: str) -> bool:
        """Select a model.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        bool
            Whether it is listed.
        """
        for row in range(self.count()):
            summary = self.item(row).data(SUMMARY)
            if summary is not None and summary.name == name:
                self.setCurrentRow(row)
                self.scrollToItem(self.item(row))
                return True
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the selected model in sight when what lies below takes more room."""
        super().resizeEvent(event)
        if self.currentItem() is not None:
            self.scrollToItem(self.currentItem())

    def show_card(self, card: ModelCard) -> None:
        """Show what the selected model turned out to be, which no card of it may say.

        Parameters
        ----------
        card : ModelCard
            As it was read.
        """
        item = self.currentItem()
        if item is not None:
            self._known[item.data(SUMMARY).path] = (card.task, card.classes)
            item.setData(SUMMARY, self._as_known(item.data(SUMMARY)))
            item.setData(LINE, _line(item.data(SUMMARY)))

    def _as_known(self, summary: ModelSummary) -> ModelSummary:
        """Add what was seen when the model was read."""
        task, classes = self._known.get(summary.path, (summary.task, summary.classes))
        return replace(summary, task=task, classes=classes)

    def show_states(self) -> None:
        """Say anew which models are loaded."""
        for row in range(self.count()):
            item = self.item(row)
            if item.data(SUMMARY) is not None:
                item.setData(LINE, _line(item.data(SUMMARY)))

    def _summaries(self) -> list[ModelSummary]:
        found = (self.item(row).data(SUMMARY) for row in range(self.count()))
        return [summary for summary in found if summary is not None]

    def _on_current(self, item: QListWidgetItem | None, *_: object) -> None:
        self.chosen.emit(None if item is None else item.data(SUMMARY))


class _TwoLines(QStyledItemDelegate):
    """Draws the title with the size at its right, and a fainter line below."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        """Draw an entry, or the title of a group."""
        painter.save()
        area = option.rect.adjusted(PAD_X, PAD_Y, -PAD_X, -PAD_Y)
        dim = QColor(faint(self.parent()))
        if index.data(SUMMARY) is None:
            painter.setPen(dim)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom
            painter.drawText(area, flags, index.data())
        else:
            self._ground(painter, option)
            self._lines(painter, area, index, dim)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # noqa: N802 - Qt's name
        """Return room for two lines, or one for the title of a group."""
        height = QFontMetrics(option.font).height()
        lines = 1 if index.data(SUMMARY) is None else 2
        return QSize(120, lines * height + 2 * PAD_Y)

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        """Draw the ground of the entry that is selected or under the pointer."""
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if not selected and not option.state & QStyle.StateFlag.State_MouseOver:
            return
        colour = QColor(self.parent().palette().color(self.parent().palette().ColorRole.Text))
        colour.setAlphaF(0.16 if selected else 0.06)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(option.rect.adjusted(0, 1, 0, -1), 3, 3)

    def _chips(self, painter: QPainter, area: QRect, base: int, colours: Sequence[str]) -> None:
        """Draw the colours of the classes at the right of the second line."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for number, colour in enumerate(reversed(colours)):
            left = area.right() - CHIP_STEP * number - CHIP_PX
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(left, base - CHIP_PX, CHIP_PX, CHIP_PX, 2, 2)
        painter.restore()

    def _lines(self, painter: QPainter, area: QRect, index: QModelIndex, dim: QColor) -> None:
        """Draw title, size and second line, shortened where there is no room."""
        bold = QFont(painter.font())
        bold.setBold(True)
        plain, metrics = painter.font(), painter.fontMetrics()
        size = index.data(SIZE)
        room = area.width() - (metrics.horizontalAdvance(size) + PAD_X if size else 0)
        top = area.top() + metrics.ascent()
        painter.setPen(self.parent().palette().color(self.parent().palette().ColorRole.Text))
        painter.setFont(bold)
        painter.drawText(area.left(), top, _elided(QFontMetrics(bold), index.data(), room))
        painter.setFont(plain)
        painter.setPen(dim)
        painter.drawText(area.right() - metrics.horizontalAdvance(size), top, size)
        chips = [entry.colour for entry in index.data(SUMMARY).classes if entry.colour]
        self._chips(painter, area, top + metrics.height(), chips[:CHIPS])
        room = area.width() - CHIP_STEP * len(chips[:CHIPS]) - (PAD_X if chips else 0)
        line = _elided(metrics, index.data(LINE), room)
        painter.drawText(area.left(), top + metrics.height(), line)


def _header(title: str) -> QListWidgetItem:
    item = QListWidgetItem(title)
    item.setFlags(Qt.ItemFlag.NoItemFlags)
    return item


def _entry(summary: ModelSummary) -> QListWidgetItem:
    item = QListWidgetItem(summary.title or summary.name)
    item.setData(SUMMARY, summary)
    item.setData(LINE, _line(summary))
    item.setData(SIZE, megabytes(summary.size_bytes))
    names = [entry.name for entry in summary.classes if entry.colour]
    item.setToolTip("\n".join([summary.name, *names[:CHIPS]]))
    return item


def _line(summary: ModelSummary) -> str:
    return summary_line(summary, devices_of(summary.path))


def _elided(metrics: QFontMetrics, text: str, width: int) -> str:
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
