"""Widgets in a real window: docked, closed, opened again, and drawn."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from fakes import card
from napari.layers import Labels
from qtpy.QtWidgets import QFormLayout
from superqt import QCollapsible

from napari_onnxseg.plugin import card_jobs, keys, sections
from napari_onnxseg.plugin.matting_widget import MattingWidget
from napari_onnxseg.plugin.semantic_widget import SegmentWidget

WAIT_MS = 20_000
BOTH = [SegmentWidget, MattingWidget]


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer()


@pytest.fixture
def toy(monkeypatch):
    """Read cards without files, for tests that run no model."""
    monkeypatch.setattr(card_jobs, "known_model", lambda model, cancel: card())
    monkeypatch.setattr(sections, "devices", lambda: ("auto", "cpu"))


def callbacks(viewer) -> int:
    emitters = (*viewer.layers.events.emitters.values(), viewer.layers.selection.events.active)
    return sum(len(emitter.callbacks) for emitter in emitters if hasattr(emitter, "callbacks"))


@pytest.mark.usefixtures("toy")
def test_a_closed_dock_leaves_nothing_behind(viewer, qtbot):
    viewer.add_image(np.zeros((40, 50), np.float32))
    before, widgets = callbacks(viewer), []
    for number in range(5):
        widget = SegmentWidget(viewer)
        viewer.window.add_dock_widget(widget, name=f"dock {number}")
        qtbot.waitUntil(lambda w=widget: w.model.card is not None, timeout=WAIT_MS)
        assert callbacks(viewer) > before
        viewer.window.remove_dock_widget(widget)
        widgets.append(weakref.ref(widget))
        del widget
    assert callbacks(viewer) == before
    assert keys.widgets(viewer) == []
    qtbot.wait(50)
    gc.collect()
    assert [ref() for ref in widgets if ref() is not None] == []


@pytest.mark.usefixtures("toy")
def test_the_cross_of_the_dock_ends_the_run(viewer, qtbot, desk):
    desk.predictor.delay_s = 0.05
    viewer.add_image(np.zeros((320, 320), np.float32))
    panel = desk.segment(card(), viewer)
    dock = viewer.window.add_dock_widget(panel, name="dock")
    panel.choices.tiling.tile.setValue(32)
    panel.run()
    assert panel.is_running
    dock.title.close_button.click()
    qtbot.waitUntil(lambda: not panel.is_running, timeout=1000)
    assert len(viewer.layers) == 1
    assert keys.widgets(viewer) == []


@pytest.mark.usefixtures("toy")
def test_hiding_the_dock_lets_the_run_go_on(viewer, qtbot, desk):
    viewer.add_image(np.zeros((320, 320), np.float32))
    panel = desk.segment(card(), viewer)
    dock = viewer.window.add_dock_widget(panel, name="dock")
    panel.run()
    dock.hide()
    qtbot.waitUntil(lambda: not panel.is_running, timeout=WAIT_MS)
    assert len(viewer.layers) == 2
    viewer.window.remove_dock_widget(panel)


def shown_fields(widget) -> list:
    fields = [
        rows.itemAt(row, QFormLayout.ItemRole.FieldRole).widget()
        for rows in widget.findChildren(QFormLayout)
        for row in range(rows.rowCount())
    ]
    return [field for field in fields if field.isVisible()]


def left(field, widget) -> int:
    return field.mapTo(widget, field.rect().topLeft()).x()


@pytest.mark.parametrize("kind", BOTH)
def test_fields_stand_in_one_column_and_fit_a_narrow_dock(make_napari_viewer, qtbot, kind):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1000, 700)
    viewer.add_image(np.zeros((3, 40, 50), np.float32), name="a rather long name of an image" * 2)
    widget = kind(viewer)
    viewer.window.add_dock_widget(widget, name="dock")
    widget.findChild(QCollapsible).expand(animate=False)
    qtbot.waitUntil(lambda: len(shown_fields(widget)) > 6)
    qtbot.waitUntil(lambda: np.ptp([left(field, widget) for field in shown_fields(widget)]) <= 2)
    assert all(left(f, widget) + f.width() <= widget.width() for f in shown_fields(widget))
    assert widget.width() < 420
    viewer.window.remove_dock_widget(widget)


@pytest.mark.gl
@pytest.mark.usefixtures("gl")
def test_the_classes_are_drawn_in_their_colours_on_the_image(make_napari_viewer, qtbot, desk):
    viewer = make_napari_viewer(show=True)
    data = np.zeros((80, 100), np.float32)
    data[:, 50:] = 1
    viewer.add_image(data, name="A", scale=(2, 2), contrast_limits=(0, 1))
    panel = desk.segment(card(), viewer)
    viewer.window.add_dock_widget(panel, name="dock")
    desk.run(panel)
    (labels,) = (layer for layer in viewer.layers if isinstance(layer, Labels))
    labels.opacity = 1
    picture = viewer.export_figure(flash=False)
    height, width = picture.shape[:2]
    assert picture[height // 2, width // 4, :3].tolist() == [0, 0, 0]
    assert picture[height // 2, 3 * width // 4, :3].tolist() == [255, 0, 0]
    window = viewer.screenshot(canvas_only=False, flash=False)
    assert window[:, -200:].std() > 5
    viewer.window.remove_dock_widget(panel)
