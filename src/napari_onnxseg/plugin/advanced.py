"""The choices that most people leave alone, folded away."""

from __future__ import annotations

from typing import Any

from qtpy.QtWidgets import QDoubleSpinBox, QWidget

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.pipeline.plan import HALF, SegmentPlan
from napari_onnxseg.plugin.choosers import Chooser
from napari_onnxseg.plugin.fields import AutoSpin, ChannelsField, NumberField
from napari_onnxseg.plugin.forms import form, on_change, show_row, side_by_side
from napari_onnxseg.plugin.words import numbers_words
from napari_onnxseg.prepare.normalize import Normalization

METHODS: dict[str, str | None] = {
    "as the model says": None,
    "0 to 1 by full range": "unit",
    "0 to 1 by the dtype": "dtype_max",
    "−1 to 1 by full range": "symmetric",
    "ImageNet mean and deviation": "mean_std",
    "image mean 0, deviation 1": "zero_mean_unit_variance",
    "image minimum to maximum": "min_max",
    "image percentiles": "percentile",
    "window of raw values": "window",
    "raw values": "none",
}
IMAGENET = Normalization("mean_std", mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
"""Mean and standard deviation of red, green, blue that most networks were trained with."""

BOUNDS = {"percentile": (1.0, 99.8), "window": (0.0, 255.0)}
"""Methods with two bounds, and where they start."""


class Feeding(QWidget):
    """How pixels become model input: normalisation, colour order, no-data, channels.

    Parameters
    ----------
    changed : SignalInstance
        Emitted when a choice changes.
    """

    def __init__(self, changed: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.method = Chooser()
        self.method.offer(list(METHODS.values()), list(METHODS), None)
        self.method.setToolTip("Intensities that the model was trained on.")
        self.low, self.high = _bound("Goes to 0."), _bound("Goes to 1.")
        self.bounds = side_by_side(self.low, self.high)
        self.order = Chooser()
        self.order.offer([None, "RGB", "BGR"], ["as the model says", "RGB", "BGR"], None)
        self.order.setToolTip("Order of the colour channels that the model wants.")
        self.nodata = NumberField("none", "Pixels of this value are no data, as NaN always is.")
        self.channels = ChannelsField()
        self._lay_out()
        self.method.currentIndexChanged.connect(self._on_method)
        self._on_method()
        fields = (self.method, self.low, self.high, self.order, self.nodata, self.channels)
        on_change(fields, changed)

    def values(self) -> dict[str, Any]:
        """Return these choices as fields of a job.

        Returns
        -------
        dict
            ``normalization``, ``colour_order``, ``nodata``, ``channels``.

        Raises
        ------
        ChoiceError
            When a text is no number.
        ModelError
            When the bounds are the wrong way round.
        """
        return {
            "normalization": self.normalization(),
            "colour_order": self.order.value,
            "nodata": self.nodata.number,
            "channels": self.channels.channels,
        }

    def normalization(self) -> Normalization | None:
        """Return the user's normalisation, None for the model's.

        Returns
        -------
        Normalization or None
            With the bounds shown, for a method that has any.

        Raises
        ------
        ModelError
            When the bounds are the wrong way round.
        """
        method = self.method.value
        if method is None:
            return None
        if method == "mean_std":
            return IMAGENET
        if method in BOUNDS:
            return Normalization(method, low=self.low.value(), high=self.high.value())
        return Normalization(method)

    def _lay_out(self) -> None:
        """Put the fields under each other."""
        self.rows = form()
        self.setLayout(self.rows)
        self.rows.addRow("Intensities", self.method)
        self.rows.addRow("From, to", self.bounds)
        self.rows.addRow("Colours", self.order)
        self.rows.addRow("No data", self.nodata)
        self.rows.addRow("Channels", self.channels)

    def _on_method(self, *_: object) -> None:
        """Show the bounds of a method that has any, with its usual values."""
        bounds = BOUNDS.get(self.method.value)
        show_row(self.rows, self.bounds, bounds is not None)
        if bounds is not None:
            self.low.setValue(bounds[0])
            self.high.setValue(bounds[1])


class Tiling(QWidget):
    """Tile, halo and overlap, automatic unless set.

    Parameters
    ----------
    changed : SignalInstance
        Emitted when a choice changes.
    """

    def __init__(self, changed: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tile = AutoSpin(16, "Side of what the model sees at once, in pixels.")
        self.halo = AutoSpin(
            16, "Pixels at each inner side of a tile that are computed and thrown away."
        )
        self.overlap = AutoSpin(
            16, "Pixels that neighbouring tiles share and blend; 0 keeps every pixel once."
        )
        self._spins = (self.tile, self.halo, self.overlap)
        rows = form()
        self.setLayout(rows)
        for label, spin in zip(("Tile", "Halo", "Overlap"), self._spins, strict=True):
            rows.addRow(label, spin)
        self.rows = rows
        on_change(self._spins, changed)

    def values(self) -> dict[str, Any]:
        """Return these choices as fields of a job.

        Returns
        -------
        dict
            ``tile``, ``halo``, ``overlap``; None for automatic.
        """
        return {"tile": self.tile.number, "halo": self.halo.number, "overlap": self.overlap.number}

    def show_plan(self, plan: SegmentPlan | None) -> None:
        """Show the numbers that automatic stands for.

        Parameters
        ----------
        plan : SegmentPlan or None
            What would be done now.
        """
        tiles = None if plan is None else plan.tiles
        for spin, name in zip(self._spins, ("tile", "halo", "overlap"), strict=True):
            spin.show_automatic("" if tiles is None else numbers_words(getattr(tiles, name)))

    def show_card(self, card: ModelCard | None) -> None:
        """Step by what the model allows.

        Parameters
        ----------
        card : ModelCard or None
            The model.
        """
        for spin in self._spins:
            spin.setSingleStep(1 if card is None else max(card.geometry.multiple))


class Decoding(QWidget):
    """Threshold and scope of the statistics.

    Parameters
    ----------
    changed : SignalInstance
        Emitted when a choice changes.
    """

    def __init__(self, changed: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = ""
        self.threshold = QDoubleSpinBox()
        self.threshold.setRange(0.01, 0.99)
        self.threshold.setSingleStep(0.05)
        self.threshold.setValue(HALF)
        self._acts = False
        self.threshold.setToolTip(
            "Foreground is where the probability exceeds this; of several classes,\n"
            "pixels whose best class is less likely become class 0."
        )
        self.statistics = Chooser()
        self.statistics.offer(["image", "plane"], ["whole image", "each plane"], "image")
        self.statistics.setToolTip("What intensity statistics are measured on.")
        self.rows = form()
        self.setLayout(self.rows)
        self.rows.addRow("Statistics", self.statistics)
        self.rows.addRow("Threshold", self.threshold)
        on_change((self.threshold, self.statistics), changed)

    def values(self) -> dict[str, Any]:
        """Return these choices as fields of a job.

        Returns
        -------
        dict
            ``threshold``, ``statistics``.
        """
        threshold = self.threshold.value() if self._acts else None
        return {"threshold": threshold or None, "statistics": self.statistics.value}

    def show_card(self, card: ModelCard | None) -> None:
        """Offer the threshold where there are scores, and begin with the author's.

        Parameters
        ----------
        card : ModelCard or None
            The model.
        """
        heads = () if card is None else card.heads
        scored = [h for h in heads if h.task == "semantic" and h.scores != "labels"]
        one_channel = any(head.output.planes == 1 for head in scored)
        if card is not None and card.sha256 != self._shown:
            self._shown = card.sha256
            suggested = card.suggested.threshold if card.suggested else None
            self.threshold.setMinimum(0.01 if one_channel else 0)
            self.threshold.setSpecialValueText("" if one_channel else "best class wins")
            self.threshold.setValue(suggested or (HALF if one_channel else 0))
        self._acts = bool(scored)
        show_row(self.rows, self.threshold, self._acts)


def _bound(tip: str) -> QDoubleSpinBox:
    """Make a field for a percentile or an intensity."""
    spin = QDoubleSpinBox()
    spin.setRange(-1e9, 1e9)
    spin.setDecimals(1)
    spin.setToolTip(tip)
    return spin
