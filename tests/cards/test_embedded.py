import json

import numpy as np
import pytest
from onnx import helper

from foreign import BIAS, WEIGHT, linear, picture, scored, with_metadata
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.semantic import segment_image
from netbuild import Net, save

CARD = {
    "format": 1,
    "title": "Leaf",
    "licence": "CC0-1.0",
    "input": {"colour_order": "BGR", "normalization": {"method": "divide", "scale": 100}},
    "classes": [{"id": i, "name": f"c{i}", "colour": None} for i in range(4)],
}
YOLO = {
    "description": "Ultralytics YOLO model",
    "author": "Ultralytics",
    "license": "AGPL-3.0",
    "task": "segment",
    "stride": "32",
    "batch": "1",
    "imgsz": "[640, 640]",
    "names": "{0: 'a', 1: 'b', 2: 'c', 3: 'd'}",
}
OTX = {
    "model_info model_type": "Segmentation",
    "model_info task_type": "segmentation",
    "model_info labels": "red_car tree wall",
    "model_info mean_values": "123.675 116.28 103.53",
    "model_info scale_values": "58.395 57.12 57.375",
    "model_info reverse_input_channels": "False",
    "model_info resize_type": "standard",
    "model_info soft_threshold": "0.4",
}


def test_a_card_in_the_file_is_used_as_one_beside_it(tmp_path):
    path = linear(tmp_path / "a.onnx", metadata={"onnxseg.card": json.dumps(CARD)})
    card = load_card(path)
    assert (card.title, card.licence, card.colour_order) == ("Leaf", "CC0-1.0", "BGR")
    assert {card.facts[name] for name in ("normalization", "classes")} == {"metadata"}
    assert not card.extra
    image = picture()
    scores = scored(np.moveaxis(image[..., ::-1] / 100, -1, 0))
    labels = segment_image(image, path, rgb=True).labels
    np.testing.assert_array_equal(labels, scores.argmax(0))


def test_a_card_beside_the_file_wins_over_the_one_inside(tmp_path):
    path = linear(tmp_path / "a.onnx", metadata={"onnxseg.card": json.dumps(CARD)})
    path.with_suffix(".json").write_text(json.dumps({"format": 1, "title": "Other"}))
    card = load_card(path)
    assert (card.title, card.colour_order) == ("Other", "BGR")


def test_the_card_in_the_file_wins_over_what_other_tools_wrote_there(tmp_path):
    told = {"format": 1, "task": "semantic", "classes": CARD["classes"]}
    path = linear(tmp_path / "a.onnx", metadata=YOLO | {"onnxseg.card": json.dumps(told)})
    assert [entry.name for entry in load_card(path).classes] == ["c0", "c1", "c2", "c3"]


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "cannot be used"), ('{"format": 9}', "'format' is 9"), ('{"format": 1, "x": 2}', "'x'")],
)
def test_a_broken_card_in_the_file_is_named(tmp_path, text, words):
    path = linear(tmp_path / "a.onnx", metadata={"onnxseg.card": text})
    with pytest.raises(ModelError, match=r"onnxseg\.card") as caught:
        load_card(path)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("segment", "an instance detector of Ultralytics, not a segmentation net"),
        ("detect", "an object detector"),
        ("pose", "a pose detector"),
        ("classify", "a classifier"),
        ("obb", "turned boxes"),
        ("juggle", "a network for 'juggle'"),
    ],
)
def test_networks_of_ultralytics_are_refused_by_what_they_do(tmp_path, task, words):
    path = linear(tmp_path / "a.onnx", metadata=YOLO | {"task": task})
    with pytest.raises(ModelError, match=words):
        load_card(path)


def test_a_semantic_network_of_ultralytics_is_fed_its_way(tmp_path):
    path = linear(tmp_path / "a.onnx", metadata=YOLO | {"task": "semantic"})
    result = segment_image(image := picture(), path, rgb=True)
    assert [entry.name for entry in result.card.classes] == list("abcd")
    assert result.card.facts["normalization"] == "metadata"
    np.testing.assert_array_equal(result.labels, scored(np.moveaxis(image / 255, -1, 0)).argmax(0))


def test_the_entries_of_otx_are_on_the_card(tmp_path):
    card = load_card(linear(tmp_path / "a.onnx", sides=(64, 64), metadata=OTX))
    assert [entry.name for entry in card.classes] == ["background", "red car", "tree", "wall"]
    assert (card.colour_order, card.suggested) == ("RGB", None)
    assert any("below its threshold" in note for note in card.notes)
    assert card.sizing.side_px == 64
    assert not card.extra


