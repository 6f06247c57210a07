"""Window with the verdict on a model."""

from __future__ import annotations

from qtpy.QtCore import Qt, Signal
from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import QDialog, QHBoxLayout, QPushButton, QTextBrowser, QVBoxLayout, QWidget

from napari_onnxseg.graph.findings import Report
from napari_onnxseg.plugin.report_words import can_mend, report_html, report_text


class ReportWindow(QDialog):
    """Findings in words, to read, to copy, and to have mended.

    Parameters
    ----------
    report : Report
        The findings.
    title : str
        What the model is called.
    """

    mend = Signal()
    """Emitted when a mended copy is asked for."""

    def __init__(self, report: Report, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"Check of {title}")
        self.resize(640, 560)
        self._report = report
        self.text = QTextBrowser()
        self.text.setHtml(report_html(report))
        self.mend_button = QPushButton("Mend…")
        self.mend_button.setToolTip("Write a mended copy; the original is never changed.")
        self.mend_button.setVisible(can_mend(report))
        self.copy_button = QPushButton("Copy")
        self.copy_button.setToolTip("Copy the report as text.")
        self.close_button = QPushButton("Close")
        self._lay_out()
        self.mend_button.clicked.connect(self._on_mend)
        self.copy_button.clicked.connect(self.copy)
        self.close_button.clicked.connect(self.close)

    def copy(self) -> None:
        """Put the report on the clipboard, as text."""
        QGuiApplication.clipboard().setText(report_text(self._report))

    def _on_mend(self) -> None:
        """Close, and ask for a mended copy."""
        self.mend.emit()
        self.close()

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.addWidget(self.mend_button)
        buttons.addStretch()
        buttons.addWidget(self.copy_button)
        buttons.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.addWidget(self.text)
        column.addLayout(buttons)
