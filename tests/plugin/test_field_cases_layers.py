"""Layers as people have them, through the widgets with stand-ins for the models."""

from __future__ import annotations

import threading
from itertools import product
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest
from fakes import Threshold, card
from napari.components import ViewerModel
from napari.layers import Labels
from qtpy.QtWidgets import QAbstractButton, QLabel, QProgressBar, QWidget

import nets
from napari_onnxseg.arrays.files import read_labels, write_labels
from napari_onnxseg.errors import OutOfMemoryError
from napari_onnxseg.plugin.semantic_widget import SegmentWidget
from netbuild import Net, save

SUBJECT = {"task": "matting", "channels": 3, "sides": (32, 32)}
MOVED = {"scale": (0.5, 0.25), "translate": (10, -7)}
CROOKED = {
    **MOVED,
    "rotate": 20,
    "shear": (0.3,),
    "affine": [[1.1, 0.1, 3], [-0.2, 0.9, -4], [0, 0, 1]],
    "units": ("um", "um"),
    "axis_labels": ("row", "column"),
}
CROP = {"scale": (0.5, 0.5), "translate": (1050, 2025)}


class Bright:
    """Subject where the first channel is bright; at the model's side."""

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        return (batch[:, :1] > 0.5).astype(np.float32)


def labels_of(viewer: ViewerModel) -> list[Labels]:
    return [layer for layer in viewer.layers if isinstance(layer, Labels)]


@pytest.mark.parametrize("task", ["semantic", "matting"])
@pytest.mark.parametrize("given", [MOVED, CROOKED, CROP], ids=["moved", "crooked", "crop"])
def test_a_point_of_the_world_reads_the_same_pixel_in_image_and_result(
    desk, task, given
):  # B001, B004
    rgb = task == "matting"
    data = np.random.default_rng(4).random((256, 320, 3) if rgb else (256, 320), np.float32)
    image = desk.image(data=data, rgb=rgb, **given)
    if rgb:
        desk.predictor = Bright()
        desk.run(desk.cut_out(card(**SUBJECT)))
    else:
        desk.run(desk.segment(card()))
    (result,) = (layer for layer in desk.viewer.layers if layer is not image)
    assert np.allclose(result.extent.world, image.extent.world, atol=1e-6)
    assert result.units == image.units
    assert result.axis_labels == image.axis_labels
    for point in product((0, 100.4, 255), (0, 33.3, 319)):
        world = image.data_to_world(point)
        assert np.allclose(result.world_to_data(world), point, atol=1e-6)
        at = tuple(np.rint(result.world_to_data(world)).astype(int))
        if rgb:
            assert abs(result.data[at][:3] / 255 - data[at]).max() <= 0.5 / 255 + 1e-6
        else:
            assert result.get_value(world, world=True) == int(image.data[at] > 0.5)


@pytest.mark.parametrize("task", ["semantic", "matting"])
def test_the_clear_half_of_a_picture_stays_clear_or_background(desk, task):  # B010
    picture = np.full((200, 300, 4), 230, np.uint8)
    picture[:, :150, 3], picture[:, 150:, 3] = 0, 255
    desk.image(data=picture, rgb=True)
    if task == "matting":
        desk.predictor = Bright()
        desk.run(desk.cut_out(card(**SUBJECT, normalization=None)))
        result = desk.viewer.layers[-1].data
        assert result.shape == (200, 300, 4)
        result = result[..., 3]
    else:
        desk.run(desk.segment(card(channels=3)))
        result = labels_of(desk.viewer)[0].data
        assert result.shape == (200, 300)
    assert not result[:, :150].any()
    assert result[:, 200:].all()


def test_an_axis_of_one_channel_can_be_named_and_goes(desk):  # B013
    image = desk.image((60, 50, 1), scale=(2, 3, 1))
    panel = desk.segment(card())
    panel.image.channel.choose(2)
    desk.run(panel)
    (labels,) = labels_of(desk.viewer)
    assert labels.scale.tolist() == [2, 3]
    assert (labels.data == (image.data[..., 0] > 0.5)).all()


