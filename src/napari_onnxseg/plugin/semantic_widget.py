"""Dock widget for class maps: *Segment (U-Net)*."""

from __future__ import annotations

from typing import Any

from qtpy.QtWidgets import QCheckBox, QFormLayout
from superqt import QCollapsible

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.plan import SegmentPlan, plan_segment
from napari_onnxseg.pipeline.semantic import segment
from napari_onnxseg.plugin.advanced import Decoding, Feeding, Tiling
from napari_onnxseg.plugin.forms import folded, on_change, side_by_side
from napari_onnxseg.plugin.heads_row import HeadsRow
from napari_onnxseg.plugin.panel import Panel
from napari_onnxseg.plugin.results import segment_layers
from napari_onnxseg.plugin.task import Task, TaskForm
from napari_onnxseg.plugin.words import segment_words

SEGMENT = Task("semantic", "classes", plan_segment, segment, segment_layers, segment_words)


class SegmentForm(TaskForm):
    """Outputs, tiling, feeding and decoding."""

    def build(self, rows: QFormLayout) -> QCollapsible:
        """Add the outputs, and return tiling, feeding and decoding.

        Parameters
        ----------
        rows : QFormLayout
            Where the outputs go.

        Returns
        -------
        QCollapsible
            The folded section.
        """
        self.objects = QCheckBox("objects")
        self.objects.setToolTip("Also a layer with one number per object.")
        self.confidence = QCheckBox("confidence")
        self.confidence.setToolTip("Also a layer with the probability of the class, 0 to 255.")
        self.heads = HeadsRow(rows, self.changed)
        rows.addRow("Also give", side_by_side(self.objects, self.confidence, stretch=True))
        on_change((self.objects, self.confidence), self.changed)
        self.tiling = Tiling(self.changed)
        self.feeding = Feeding(self.changed)
        self.decoding = Decoding(self.changed)
        return folded("Advanced", self.tiling, self.feeding, self.decoding)

    def job(self, **where: Any) -> SegmentJob:
        """Return all choices.

        Parameters
        ----------
        **where
            Model, device and axes.

        Returns
        -------
        SegmentJob
            As the pipeline takes it.

        Raises
        ------
        ChoiceError
            When a text is no number.
        """
        return SegmentJob(
            **where,
            **self.tiling.values(),
            **self.feeding.values(),
            **self.decoding.values(),
            objects=self.objects.isChecked() and self.objects.isEnabled(),
            confidence=self.confidence.isChecked() and self.confidence.isEnabled(),
            heads=self.heads.heads,
        )

    def show_card(self, card: ModelCard | None) -> None:
        """Offer objects, threshold and steps that the model allows.

        Parameters
        ----------
        card : ModelCard or None
            The model.
        """
        heads = () if card is None else card.heads
        self.heads.show_card(card)
        self.objects.setEnabled(any(head.objects is not None for head in heads))
        self.confidence.setEnabled(not heads or any(head.task == "semantic" for head in heads))
        self.tiling.show_card(card)
        self.decoding.show_card(card)

    def show_plan(self, plan: SegmentPlan | None) -> None:
        """Show the numbers that automatic stands for.

        Parameters
        ----------
        plan : SegmentPlan or None
            What would be done now.
        """
        self.tiling.show_plan(plan)


class SegmentWidget(Panel):
    """Segment a layer into classes with a U-Net or any other semantic model.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        The viewer it is docked in.
    """

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__(napari_viewer, SEGMENT, SegmentForm())
