"""Word of changes in the catalogue, for every widget that lists models."""

from __future__ import annotations

from qtpy.QtCore import QObject, Signal


class Catalogue(QObject):
    """Tells when models were added, removed or described anew."""

    changed = Signal(str)
    """Emitted with the name of the model that is different now."""

    arrived = Signal(str)
    """Emitted with the name of a model that was brought from outside, to be looked at next."""


CATALOGUE = Catalogue()
"""The one of this process."""
