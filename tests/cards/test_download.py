"""Published models by name: complete and unchanged, or one sentence that says why not."""

import errno
import hashlib
import socket
from itertools import pairwise

import pytest

import nets
from napari_onnxseg.cards import download as downloading
from napari_onnxseg.cards import fetch as fetching
from napari_onnxseg.cards.belongings import remove
from napari_onnxseg.cards.catalog import find, list_models
from napari_onnxseg.cards.download import address, download
from napari_onnxseg.cards.fetch import Transfer
from napari_onnxseg.cards.offers import OFFERS, Offer, offer
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ChoiceError, DownloadError, ModelError, ModelNotFoundError
from publisher import Publisher

NOISE = bytes(i * i % 251 for i in range(200_000))


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Return the user's folder, which does not exist yet; no setting of this computer counts."""
    for name in ("OFFLINE", "MIRROR"):
        monkeypatch.delenv(f"ONNXSEG_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(fetching, "_CHUNK_BYTES", 1000)
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture
def publisher():
    with Publisher(NOISE) as server:
        yield server


def offered(server, *, content=None, **changes):
    """Return an offer of what a server holds."""
    content = server.content if content is None else content
    known = {
        "name": "toy",
        "title": "Toy",
        "description": "For tests.",
        "url": f"{server.base}/toy-v1.onnx",
        "size_bytes": len(content),
        "licence": "MIT",
        "origin": "us",
        "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
    }
    return Offer(**known | changes)


def whole(story):
    """Run a download to its end; return the steps and the path."""
    steps = []
    while True:
        try:
            steps.append(next(story))
        except StopIteration as end:
            return steps, end.value


def left_over(models):
    return sorted(path.name for path in models.iterdir()) if models.exists() else []


def test_a_model_arrives_whole_under_its_name_with_its_hash_beside_it(models, publisher):
    steps, path = whole(download(offered(publisher)))
    assert path == models / "toy.onnx"
    assert path.read_bytes() == NOISE
    assert left_over(models) == ["toy.onnx", "toy.onnx.sha256"]
    recorded = (models / "toy.onnx.sha256").read_text(encoding="utf-8")
    assert recorded == f"{hashlib.sha256(NOISE).hexdigest()}  toy.onnx\n"
    assert steps[-1] == Transfer(len(NOISE), len(NOISE), "checking")
    assert publisher.asked == [("/toy-v1.onnx", None)]


def test_progress_grows_to_the_announced_size(models, publisher, monkeypatch):
    monkeypatch.setattr(fetching, "_PAUSE_S", 0.0)
    steps, _ = whole(download(offered(publisher)))
    counts = [step.done_bytes for step in steps if step.stage == "downloading"]
    assert all(a <= b for a, b in pairwise(counts))
    assert len(counts) > 3
    assert counts[-1] == len(NOISE)
    assert {step.total_bytes for step in steps} == {len(NOISE)}


def test_a_stated_sha256_is_compared_as_well(models, publisher):
    sha256 = hashlib.sha256(NOISE).hexdigest()
    whole(download(offered(publisher, md5=None, sha256=sha256)))
    wrong = offered(publisher, name="other", md5=None, sha256="0" * 64)
    with pytest.raises(DownloadError, match="is not the published 'other'"):
        whole(download(wrong))


def test_a_lost_connection_is_taken_up_where_it_broke(models, publisher):
    publisher.breaks = [70_000, 50_000]
    _, path = whole(download(offered(publisher)))
    assert path.read_bytes() == NOISE
    assert publisher.starts == [None, "bytes=70000-", "bytes=120000-"]


def test_a_download_that_keeps_breaking_is_resumed_by_the_next_one(models, publisher):
    publisher.breaks = [10_000] * fetching.ATTEMPTS
    with pytest.raises(DownloadError, match=r"broke off 4 times .* what arrived is kept"):
        whole(download(offered(publisher)))
    assert left_over(models) == ["toy.onnx.part"]
    _, path = whole(download(offered(publisher)))
    assert publisher.starts[-1] == "bytes=40000-"
    assert path.read_bytes() == NOISE


def test_a_server_that_gives_no_parts_is_asked_for_the_whole(models, publisher):
    publisher.ranges = False
    publisher.breaks = [70_000]
    _, path = whole(download(offered(publisher)))
    assert path.read_bytes() == NOISE
    assert publisher.starts == [None, "bytes=70000-"]


@pytest.mark.parametrize("kept", [len(NOISE), len(NOISE) + 5])
def test_an_unfinished_file_as_long_as_the_model_or_longer_is_settled(models, publisher, kept):
    models.mkdir()
    (models / "toy.onnx.part").write_bytes((NOISE + b"extra")[:kept])
    _, path = whole(download(offered(publisher)))
    assert path.read_bytes() == NOISE


def test_an_answer_from_another_place_of_the_file_is_not_glued_on(models, publisher):
    models.mkdir()
    (models / "toy.onnx.part").write_bytes(NOISE[:1000])
    publisher.range_said = f"bytes 500-{len(NOISE) - 1}/{len(NOISE)}"
    _, path = whole(download(offered(publisher)))
    assert path.read_bytes() == NOISE
    assert publisher.starts == ["bytes=1000-", None]


def test_a_server_that_gives_small_parts_is_asked_for_each(models, publisher):
    models.mkdir()
    (models / "toy.onnx.part").write_bytes(NOISE[:1000])
    publisher.piece = 100_000
    _, path = whole(download(offered(publisher)))
    assert path.read_bytes() == NOISE
    assert publisher.starts == ["bytes=1000-", "bytes=101000-"]


def test_a_wrong_file_is_deleted(models, publisher):
    with pytest.raises(DownloadError, match=r"not the published 'toy' \(md5:.* was deleted"):
        whole(download(offered(publisher, content=b"something else")))
    assert left_over(models) == []


def test_a_wrong_beginning_from_an_earlier_try_is_deleted_and_the_next_try_is_good(
    models, publisher
):
    models.mkdir()
    (models / "toy.onnx.part").write_bytes(b"x" * 1000)
    with pytest.raises(DownloadError, match="was deleted; try again"):
        whole(download(offered(publisher)))
    assert whole(download(offered(publisher)))[1].read_bytes() == NOISE


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "no file at '.*/toy-v1.onnx' any more"),
        (410, "no file at"),
        (403, "refused .*answer 403"),
        (503, "refused .*answer 503"),
    ],
)
def test_a_refusal_of_the_server_is_told(models, publisher, status, message):
    publisher.status = status
    with pytest.raises(DownloadError, match=message):
        whole(download(offered(publisher)))
    assert left_over(models) == []


