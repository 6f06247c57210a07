"""How class scores become separate objects, as fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QDoubleSpinBox, QSpinBox, QWidget

from napari_onnxseg.cards.card import ClassInfo, ObjectRule
from napari_onnxseg.plugin.choosers import Chooser
from napari_onnxseg.plugin.forms import form, on_change, show_row

METHODS = {None: "none", "components": "connected areas", "watershed": "watershed from seeds"}


class ObjectsForm(QWidget):
    """A method, the classes that it uses, and its limits.

    Parameters
    ----------
    given : ObjectRule or None
        What to begin with; None for a model that gives no objects.
    classes : sequence of ClassInfo
        Those of the model.
    """

    changed = Signal()
    """Emitted when any of it changes."""

    def __init__(
        self,
        given: ObjectRule | None,
        classes: Sequence[ClassInfo],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._given = given or ObjectRule("components")
        ids, names = [c.id for c in classes], [c.name for c in classes]
        self.method, self.inside, self.border = Chooser(), Chooser(), Chooser()
        self.method.offer(list(METHODS), list(METHODS.values()), given.method if given else None)
        self.inside.offer(ids, names, self._given.inside)
        self.border.offer([None, *ids], ["none", *names], self._given.border)
        self.foreground = _part(self._given.foreground_threshold)
        self.seeds = _part(self._given.seed_threshold)
        self.area = QSpinBox()
        self.area.setRange(0, 10_000_000)
        self.area.setSuffix(" px")
        self.area.setValue(self._given.min_area_px)
        self._lay_out()
        fields = (self.inside, self.border, self.foreground, self.seeds, self.area)
        on_change((self.method, *fields), self.changed)
        self.method.currentIndexChanged.connect(self._on_method)
        self._on_method()

    @property
    def rule(self) -> ObjectRule | None:
        """What the fields say; None for a model that gives no objects."""
        if self.method.value is None:
            return None
        return replace(
            self._given,
            method=self.method.value,
            inside=self.inside.value,
            border=self.border.value,
            foreground_threshold=round(self.foreground.value(), 4),
            seed_threshold=round(self.seeds.value(), 4),
            min_area_px=self.area.value(),
        )

    def _lay_out(self) -> None:
        self._rows = form()
        self.setLayout(self._rows)
        self._rows.addRow(self.method)
        self._rows.addRow("Inside", self.inside)
        self._rows.addRow("Border", self.border)
        self._rows.addRow("Foreground above", self.foreground)
        self._rows.addRow("Seeds above", self.seeds)
        self._rows.addRow("At least", self.area)

    def _on_method(self, *_: object) -> None:
        """Show the fields that the method needs."""
        method = self.method.value
        for field in (self.inside, self.border, self.foreground, self.area):
            show_row(self._rows, field, method is not None)
        show_row(self._rows, self.seeds, method == "watershed")


def _part(value: float) -> QDoubleSpinBox:
    spin = QDoubleSpinBox()
    spin.setRange(0, 1)
    spin.setDecimals(3)
    spin.setSingleStep(0.05)
    spin.setValue(value)
    spin.setToolTip("Probability, 0 to 1.")
    return spin
