import pytest

import nets
from napari_onnxseg.cards import catalog
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError, ModelNotFoundError


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


@pytest.mark.parametrize("name", ["mine", "u2netp"])
@pytest.mark.parametrize("text", ['{"format": 7}', '{"format": 1, "title": "Mine",}'])
def test_a_model_with_a_broken_card_is_listed_and_says_what_is_wrong(user_models, name, text):
    nets.two_class(user_models / f"{name}.onnx")
    (user_models / f"{name}.json").write_text(text, encoding="utf-8")
    listed = {summary.name: summary for summary in catalog.list_models()}
    assert {"unet-nuclei", "u2netp"} <= set(listed)
    assert listed[name].source == "user"
    with pytest.raises(ModelError, match=r"json' (cannot be used|is not valid JSON)"):
        load_card(name)


def test_what_is_no_file_is_not_listed(user_models):
    user_models.joinpath("folder.onnx").mkdir(parents=True)
    try:
        user_models.joinpath("link.onnx").symlink_to(user_models / "gone.onnx")
    except OSError:
        pytest.skip("no links here")
    assert not {"folder", "link"} & {summary.name for summary in catalog.list_models()}


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
