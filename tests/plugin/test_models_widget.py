"""Every model is listed with what is known of it, and each button does what it says."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from model_desk import ModelDesk, own_model
from napari.layers import Labels
from qtpy.QtGui import QGuiApplication
from views import camera_of

import nets
from napari_onnxseg.cards import catalog, offers
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.plugin import ask, model_actions
from napari_onnxseg.plugin.card_editor import CardEditor
from napari_onnxseg.plugin.choosers import ModelChooser
from napari_onnxseg.plugin.report_window import ReportWindow
from napari_onnxseg.plugin.terms_dialog import TermsDialog
from napari_onnxseg.runtime.session import devices_of, release
from publisher import Publisher


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "mine"
    monkeypatch.setenv("ONNXSEG_MODELS", str(folder))
    return folder


@pytest.fixture
def models(qtbot, folder) -> ModelDesk:
    own_model(folder)
    desk = ModelDesk(qtbot, folder)
    desk.choose("boxes")
    yield desk
    release()


def test_models_on_this_computer_come_before_those_to_download(models):
    names = models.widget.models.names
    assert names.index("boxes") < names.index("u2net")
    assert "unet-nuclei" in names


def test_a_guess_is_shown_as_a_guess(models):
    assert "Intensities\n0..1 by the full range a guess" in models.text
    assert "not stated" in models.text
    assert "from the graph" in models.text


def test_buttons_offer_only_what_can_be_done(models):
    assert [n for n in models.widget.foot.buttons if models.can(n)] == [
        "add",
        "check",
        "edit",
        "remove",
    ]
    models.image()
    assert models.can("test")
    models.choose("u2net")
    assert [n for n in models.widget.foot.buttons if models.can(n)] == ["add", "download"]
    models.choose("u2netp")
    assert not models.can("remove")


def test_a_file_that_is_added_is_listed_everywhere_and_selected(models, tmp_path, monkeypatch):
    combo = ModelChooser("semantic")
    models.qtbot.addWidget(combo)
    path = nets.box(tmp_path / "more.onnx")
    monkeypatch.setattr(ask, "model_to_open", lambda parent: path)
    models.press("add")
    assert models.widget.summary.name == "more"
    assert "ready as 'more'" in models.status
    assert combo.findText("more") >= 0


def test_a_file_that_is_no_model_gets_one_sentence(models, tmp_path, monkeypatch):
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"nonsense")
    monkeypatch.setattr(ask, "model_to_open", lambda parent: path)
    before = models.widget.models.names
    models.press("add")
    assert "bad.onnx" in models.status
    assert models.widget.models.names == before


def test_a_test_lies_exactly_on_what_is_seen(models):
    layer = models.image()
    camera_of(models.viewer).center = (0, 74, 64)
    camera_of(models.viewer).zoom = 2
    models.press("test")
    result = models.viewer.layers[-1]
    assert isinstance(result, Labels)
    top, left = (int(v) for v in layer.world_to_data(result.data_to_world((0, 0))))
    height, width = result.data.shape
    assert (top, left) == (27, 25)
    assert (height, width) == (11, 15)
    seen = layer.data[top : top + height, left : left + width]
    assert (result.data == (seen > 0.5)).mean() > 0.9
    assert models.viewer.layers.selection.active is layer
    assert devices_of(models.widget.card.path)


def test_a_test_without_anything_in_view_gets_one_sentence(models):
    models.image()
    camera_of(models.viewer).center = (0, 9000, 9000)
    models.press("test")
    assert "Nothing of 'A' is in view" in models.status
    assert len(models.viewer.layers) == 1


def test_a_loaded_model_can_be_unloaded(models):
    models.image()
    camera_of(models.viewer).center = (0, 74, 64)
    models.press("test")
    assert models.can("unload")
    models.press("unload")
    assert devices_of(models.widget.card.path) == ()
    assert not models.can("unload")


def test_the_report_can_be_copied(models):
    models.press("check")
    window = models.widget.findChild(ReportWindow)
    window.copy()
    text = QGuiApplication.clipboard().text()
    assert text.startswith("boxes.onnx: ")
    assert "A trial run agrees" in text
    window.close()


def test_a_mended_copy_is_listed(models, folder, monkeypatch):
    own_model(folder, "fixed", sides=(64, 64), batch=1)
    models.widget.refresh("fixed")
    models.choose("fixed")
    models.press("check")
    window = models.widget.findChild(ReportWindow)
    assert window.mend_button.isVisibleTo(window)
    monkeypatch.setattr(ask, "model_to_write", lambda parent, proposed: proposed)
    window.mend_button.click()
    models.finish()
    assert models.widget.summary.name == "fixed-mended"
    assert load_card("fixed-mended").input.sides == (None, None)
    assert "Largest difference" in models.status


def test_an_edited_card_is_used_at_once(models, folder):
    chooser = ModelChooser("semantic")
    models.qtbot.addWidget(chooser)
    chooser.open("boxes")
    told = []
    chooser.changed.connect(lambda: told.append(chooser.currentText()))
    models.widget.foot.buttons["edit"].click()
    editor = models.widget.findChild(CardEditor)
    editor.title.setText("Boxes")
    editor.intensities.method.choose("symmetric")
    editor.save()
    models.finish()
    assert told == ["Boxes"]
    assert "Boxes" in models.text
    assert "from its card" in models.text
    assert (folder / "boxes.json").exists()


def test_a_model_that_gives_an_image_can_be_called_so_and_back(models):
    for kind, task in (("values", "image"), ("logits", "semantic")):
        models.widget.foot.buttons["edit"].click()
        editor = models.widget.findChild(CardEditor)
        editor.scores.choose(kind)
        if editor.classes is not None:
            assert editor.classes.isEnabled() is (kind != "values")
        editor.save()
        models.finish()
        models.qtbot.wait(50)
        assert (load_card("boxes").task, load_card("boxes").scores) == (task, kind)
    assert len(load_card("boxes").classes) == 2


def test_a_model_is_removed_only_when_the_user_agrees(models, folder, monkeypatch):
    asked = []

    def answer(parent, title, question, yes):
        asked.append(question)
        return len(asked) > 1

    monkeypatch.setattr(ask, "agreed", answer)
    models.press("remove")
    assert (folder / "boxes.onnx").exists()
    models.press("remove")
    assert not (folder / "boxes.onnx").exists()
    assert "boxes.onnx" in asked[0]
    assert "boxes" not in models.widget.models.names


def test_a_broken_model_says_why_and_can_be_checked(models, folder):
    (folder / "bad.onnx").write_bytes(b"nonsense")
    models.widget.refresh("bad")
    models.choose("bad")
    assert "bad.onnx" in models.text
    assert not models.can("edit")
    models.press("check")
    assert "bad.onnx" in models.status


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Publish a small model under the name of a large one, on this computer."""
    content = nets.saliency(tmp_path / "p.onnx").read_bytes()
    monkeypatch.delenv("ONNXSEG_OFFLINE", raising=False)
    sha256 = hashlib.sha256(content).hexdigest()
    with Publisher(content) as publisher:
        offered = replace(
            offers.OFFERS["u2net"],
            url=f"{publisher.base}/p.onnx",
            md5=None,
            sha256=sha256,
            size_bytes=len(content),
        )
        table = {"u2net": offered}
        for module in (offers, catalog):
            monkeypatch.setattr(module, "OFFERS", table)
        publisher.offered = offered
        yield publisher