def test_a_silent_server_is_given_up_and_what_came_is_kept(models, publisher, monkeypatch):
    monkeypatch.setattr(fetching, "ATTEMPTS", 2)
    publisher.stalls = [40_000, 40_000]
    with pytest.raises(DownloadError, match="the server fell silent"):
        whole(download(offered(publisher), timeout_s=1.0))
    assert (models / "toy.onnx.part").read_bytes() == NOISE[:80_000]


def test_a_server_that_does_not_answer_is_given_up(models):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/toy.onnx"
        with Publisher(NOISE) as server, pytest.raises(DownloadError, match=r"within 0\.2 s"):
            whole(download(offered(server, url=url), timeout_s=0.2))


def test_no_network_is_told(models, publisher):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(DownloadError, match="cannot be reached, perhaps this computer is offline"):
        whole(download(offered(publisher, url=f"http://127.0.0.1:{port}/toy.onnx")))


def test_redirects_are_followed(models, publisher):
    publisher.redirects = {"/toy-v1.onnx": f"{publisher.base}/elsewhere"}
    assert whole(download(offered(publisher)))[1].read_bytes() == NOISE
    assert [path for path, _ in publisher.asked] == ["/toy-v1.onnx", "/elsewhere"]


def test_redirects_in_a_circle_are_given_up(models, publisher):
    publisher.redirects = {"/toy-v1.onnx": "/b", "/b": "/toy-v1.onnx"}
    with pytest.raises(DownloadError, match="redirects more than 5 times"):
        whole(download(offered(publisher)))


@pytest.mark.parametrize("goal", ["http://example.org/toy.onnx", "ftp://127.0.0.1/toy.onnx"])
def test_a_redirect_to_an_unencrypted_place_is_refused(models, publisher, goal):
    publisher.redirects = {"/toy-v1.onnx": goal}
    with pytest.raises(DownloadError, match=f"'{goal}' is not encrypted"):
        whole(download(offered(publisher)))


def test_an_unencrypted_publisher_elsewhere_is_refused(models, publisher):
    with pytest.raises(DownloadError, match="only https is allowed"):
        whole(download(offered(publisher, url="http://example.org/toy.onnx")))


def test_an_encrypted_place_must_not_lead_to_an_unencrypted_one_even_here():
    with fetching._Session("https://example.org/toy.onnx", False) as session:
        session._require_safe("https://example.com/toy.onnx", left="https://example.org/")
        with pytest.raises(DownloadError, match="is not encrypted"):
            session._require_safe("http://localhost/toy.onnx", left="https://example.org/")


def test_a_web_page_in_place_of_the_model_is_recognised(models, publisher):
    publisher.kind = "text/html; charset=utf-8"
    with pytest.raises(DownloadError, match="web page instead of a model"):
        whole(download(offered(publisher)))
    assert left_over(models) == []


