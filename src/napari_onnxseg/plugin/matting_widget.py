"""Dock widget that removes the background: *Cut out (U²-Net)*."""

from __future__ import annotations

from typing import Any

from qtpy.QtWidgets import QCheckBox, QDoubleSpinBox, QFormLayout
from superqt import QCollapsible

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.pipeline.job import MatteJob, MatteResult
from napari_onnxseg.pipeline.matte_plan import plan_matte
from napari_onnxseg.pipeline.matting import matte
from napari_onnxseg.plugin.advanced import Feeding
from napari_onnxseg.plugin.choosers import Chooser
from napari_onnxseg.plugin.fields import ColourButton
from napari_onnxseg.plugin.forms import folded, on_change, side_by_side
from napari_onnxseg.plugin.panel import Panel
from napari_onnxseg.plugin.results import matte_layers
from napari_onnxseg.plugin.task import Task, TaskForm
from napari_onnxseg.plugin.words import matte_words

CUT_OUT = Task("matting", "cut-out", plan_matte, matte, matte_layers, matte_words)

OWN_COLOUR = "colour"

SEEN = 128
"""Alpha from which a pixel counts as part of the subject."""


class MattingForm(TaskForm):
    """Edge, threshold and background."""

    def hides_source(self, result: MatteResult) -> bool:
        """Tell whether the image is hidden: when asked for, and when there is a subject to see."""
        return self.hide.isChecked() and bool((result.rgba[..., 3] >= SEEN).any())

    def build(self, rows: QFormLayout) -> QCollapsible:
        """Add edge and background, and return the feeding.

        Parameters
        ----------
        rows : QFormLayout
            Where edge and background go.

        Returns
        -------
        QCollapsible
            The folded section.
        """
        self.feather = Chooser()
        self.feather.offer([0.0, 3.0, 5.0], ["as computed", "soft, 3 px", "softer, 5 px"], 0.0)
        self.feather.setToolTip("Gaussian on the alpha at the model's own size, in pixels there.")
        self.sharp = QCheckBox("cut at")
        self.sharp.setToolTip("Make every pixel fully opaque or fully transparent.")
        self.threshold = _threshold()
        self.background = Chooser()
        self.background.offer([None, "white", OWN_COLOUR], ["transparent", "white", "colour"], None)
        self.background.setToolTip("What is seen behind the subject.")
        self.colour = ColourButton("#00a0e0")
        rows.addRow("Edge", self.feather)
        rows.addRow("Alpha", side_by_side(self.sharp, self.threshold))
        rows.addRow("Background", side_by_side(self.background, self.colour))
        self.hide = QCheckBox("hide the image")
        self.hide.setToolTip("Hide the image afterwards, so that only the subject is seen.")
        self.hide.setChecked(True)
        rows.addRow("Afterwards", self.hide)
        self.feeding = Feeding(self.changed)
        self._connect()
        return folded("Advanced", self.feeding)

    def job(self, **where: Any) -> MatteJob:
        """Return all choices.

        Parameters
        ----------
        **where
            Model, device and axes.

        Returns
        -------
        MatteJob
            As the pipeline takes it.

        Raises
        ------
        ChoiceError
            When a text is no number.
        """
        own = self.background.value == OWN_COLOUR
        return MatteJob(
            **where,
            **self.feeding.values(),
            feather_px=self.feather.value,
            threshold=self.threshold.value() if self.sharp.isChecked() else None,
            background=self.colour.colour if own else self.background.value,
        )

    def show_card(self, card: ModelCard | None) -> None:
        """Do nothing: all such models offer the same.

        Parameters
        ----------
        card : ModelCard or None
            The model.
        """

    def _connect(self) -> None:
        """Show what belongs to a choice only with it."""
        self.sharp.toggled.connect(self.threshold.setEnabled)
        self.background.currentIndexChanged.connect(self._on_background)
        self.threshold.setEnabled(False)
        self.colour.setVisible(False)
        fields = (self.feather, self.sharp, self.threshold, self.background, self.colour)
        on_change(fields, self.changed)

    def _on_background(self, *_: object) -> None:
        """Show the colour when it counts."""
        self.colour.setVisible(self.background.value == OWN_COLOUR)


class MattingWidget(Panel):
    """Cut the subject out of a picture with a U²-Net or any other matting model.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        The viewer it is docked in.
    """

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__(napari_viewer, CUT_OUT, MattingForm())


def _threshold() -> QDoubleSpinBox:
    """Make a field for an alpha between 0 and 1."""
    spin = QDoubleSpinBox()
    spin.setRange(0.01, 0.99)
    spin.setSingleStep(0.05)
    spin.setValue(0.5)
    spin.setToolTip("Opacity, 0 to 1, from which a pixel belongs to the subject.")
    return spin