def test_the_tile_and_halo_of_the_fields_are_planned_run_and_recorded(desk):  # B022
    desk.image((500, 700))
    panel = desk.segment(card())
    panel.choices.tiling.tile.setValue(192)
    panel.choices.tiling.halo.setValue(24)
    words = desk.plan(panel)
    desk.run(panel)
    record = labels_of(desk.viewer)[0].metadata["onnxseg"]
    rows, columns = -(-(500 - 48) // 144), -(-(700 - 48) // 144)
    assert set(desk.predictor.shapes) == {(1, 1, 192, 192)}
    assert len(desk.predictor.shapes) == record["tiles"] == rows * columns
    assert (record["tile"], record["halo"]) == ([192, 192], [24, 24])
    assert f"{rows} × {columns} tiles of 192 × 192 px, halo 24 px" in words
    assert record["plan"].splitlines()[0] in words


@pytest.mark.parametrize("kind", ["bool", "int64"])
def test_classes_of_a_network_that_gives_masks_or_ids_show_and_can_be_picked(
    qtbot, tmp_path, kind
):  # B032
    viewer = ViewerModel()
    image = viewer.add_image(np.random.default_rng(2).random((48, 64), np.float32))
    labels = real(qtbot, viewer, ending(tmp_path / f"{kind}.onnx", kind))
    assert labels.data.dtype == np.uint8
    for row, column in product((0, 20, 47), (0, 31, 63)):
        want = int(image.data[row, column] > 0.5)
        assert (labels.get_value((row, column)) or 0) == want
    assert labels.get_color(1)[3] > 0


def ending(path: Path, kind: str) -> Path:
    """Write a network that ends in a comparison or in ArgMax."""
    net = Net(["batch", 1, "y", "x"])
    if kind == "bool":
        last = net.add("Greater", "input", net.constant(0.5))
    else:
        scores = net.conv("input", [[[[-1.0]]], [[[1.0]]]], [0.5, -0.5])
        last = net.add("ArgMax", scores, axis=1, keepdims=1)
    classes = [{"id": 0, "name": "ground"}, {"id": 1, "name": "cell", "colour": "#ff0000"}]
    return save(net.model({last: (kind, ["batch", 1, "y", "x"])}), path, {"classes": classes})


def real(qtbot: Any, viewer: ViewerModel, model: Path) -> Labels:
    """Run a model of a file in the widget and return the new layer."""
    panel = SegmentWidget(viewer)
    qtbot.addWidget(panel)
    panel.model.models.open(model)
    qtbot.waitUntil(lambda: bool(panel.model.card or panel.model.error), timeout=60_000)
    assert panel.model.error is None
    panel.replan()
    panel.foot.run.click()
    qtbot.waitUntil(lambda: not panel.is_running, timeout=60_000)
    assert labels_of(viewer), panel.foot.status.text() + panel.foot.plan.text()
    return labels_of(viewer)[0]


def test_a_large_lazy_image_gives_labels_that_can_be_corrected_and_saved(qtbot, tmp_path):  # B033
    values = np.zeros((5000, 5000), np.float32)
    values[1000:4000, 2000:3000] = 1
    viewer = ViewerModel()
    viewer.add_image(dask.array.from_array(values, chunks=1000), contrast_limits=(0, 1))
    labels = real(qtbot, viewer, nets.two_class(tmp_path / "two.onnx"))
    before = labels.data.copy()
    np.testing.assert_array_equal(before, values > 0.5)
    labels.brush_size = 5
    labels.paint((500, 500), 2)
    labels.fill((2000, 2500), 3)
    labels.paint((1500, 2500), 0)
    edited = labels.data.copy()
    assert (edited[500, 500], edited[2000, 2500], edited[1500, 2500]) == (2, 3, 0)
    for _ in range(3):
        labels.undo()
    np.testing.assert_array_equal(labels.data, before)
    for _ in range(3):
        labels.redo()
    np.testing.assert_array_equal(labels.data, edited)
    write_labels(tmp_path / "edited.tif", labels.data)
    np.testing.assert_array_equal(read_labels(tmp_path / "edited.tif").data, edited)
    changed = edited != before
    assert changed[1000:4000, 2000:3000].all()
    assert np.count_nonzero(changed[:1000]) == np.count_nonzero(edited[:1000])


def test_after_memory_ran_out_the_same_widget_runs_with_half_the_tile(desk, messages):  # B047
    class Hungry(Threshold):
        def __call__(self, batch: np.ndarray) -> np.ndarray:
            scores = super().__call__(batch)
            if batch.shape[-1] > 64 and len(self.shapes) >= 3:
                raise OutOfMemoryError("The device ran out of memory; choose a smaller tile.")
            return scores

    desk.predictor = Hungry()
    image = desk.image((300, 400))
    panel = desk.segment(card())
    panel.choices.tiling.tile.setValue(128)
    desk.run(panel)
    assert messages == ["error: The device ran out of memory; choose a smaller tile."]
    assert labels_of(desk.viewer) == []
    panel.choices.tiling.tile.setValue(64)
    desk.run(panel)
    (labels,) = labels_of(desk.viewer)
    assert (labels.data == (image.data > 0.5)).all()


SETTERS = {
    QLabel: ("setText",),
    QProgressBar: ("setValue", "setRange", "setMaximum", "setFormat"),
    QAbstractButton: ("setText",),
    QWidget: ("setEnabled", "setVisible", "setStyleSheet", "setToolTip", "show", "hide"),
}


@pytest.mark.parametrize("end", ["success", "failure", "cancel"])
def test_no_widget_and_no_layer_is_touched_off_the_main_thread(desk, monkeypatch, end):  # B049
    calls: list[threading.Thread] = []

    def guarded(owner: type, name: str) -> None:
        real_method = getattr(owner, name)

        def guard(*args: Any, **more: Any) -> Any:
            calls.append(threading.current_thread())
            return real_method(*args, **more)

        monkeypatch.setattr(owner, name, guard)

    desk.predictor = Threshold(delay_s=0.02)
    if end == "failure":
        desk.predictor = Failing(delay_s=0.02)
    desk.image((256, 256))
    panel = desk.segment(card())
    panel.choices.tiling.tile.setValue(32)
    panel.replan()
    for owner, names in SETTERS.items():
        for name in names:
            guarded(owner, name)
    for name in ("add_layer", "add_labels", "add_image"):
        guarded(type(desk.viewer), name)
    for emitter in desk.viewer.layers.events.emitters.values():
        emitter.connect(lambda event=None: calls.append(threading.current_thread()))
    panel.foot.run.click()
    desk.qtbot.waitUntil(lambda: len(desk.predictor.shapes) > 8, timeout=10_000)
    if end == "cancel":
        panel.foot.cancel.click()
    desk.predictor.stopped.set()
    desk.finish(panel)
    assert len(labels_of(desk.viewer)) == (end == "success")
    assert len(calls) > 5
    assert set(calls) == {threading.main_thread()}
    assert threading.get_ident() not in desk.predictor.threads


class Failing(Threshold):
    """Fails at the tenth tile."""

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        if len(self.shapes) >= 9:
            self.shapes.append(batch.shape)
            raise RuntimeError("the driver fell over")
        return super().__call__(batch)