def test_a_download_that_is_not_accepted_fetches_nothing(published, models, monkeypatch):
    monkeypatch.setattr(TermsDialog, "exec", lambda self: False)
    models.widget.refresh("u2net")
    models.press("download")
    assert published.asked == []


def test_a_download_that_is_accepted_is_listed_as_mine(published, models, monkeypatch):
    monkeypatch.setattr(TermsDialog, "exec", lambda self: True)
    models.widget.refresh("u2net")
    models.press("download")
    assert models.widget.summary.source == "user"
    assert "ready as 'u2net'" in models.status


def test_a_download_can_be_cancelled(published, models, monkeypatch, folder):
    published.stalls.append(10)
    monkeypatch.setattr(TermsDialog, "exec", lambda self: True)
    models.widget.refresh("u2net")
    models.widget.foot.buttons["download"].click()
    models.qtbot.wait(100)
    assert models.widget.foot.cancel.isVisibleTo(models.widget)
    models.widget.foot.cancel.click()
    published.released.set()
    models.finish()
    assert "Cancelled" in models.status
    assert not (folder / "u2net.onnx").exists()


def test_terms_against_commercial_use_need_a_tick(qtbot):
    dialog = TermsDialog(offers.OFFERS["bria-rmbg"], "https://example.org/x", "here")
    qtbot.addWidget(dialog)
    assert "No commercial use" in dialog.text.text()
    assert not dialog.accept_button.isEnabled()
    dialog.tick.setChecked(True)
    assert dialog.accept_button.isEnabled()


def test_terms_of_other_models_need_none(qtbot):
    dialog = TermsDialog(offers.OFFERS["u2net"], "https://example.org/x", "here")
    qtbot.addWidget(dialog)
    assert dialog.accept_button.isEnabled()
    assert not dialog.tick.isVisibleTo(dialog)


def test_only_one_thing_is_done_at_a_time(models):
    models.widget.foot.buttons["check"].click()
    assert not any(models.can(name) for name in models.widget.foot.buttons)
    models.finish()
    assert models.can("check")
    models.widget.findChild(ReportWindow).close()


def test_system_faults_of_a_removal_become_a_sentence(models, monkeypatch):
    def fail(name):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(model_actions, "remove", fail)
    monkeypatch.setattr(ask, "agreed", lambda *a: True)
    models.press("remove")
    assert "cannot be deleted: Permission denied" in models.status


def test_the_selected_model_stays_in_sight_when_the_room_shrinks(models, qtbot):
    widget = models.widget
    widget.resize(400, 900)
    widget.show()
    models.choose(widget.models.names[-1])
    widget.resize(400, 500)
    qtbot.wait(50)
    rect = widget.models.visualItemRect(widget.models.currentItem())
    assert widget.models.viewport().rect().contains(rect)


def test_a_model_whose_card_is_broken_stays_listed_and_says_so(models, folder):
    nets.two_class(folder / "mine.onnx")
    (folder / "mine.json").write_text('{"format": 1, "title": "Mine",}')
    models.widget.refresh("mine")
    assert "mine" in models.widget.models.names
    models.choose("mine")
    assert "is not valid JSON" in models.text
    assert not models.can("edit")
