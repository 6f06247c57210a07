"""Which intensities a network was trained on, as fields."""

from __future__ import annotations

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QCheckBox, QLabel, QLineEdit, QWidget

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.plugin.choosers import Chooser
from napari_onnxseg.plugin.fields import NumberField
from napari_onnxseg.plugin.forms import form, on_change, show_row, side_by_side
from napari_onnxseg.prepare.normalize import Normalization

METHODS: dict[str, str] = {
    "unit": "0 to 1 by full range",
    "dtype_max": "0 to 1 by the dtype",
    "divide": "divided by a number",
    "symmetric": "−1 to 1 by full range",
    "mean_std": "mean and deviation of the training set",
    "zero_mean_unit_variance": "image mean 0, deviation 1",
    "min_max": "image minimum to maximum",
    "percentile": "image percentiles",
    "window": "window of raw values",
    "none": "raw values",
}
AS_DESCRIBED = "as the model describes it"
"""What a chain of steps is called: it can be chosen, and is not edited here."""

CLIPPABLE = ("unit", "divide", "dtype_max", "min_max", "percentile")
MEASURED = ("zero_mean_unit_variance", "min_max", "percentile")


class NormalizationForm(QWidget):
    """A method, and the numbers that it needs.

    Parameters
    ----------
    given : Normalization
        What to begin with.
    """

    changed = Signal()
    """Emitted when any of it changes."""

    def __init__(self, given: Normalization, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._given = given
        self.method = Chooser()
        offered = METHODS | ({given.method: AS_DESCRIBED} if given.method not in METHODS else {})
        self.method.offer(list(offered), list(offered.values()), given.method)
        self.described = QLabel(given.words())
        self.described.setWordWrap(True)
        self.scale = _number(given.scale, "Divisor, in raw values.")
        self.low, self.high = _number(given.low, "Goes to 0."), _number(given.high, "Goes to 1.")
        self.bounds = side_by_side(self.low, self.high)
        self.mean = _numbers(given.mean, "One a channel, of intensities from 0 to 1.")
        self.std = _numbers(given.std, "One a channel, of intensities from 0 to 1.")
        self.clip = QCheckBox("clipped to 0..1")
        self.clip.setChecked(given.clip)
        self.per_channel = QCheckBox("each channel by itself")
        self.per_channel.setChecked(given.per_channel)
        self._lay_out()
        fields = (self.scale, self.low, self.high, self.mean, self.std, self.clip, self.per_channel)
        on_change((self.method, *fields), self.changed)
        self.method.currentIndexChanged.connect(self._on_method)
        self._on_method()

    @property
    def normalization(self) -> Normalization:
        """What the fields say.

        Raises
        ------
        ChoiceError
            When a text is no number, or missing.
        ModelError
            When the numbers make no sense.
        """
        method = self.method.value
        if method not in METHODS:
            return self._given
        bounds = method in ("percentile", "window")
        return Normalization(
            method,
            scale=_needed(self.scale, "divisor") if method == "divide" else 255.0,
            mean=_list(self.mean) if method == "mean_std" else (),
            std=_list(self.std) if method == "mean_std" else (),
            low=_needed(self.low, "low bound") if bounds else 0.0,
            high=_needed(self.high, "high bound") if bounds else 100.0,
            clip=self.clip.isChecked() and method in CLIPPABLE,
            per_channel=self.per_channel.isChecked() and method in MEASURED,
            eps=self._given.eps if method == self._given.method else 0.0,
        )

    def _lay_out(self) -> None:
        self._rows = form()
        self.setLayout(self._rows)
        self._rows.addRow(self.method)
        self._rows.addRow(self.described)
        self._rows.addRow("Divisor", self.scale)
        self._rows.addRow("From, to", self.bounds)
        self._rows.addRow("Mean", self.mean)
        self._rows.addRow("Deviation", self.std)
        self._rows.addRow(self.clip)
        self._rows.addRow(self.per_channel)

    def _on_method(self, *_: object) -> None:
        """Show the fields that the method needs."""
        method = self.method.value
        self.described.setVisible(method not in METHODS)
        show_row(self._rows, self.scale, method == "divide")
        show_row(self._rows, self.bounds, method in ("percentile", "window"))
        show_row(self._rows, self.mean, method == "mean_std")
        show_row(self._rows, self.std, method == "mean_std")
        self.clip.setVisible(method in CLIPPABLE)
        self.per_channel.setVisible(method in MEASURED)


def _number(value: float, tip: str) -> NumberField:
    field = NumberField("", tip)
    field.setText(f"{value:.10g}")
    return field


def _numbers(values: tuple[float, ...], tip: str) -> QLineEdit:
    field = QLineEdit(", ".join(f"{value:.10g}" for value in values))
    field.setPlaceholderText("0.485, 0.456, 0.406")
    field.setToolTip(tip)
    return field


def _needed(field: NumberField, name: str) -> float:
    """Return a number that must be there."""
    if field.number is None:
        raise ChoiceError(f"The {name} of the intensities is missing; give a number.")
    return field.number


def _list(field: QLineEdit) -> tuple[float, ...]:
    """Return the numbers of a text."""
    try:
        return tuple(float(number) for number in field.text().replace(",", " ").split())
    except ValueError:
        raise ChoiceError(
            f"'{field.text()}' is no list of numbers; write one a channel, such as 0.5, 0.5, 0.5."
        ) from None
