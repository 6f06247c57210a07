import json

import pytest

import nets
from napari_onnxseg.cards.card import ObjectRule
from napari_onnxseg.cards.native import is_card, read_description
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.write import write_card
from napari_onnxseg.errors import ModelError

FULL = {
    "format": 1,
    "name": "nuclei",
    "title": "Nuclei",
    "description": "Finds nuclei.",
    "task": "semantic",
    "licence": "BSD-3-Clause",
    "origin": "us",
    "sha256": "ab",
    "input": {
        "name": "image",
        "layout": "NCHW",
        "channels": 3,
        "colour_order": "BGR",
        "normalization": {"method": "percentile", "low": 1.0, "high": 99.8, "clip": False},
    },
    "output": {"name": "logits", "layout": "NCHW", "scores": "logits"},
    "classes": [
        {"id": 1, "name": "inside", "colour": "#ff0000"},
        {"id": 0, "name": "background", "colour": None},
    ],
    "objects": {"method": "watershed", "inside": 1, "min_area_px": 20},
    "metrics": {"anything": {"goes": [1, 2]}},
}


def written(folder, content):
    path = folder / "card.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_every_entry_is_read(tmp_path):
    told = read_description(written(tmp_path, FULL))
    assert (told.name, told.task, told.licence, told.colour_order) == (
        "nuclei", "semantic", "BSD-3-Clause", "BGR",
    )  # fmt: skip
    assert (told.tensors.input_name, told.tensors.channels) == ("image", 3)
    assert told.normalization.high == 99.8
    assert [entry.name for entry in told.classes] == ["background", "inside"]
    assert told.objects == ObjectRule("watershed", min_area_px=20)
    assert told.metrics == {"anything": {"goes": [1, 2]}}


def test_everything_but_the_format_may_be_left_out(tmp_path):
    told = read_description(written(tmp_path, {"format": 1}))
    assert told.classes == ()
    assert told.normalization is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format is 2; this version reads 1"),
        ({"colour": "red"}, "'colour' is not an entry of 'card'; allowed are format, name"),
        ({"input": {"size": 3}}, "'size' is not an entry of 'input'"),
        ({"output": {"kind": "x"}}, "'kind' is not an entry of 'output'"),
        ({"classes": [{"id": 0, "label": "x"}]}, "'label' is not an entry of 'classes'"),
        ({"objects": {"method": "magic"}}, "'method' of 'objects' is 'magic'"),
        ({"objects": {"method": "watershed", "inner": 1}}, "'inner' is not an entry of 'objects'"),
        ({"objects": {"inside": 1}}, "'objects' names no method"),
        (
            {"objects": {"method": "watershed", "seed_threshold": 2}},
            "'seed_threshold' of 'objects'",
        ),
        ({"objects": {"method": "watershed", "border": "x"}}, "'border' of 'objects' is 'x'"),
        ({"task": "detection"}, "'task' is 'detection'; allowed are semantic, matting"),
        ({"input": {"layout": "CHWN"}}, "'layout' is 'CHWN'"),
        ({"input": {"channels": 0}}, "'channels' must be a whole number above 0"),
        ({"input": {"channels": True}}, "'channels' must be a whole number above 0"),
        ({"output": {"scores": "softmax"}}, "'scores' is 'softmax'"),
        ({"classes": [{"id": -1}]}, "from 0 to 65535"),
        ({"classes": [{"id": 1}, {"id": 1}]}, "an id twice"),
        ({"classes": {"0": "x"}}, "'classes' must be a list"),
        ({"classes": [{"id": 0, "colour": "red"}]}, "'colour' of class 0 is 'red'"),
        ({"title": 3}, "'title' must be text"),
        ({"input": []}, "'input' must be an object"),
        ({"input": {"normalization": {"method": "magic"}}}, "magic"),
    ],
)
def test_what_is_unknown_or_not_allowed_is_named(tmp_path, change, message):
    path = written(tmp_path, FULL | change)
    with pytest.raises(ModelError, match=message) as caught:
        read_description(path)
    assert str(path) in str(caught.value)


def test_broken_json_is_said_with_its_place(tmp_path):
    with pytest.raises(ModelError, match=r"is not valid JSON .*line 1"):
        read_description(written(tmp_path, "{format: 1}"))


@pytest.mark.parametrize(
    ("content", "expected"), [('{"format": 1}', True), ('{"labels": []}', False), ("[", False)]
)
def test_only_an_object_with_a_format_is_a_card(tmp_path, content, expected):
    assert is_card(written(tmp_path, content)) is expected


def test_a_written_card_reads_back_the_same(tmp_path):
    card = load_card(
        nets.unet(
            tmp_path / "net.onnx",
            card={
                "title": "Net",
                "input": {"normalization": {"method": "percentile", "low": 2, "high": 98}},
                "classes": [{"id": i, "name": f"k{i}", "colour": "#00ff00"} for i in range(3)],
                "objects": {"method": "components", "inside": 2},
            },
        )
    )
    write_card(card, tmp_path / "net.json")
    again = load_card(tmp_path / "net.onnx")
    for name in ("title", "task", "sha256", "normalization", "classes", "objects", "scores"):
        assert getattr(again, name) == getattr(card, name), name
    assert (again.input, again.output, again.geometry) == (card.input, card.output, card.geometry)
