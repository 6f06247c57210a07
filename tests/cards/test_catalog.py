import pytest

import nets
from napari_onnxseg.cards import catalog
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelNotFoundError


@pytest.fixture
def user_models(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path))
    return tmp_path


def test_the_models_of_the_package_are_listed(user_models):
    names = {summary.name: summary for summary in catalog.list_models()}
    assert names["u2netp"].task == "matting"
    assert names["u2netp"].source == "bundled"
    assert names["u2netp"].size_bytes == names["u2netp"].path.stat().st_size


def test_a_model_of_the_user_is_found_by_name(user_models):
    nets.two_class(user_models / "mine.onnx", card={"title": "My own"})
    (mine,) = (s for s in catalog.list_models() if s.name == "mine")
    assert (mine.title, mine.source) == ("My own", "user")
    assert load_card("mine").path == user_models / "mine.onnx"


def test_a_model_of_the_user_hides_a_bundled_one(user_models):
    nets.two_class(user_models / "u2netp.onnx")
    assert catalog.find("u2netp").parent == user_models
    (one,) = (s for s in catalog.list_models() if s.name == "u2netp")
    assert one.source == "user"


def test_a_broken_card_does_not_hide_the_other_models(user_models):
    nets.two_class(user_models / "mine.onnx")
    (user_models / "mine.json").write_text('{"format": 7}', encoding="utf-8")
    names = [summary.name for summary in catalog.list_models()]
    assert "mine" not in names
    assert "u2netp" in names


def test_an_unknown_name_is_answered_with_the_known_ones(user_models):
    nets.two_class(user_models / "mine.onnx")
    with pytest.raises(ModelNotFoundError, match=r"no model 'nope'; known are .*mine"):
        load_card("nope")


def test_the_users_folder_follows_the_system(monkeypatch, tmp_path):
    monkeypatch.delenv("ONNXSEG_MODELS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(catalog.sys, "platform", "linux")
    assert catalog.user_folder() == tmp_path / "napari-onnxseg" / "models"


def test_the_bundled_folder_holds_models():
    assert list(catalog.bundled_folder().glob("*.onnx"))
