"""Images of values and several outputs as layers of a viewer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
from napari.components import ViewerModel
from napari.layers import Image, Labels
from typer.testing import CliRunner

import headnets
from napari_onnxseg import segment_image
from napari_onnxseg.arrays.files import read_image
from napari_onnxseg.cli import app
from napari_onnxseg.plugin.semantic_widget import SegmentWidget

WAIT_MS = 60_000


def two_heads(path: Any) -> Any:
    """Write the two-headed net with a card that says what its outputs are."""
    headnets.two_heads(path)
    mask, field = (output.name for output in onnx.load(path).graph.output)
    outputs = [
        {"name": mask, "title": "mask", "task": "semantic", "scores": "logits"},
        {"name": field, "title": "flow field", "task": "image", "channels": ["down", "right"]},
    ]
    told = {"format": 1, "outputs": outputs, "input": {"normalization": {"method": "none"}}}
    path.with_suffix(".json").write_text(json.dumps(told), encoding="utf-8")
    return path


def opened(qtbot: Any, viewer: ViewerModel, model: Any) -> SegmentWidget:
    """Open the widget on a viewer, with a model."""
    panel = SegmentWidget(viewer)
    qtbot.addWidget(panel)
    panel.model.models.open(model)
    ready = lambda: panel.model.card is not None or panel.model.error is not None  # noqa: E731
    qtbot.waitUntil(ready, timeout=WAIT_MS)
    assert panel.model.error is None, panel.model.error
    return panel


def run(qtbot: Any, panel: SegmentWidget) -> list[Any]:
    """Press Run, and return the new layers."""
    before = set(panel.viewer.layers)
    panel.replan()
    panel.foot.run.click()
    qtbot.waitUntil(lambda: not panel.is_running, timeout=WAIT_MS)
    return [layer for layer in panel.viewer.layers if layer not in before]


@pytest.fixture
def image() -> np.ndarray:
    return np.random.default_rng(4).normal(size=(70, 90)).astype(np.float32)


def test_a_regression_becomes_one_grey_image_in_its_place(qtbot, tmp_path, image):
    viewer = ViewerModel()
    source = viewer.add_image(image, name="A", scale=(0.5, 2), translate=(3, 4))
    panel = opened(qtbot, viewer, headnets.line(tmp_path / "a.onnx"))
    assert not panel.choices.heads.boxes
    assert not panel.choices.confidence.isEnabled()
    (layer,) = run(qtbot, panel)
    assert isinstance(layer, Image)
    assert (layer.name, layer.colormap.name, layer.visible) == ("A · values", "gray", True)
    np.testing.assert_allclose(layer.data, 2 * image - 1, atol=1e-6)
    assert layer.contrast_limits == [layer.data.min(), layer.data.max()]
    assert np.allclose(layer.extent.world, source.extent.world)
    assert layer.metadata["onnxseg"]["outputs"][0]["task"] == "image"
    assert "Values from" in panel.foot.status.text()


def test_two_outputs_become_named_layers_and_can_be_left_out(qtbot, tmp_path, image):
    viewer = ViewerModel()
    viewer.add_image(image, name="A")
    panel = opened(qtbot, viewer, two_heads(tmp_path / "a.onnx"))
    assert [box.text() for box in panel.choices.heads.boxes] == ["mask", "flow field"]
    panel.choices.confidence.setChecked(True)
    layers = run(qtbot, panel)
    assert [(layer.name, type(layer)) for layer in layers] == [
        ("A · flow field down", Image),
        ("A · flow field right", Image),
        ("A · mask confidence", Image),
        ("A · mask", Labels),
    ]
    assert [layer.visible for layer in layers] == [True, True, False, True]
    assert [layer.colormap.name for layer in layers[:2]] == ["magenta", "green"]
    assert [layer.blending for layer in layers[:2]] == ["translucent_no_depth", "additive"]
    panel.choices.confidence.setChecked(False)
    panel.choices.heads.boxes[1].setChecked(False)
    (alone,) = run(qtbot, panel)
    assert isinstance(alone, Labels)
    panel.choices.heads.boxes[0].setChecked(False)
    panel.replan()
    assert "tick one at least" in panel.foot.plan.text()


def test_a_stack_of_images_with_channels_keeps_its_slices(qtbot, tmp_path):
    stack = np.random.default_rng(5).normal(size=(3, 40, 30)).astype(np.float32)
    viewer = ViewerModel()
    viewer.add_image(stack, name="A", scale=(5, 1, 1), rgb=False)
    path = headnets.blur(tmp_path / "a.onnx", outputs=4)
    layers = run(qtbot, opened(qtbot, viewer, path))
    assert [layer.name for layer in layers] == [f"A · channel {n}" for n in (1, 2, 3, 4)]
    wanted = segment_image(stack, path, rgb=False).image
    for number, layer in enumerate(layers):
        np.testing.assert_array_equal(layer.data, wanted[:, number])
        assert layer.scale.tolist() == [5, 1, 1]


def test_three_doors_give_the_same_outputs(qtbot, tmp_path, image):
    path = two_heads(tmp_path / "a.onnx")
    viewer = ViewerModel()
    viewer.add_image(image, name="A")
    layers = {layer.name: layer.data for layer in run(qtbot, opened(qtbot, viewer, path))}
    called = segment_image(image, path)
    np.save(tmp_path / "in.npy", image)
    words = ["segment", str(tmp_path / "in.npy"), "-m", str(path), "--json"]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out.tif")])
    assert done.exit_code == 0, done.output
    files = json.loads(done.stdout)["results"][0]["outputs"]
    assert set(files) == {"mask", "flow-field"}
    written = {name: np.asarray(read_image(place).data) for name, place in files.items()}
    np.testing.assert_array_equal(layers["A · mask"], called.labels)
    np.testing.assert_array_equal(written["mask"], called.labels)
    np.testing.assert_array_equal(layers["A · flow field down"], called.image[0])
    np.testing.assert_array_equal(written["flow-field"], called.image)
    one = CliRunner().invoke(app, [*words, "--head", "mask", "-o", str(tmp_path / "one.npy")])
    assert one.exit_code == 0, one.output
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), called.labels)
