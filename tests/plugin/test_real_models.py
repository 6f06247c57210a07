"""Widgets with real networks: the same answer as from Python, and cancel inside native code."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Labels

import nets
from napari_onnxseg.pipeline.matting import matte_image
from napari_onnxseg.pipeline.semantic import segment_image
from napari_onnxseg.plugin.matting_widget import MattingWidget
from napari_onnxseg.plugin.samples import nuclei, photograph
from napari_onnxseg.plugin.semantic_widget import SegmentWidget

WAIT_MS = 60_000


@pytest.fixture
def viewer() -> ViewerModel:
    return ViewerModel()


def ready(panel, qtbot, model=None):
    qtbot.addWidget(panel)
    if model is not None:
        panel.model.models.open(model)
    done = lambda: panel.model.card is not None or panel.model.error is not None  # noqa: E731
    qtbot.waitUntil(done, timeout=WAIT_MS)
    return panel


def run(panel, qtbot) -> None:
    panel.replan()
    panel.foot.run.click()
    qtbot.waitUntil(lambda: not panel.is_running, timeout=WAIT_MS)


def sample(viewer, made, part=...):
    ((data, kwargs, _kind),) = made()
    return viewer.add_image(data[part], **kwargs)


def test_the_segmentation_is_that_of_the_python_door(viewer, qtbot):
    layer = sample(viewer, nuclei, np.s_[:200, :240])
    panel = ready(SegmentWidget(viewer), qtbot, "unet-nuclei")
    panel.choices.objects.setChecked(True)
    panel.choices.confidence.setChecked(True)
    run(panel, qtbot)
    expected = segment_image(layer.data, "unet-nuclei", objects=True, confidence=True)
    for word in ("labels", "objects", "confidence"):
        shown = viewer.layers[f"nuclei · {word.replace('labels', 'classes')}"].data
        assert (shown == getattr(expected, word)).all()
    assert viewer.layers["nuclei · objects"].data.max() > 10


def test_the_cut_out_is_that_of_the_python_door(viewer, qtbot):
    layer = sample(viewer, photograph)
    run(ready(MattingWidget(viewer), qtbot), qtbot)
    expected = matte_image(layer.data, "u2netp", rgb=True)
    assert (viewer.layers["photograph · cut-out"].data == expected.rgba).all()


def test_a_file_without_card_is_planned_and_run(viewer, qtbot, tmp_path):
    model = nets.two_class(tmp_path / "mine.onnx")
    image = viewer.add_image(np.random.default_rng(2).random((50, 60), dtype=np.float32))
    panel = ready(SegmentWidget(viewer), qtbot, model)
    assert panel.model.models.currentText() == "mine.onnx"
    run(panel, qtbot)
    (labels,) = (layer for layer in viewer.layers if isinstance(layer, Labels))
    assert (labels.data == (image.data > 0.5)).all()


def test_classes_of_a_network_that_ends_in_argmax_are_small_and_coloured(viewer, qtbot, tmp_path):
    viewer.add_image(np.random.default_rng(2).random((48, 64), dtype=np.float32))
    panel = ready(SegmentWidget(viewer), qtbot, nets.arg_max(tmp_path / "argmax.onnx"))
    run(panel, qtbot)
    (labels,) = (layer for layer in viewer.layers if isinstance(layer, Labels))
    assert labels.data.dtype in (np.uint8, np.uint16)
    row, column = np.argwhere(labels.data == 1)[0]
    assert labels.get_value((row, column)) == 1
    assert labels.get_color(1)[3] > 0


def test_a_file_that_is_no_model_is_said_in_red_and_the_last_model_can_be_used(
    viewer, qtbot, tmp_path
):
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    viewer.add_image(np.zeros((50, 60), np.float32))
    panel = ready(SegmentWidget(viewer), qtbot, tmp_path / "bad.onnx")
    panel.replan()
    assert "bad.onnx" in panel.foot.plan.text()
    assert not panel.foot.run.isEnabled()
    ready(panel, qtbot, "unet-nuclei")
    panel.replan()
    assert panel.foot.run.isEnabled()


def test_cancel_reaches_into_a_call_of_seconds(viewer, qtbot, tmp_path):
    model: Path = nets.slow(tmp_path / "slow.onnx", layers=400, sides=(512, 512))
    viewer.add_image(np.zeros((1024, 1024), np.float32))
    panel = ready(SegmentWidget(viewer), qtbot, model)
    panel.replan()
    panel.foot.run.click()
    qtbot.wait(1500)
    assert panel.is_running
    asked = time.monotonic()
    panel.foot.cancel.click()
    qtbot.waitUntil(lambda: not panel.is_running, timeout=WAIT_MS)
    assert time.monotonic() - asked < 1
    assert "Cancelled" in panel.foot.status.text()
    assert len(viewer.layers) == 1
