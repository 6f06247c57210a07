"""The window closes while the network itself is at work, deep in native code."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nets

TESTS = Path(__file__).parents[1]
SCRIPT = """
import sys, time, numpy as np, napari
from pathlib import Path
from qtpy.QtWidgets import QApplication
import conftest
conftest.stub_gl_if_needed()
from napari_onnxseg.plugin.semantic_widget import SegmentWidget

def until(done, seconds=60):
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        QApplication.processEvents()
        time.sleep(0.01)
    assert done()

viewer = napari.Viewer(show=True)
viewer.add_image(np.zeros((4096, 4096), np.float32), contrast_limits=(0, 1))
panel = SegmentWidget(viewer)
viewer.window.add_dock_widget(panel, name="panel")
panel.model.models.open(Path(sys.argv[1]))
until(lambda: panel.model.card is not None)
panel.replan()
panel.foot.run.click()
until(lambda: panel.is_running)
begun = time.monotonic()
until(lambda: time.monotonic() > begun + 1)
assert panel.is_running
print("running", flush=True)
viewer.close()
"""


@pytest.mark.slow
def test_a_process_ends_while_the_network_runs(tmp_path):  # B052
    model = nets.slow(tmp_path / "slow.onnx", layers=400, sides=(512, 512))
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(model)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(TESTS)]),
            "NAPARI_CONFIG": "",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "running\n", child.stderr.read()
        begin = time.monotonic()
        _out, errors = child.communicate(timeout=30)
        assert time.monotonic() - begin < 5
    finally:
        child.kill()
    assert child.returncode == 0, errors
    for word in ("QThread", "Traceback", "Fatal", "deleted"):
        assert word not in errors, errors
