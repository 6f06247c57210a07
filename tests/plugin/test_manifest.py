"""What napari learns about the plugin, and that every door of it opens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from npe2 import PluginManifest

from napari_onnxseg.plugin import keys
from napari_onnxseg.plugin.matting_widget import MattingWidget
from napari_onnxseg.plugin.panel import Panel
from napari_onnxseg.plugin.semantic_widget import SegmentWidget

NAME = "napari-onnxseg"
WIDGETS = {"Segment (U-Net)": SegmentWidget, "Cut out (U²-Net)": MattingWidget}


@pytest.fixture
def manifest() -> PluginManifest:
    return PluginManifest.from_distribution(NAME)


@pytest.fixture
def viewer(make_napari_viewer, npe2pm, manifest):
    npe2pm.register(manifest)
    viewer = make_napari_viewer()
    yield viewer
    for panel in keys.widgets(viewer):
        panel.cancel()


def test_every_command_can_be_imported(manifest):
    manifest.validate_imports()


def test_commands_carry_the_name_of_the_plugin(manifest):
    assert {command.id.split(".")[0] for command in manifest.contributions.commands} == {NAME}
    assert manifest.display_name == "ONNX segmentation"


def test_both_widgets_are_in_the_layers_menu(manifest):
    entries = manifest.contributions.menus["napari/layers/segment"]
    assert [entry.command for entry in entries] == [f"{NAME}.segment", f"{NAME}.cut_out"]


@pytest.mark.parametrize("title", WIDGETS)
def test_a_widget_opens_from_the_plugins_menu(viewer, qtbot, title):
    viewer.add_image(np.zeros((40, 50), np.float32), name="A")
    _dock, widget = viewer.window.add_plugin_dock_widget(NAME, title)
    assert isinstance(widget, WIDGETS[title])
    qtbot.waitUntil(lambda: widget.model.card is not None, timeout=20_000)
    widget.replan()
    assert widget.foot.run.isEnabled()
    assert "40 × 50" in widget.foot.plan.text()


def test_menus_of_the_window_lead_to_the_widgets(viewer):
    titles = {f"{title} (ONNX segmentation)" for title in WIDGETS}
    bar = viewer.window._qt_window.menuBar()
    assert titles <= _titles(bar, "Plugins")
    assert titles <= _titles(bar, "Layers")


def _titles(bar, name: str) -> set[str]:
    """Collect the titles of a menu and of its sub-menus, as a user meets them."""
    menus = [action.menu() for action in bar.actions() if name in action.text().replace("&", "")]
    titles = set()
    while menus:
        menu = menus.pop()
        menu.aboutToShow.emit()
        for action in menu.actions():
            titles.add(action.text().replace("&", ""))
            menus += [action.menu()] if action.menu() is not None else []
    return titles


@pytest.mark.parametrize("key", ["nuclei", "stained", "photograph", "aerial"])
def test_a_sample_opens(viewer, key):
    (layer,) = viewer.open_sample(NAME, key)
    assert min(layer.data.shape[:2]) > 100
    assert layer.rgb is (key != "nuclei")


def test_commands_act_on_the_widget_used_last(viewer, monkeypatch):
    pressed = []
    first = viewer.window.add_plugin_dock_widget(NAME, "Segment (U-Net)")[1]
    second = viewer.window.add_plugin_dock_widget(NAME, "Cut out (U²-Net)")[1]
    monkeypatch.setattr(Panel, "run", lambda self, **k: pressed.append((self, k)))
    keys.use(first)
    keys.run(viewer)
    keys.preview(viewer)
    keys.use(second)
    keys.run(viewer)
    assert [panel for panel, _ in pressed] == [first, first, second]
    assert pressed[1][1] == {"only_slice": True}


def test_the_run_command_opens_the_segmentation_when_nothing_is_open(viewer):
    keys.run(viewer)
    (panel,) = keys.widgets(viewer)
    assert isinstance(panel, SegmentWidget)
    keys.cancel(viewer)


def test_keys_are_bound_while_a_widget_is_open(viewer):
    before = dict(viewer.keymap)
    _dock, widget = viewer.window.add_plugin_dock_widget(NAME, "Segment (U-Net)")
    bound = {str(key): command for key, command in viewer.keymap.items() if key not in before}
    assert set(bound.values()) == {keys.run, keys.preview, keys.cancel}
    assert keys.key_words("run") in widget.foot.run.toolTip()
    viewer.window.remove_dock_widget(widget)
    assert dict(viewer.keymap) == before


def test_the_manifest_at_the_top_is_the_one_in_the_package():
    top = Path(__file__).parents[2] / "napari.yaml"
    inside = Path(keys.__file__).parents[1] / "napari.yaml"
    assert top.read_text() == inside.read_text()
