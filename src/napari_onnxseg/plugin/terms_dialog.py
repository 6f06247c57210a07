"""Size and terms of a published model, to be accepted before its download."""

from __future__ import annotations

from html import escape

from qtpy.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from napari_onnxseg.cards.offers import Offer
from napari_onnxseg.plugin.model_words import megabytes


class TermsDialog(QDialog):
    """Asks whether to download a model.

    Parameters
    ----------
    offer : Offer
        The model.
    address : str
        Where it would be fetched from.
    kept_in : str
        Folder it would go to.
    """

    def __init__(
        self, offer: Offer, address: str, kept_in: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Download {offer.name}")
        self.setMinimumWidth(460)
        self.text = QLabel(_terms(offer, address, kept_in))
        self.text.setWordWrap(True)
        self.tick = QCheckBox("I will not use it, or what it gives, commercially")
        self.tick.setVisible(offer.non_commercial)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.accept_button = self.buttons.addButton(
            "Accept and download", QDialogButtonBox.ButtonRole.AcceptRole
        )
        self.accept_button.setEnabled(not offer.non_commercial)
        self.tick.toggled.connect(self.accept_button.setEnabled)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setSpacing(12)
        for part in (self.text, self.tick, self.buttons):
            column.addWidget(part)


def _terms(offer: Offer, address: str, kept_in: str) -> str:
    """Return the terms, one fact a paragraph."""
    forbidden = "<b>No commercial use.</b> " if offer.non_commercial else ""
    size = megabytes(offer.size_bytes) or "not known before the download"
    lines = (
        f"<b>{escape(offer.title)}</b>",
        escape(offer.description),
        f"Size: {size}",
        f"Licence: {forbidden}{escape(offer.licence)}",
        f"Made by: {escape(offer.origin)}",
        f"Fetched from: {escape(address)}",
        f"Kept in: {escape(kept_in)}",
    )
    return "".join(f"<p style='margin: 0 0 6px 0'>{line}</p>" for line in lines)
