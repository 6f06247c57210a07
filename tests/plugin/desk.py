"""A widget on a viewer without window, with a stand-in for the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from fakes import Threshold
from napari.components import ViewerModel

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.plugin import card_jobs, choosers, sections
from napari_onnxseg.plugin.matting_widget import CUT_OUT, MattingForm
from napari_onnxseg.plugin.panel import Panel
from napari_onnxseg.plugin.semantic_widget import SEGMENT, SegmentForm

WAIT_MS = 10_000


class Desk:
    """Opens widgets, presses their buttons and waits."""

    def __init__(self, qtbot: Any, monkeypatch: Any) -> None:
        self.qtbot, self.monkeypatch = qtbot, monkeypatch
        self.viewer = ViewerModel()
        self.predictor = Threshold()

    def segment(self, card: ModelCard, viewer: Any = None) -> Panel:
        task = replace(SEGMENT, steps=self._steps(SEGMENT.steps))
        return self._open(lambda v: Panel(v, task, SegmentForm()), card, viewer)

    def cut_out(self, card: ModelCard, viewer: Any = None) -> Panel:
        task = replace(CUT_OUT, steps=self._steps(CUT_OUT.steps))
        return self._open(lambda v: Panel(v, task, MattingForm()), card, viewer)

    def image(self, shape: tuple[int, ...] = (64, 80), **more: Any) -> Any:
        data = more.pop("data", None)
        more.setdefault("rgb", False)
        if data is None:
            data = np.random.default_rng(3).random(shape, dtype=np.float32)
        return self.viewer.add_image(data, **more)

    def run(self, panel: Panel, press: str = "run") -> None:
        """Press a button and wait for the end."""
        panel.replan()
        getattr(panel.foot, press).click()
        self.finish(panel)

    def finish(self, panel: Panel) -> None:
        self.qtbot.waitUntil(lambda: not panel.is_running, timeout=WAIT_MS)

    def plan(self, panel: Panel) -> str:
        """Wait for the plan and return its words."""
        panel.replan()
        return panel.foot.plan.text()

    def _steps(self, steps: Callable[..., Any]) -> Callable[..., Any]:
        return partial(steps, predictor=self.predictor)

    def _open(self, make: Callable[[Any], Panel], card: ModelCard, viewer: Any) -> Panel:
        self.monkeypatch.setattr(card_jobs, "known_model", lambda model, cancel: card)
        self.monkeypatch.setattr(sections, "devices", lambda: ("auto", "cpu"))
        self.monkeypatch.setattr(choosers, "list_models", lambda: (_Summary(card),))
        panel = make(viewer or self.viewer)
        self.qtbot.addWidget(panel)
        self.qtbot.waitUntil(lambda: panel.model.card is card, timeout=WAIT_MS)
        return panel


class _Summary:
    """What the catalogue says of a model."""

    def __init__(self, card: ModelCard) -> None:
        self.name, self.title, self.task = card.name, card.title, card.task
