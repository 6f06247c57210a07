"""Dock widget for class maps: *Segment (U-Net)*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtWidgets import QCheckBox, QFormLayout
from superqt import QCollapsible

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.pixel_size import PixelSize
from napari_onnxseg.pipeline.plan import SegmentPlan, plan_segment
from napari_onnxseg.pipeline.semantic import segment
from napari_onnxseg.plugin.advanced import Decoding, Feeding, Tiling
from napari_onnxseg.plugin.choosers import Chooser
from napari_onnxseg.plugin.forms import folded, on_change, show_row, side_by_side
from napari_onnxseg.plugin.heads_row import HeadsRow
from napari_onnxseg.plugin.panel import Panel
from napari_onnxseg.plugin.results import segment_layers
from napari_onnxseg.plugin.task import Task, TaskForm
from napari_onnxseg.plugin.transforms import Transform
from napari_onnxseg.plugin.words import segment_words

SEGMENT = Task("semantic", "classes", plan_segment, segment, segment_layers, segment_words)


class SegmentForm(TaskForm):
    """Outputs, resolution, tiling, feeding and decoding.

    Parameters
    ----------
    pixel_size : callable, optional
        Gives the pixel size of the layer that is chosen, None when it is not known.
    """

    def __init__(self, pixel_size: Callable[[], PixelSize | None] | None = None) -> None:
        super().__init__()
        self._pixel_size = pixel_size or (lambda: None)

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
        self.resolution = Chooser()
        self.resolution.offer([None, False], ["as the model was trained", "as the image is"], None)
        self.resolution.setToolTip(
            "The image is brought to the resolution (by the layer's scale and units), or to the\n"
            "size, that the model was trained at; the result lies on the image's own pixels."
        )
        rows.addRow("Resolution", self.resolution)
        self._rows = rows
        show_row(rows, self.resolution, False)
        rows.addRow("Also give", side_by_side(self.objects, self.confidence, stretch=True))
        on_change((self.objects, self.confidence, self.resolution), self.changed)
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
            pixel_size=self._pixel_size(),
            resample=self.resolution.value,
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
        shown = card is not None and (card.sizing is not None or card.pixel_size is not None)
        show_row(self._rows, self.resolution, shown)
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
        super().__init__(napari_viewer, SEGMENT, SegmentForm(self._pixel_size))

    def _pixel_size(self) -> PixelSize | None:
        """Return the pixel size that scale and units of the layer state."""
        if self.image.layer is None:
            return None
        stack = self.image.stack()
        return Transform.of(self.image.layer).pixel_size(stack.result_axes[-stack.spatial_ndim :])
