"""Buttons for the selected model, the bar, and what came out."""

from __future__ import annotations

import time

from qtpy.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.plugin.foot import hairline, sentences, show_sentences
from napari_onnxseg.plugin.model_jobs import Jobs
from napari_onnxseg.plugin.model_words import megabytes
from napari_onnxseg.plugin.words import STAGES, duration_words, progress_words, seconds_left

BUTTONS = {
    "add": (
        "Add file…",
        "Copy a model, with its card and its weights, into your folder of models;\n"
        "nothing is overwritten, and the original is left alone.\n"
        "Dropping a model on the canvas does the same.",
    ),
    "download": ("Download…", "Show size and licence, then bring the model onto this computer."),
    "test": (
        "Test on view",
        "Try the model on what the canvas shows of the active image, up to about 1024 × 1024 px;\n"
        "intensities are measured there. The result is a new layer at its place.",
    ),
    "check": (
        "Check…",
        "Examine the file and try it out: what is wrong, what it means for the picture,\n"
        "how to export it again.",
    ),
    "edit": ("Edit card…", "Correct what is known of the model; used at once."),
    "unload": ("Unload", "Free the memory that the model takes; the next run loads it again."),
    "remove": ("Remove…", "Delete the model from your folder, after a question."),
}
"""Name, text and tip of each button."""

ROWS = (("add", "download", "remove"), ("test", "check", "edit", "unload"))
"""What can be done with the catalogue, and with the selected model."""

WORDS = {
    "copying": "Copying",
    "downloading": "Downloading",
    "checking": "Checking",
    "mending": "Mending; the copy is run beside the original",
    "saving": "Saving the card",
}
"""What is being done, where it is no run of a model."""


class ModelsFoot(QWidget):
    """Buttons, bar and status of the models widget."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons = {name: _button(*texts) for name, texts in BUTTONS.items()}
        self.bar = QProgressBar()
        self.cancel = QPushButton("Cancel")
        self.status = sentences()
        self._stage, self._since = "", 0.0
        self._lay_out()

    def show_status(self, text: str, *, wrong: bool = False) -> None:
        """Show how something ended.

        Parameters
        ----------
        text : str
            A few lines.
        wrong : bool
            Whether it is a fault, shown in red.
        """
        show_sentences(self.status, text, wrong)

    def show_jobs(self, jobs: Jobs) -> None:
        """Show whether something is in progress.

        Parameters
        ----------
        jobs : Jobs
            What may be.
        """
        self.bar.setVisible(jobs.is_busy)
        self.cancel.setVisible(jobs.is_busy and jobs.can_cancel)
        self.cancel.setEnabled(not jobs.is_cancelling)
        self.cancel.setText("Cancelling …" if jobs.is_cancelling else "Cancel")
        if jobs.is_busy and not jobs.is_cancelling:
            self._stage = ""
            self.bar.setRange(0, 0)
            self.show_status(f"{jobs.title} …")

    def show_progress(self, progress: Progress) -> None:
        """Show how far it is, and the time left.

        Parameters
        ----------
        progress : Progress
            The latest step.
        """
        if progress.stage != self._stage:
            self._stage, self._since = progress.stage, time.monotonic()
        counted = progress.total > 1 and progress.stage not in STAGES
        self.bar.setRange(0, 1000 if counted else 0)
        self.bar.setValue(round(1000 * progress.done / progress.total) if counted else 0)
        self.show_status(_step_words(progress, time.monotonic() - self._since))

    def _lay_out(self) -> None:
        """Put the parts under each other."""
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(8)
        self.bar.setVisible(False)
        self.cancel.setVisible(False)
        rows = [_row([self.buttons[name] for name in names]) for names in ROWS]
        running = QHBoxLayout()
        running.addWidget(self.bar, 1)
        running.addWidget(self.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(hairline())
        for row in rows:
            column.addLayout(row)
        column.addLayout(running)
        column.addWidget(self.status)


def _button(text: str, tip: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tip)
    return button


def _row(buttons: list[QPushButton]) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(6)
    for button in buttons:
        row.addWidget(button)
    return row


def _step_words(progress: Progress, elapsed_s: float) -> str:
    """Say how far a thing is."""
    if progress.stage not in WORDS:
        return progress_words(progress, elapsed_s)
    words = WORDS[progress.stage]
    if progress.total <= 1:
        return f"{words} …" if not progress.done else f"{words}: {megabytes(progress.done)}"
    left = seconds_left(progress, elapsed_s)
    tail = "" if left is None else f" · {duration_words(left)} left"
    return f"{words}: {megabytes(progress.done)} of {megabytes(progress.total)}{tail}"