def test_as_many_labels_as_outputs_name_the_background_too(tmp_path):
    labels = OTX | {"model_info labels": "floor red_car tree wall"}
    card = load_card(linear(tmp_path / "a.onnx", metadata=labels))
    assert [entry.name for entry in card.classes] == ["floor", "red car", "tree", "wall"]


@pytest.mark.parametrize("reverse", [False, True])
def test_labels_are_those_of_the_network_fed_as_otx_feeds_it(tmp_path, reverse):
    given = OTX | {"model_info reverse_input_channels": str(reverse)}
    path, image = linear(tmp_path / "a.onnx", metadata=given), picture()
    mean, scale = (
        np.array([float(part) for part in OTX[f"model_info {what}_values"].split()])
        for what in ("mean", "scale")
    )
    fed = ((image[..., ::-1] if reverse else image) - mean) / scale
    labels = segment_image(image, path, rgb=True).labels
    np.testing.assert_array_equal(labels, scored(np.moveaxis(fed, -1, 0)).argmax(0))


def test_reversed_channels_are_a_guess_that_is_said(tmp_path):
    given = OTX | {"model_info reverse_input_channels": "True"}
    card = load_card(linear(tmp_path / "a.onnx", metadata=given))
    assert card.colour_order == "BGR"
    assert any("choose RGB" in note for note in card.notes)


def test_the_feature_vector_of_otx_is_not_taken_for_a_map(tmp_path):
    net = Net(["batch", 3, 32, 32])
    scores = net.conv("input", np.ones((4, 3, 1, 1)))
    net.nodes.append(helper.make_node("GlobalAveragePool", ["input"], ["feature_vector"]))
    outputs = {"feature_vector": ("float32", ["batch", 3, 1, 1])}
    model = net.model(outputs | {scores: ("float32", ["batch", 4, 32, 32])})
    card = load_card(save(with_metadata(model, OTX), tmp_path / "a.onnx"))
    assert (card.output.name, card.output.channels) == (scores, 4)


def test_without_mean_and_scale_a_model_of_otx_is_fed_raw_values(tmp_path):
    given = {key: text for key, text in OTX.items() if "values" not in key}
    card = load_card(linear(tmp_path / "a.onnx", metadata=given))
    assert (card.normalization.method, card.facts["normalization"]) == ("none", "metadata")


@pytest.mark.parametrize("kind", ["ssd", "MaskRCNN", "Classification"])
def test_other_networks_of_otx_are_refused(tmp_path, kind):
    path = linear(tmp_path / "a.onnx", metadata=OTX | {"model_info model_type": kind})
    with pytest.raises(ModelError, match=kind):
        load_card(path)


def test_free_entries_are_kept_for_people(tmp_path):
    free = {"author": "me", "epoch": "12", "names": "not those of Deepness"}
    card = load_card(linear(tmp_path / "a.onnx", metadata=free))
    assert card.extra == free
    assert card.facts["normalization"] == "assumed"


@pytest.mark.parametrize(
    "text",
    ["[" * 3000, "9" * 5000, "1e999", "{1or 2: 3}", "'\\d'", "\x00", "nan", "None", "x" * 9999],
)
@pytest.mark.parametrize("key", ["class_names", "tiles_overlap", "model_info mean_values", "names"])
def test_values_of_every_kind_are_survived(tmp_path, key, text):
    entries = {"model_type": "Segmentor", key: text}
    card = load_card(linear(tmp_path / "a.onnx", metadata=entries))
    assert len(card.classes) == 4


def test_the_name_of_the_file_says_less_than_its_metadata(tmp_path):
    weight, bias = WEIGHT[:1], BIAS[:1]
    entries = {"onnxseg.card": '{"format": 1, "input": {"normalization": {"method": "unit"}}}'}
    path = linear(tmp_path / "u2net.onnx", weight=weight, bias=bias, metadata=entries)
    card = load_card(path)
    assert (card.normalization.method, card.facts["normalization"]) == ("unit", "metadata")
    assert (card.task, card.facts["task"]) == ("matting", "file name")


def test_metadata_that_is_no_text_is_survived(tmp_path):
    path = linear(tmp_path / "a.onnx", metadata={"author": "someone"})
    data = path.read_bytes().replace(b"author", b"aut\xffor").replace(b"someone", b"some\xfene")
    path.write_bytes(data)
    assert load_card(path).extra == {"aut\ufffdor": "some\ufffdne"}
