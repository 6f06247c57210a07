import json
from importlib.metadata import version

import pytest
from PIL import Image

import nets
from foreign import czann, linear, picture


def test_the_version_is_that_of_the_package(onnxseg) -> None:
    assert onnxseg("--version").stdout.split() == ["onnxseg", version("napari-onnxseg")]


def test_bundled_models_are_listed(onnxseg) -> None:
    names = {model["name"] for model in onnxseg("models", "list", "--json").json["models"]}
    assert names >= {"u2netp", "unet-nuclei"}
    listed = onnxseg("models", "list").stdout
    assert all(name in listed for name in names)


def test_the_models_of_the_user_are_listed_too(onnxseg, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path))
    nets.two_class(tmp_path / "mine.onnx", card={"title": "My own"})
    assert "My own" in onnxseg("models", "list").stdout


def test_a_model_is_shown_with_where_each_fact_came_from(onnxseg) -> None:
    shown = onnxseg("models", "show", "unet-nuclei").stdout
    assert "16 px" in shown
    card = onnxseg("models", "show", "unet-nuclei", "--json").json
    assert card["geometry"]["multiple"] == [16, 16]
    assert card["facts"]["normalization"] == "card"
    assert card["classes"][0]["id"] == 0


def test_what_is_assumed_about_a_bare_file_is_shown(onnxseg, tmp_path) -> None:
    path = nets.two_class(tmp_path / "bare.onnx")
    assert onnxseg("models", "show", path, "--json").json["facts"]["normalization"] == "assumed"
    assert "a guess" in onnxseg("models", "show", path).stdout


def test_a_package_of_another_tool_is_shown_and_run(onnxseg, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))
    network = linear(tmp_path / "n.onnx", layout="NHWC", sides=(64, 64))
    path = czann(tmp_path / "leaf.czann", network, Author="me")
    shown = onnxseg("models", "show", path, "--json").json
    assert shown["facts"]["classes"] == "package"
    assert (shown["suggested"]["halo"], shown["extra"]) == ([4, 6], {"Author": "me"})
    words = onnxseg("models", "show", path).stdout
    assert all(part in words for part in ("halo 4 × 6 px", "in the file: Author"))
    Image.fromarray(picture()).save(tmp_path / "in.png")
    done = onnxseg("segment", tmp_path / "in.png", "-m", path, "-o", tmp_path / "out.png")
    assert done.exit_code == 0


@pytest.mark.parametrize("name", ["no-such-model", "no-such-file.onnx"])
def test_an_unknown_model_is_wrong_usage(name, onnxseg) -> None:
    assert onnxseg("models", "show", name).exit_code == 2
    assert name in onnxseg("models", "show", name, "--json").json["error"]


def test_a_file_that_is_no_model_fails_in_one_line(onnxseg, tmp_path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"not a model")
    done = onnxseg("models", "show", "broken.onnx")
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1


def test_the_doctor_examines_the_processor(onnxseg) -> None:
    report = onnxseg("doctor", "--json")
    assert json.dumps(report.json)
    statuses = {line["name"]: line["status"] for line in report.json["lines"]}
    assert statuses["CPU"] == "ok"
    assert report.exit_code == (0 if report.json["ok"] else 1)
    assert "CPU" in onnxseg("doctor").stdout
