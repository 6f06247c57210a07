import hashlib

import pytest

import nets
from napari_onnxseg.cards.offers import Offer
from publisher import Publisher

TERMS = "made by: the tester"


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Return the user's folder; no setting of this computer counts."""
    for name in ("OFFLINE", "MIRROR"):
        monkeypatch.delenv(f"ONNXSEG_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture
def publisher(models, tmp_path, monkeypatch):
    """Publish 'silueta', and 'bria-rmbg' which must not be used commercially."""
    content = nets.saliency(tmp_path / "toy.onnx").read_bytes()
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    with Publisher(content) as server:
        entries = [
            Offer(
                name=name,
                title="Toy",
                description="For tests.",
                url=f"{server.base}/{name}.onnx",
                size_bytes=len(content),
                licence="as told",
                origin="the tester",
                md5=md5,
                non_commercial=name == "bria-rmbg",
            )
            for name in ("silueta", "bria-rmbg")
        ]
        offers = {entry.name: entry for entry in entries}
        monkeypatch.setattr("napari_onnxseg.cards.offers.OFFERS", offers)
        monkeypatch.setattr("napari_onnxseg.cards.catalog.OFFERS", offers)
        yield server


def test_terms_are_shown_and_the_model_can_be_used(onnxseg, publisher, models) -> None:
    done = onnxseg("models", "download", "silueta", "--yes")
    assert done.exit_code == 0
    assert TERMS in done.stderr
    assert "licence: as told" in done.stderr
    assert str(models / "silueta.onnx") in done.stderr
    assert onnxseg("models", "show", "silueta", "--json").json["facts"]["normalization"] == "card"


def test_json_holds_the_path_and_the_hash(onnxseg, publisher, models) -> None:
    done = onnxseg("models", "download", "silueta", "--yes", "--json")
    assert done.json == {
        "model": "silueta",
        "path": str(models / "silueta.onnx"),
        "sha256": hashlib.sha256(publisher.content).hexdigest(),
    }


def test_nothing_is_fetched_where_nobody_can_agree(onnxseg, publisher, models) -> None:
    done = onnxseg("models", "download", "silueta")
    assert done.exit_code == 2
    assert "add --yes" in done.stderr
    assert publisher.asked == []
    assert not models.exists()


@pytest.mark.parametrize(("answer", "code", "asked"), [("y", 0, 1), ("n", 130, 0)])
def test_the_user_is_asked(onnxseg, publisher, monkeypatch, answer, code, asked) -> None:
    monkeypatch.setattr("napari_onnxseg.cli.downloads._someone_is_here", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda question, err: answer == "y")
    assert onnxseg("models", "download", "silueta").exit_code == code
    assert len(publisher.asked) == asked


def test_yes_alone_does_not_accept_terms_that_forbid_commercial_use(onnxseg, publisher) -> None:
    done = onnxseg("models", "download", "bria-rmbg", "--yes")
    assert done.exit_code == 2
    assert "NO COMMERCIAL USE" in done.stderr
    assert "--non-commercial" in done.stderr
    assert publisher.asked == []
    accepted = onnxseg("models", "download", "bria-rmbg", "--yes", "--non-commercial")
    assert accepted.exit_code == 0


def test_a_mirror_can_be_named(onnxseg, publisher, models) -> None:
    mirror = f"{publisher.base}/mirror"
    assert onnxseg("models", "download", "silueta", "--yes", "--mirror", mirror).exit_code == 0
    assert publisher.asked == [("/mirror/silueta.onnx", None)]


def test_a_download_that_fails_is_one_line(onnxseg, publisher) -> None:
    publisher.status = 404
    done = onnxseg("models", "download", "silueta", "--yes", "--json")
    assert done.exit_code == 1
    assert "no file at" in done.json["error"]
    assert "\n" not in done.json["error"]


def test_what_is_here_already_is_checked_without_a_question(onnxseg, publisher) -> None:
    onnxseg("models", "download", "silueta", "--yes")
    again = onnxseg("models", "download", "silueta")
    assert again.exit_code == 0
    assert TERMS not in again.stderr
    assert len(publisher.asked) == 1


def test_an_unknown_name_is_wrong_usage(onnxseg, publisher) -> None:
    done = onnxseg("models", "download", "nope", "--yes")
    assert done.exit_code == 2
    assert "silueta" in done.stderr


def test_the_list_tells_what_is_here_and_what_can_be_brought(onnxseg, publisher) -> None:
    def states() -> dict[str, str]:
        listed = onnxseg("models", "list", "--json").json["models"]
        return {model["name"]: model["source"] for model in listed}

    assert states()["silueta"] == "downloadable"
    onnxseg("models", "download", "silueta", "--yes")
    assert (states()["silueta"], states()["u2netp"]) == ("user", "bundled")
    assert "bria-rmbg" in onnxseg("models", "list").stdout


def test_a_model_is_removed_with_what_belongs_to_it(onnxseg, publisher, models) -> None:
    onnxseg("models", "download", "silueta", "--yes")
    done = onnxseg("models", "remove", "silueta", "--yes", "--json")
    assert done.exit_code == 0
    assert len(done.json["removed"]) == 2
    assert list(models.iterdir()) == []


def test_nothing_is_deleted_where_nobody_can_agree(onnxseg, publisher, models) -> None:
    onnxseg("models", "download", "silueta", "--yes")
    assert onnxseg("models", "remove", "silueta").exit_code == 2
    assert (models / "silueta.onnx").exists()


@pytest.mark.parametrize("name", ["u2netp", "no-such-model"])
def test_only_models_of_the_user_can_be_removed(onnxseg, models, name) -> None:
    assert onnxseg("models", "remove", name, "--yes").exit_code == 2
