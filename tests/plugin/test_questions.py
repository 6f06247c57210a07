"""A model that nobody has described leads to at most three questions, asked once."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path

import numpy as np
import pytest
from desk import WAIT_MS
from model_desk import ModelDesk
from qtpy.QtCore import Qt
from views import set_canvas_size

import nets
from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.cards.questions import answered, looks, questions
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.plugin import glimpses
from napari_onnxseg.plugin.models_list import LINE
from napari_onnxseg.plugin.questions import Questions
from napari_onnxseg.plugin.semantic_widget import SegmentWidget
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.runtime.session import release


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(Questions, "skipped", set())
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setenv("ONNXSEG_MODELS", str(folder))
    yield folder
    release()


@pytest.fixture
def bare(folder) -> Path:
    return nets.unet(folder / "bare.onnx", channels=3)


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer(show=True)


def opened(viewer, qtbot, model) -> SegmentWidget:
    """Dock the widget and choose a model."""
    widget = SegmentWidget(viewer)
    viewer.window.add_dock_widget(widget, name="dock")
    widget.model.models.open(model)
    read(widget, qtbot)
    return widget


def read(widget, qtbot) -> None:
    qtbot.waitUntil(lambda: widget.model.card is not None, timeout=WAIT_MS)
    qtbot.wait(20)


def seen(widget, qtbot) -> None:
    """Wait for all small pictures."""
    tiles = widget.questions.sheet.looks.tiles
    qtbot.waitUntil(lambda: all(tile.has_picture for tile in tiles), timeout=WAIT_MS)


def with_card(path: Path, **entries) -> Path:
    path.with_suffix(".json").write_text(json.dumps({"format": 1, **entries}))
    return path


def test_a_bare_model_of_colours_raises_three_questions(bare):
    assert questions(load_card(bare)) == ("normalization", "classes", "colour_order")


def test_a_grey_model_is_not_asked_for_the_order_of_colours(tmp_path):
    card = load_card(nets.two_class(tmp_path / "grey.onnx"))
    assert questions(card) == ("normalization", "classes")
    assert "ImageNet" not in [look.name for look in looks(card)]


def test_a_subject_has_no_classes_to_name(tmp_path):
    card = load_card(nets.saliency(tmp_path / "net.onnx"))
    assert questions(card) == ("normalization", "colour_order")


@pytest.mark.parametrize("name", ["unet-nuclei", "u2netp"])
def test_described_models_raise_none(name):
    assert questions(load_card(name)) == ()


def test_what_a_card_says_is_not_asked(bare):
    with_card(bare, input={"normalization": {"method": "unit"}})
    assert questions(load_card(bare)) == ("classes",)
    with_card(bare, classes=[{"id": i, "name": f"n{i}"} for i in range(3)])
    assert questions(load_card(bare)) == ("normalization", "colour_order")


def test_the_guess_is_among_the_likely_answers(tmp_path, bare):
    for path in (bare, nets.saliency(tmp_path / "s.onnx"), nets.two_class(tmp_path / "t.onnx")):
        card = load_card(path)
        assert card.normalization in [look.normalization for look in looks(card)]


def test_an_answer_replaces_the_guess_and_its_note(bare):
    card = load_card(bare)
    assert any("Nothing says" in note for note in card.notes)
    edited = answered(card, normalization=Normalization("symmetric"), colour_order="RGB")
    assert (edited.facts["normalization"], edited.facts["colour_order"]) == ("user", "assumed")
    assert not any("Nothing says" in note for note in edited.notes)
    assert answered(card, ("colour_order",)).facts["colour_order"] == "user"


def test_small_pictures_show_what_each_answer_leads_to(viewer, qtbot, bare):
    viewer.add_image(np.random.default_rng(1).integers(0, 255, (96, 120, 3), np.uint8), rgb=True)
    widget = opened(viewer, qtbot, "bare")
    assert widget.questions.isVisible()
    seen(widget, qtbot)
    assert "small picture" in widget.questions.sheet.meaning.text()
    viewer.window.remove_dock_widget(widget)


def test_without_an_image_the_answers_stand_alone(viewer, qtbot, bare):
    widget = opened(viewer, qtbot, "bare")
    qtbot.wait(400)
    assert not any(tile.has_picture for tile in widget.questions.sheet.looks.tiles)
    assert "Open an image" in widget.questions.sheet.meaning.text()
    viewer.window.remove_dock_widget(widget)


def test_a_slow_model_is_run_for_the_others_only_when_asked(viewer, qtbot, bare, monkeypatch):
    monkeypatch.setattr(glimpses, "PATIENCE_S", 0.0)
    viewer.add_image(np.zeros((64, 64), np.float32), rgb=False)
    widget = opened(viewer, qtbot, "bare")
    qtbot.waitUntil(widget.questions.sheet.compare.isVisible, timeout=WAIT_MS)
    assert [tile.has_picture for tile in widget.questions.sheet.looks.tiles] == [True] + [False] * 5
    widget.questions.sheet.compare.click()
    seen(widget, qtbot)
    viewer.window.remove_dock_widget(widget)


def test_answers_count_at_once(viewer, qtbot, bare):
    viewer.add_image(np.random.default_rng(1).random((48, 64), np.float32), rgb=False)
    widget = opened(viewer, qtbot, "bare")
    widget.questions.sheet.looks.choose(1)
    widget.questions.sheet.names.names[1].setText("stroma")
    widget.questions.sheet.names.changed.emit()
    qtbot.waitUntil(lambda: widget.questions.glimpses.is_busy, timeout=WAIT_MS)
    widget.run()
    assert not widget.questions.glimpses.is_busy
    qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT_MS)
    record = viewer.layers[-1].metadata["onnxseg"]
    assert record["normalization"]["method"] == "symmetric"
    assert "stroma" in list(viewer.layers[-1].features["class"])
    viewer.window.remove_dock_widget(widget)


def test_kept_answers_are_not_asked_again(viewer, qtbot, bare):
    widget = opened(viewer, qtbot, "bare")
    widget.questions.sheet.looks.choose(1)
    widget.questions.sheet.names.names[1].setText("stroma")
    widget.questions.sheet.orders.choose(1)
    widget.questions.sheet.keep.click()
    qtbot.waitUntil(lambda: not widget.questions.isVisible(), timeout=WAIT_MS)
    assert "kept in" in widget.foot.status.text()
    card = load_card("bare")
    assert card.normalization == Normalization("symmetric")
    assert card.colour_order == "BGR"
    assert card.classes[1].name == "stroma"
    assert questions(card) == ()
    read(widget, qtbot)
    assert widget.model.card.classes == card.classes
    viewer.window.remove_dock_widget(widget)


def test_kept_guesses_are_not_asked_again(viewer, qtbot, tmp_path):
    path = nets.unet(tmp_path / "elsewhere.onnx", channels=3)
    widget = opened(viewer, qtbot, path)
    widget.questions.sheet.keep.click()
    qtbot.waitUntil(lambda: not widget.questions.isVisible(), timeout=WAIT_MS)
    assert questions(load_card(path)) == ()
    viewer.window.remove_dock_widget(widget)


def test_skipped_questions_become_a_line_and_the_run_says_what_is_guessed(viewer, qtbot, bare):
    viewer.add_image(np.zeros((48, 64), np.float32), rgb=False)
    widget = opened(viewer, qtbot, "bare")
    assert "Nothing says" not in desk_plan(widget)
    widget.questions.sheet.looks.choose(1)
    widget.questions.sheet.skip.click()
    assert widget.questions.line.isVisible()
    assert not widget.questions.sheet.isVisible()
    assert "Guessed: intensities, names of classes and order of colours." in (
        widget.questions.put_off.text()
    )
    assert "Nothing says" in desk_plan(widget)
    widget.model.models.open("unet-nuclei")
    read(widget, qtbot)
    assert not widget.questions.isVisible()
    widget.model.models.open("bare")
    read(widget, qtbot)
    assert widget.questions.line.isVisible()
    widget.questions.again.click()
    assert widget.questions.sheet.isVisible()
    viewer.window.remove_dock_widget(widget)


def desk_plan(widget) -> str:
    widget.replan()
    return widget.foot.plan.text()


def test_the_keyboard_reaches_every_answer(viewer, qtbot, bare):
    widget = opened(viewer, qtbot, "bare")
    tiles = widget.questions.sheet.looks
    tiles.tiles[0].setFocus(Qt.FocusReason.TabFocusReason)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Up, Qt.Key.Key_Up):
        qtbot.keyClick(tiles.tiles[tiles.index], key)
    assert tiles.index == 0
    qtbot.keyClick(tiles.tiles[0], Qt.Key.Key_Down)
    assert tiles.index == 3
    asked = widget.questions
    wanted = [asked.sheet.names.chips[0], asked.sheet.names.names[0], asked.sheet.names.names[2]]
    wanted += [asked.sheet.orders.tiles[0], asked.sheet.keep, asked.sheet.skip]
    reached, place = [], tiles.tiles[3]
    while (place := place.nextInFocusChain()) is not tiles.tiles[3]:
        if place.isVisible() and place.focusPolicy() & Qt.FocusPolicy.TabFocus:
            reached.append(place)
    places = [reached.index(part) for part in wanted]
    assert places == sorted(places)
    assert reached.index(asked.sheet.skip) == 8
    viewer.window.remove_dock_widget(widget)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_questions_fit_a_narrow_dock(viewer, qtbot, bare, theme):
    viewer.theme = theme
    viewer.window.resize(900, 900)
    widget = opened(viewer, qtbot, "bare")
    qtbot.waitUntil(lambda: widget.width() < 400)
    asked = widget.questions
    parts = [
        *asked.sheet.looks.tiles,
        *asked.sheet.names.names,
        *asked.sheet.orders.tiles,
        asked.sheet.skip,
    ]
    for part in parts:
        right = part.mapTo(asked, part.rect().topRight()).x()
        assert right < asked.width()
        edge = part.mapTo(widget, part.rect().topRight()).x()
        assert edge < widget.width()
    viewer.window.remove_dock_widget(widget)


def test_many_classes_scroll_instead_of_growing(qtbot):
    asked = Questions(lambda: None)
    qtbot.addWidget(asked)
    asked.sheet.names.offer([ClassInfo(i, f"c{i}", None) for i in range(40)])
    assert asked.sheet.names.sizeHint().height() < 200
    assert len(asked.sheet.names.classes) == 40


def test_an_empty_name_stays_what_it_was_and_chips_change_colour(qtbot):
    asked = Questions(lambda: None)
    qtbot.addWidget(asked)
    asked.sheet.names.offer([ClassInfo(0, "background", None), ClassInfo(1, "one", "#ff0000")])
    asked.sheet.names.names[1].setText("  ")
    asked.sheet.names.chips[1].set_colour("#00ff00")
    assert asked.sheet.names.classes[1] == ClassInfo(1, "one", "#00ff00")


def test_a_dock_closed_amid_the_pictures_leaves_nothing_behind(viewer, qtbot, bare):
    viewer.add_image(np.zeros((128, 128), np.float32), rgb=False)
    gone, pictures = closed_early(viewer, qtbot)
    assert not pictures.is_busy
    del pictures
    qtbot.wait(300)
    gc.collect()
    assert gone() is None


def closed_early(viewer, qtbot):
    """Close the dock as soon as small pictures are being made."""
    widget = opened(viewer, qtbot, "bare")
    pictures = widget.questions.glimpses
    qtbot.waitUntil(lambda: pictures.is_busy, timeout=WAIT_MS)
    viewer.window.remove_dock_widget(widget)
    return weakref.ref(widget), pictures


@pytest.fixture
def models(qtbot, folder, bare) -> ModelDesk:
    desk = ModelDesk(qtbot, folder)
    set_canvas_size(desk.viewer, (64, 64))
    desk.widget.show()
    desk.choose("bare")
    return desk


def test_the_models_widget_asks_in_place_of_the_details(models):
    assert models.widget.questions.is_open
    assert not models.widget.details.isVisible()
    models.widget.questions.sheet.skip.click()
    assert models.widget.details.isVisible()
    assert "a guess" in models.text
    models.choose("unet-nuclei")
    assert not models.widget.questions.isVisible()
    assert models.widget.details.isVisible()


def test_the_models_widget_keeps_answers_on_the_card(models, folder):
    models.widget.questions.sheet.names.names[2].setText("lumen")
    models.widget.questions.sheet.keep.click()
    models.finish()
    assert (folder / "bare.json").exists()
    assert not models.widget.questions.isVisible()
    assert "lumen" in models.text
    (summary,) = (s for s in models.widget.models._summaries() if s.name == "bare")
    assert [entry.name for entry in summary.classes] == ["background", "class 1", "lumen"]


def test_the_list_shows_what_a_bare_model_turned_out_to_be(models, folder):
    nets.saliency(folder / "subject.onnx")
    models.widget.refresh("subject")
    models.choose("subject")
    assert "Cut out" in models.widget.models.currentItem().data(LINE)
    models.widget.refresh()
    assert "Cut out" in models.widget.models.currentItem().data(LINE)
    models.choose("bare")
    assert len(models.widget.models.summary.classes) == 3


def test_a_test_in_the_models_widget_uses_the_answers(models):
    models.image()
    models.viewer.reset_view()
    models.widget.questions.sheet.looks.choose(1)
    models.press("test")
    record = models.viewer.layers[-1].metadata["onnxseg"]
    assert record["normalization"]["method"] == "symmetric"
