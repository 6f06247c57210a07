"""The pixel size of layers, files and Python calls, and the same result from each."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
from fakes import card
from napari.components import ViewerModel
from napari.layers import Image, Labels
from typer.testing import CliRunner

import nets
from napari_onnxseg import segment_image
from napari_onnxseg.cli import app
from napari_onnxseg.plugin.semantic_widget import SegmentForm, SegmentWidget
from napari_onnxseg.plugin.transforms import Transform

WAIT_MS = 60_000
TRAINED = {"input": {"normalization": {"method": "min_max"}}, "pixel_size": {"value": 0.5}}
TRAINED["pixel_size"]["unit"] = "um"


@pytest.fixture
def model(tmp_path):
    """Return a network that was trained on pixels of half a micrometre."""
    return nets.box(tmp_path / "trained.onnx", two_classes=True, card=TRAINED)


def picture(*shape):
    return np.random.default_rng(4).integers(0, 4000, shape).astype(np.uint16)


def opened(qtbot, image, model, **layer):
    viewer = ViewerModel()
    source = viewer.add_image(image, **{"rgb": False, **layer})
    panel = SegmentWidget(viewer)
    qtbot.addWidget(panel)
    panel.model.models.open(model)
    qtbot.waitUntil(lambda: panel.model.card is not None, timeout=WAIT_MS)
    panel.replan()
    return viewer, source, panel


def by_widget(qtbot, image, model, **layer):
    viewer, source, panel = opened(qtbot, image, model, **layer)
    panel.foot.run.click()
    qtbot.waitUntil(lambda: not panel.is_running, timeout=WAIT_MS)
    (labels,) = (new for new in viewer.layers if isinstance(new, Labels))
    return source, labels


def by_command(tmp_path, file, model, *options):
    words = ["segment", str(file), "-o", str(tmp_path / "out.npy"), "-m", str(model), *options]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return np.load(tmp_path / "out.npy")


@pytest.mark.parametrize("scale", [(0.25, 0.25), (0.3, 0.85)])
def test_layer_file_and_python_give_the_same_labels(qtbot, tmp_path, model, scale):
    image = picture(120, 90)
    expected = segment_image(image, model, pixel_size=(scale, "um"))
    assert expected.record["resolution"]["model"] == [round(240 * scale[0]), round(180 * scale[1])]
    assert 0.1 < expected.labels.mean() < 0.9
    source, shown = by_widget(qtbot, image, model, scale=scale, units=("um", "um"))
    np.testing.assert_array_equal(shown.data, expected.labels)
    np.testing.assert_allclose(shown.extent.world, source.extent.world)
    metadata = {"axes": "YX", "PhysicalSizeX": scale[1], "PhysicalSizeXUnit": "µm"}
    metadata |= {"PhysicalSizeY": scale[0], "PhysicalSizeYUnit": "µm"}
    tifffile.imwrite(tmp_path / "in.ome.tif", image, ome=True, metadata=metadata)
    written = by_command(tmp_path, tmp_path / "in.ome.tif", model)
    np.testing.assert_array_equal(written, expected.labels)
    np.save(tmp_path / "in.npy", image)
    size = f"{scale[0]}x{scale[1]} um"
    written = by_command(tmp_path, tmp_path / "in.npy", model, "--pixel-size", size)
    np.testing.assert_array_equal(written, expected.labels)


def test_every_door_can_switch_it_off(qtbot, tmp_path, model):
    image = picture(120, 90)
    expected = segment_image(image, model).labels
    np.save(tmp_path / "in.npy", image)
    options = ("--pixel-size", "0.25 um", "--no-resample")
    written = by_command(tmp_path, tmp_path / "in.npy", model, *options)
    np.testing.assert_array_equal(written, expected)
    _, _, panel = opened(qtbot, image, model, scale=(0.25, 0.25), units=("um", "um"))
    assert "worked on at 0.5 µm per px (image 0.25 µm)" in panel.foot.plan.text()
    panel.choices.resolution.choose(False)
    panel.replan()
    assert "worked on at" not in panel.foot.plan.text()
    assert panel._ready.job.resample is False


@pytest.mark.parametrize("units", [None, ("pixel", "pixel"), ("second", "second")])
def test_a_layer_without_a_unit_of_length_is_worked_on_as_it_is(qtbot, model, units):
    image = picture(60, 50)
    _, _, panel = opened(qtbot, image, model, scale=(0.25, 0.25), units=units)
    assert "pixel size of the image is not known" in panel.foot.plan.text()
    assert panel._ready.job.pixel_size is None


def test_a_stack_takes_the_size_of_its_rows_and_columns(qtbot, model):
    stack = picture(2, 60, 50)
    units = ("second", "um", "um")
    _, shown = by_widget(qtbot, stack, model, scale=(9, 0.25, 0.25), units=units)
    expected = segment_image(stack, model, pixel_size="0.25 um", rgb=False).labels
    np.testing.assert_array_equal(shown.data, expected)


def test_an_affine_counts_like_a_scale():
    turned = [[0, -0.4, 3], [0.25, 0, 1], [0, 0, 1]]
    layer = Image(np.zeros((8, 8)), affine=turned, scale=(2, 1), units=("um", "um"))
    assert Transform.of(layer).pixel_size((0, 1)) == ((0.5, 0.4), "micrometer")


def test_the_choice_is_there_for_models_that_state_a_size_only(desk):
    desk.image()
    panel = desk.segment(card())
    assert not panel.choices.resolution.isVisibleTo(panel)
    assert isinstance(panel.choices, SegmentForm)
