"""Single entries of a card, found by their place; cards of several outputs."""

import json

import pytest

from foreign import BIAS, WEIGHT
from napari_onnxseg.cards.edit import edit
from napari_onnxseg.cards.places import put, value_at
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.save import content_of, save_card
from napari_onnxseg.cards.starting import open_entries, starting_content
from napari_onnxseg.errors import ModelError
from netbuild import Net, save
from nets import box, dims_of


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path / "mine"))


@pytest.mark.parametrize(
    ("content", "place", "value", "expected"),
    [
        (
            {},
            "input.normalization.method",
            "unit",
            {"input": {"normalization": {"method": "unit"}}},
        ),
        ({}, "classes.3.name", "x", {"classes": [{"id": 3, "name": "x"}]}),
        (
            {"classes": [{"id": 5}, {"id": 0}]},
            "classes.0.name",
            "x",
            {"classes": [{"id": 5}, {"id": 0, "name": "x"}]},
        ),
        ({"classes": [{"id": 0}, {"id": 1}]}, "classes.0", None, {"classes": [{"id": 1}]}),
        (
            {"outputs": [{"name": "a"}, {"name": "b", "title": "B"}]},
            "outputs.B.scores",
            "values",
            {"outputs": [{"name": "a"}, {"name": "b", "title": "B", "scores": "values"}]},
        ),
        (
            {"output": {"channels": ["a"]}},
            "output.channels.1",
            "b",
            {"output": {"channels": list("ab")}},
        ),
        ({"title": "x"}, "title", None, {}),
        ({}, "title", None, {}),
    ],
)
def test_a_value_is_put_at_its_place(content, place, value, expected):
    put(content, place, value)
    assert content == expected
    assert value_at(content, place) == (value if place != "classes.0" else None)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("title.x", "'title' is \"a\", which has no entries inside"),
        ("outputs.c.scores", "There is no 'outputs.c.scores'; there are 0"),
        ("outputs.7.scores", "There is no"),
    ],
)
def test_a_place_that_cannot_be_is_named(place, words):
    with pytest.raises(ModelError, match=words):
        put({"title": "a", "outputs": [{"name": "a"}]}, place, 1)


def test_what_no_run_uses_can_be_set_and_taken_away(tmp_path):
    path = box(tmp_path / "net.onnx", card={"format": 1, "metrics": {"iou": 1}, "title": "Net"})
    sha256 = load_card(path).sha256
    edit(path, {"metrics.dice": 2, "sha256": sha256, "$schema": "here"})
    card = json.loads((tmp_path / "net.json").read_text())
    assert (card["$schema"], card["metrics"], card["sha256"]) == (
        "here", {"iou": 1, "dice": 2}, sha256,
    )  # fmt: skip
    edit(path, {"metrics": None, "sha256": None, "$schema": None})
    card = json.loads((tmp_path / "net.json").read_text())
    assert not card.keys() & {"$schema", "metrics", "sha256"}


def two_headed(path, card=None):
    """Write a network of four classes and, beside them, two values for each pixel."""
    net = Net(dims_of("NCHW", None, 3, (None, None)))
    scores = net.conv("input", WEIGHT[:, :, None, None], BIAS)
    values = net.conv("input", WEIGHT[:2, :, None, None], BIAS[:2])
    outputs = {scores: 4, values: 2}
    dims = {
        name: ("float32", dims_of("NCHW", None, count, (None, None)))
        for name, count in outputs.items()
    }
    return save(net.model(dims), path, card), list(outputs)


def described(names):
    scores, values = names
    return {
        "format": 1,
        "task": "semantic",
        "outputs": [
            {"name": scores, "title": "Kinds", "classes": [{"id": 1, "name": "leaf"}]},
            {"name": values, "title": "Flow", "task": "image", "channels": ["down", "right"]},
        ],
    }


def test_a_card_of_several_outputs_is_edited_by_their_names(tmp_path):
    path, names = two_headed(tmp_path / "net.onnx")
    (tmp_path / "net.json").write_text(json.dumps(described(names)))
    done = edit(path, {"outputs.Flow.after": [{"op": "scale_linear", "gain": 2}], "title": "Net"})
    assert [change.entry for change in done.changes] == ["outputs.Flow.after", "title"]
    card = load_card(path)
    assert card.title == "Net"
    assert [head.name for head in card.heads] == ["Kinds", "Flow"]
    assert card.others[0].channels == ("down", "right")
    assert card.others[0].after[0].gain == (2.0,)


def test_a_saved_card_of_several_outputs_reads_back_the_same(tmp_path):
    path, names = two_headed(tmp_path / "net.onnx")
    (tmp_path / "net.json").write_text(json.dumps(described(names)))
    before = load_card(path)
    save_card(before, path)
    after = load_card(path)
    assert after.heads == before.heads
    assert after.facts == before.facts


def test_outputs_that_nobody_describes_stay_guesses_until_they_are_stated(tmp_path):
    path, names = two_headed(tmp_path / "net.onnx")
    card = load_card(path)
    assert len(card.heads) == 2
    assert "outputs" not in content_of(card)
    content = starting_content(card, path)
    assert [entry["name"] for entry in content["outputs"]] == names
    assert all("classes" not in entry for entry in content["outputs"])
    asked = {entry.entry: entry.assumed for entry in open_entries(card, path)}
    assert asked.keys() >= {"outputs.0.classes", "outputs.1.task", "outputs.1.classes"}
    edit(path, {"outputs.1.task": "image", "outputs.1.title": "Flow"})
    card = load_card(path)
    assert [head.task for head in card.heads] == ["semantic", "image"]
    assert card.facts["classes"] == "assumed"
    edit(path, {"outputs.0.classes.2.name": "leaf"})
    card = load_card(path)
    assert ([entry.name for entry in card.classes][2], len(card.classes)) == ("leaf", 4)


def test_all_that_is_open_can_be_answered_as_it_is_assumed(tmp_path):
    path, _ = two_headed(tmp_path / "net.onnx")
    before = load_card(path)
    edit(path, {asked.entry: asked.assumed for asked in open_entries(before, path)})
    after = load_card(path)
    assert after.heads == before.heads
    assert open_entries(after, path) == ()