def test_too_small_a_disk_is_told_before_anything_is_written(models, publisher, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(DownloadError, match="no room for the 0 MB that are to come"):
        whole(download(offered(publisher)))
    assert left_over(models) == []


@pytest.mark.parametrize(
    ("number", "message"),
    [(errno.ENOSPC, "disk of .* is full; make room"), (errno.EACCES, "cannot be written")],
)
def test_a_disk_that_refuses_is_told(models, publisher, monkeypatch, number, message):
    def refuse(*_, **__):
        raise OSError(number, "no")
        yield

    monkeypatch.setattr(downloading, "fetch", refuse)
    with pytest.raises(DownloadError, match=message):
        whole(download(offered(publisher)))


@pytest.mark.parametrize("length_said", [True, False])
def test_an_answer_longer_than_the_model_is_cut_and_leaves_nothing(
    models, publisher, monkeypatch, length_said
):
    monkeypatch.setattr(downloading, "SLACK_BYTES", 1000)
    publisher.length_said = length_said
    short = offered(publisher, size_bytes=100_000)
    with pytest.raises(DownloadError, match=r"longer than the 101,000 bytes .* was deleted"):
        whole(download(short))
    assert list(models.iterdir()) == []


@pytest.mark.parametrize("length_said", [True, False])
def test_an_answer_longer_than_any_model_is_cut(models, publisher, monkeypatch, length_said):
    monkeypatch.setattr(downloading, "LARGEST_BYTES", 100_000)
    publisher.length_said = length_said
    with pytest.raises(DownloadError, match="longer than the 100,000 bytes"):
        whole(download(offered(publisher, size_bytes=None)))


def test_a_server_that_does_not_say_the_size_is_good_enough(models, publisher):
    publisher.length_said = False
    steps, path = whole(download(offered(publisher)))
    assert path.read_bytes() == NOISE
    assert steps[0].total_bytes is None


@pytest.mark.parametrize("word", ["1", "true", "Yes"])
def test_offline_says_what_to_put_where(models, publisher, monkeypatch, word):
    monkeypatch.setenv("ONNXSEG_OFFLINE", word)
    told = offered(publisher)
    with pytest.raises(DownloadError) as caught:
        whole(download(told))
    assert told.url in str(caught.value)
    assert str(models / "toy.onnx") in str(caught.value)
    assert publisher.asked == []


@pytest.mark.parametrize("word", ["", "0", "false", "off"])
def test_offline_can_be_said_to_be_off(models, publisher, monkeypatch, word):
    monkeypatch.setenv("ONNXSEG_OFFLINE", word)
    assert whole(download(offered(publisher)))[1].exists()


def test_a_file_that_was_brought_by_hand_is_recognised_offline(models, publisher):
    models.mkdir()
    (models / "toy.onnx").write_bytes(NOISE)
    steps, path = whole(download(offered(publisher), offline=True))
    assert (steps, path) == ([], models / "toy.onnx")
    assert left_over(models) == ["toy.onnx", "toy.onnx.sha256"]


def test_another_file_of_that_name_is_left_alone(models, publisher):
    models.mkdir()
    (models / "toy.onnx").write_bytes(b"my own")
    with pytest.raises(DownloadError, match="is there already and is not the published 'toy'"):
        whole(download(offered(publisher)))
    assert (models / "toy.onnx").read_bytes() == b"my own"


def test_a_mirror_takes_the_place_of_the_publisher(models, publisher, monkeypatch):
    far = offered(publisher, url="https://example.org/releases/v0/toy-v1.onnx")
    monkeypatch.setenv("ONNXSEG_MIRROR", f"{publisher.base}/models/")
    assert whole(download(far))[1].read_bytes() == NOISE
    assert publisher.asked == [("/models/toy-v1.onnx", None)]


def test_a_mirror_that_is_given_wins_over_the_setting(monkeypatch):
    monkeypatch.setenv("ONNXSEG_MIRROR", "https://a.example")
    assert address(offer("u2net"), "https://b.example/x") == "https://b.example/x/u2net.onnx"
    assert address(offer("u2net")) == "https://a.example/u2net.onnx"


@pytest.mark.parametrize("mirror", ["here", "file:///models", "ftp://example.org", "https://"])
def test_a_mirror_that_is_no_address_is_refused(mirror):
    with pytest.raises(ChoiceError, match="is not an address"):
        address(offer("u2net"), mirror)


def test_a_cancelled_download_keeps_what_arrived(models, publisher, monkeypatch):
    monkeypatch.setattr(fetching, "_PAUSE_S", 0.0)
    publisher.stalls = [100_000]
    story = download(offered(publisher), timeout_s=5)
    next(story)
    next(story)
    story.close()
    assert left_over(models) == ["toy.onnx.part"]
    _, path = whole(download(offered(publisher)))
    assert publisher.starts == [None, "bytes=2000-"]
    assert path.read_bytes() == NOISE


def test_terms_that_forbid_commercial_use_must_be_accepted(models, publisher):
    bound = offered(publisher, non_commercial=True, licence="CC-BY-NC-4.0")
    with pytest.raises(ChoiceError, match=r"commercially \(licence: CC-BY-NC-4.0\)"):
        whole(download(bound))
    assert publisher.asked == []
    assert whole(download(bound, accept_non_commercial=True))[1].exists()


@pytest.fixture
def silueta(models, tmp_path, monkeypatch):
    """Let 'silueta' be a toy network on this computer."""
    content = nets.saliency(tmp_path / "toy.onnx").read_bytes()
    with Publisher(content) as server:
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        here = offered(
            server, name="silueta", title="Toy", url=f"{server.base}/silueta.onnx", md5=md5
        )
        monkeypatch.setattr("napari_onnxseg.cards.catalog.OFFERS", {"silueta": here})
        monkeypatch.setattr("napari_onnxseg.cards.offers.OFFERS", {"silueta": here})
        yield here


def test_a_downloaded_model_is_known_as_if_it_had_a_card(silueta):
    whole(download(silueta))
    card = load_card("silueta")
    assert (card.task, card.title, card.licence, card.origin) == ("matting", "Toy", "MIT", "us")
    assert {card.facts[name] for name in ("task", "normalization", "scores")} <= {"card", "graph"}
    assert not any("name of the file" in note for note in card.notes)
    (listed,) = (m for m in list_models(downloadable=True) if m.name == "silueta")
    assert (listed.source, listed.task, listed.title) == ("user", "matting", "Toy")


def test_a_downloaded_model_that_changed_is_refused_at_its_next_use(silueta):
    _, path = whole(download(silueta))
    load_card("silueta")
    path.write_bytes(path.read_bytes() + b"\0\0")
    for again in (lambda: load_card("silueta"), lambda: whole(download(silueta))):
        with pytest.raises(ModelError, match=r"has changed since it was downloaded .* remove"):
            again()


def test_a_model_that_is_not_here_yet_is_listed_and_says_how_to_get_it(silueta):
    (listed,) = list_models(downloadable=True)[-1:]
    assert (listed.name, listed.source, listed.licence) == ("silueta", "downloadable", "MIT")
    assert "silueta" not in [model.name for model in list_models()]
    with pytest.raises(ModelNotFoundError, match="'onnxseg models download silueta'"):
        load_card("silueta")


def test_a_removed_model_leaves_nothing_and_can_be_downloaded_again(silueta, models):
    whole(download(silueta))
    (models / "silueta.json").write_text('{"format": 1}', encoding="utf-8")
    gone = remove("silueta")
    assert {path.name for path in gone} == {"silueta.onnx", "silueta.json", "silueta.onnx.sha256"}
    assert left_over(models) == []
    whole(download(silueta))
    assert find("silueta").exists()


def test_an_unfinished_download_can_be_removed(models):
    models.mkdir()
    (models / "toy.onnx.part").write_bytes(b"half")
    remove("toy")
    assert left_over(models) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("u2netp", "came with the package"),
        ("nope", "no model 'nope'"),
        ("../x", "not the name of a model"),
    ],
)
def test_what_is_not_the_users_cannot_be_removed(models, name, message):
    with pytest.raises((ChoiceError, ModelNotFoundError), match=message):
        remove(name)


def test_an_unknown_offer_is_answered_with_the_known_ones():
    with pytest.raises(ModelNotFoundError, match="can be downloaded: u2net, u2net_human_seg"):
        offer("u3net")


@pytest.mark.parametrize("name", OFFERS)
def test_every_offer_is_complete(name):
    entry = offer(name)
    algorithm, digest = entry.checksum.split(":")
    assert len(bytes.fromhex(digest)) == {"md5": 16, "sha256": 32}[algorithm]
    assert entry.url.startswith("https://")
    assert entry.file.endswith(".onnx")
    assert entry.licence
    assert entry.licence in entry.terms()
    told = entry.describe()
    assert told.task == "matting"
    assert told.normalization is not None
    assert told.fact("normalization") == "card"


def test_only_terms_that_forbid_commercial_use_are_marked_so():
    assert [name for name, entry in OFFERS.items() if entry.non_commercial] == ["bria-rmbg"]
    assert "NO COMMERCIAL USE" in offer("bria-rmbg").terms()
    assert "NO COMMERCIAL USE" not in offer("u2net").terms()
