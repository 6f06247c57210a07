"""The plan in words, the buttons under it, the bar, and what came out."""

from __future__ import annotations

import time
from html import escape

from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.plugin.keys import key_words
from napari_onnxseg.plugin.words import progress_words

ERROR_COLOUR = "#e5534b"
"""Red that reads on dark and on light themes."""

COUNTED = ("tiles", "rows")
"""Stages whose steps are about equally long, so that a bar means something."""


class Foot(QWidget):
    """The plan in words, the buttons, the bar and what came out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plan = sentences()
        self.run = QPushButton("Run")
        self.preview = QPushButton("Preview slice")
        self.cancel = QPushButton("Cancel")
        self.run.setToolTip(f"Run on the image ({key_words('run')}).")
        self.preview.setToolTip(f"Run on the slice that is shown ({key_words('preview')}).")
        self.cancel.setToolTip(f"Stop within a second; nothing is added ({key_words('cancel')}).")
        self.bar = QProgressBar()
        self.status = sentences()
        self._stage, self._since = "", 0.0
        self._lay_out()
        self.show_idle()

    def show_plan(self, text: str, *, wrong: bool = False) -> None:
        """Show what a run would do, or why there can be none.

        Parameters
        ----------
        text : str
            A few lines.
        wrong : bool
            Whether it is a fault, shown in red.
        """
        show_sentences(self.plan, text, wrong)

    def show_status(self, text: str, *, wrong: bool = False) -> None:
        """Show how the last run ended.

        Parameters
        ----------
        text : str
            A few lines.
        wrong : bool
            Whether it is a fault, shown in red.
        """
        show_sentences(self.status, text, wrong)

    def show_running(self) -> None:
        """Turn the buttons for a run in progress."""
        self._stage = ""
        self.bar.setRange(0, 0)
        self.bar.setVisible(True)
        self.cancel.setText("Cancel")
        self.cancel.setEnabled(True)
        self.show_status("Starting …")

    def show_cancelling(self) -> None:
        """Say that the wish to stop was heard."""
        self.cancel.setText("Cancelling …")
        self.cancel.setEnabled(False)

    def show_progress(self, progress: Progress) -> None:
        """Show tiles done and the time left.

        Parameters
        ----------
        progress : Progress
            The latest step.
        """
        if progress.stage != self._stage:
            self._stage, self._since = progress.stage, time.monotonic()
        counted = progress.stage in COUNTED
        self.bar.setRange(0, progress.total if counted else 0)
        self.bar.setValue(progress.done if counted else 0)
        self.show_status(progress_words(progress, time.monotonic() - self._since))

    def show_idle(self) -> None:
        """Turn the buttons for no run."""
        self.bar.setVisible(False)
        self.cancel.setText("Cancel")
        self.cancel.setEnabled(False)

    def _lay_out(self) -> None:
        """Put the parts under each other."""
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(8)
        keep = self.bar.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.bar.setSizePolicy(keep)
        buttons = QHBoxLayout()
        buttons.addWidget(self.run, 2)
        buttons.addWidget(self.preview, 2)
        buttons.addWidget(self.cancel, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(hairline())
        column.addWidget(self.plan)
        column.addLayout(buttons)
        column.addWidget(self.bar)
        column.addWidget(self.status)


def sentences() -> QLabel:
    """Make a label for sentences.

    Returns
    -------
    QLabel
        Wraps, and lets its text be copied.
    """
    label = QLabel()
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
    return label


def hairline() -> QFrame:
    """Make the hairline that napari draws in its docks.

    Returns
    -------
    QFrame
        As wide as there is room.
    """
    line = QFrame()
    line.setObjectName("QtCustomTitleBarLine")
    line.setFixedHeight(1)
    return line


def show_sentences(label: QLabel, text: str, wrong: bool) -> None:
    """Show a text, one paragraph a line.

    Parameters
    ----------
    label : QLabel
        From `sentences`.
    text : str
        A few lines.
    wrong : bool
        Whether it is a fault, shown in red.
    """
    lines = [escape(line[:1].upper() + line[1:]) for line in text.splitlines()]
    label.setText("".join(f"<p style='margin: 0 0 4px 0'>{line}</p>" for line in lines))
    label.setStyleSheet(f"color: {ERROR_COLOUR};" if wrong else "")
