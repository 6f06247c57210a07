"""The process ends by itself while a run is in progress: no hang, no abort, exit code 0."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import time, numpy as np, napari
from dataclasses import replace
from functools import partial
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication
import conftest
conftest.stub_gl_if_needed()
from fakes import Threshold, card
from napari_onnxseg.plugin import card_jobs, choosers
from napari_onnxseg.plugin.panel import Panel
from napari_onnxseg.plugin.semantic_widget import SEGMENT, SegmentForm

card_jobs.known_model = lambda model, cancel: card()
predictor = Threshold(delay_s=0.05)
steps = partial(SEGMENT.steps, predictor=predictor)
viewer = napari.Viewer(show=True)
viewer.add_image(np.zeros((1200, 1200), np.float32))
panel = Panel(viewer, replace(SEGMENT, steps=steps), SegmentForm())
viewer.window.add_dock_widget(panel, name="panel")
panel.choices.tiling.tile.setValue(32)
while panel.model.card is None:
    QApplication.processEvents()
panel.run()
assert panel.is_running
end = time.monotonic() + 1
while time.monotonic() < end:
    QApplication.processEvents()
    time.sleep(0.01)
assert panel.is_running and len(predictor.shapes) > 3
print("running", flush=True)
"""

ENDS = {
    "the viewer is closed": "viewer.close()",
    "the window is closed in the event loop": (
        "QTimer.singleShot(200, viewer.window._qt_window.close)\nnapari.run()"
    ),
    "the application quits": (
        "QTimer.singleShot(200, lambda: napari._qt.qt_event_loop.quit_app())\nnapari.run()"
    ),
    "the script ends": "",
    "the script fails": "raise SystemExit(3)",
}


QUICK = ("the viewer is closed",)
"""Enough for every day; the others take the same time again."""


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=() if how in QUICK else pytest.mark.slow) for how in ENDS]
)
def test_a_process_ends_when(how):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "NAPARI_CONFIG": ""}
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT + ENDS[how]],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "running\n", child.stderr.read()
    begin = time.monotonic()
    try:
        _out, errors = child.communicate(timeout=20)
    finally:
        child.kill()
    assert time.monotonic() - begin < 5
    assert child.returncode == (3 if "fails" in how else 0), errors
    for word in ("QThread", "Traceback", "Fatal", "deleted"):
        assert word not in errors, errors
