"""A models widget on a viewer without window, and a folder of models of its own."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
from napari.components import ViewerModel
from views import set_canvas_size

import nets
from napari_onnxseg.plugin.models_widget import ModelsWidget

WAIT_MS = 20_000


class ModelDesk:
    """Opens the widget, presses its buttons and waits."""

    def __init__(self, qtbot: Any, folder: Path) -> None:
        self.qtbot, self.folder = qtbot, folder
        self.viewer = ViewerModel()
        set_canvas_size(self.viewer, (40, 60))
        self.widget = ModelsWidget(self.viewer)
        qtbot.addWidget(self.widget)

    @property
    def status(self) -> str:
        return unescape(self.widget.foot.status.text())

    @property
    def text(self) -> str:
        return self.widget.details.toPlainText().replace("\xa0", " ")

    def choose(self, name: str) -> None:
        assert self.widget.models.choose(name)
        self.qtbot.waitUntil(lambda: not self.widget.is_reading, timeout=WAIT_MS)

    def press(self, name: str) -> None:
        """Press a button and wait for the end."""
        button = self.widget.foot.buttons[name]
        assert button.isEnabled()
        button.click()
        self.finish()

    def finish(self) -> None:
        self.qtbot.waitUntil(lambda: not self.widget.jobs.is_busy, timeout=WAIT_MS)
        self.qtbot.waitUntil(lambda: not self.widget.is_reading, timeout=WAIT_MS)
        self.qtbot.wait(20)
        self.qtbot.waitUntil(lambda: not self.widget.is_reading, timeout=WAIT_MS)

    def can(self, name: str) -> bool:
        return bool(self.widget.foot.buttons[name].isEnabled())

    def image(self, side: int = 64) -> Any:
        data = np.random.default_rng(3).random((side, side), dtype=np.float32)
        return self.viewer.add_image(data, rgb=False, name="A", scale=(2, 2), translate=(10, 0))


def own_model(folder: Path, name: str = "boxes", **more: Any) -> Path:
    folder.mkdir(exist_ok=True)
    return nets.two_class(folder / f"{name}.onnx", **more)
