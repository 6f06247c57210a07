"""What is known of the selected model, as text that can be copied."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from qtpy.QtCore import Qt
from qtpy.QtGui import QColor, QPalette
from qtpy.QtWidgets import QSizePolicy, QTextBrowser, QWidget

from napari_onnxseg.plugin.model_words import Row

GUESS_COLOUR = "#b87a00"
"""Amber that reads on dark and on light themes."""

GROUND_DARK, GROUND_LIGHT = 38, 233
"""About the grey of napari's themes."""


class ModelDetails(QTextBrowser):
    """Title, description, facts with their origin, and notes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setStyleSheet("QTextBrowser { background: transparent; }")
        self.setMinimumHeight(120)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        self.document().setDocumentMargin(2)

    def show_model(
        self, title: str, description: str, rows: Sequence[Row] = (), notes: Sequence[str] = ()
    ) -> None:
        """Show a model.

        Parameters
        ----------
        title, description : str
            Plain text.
        rows : sequence of Row
            Facts.
        notes : sequence of str
            Sentences that a user should read.
        """
        about = f"<p style='margin: 2px 0 8px 0'>{escape(description)}</p>" if description else ""
        table = "".join(map(self._row, rows))
        warned = "".join(f"<p style='margin: 6px 0 0 0'>{self._guess(note)}</p>" for note in notes)
        self.setHtml(
            f"<p style='margin: 0'><b>{escape(title)}</b></p>{about}"
            "<table cellspacing='0' cellpadding='0' style='margin-top: 6px'>"
            f"{table}</table>{warned}"
        )

    def _row(self, row: Row) -> str:
        """Return label, text and origin, the origin fainter or as a guess."""
        origin = ""
        if row.origin:
            words = row.origin.replace(" ", "&nbsp;")
            shown = self._guess(words, html=True) if row.guess else self._faint(words)
            origin = f" <span style='white-space: nowrap'>{shown}</span>"
        return (
            f"<tr><td style='padding: 0 10px 4px 0'>{self._faint(row.label)}</td>"
            f"<td style='padding: 0 0 4px 0'>{row.text}{origin}</td></tr>"
        )

    def _faint(self, words: str) -> str:
        return f"<span style='color: {faint(self)}'>{words}</span>"

    def _guess(self, words: str, *, html: bool = False) -> str:
        text = words if html else escape(words)
        return f"<span style='color: {GUESS_COLOUR}'>{text}</span>"


def faint(widget: QWidget) -> str:
    """Return a colour between text and ground of a widget's theme.

    Parameters
    ----------
    widget : QWidget
        Any.

    Returns
    -------
    str
        ``#rrggbb``.
    """
    text = widget.palette().color(QPalette.ColorRole.Text)
    ground = GROUND_DARK if text.lightness() > 127 else GROUND_LIGHT
    return QColor(*(round(0.62 * part + 0.38 * ground) for part in text.getRgb()[:3])).name()
