"""Rows of labels and fields, and what is folded away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qtpy.QtCore import QObject, Qt, QTimer
from qtpy.QtGui import QIcon
from qtpy.QtWidgets import QFormLayout, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget
from superqt import QCollapsible


def form() -> QFormLayout:
    """Make a form as all our sections use it.

    Returns
    -------
    QFormLayout
        Labels on the left, fields as wide as the dock.
    """
    layout = QFormLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setHorizontalSpacing(10)
    layout.setVerticalSpacing(6)
    layout.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return layout


def show_row(layout: QFormLayout, field: QWidget, visible: bool) -> None:
    """Show or hide a field and its label.

    Parameters
    ----------
    layout : QFormLayout
        Where the field is.
    field : QWidget
        The field.
    visible : bool
        Whether to show it.
    """
    field.setVisible(visible)
    label = layout.labelForField(field)
    if label is not None:
        label.setVisible(visible)


def on_change(widgets: Sequence[QWidget], changed: Any) -> None:
    """Emit a signal when any of the widgets changes.

    Parameters
    ----------
    widgets : sequence of QWidget
        Drop-downs, numbers, texts and boxes.
    changed : SignalInstance
        Signal without arguments.
    """
    signals = ("currentIndexChanged", "valueChanged", "textChanged", "toggled", "changed")
    for widget in widgets:
        name = next(name for name in signals if hasattr(widget, name))
        getattr(widget, name).connect(changed)


def side_by_side(*parts: QWidget, stretch: bool = False) -> QWidget:
    """Put widgets side by side in one row of a form.

    Parameters
    ----------
    *parts : QWidget
        From left to right.
    stretch : bool
        Leave the space at the end empty instead of widening the parts.

    Returns
    -------
    QWidget
        Holds them.
    """
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        row.addWidget(part)
    if stretch:
        row.addStretch()
    return holder


def folded(title: str, *sections: QWidget) -> QCollapsible:
    """Fold sections away under a title.

    Parameters
    ----------
    title : str
        What is shown.
    *sections : QWidget
        Forms.

    Returns
    -------
    QCollapsible
        Closed.
    """
    fold = QCollapsible(title)
    fold.setDuration(0)
    fold.setExpandedIcon(QIcon())
    fold.setCollapsedIcon(QIcon())
    fold.toggled.connect(lambda is_open: fold.setText(f"{'▾' if is_open else '▸'}  {title}"))
    fold.toggleButton().setStyleSheet(
        "QPushButton { background: transparent; border: none; text-align: left; padding: 4px 0; }"
    )
    for section in sections:
        fold.addWidget(section)
    fold.layout().setContentsMargins(0, 0, 0, 0)
    fold.content().layout().setContentsMargins(0, 0, 0, 0)
    fold.collapse(animate=False)
    fold.setText(f"▸  {title}")
    return fold


def align(widget: QWidget) -> None:
    """Make the labels of all forms in a widget equally wide.

    Parameters
    ----------
    widget : QWidget
        Holds forms that stand under each other.
    """
    labels = [label for rows in widget.findChildren(QFormLayout) for label in _labels(rows)]
    width = max((label.sizeHint().width() for label in labels), default=0)
    for label in labels:
        label.setMinimumWidth(width)


def _labels(rows: QFormLayout) -> list[QWidget]:
    """Return the labels of a form."""
    items = [rows.itemAt(row, QFormLayout.ItemRole.LabelRole) for row in range(rows.rowCount())]
    return [item.widget() for item in items if item is not None]


def scrolled(body: QWidget) -> QScrollArea:
    """Let a low dock scroll instead of growing.

    Parameters
    ----------
    body : QWidget
        What may be too high.

    Returns
    -------
    QScrollArea
        Holds it, without a frame.
    """
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(body)
    return area


def on_top(part: QWidget) -> QWidget:
    """Keep a part at the top of whatever room there is.

    Parameters
    ----------
    part : QWidget
        As high as it needs to be.

    Returns
    -------
    QWidget
        Holds it.
    """
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, 0, 6, 0)
    column.addWidget(part)
    column.addStretch(1)
    return holder


def later(owner: QObject, wait_ms: int, action: Callable[[], None]) -> QTimer:
    """Make a timer that does something once, some time after its last start.

    Parameters
    ----------
    owner : QObject
        With which the timer goes.
    wait_ms : int
        Time after the last start, in milliseconds.
    action : callable
        What to do.

    Returns
    -------
    QTimer
        Not started.
    """
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.setInterval(wait_ms)
    timer.timeout.connect(action)
    return timer
