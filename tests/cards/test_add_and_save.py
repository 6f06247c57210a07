"""Models copied into the user's folder, and cards that the user corrected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import nets
from foreign import czann, linear
from napari_onnxseg.cards import save, sources
from napari_onnxseg.cards.add import add
from napari_onnxseg.cards.belongings import remove
from napari_onnxseg.cards.catalog import SUFFIXES, list_models
from napari_onnxseg.cards.own import own_card_path
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.save import save_card
from napari_onnxseg.errors import FileFormatError, ModelError
from napari_onnxseg.prepare.normalize import Normalization


@pytest.fixture
def mine(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "mine"
    monkeypatch.setenv("ONNXSEG_MODELS", str(folder))
    return folder


def added(path: Path) -> Path:
    story = add(path)
    while True:
        try:
            next(story)
        except StopIteration as end:
            return end.value


def test_a_model_is_copied_with_its_card(mine, tmp_path):
    path = nets.box(tmp_path / "net.onnx", card={"format": 1, "title": "Boxes"})
    place = added(path)
    assert place == mine / "net.onnx"
    assert place.read_bytes() == path.read_bytes()
    assert load_card("net").title == "Boxes"
    assert sorted(p.name for p in mine.iterdir()) == ["net.json", "net.onnx"]


def test_the_same_model_is_not_copied_twice(mine, tmp_path):
    path = nets.box(tmp_path / "net.onnx")
    assert added(path) == added(path)
    assert len(list(mine.iterdir())) == 1


def test_another_model_of_that_name_gets_a_number_and_overwrites_nothing(mine, tmp_path):
    first = added(nets.box(tmp_path / "net.onnx"))
    before = first.read_bytes()
    second = added(nets.box(tmp_path / "net.onnx", radius=2))
    assert second == mine / "net-2.onnx"
    assert first.read_bytes() == before


def test_what_is_no_model_is_refused_and_leaves_nothing(mine, tmp_path):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"nonsense")
    with pytest.raises(ModelError):
        added(bad)
    assert not mine.exists()


def test_a_copy_that_is_ended_leaves_nothing(mine, tmp_path):
    story = add(nets.box(tmp_path / "net.onnx"))
    next(story)
    story.close()
    assert list(mine.iterdir()) == []


def test_the_catalogue_lists_all_files_that_can_be_opened():
    assert sources.SUFFIXES == SUFFIXES


def edited(path: Path, **changes):
    card = load_card(path)
    facts = {**card.facts, **dict.fromkeys(changes, "user")}
    return replace(card, **changes, facts=facts)


def test_an_edited_card_lies_beside_the_model_and_is_used(mine, tmp_path):
    path = nets.box(tmp_path / "net.onnx")
    place = save_card(edited(path, normalization=Normalization("symmetric")), path)
    assert place == path.with_suffix(".json")
    card = load_card(path)
    assert card.normalization == Normalization("symmetric")
    assert card.facts["normalization"] == "card"


def test_a_guess_stays_a_guess_when_something_else_is_edited(mine, tmp_path):
    path = nets.box(tmp_path / "net.onnx")
    before = load_card(path)
    save_card(edited(path, title="Boxes"), path)
    card = load_card(path)
    assert card.title == "Boxes"
    assert card.facts == before.facts


def test_metrics_of_the_card_before_are_kept(mine, tmp_path):
    metrics = {"iou": 0.9}
    path = nets.box(tmp_path / "net.onnx", card={"format": 1, "metrics": metrics})
    save_card(edited(path, title="Boxes"), path)
    assert json.loads(path.with_suffix(".json").read_text())["metrics"] == metrics


def test_the_card_of_a_bundled_model_goes_to_the_folder_of_the_user(mine, tmp_path, monkeypatch):
    path = nets.box(tmp_path / "net.onnx", card={"format": 1, "title": "Before"})
    monkeypatch.setattr(save, "bundled_folder", lambda: tmp_path)
    place = save_card(edited(path, title="After", colour_order="BGR"), path)
    assert place == own_card_path(mine, path)
    assert json.loads(path.with_suffix(".json").read_text())["title"] == "Before"
    card = load_card(path)
    assert (card.title, card.colour_order, card.facts["colour_order"]) == ("After", "BGR", "user")


def test_a_folder_that_cannot_be_written_to_is_spared(mine, tmp_path, monkeypatch):
    path = nets.box(tmp_path / "net.onnx")
    real = save._write

    def refuse(content, place):
        if place.parent == tmp_path:
            raise FileFormatError("read-only")
        real(content, place)

    monkeypatch.setattr(save, "_write", refuse)
    assert save_card(edited(path, title="After"), path) == own_card_path(mine, path)
    assert load_card(path).title == "After"


def test_a_card_of_the_user_for_an_earlier_file_is_left_aside(mine, tmp_path, monkeypatch):
    path = nets.box(tmp_path / "net.onnx")
    monkeypatch.setattr(save, "bundled_folder", lambda: tmp_path)
    save_card(edited(path, title="After"), path)
    nets.box(path, radius=2)
    card = load_card(path)
    assert card.title == "net"
    assert any("earlier 'net.onnx'" in note for note in card.notes)


def test_the_list_shows_the_title_of_the_user(mine, tmp_path):
    place = added(nets.box(tmp_path / "net.onnx"))
    save_card(edited(place, title="After"), place)
    assert {m.name: m.title for m in list_models()}["net"] == "After"


def test_a_package_is_copied_as_it_is_listed_by_name_and_removed(mine, tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))
    place = added(czann(tmp_path / "cells.czann", linear(tmp_path / "net.onnx")))
    assert place == mine / "cells.czann"
    assert "cells" in {m.name for m in list_models()}
    assert load_card("cells").facts["classes"] == "package"
    save_card(edited(place, title="Cells of ours"), place)
    assert load_card("cells").title == "Cells of ours"
    assert load_card("cells").facts["classes"] == "package"
    assert remove("cells") == (place, mine / "cells.json")
