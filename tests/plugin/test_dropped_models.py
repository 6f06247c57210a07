"""Models dropped on the canvas, and the models widget in a real window."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from npe2 import PluginManifest

import nets
import zoo
from foreign import package
from napari_onnxseg.cards.catalog import SUFFIXES
from napari_onnxseg.plugin import keys
from napari_onnxseg.plugin.matting_widget import MattingWidget
from napari_onnxseg.plugin.model_reader import Arrival, get_reader
from napari_onnxseg.plugin.models_widget import ModelsWidget
from napari_onnxseg.plugin.semantic_widget import SegmentWidget
from napari_onnxseg.prepare.steps import Step

NAME = "napari-onnxseg"
WAIT_MS = 20_000


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "mine"
    monkeypatch.setenv("ONNXSEG_MODELS", str(folder))
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def viewer(make_napari_viewer, npe2pm, folder):
    npe2pm.register(PluginManifest.from_distribution(NAME))
    return make_napari_viewer()


def drop(viewer, path: Path, qtbot) -> list:
    layers = viewer.open(path, plugin=NAME)
    qtbot.waitUntil(lambda: not Arrival.pending, timeout=WAIT_MS)
    for panel in keys.widgets(viewer):
        qtbot.waitUntil(lambda p=panel: p.model.waiting == "Choose a model.", timeout=WAIT_MS)
    return layers


def test_a_dropped_model_is_selected_in_the_widget_for_its_task(viewer, qtbot, tmp_path, folder):
    assert drop(viewer, nets.two_class(tmp_path / "halves.onnx"), qtbot) == []
    (panel,) = keys.widgets(viewer)
    assert isinstance(panel, SegmentWidget)
    assert panel.model.models.model == "halves"
    assert panel.model.card.path == folder / "halves.onnx"
    drop(viewer, nets.saliency(tmp_path / "subject.onnx"), qtbot)
    assert isinstance(keys.widgets(viewer)[-1], MattingWidget)
    assert keys.widgets(viewer)[-1].model.models.model == "subject"
    assert len(viewer.layers) == 0


def test_an_open_widget_is_used_instead_of_a_second_one(viewer, qtbot, tmp_path):
    _dock, panel = viewer.window.add_plugin_dock_widget(NAME, "Segment (U-Net)")
    drop(viewer, nets.two_class(tmp_path / "halves.ONNX"), qtbot)
    assert keys.widgets(viewer) == [panel]
    assert panel.model.models.model == "halves"


def test_a_dropped_model_is_selected_in_the_list_of_models_too(viewer, qtbot, tmp_path):
    _dock, widget = viewer.window.add_plugin_dock_widget(NAME, "Models")
    widget.models.choose("u2netp")
    drop(viewer, nets.two_class(tmp_path / "halves.onnx"), qtbot)
    qtbot.waitUntil(lambda: widget.card is not None and not widget._listing.isActive())
    assert widget.summary.name == widget.card.name == "halves"


def test_what_is_no_model_gets_one_sentence_and_leaves_nothing(
    viewer, qtbot, tmp_path, folder, messages
):
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"nonsense")
    drop(viewer, path, qtbot)
    assert len(messages) == 1
    assert "'bad.onnx' was not added: " in messages[0]
    assert not folder.exists()
    assert keys.widgets(viewer) == []


def test_the_manifest_names_all_files_that_are_models():
    (reader,) = PluginManifest.from_distribution(NAME).contributions.readers
    patterns = {pattern[1:] for pattern in reader.filename_patterns}
    assert patterns == {*SUFFIXES, "rdf.yaml", "bioimageio.yaml", "model.yaml"}
    assert get_reader("net.ONNX") is not None
    assert get_reader(["a.onnx", "b.czann"]) is not None
    assert get_reader(["a.onnx", "b.png"]) is None


def test_zip_and_yaml_files_that_are_no_models_are_left_to_other_readers(tmp_path):
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    path = zoo.v05(tmp_path / "net", network)
    packed = zoo.zipped(path, tmp_path / "net.zip")
    other = package(tmp_path / "photos.zip", {"a.png": b"x"})
    config = tmp_path / "model.yaml"
    config.write_text("layers: 3\n")
    (tmp_path / "broken.zip").write_bytes(b"PK")
    assert get_reader(str(packed)) is not None
    assert get_reader([str(path), str(packed)]) is not None
    for none in (other, config, tmp_path / "broken.zip", tmp_path / "none.zip"):
        assert get_reader(str(none)) is None
    assert get_reader([str(packed), str(other)]) is None


def test_a_dropped_description_is_kept_as_a_package(viewer, qtbot, tmp_path, folder):
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    path = zoo.v05(tmp_path / "net", network, post=[zoo.op("sigmoid")])
    assert drop(viewer, path, qtbot) == []
    (panel,) = keys.widgets(viewer)
    assert panel.model.models.model == "affable-shark"
    assert [p.name for p in folder.iterdir()] == ["affable-shark.zip"]
    assert panel.model.card.after == (Step("sigmoid"),)


def test_the_widget_opens_from_the_menu_and_follows_the_active_layer(viewer, qtbot):
    _dock, widget = viewer.window.add_plugin_dock_widget(NAME, "Models")
    assert isinstance(widget, ModelsWidget)
    widget.models.choose("u2netp")
    qtbot.waitUntil(lambda: widget.card is not None, timeout=WAIT_MS)
    assert not widget.foot.buttons["test"].isEnabled()
    viewer.add_image(np.zeros((40, 50), np.float32))
    assert widget.foot.buttons["test"].isEnabled()
    assert widget.minimumWidth() <= 340


def test_a_closed_dock_leaves_nothing_behind(viewer, qtbot):
    active = viewer.layers.selection.events.active
    before, widgets = len(active.callbacks), []
    for number in range(5):
        widget = ModelsWidget(viewer)
        viewer.window.add_dock_widget(widget, name=f"dock {number}")
        assert len(active.callbacks) > before
        qtbot.waitUntil(lambda w=widget: not w.is_reading, timeout=WAIT_MS)
        viewer.window.remove_dock_widget(widget)
        widgets.append(weakref.ref(widget))
        del widget
    assert len(active.callbacks) == before
    qtbot.wait(50)
    gc.collect()
    assert [ref() for ref in widgets if ref() is not None] == []


@pytest.mark.gl
@pytest.mark.usefixtures("gl")
def test_list_and_details_are_drawn(make_napari_viewer, qtbot, folder):
    viewer = make_napari_viewer(show=True)
    widget = ModelsWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Models")
    qtbot.waitUntil(lambda: widget.card is not None, timeout=WAIT_MS)
    window = viewer.screenshot(canvas_only=False, flash=False)
    assert window[:, -300:].std() > 5
    viewer.window.remove_dock_widget(widget)
