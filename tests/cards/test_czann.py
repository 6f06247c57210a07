import json

import numpy as np
import pytest

from foreign import WEIGHT, czann, czseg, linear, package, picture, scored
from napari_onnxseg.cards.card import Suggested
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError, ModelNotFoundError
from napari_onnxseg.pipeline.heads import channel_names
from napari_onnxseg.pipeline.semantic import segment_image

SIDES = (64, 64)

XML = """<?xml version="1.0" encoding="utf-8"?>
<Model Version="3.1.0">
  <Id>1d0c8a6e</Id>
  <ModelName>Old leaf</ModelName>
  <Description>Made in 2019</Description>
  <Status>Trained</Status>
  <Postprocessing>None</Postprocessing>
  <ColorHandling>SplitRgb</ColorHandling>
  <Channels><Item PixelType="Bgr24" /></Channels>
  <TrainingClasses>
    <Item Name="Wall" LabelValue="3" colR="0" colG="0" colB="255" />
    <Item Name="Background" LabelValue="1" colR="10" colG="10" colB="10" />
    <Item Name="Cell" LabelValue="2" colR="255" colG="128" colB="0" />
    <Item Name="Dust" LabelValue="4" colR="0" colG="0" colB="0" />
  </TrainingClasses>
  <BorderSize>24</BorderSize>
  <ScaleInputsByBitdepth>true</ScaleInputsByBitdepth>
</Model>
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def network(tmp_path):
    return linear(tmp_path / "network.onnx", layout="NHWC", sides=SIDES)


def reference(image, dtype):
    """ZEISS: blue, green, red, divided by the largest value of the dtype."""
    top = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    return scored(np.moveaxis(image[..., ::-1] / top, -1, 0)).argmax(0)


def test_every_entry_of_a_package_is_on_the_card(tmp_path, network):
    card = load_card(czann(tmp_path / "leaf.czann", network))
    assert (card.name, card.title, card.task) == ("leaf", "Leaf", "semantic")
    assert (card.input.layout, card.input.sides, card.colour_order) == ("NHWC", SIDES, "BGR")
    assert card.normalization.method == "dtype_max"
    assert [entry.name for entry in card.classes] == ["Nothing", "Cell", "Wall", "Dust"]
    assert card.classes[0].colour is None
    assert card.classes[1].colour is not None
    wanted = ("task", "normalization", "classes", "colour_order", "suggested")
    assert {card.facts[name] for name in wanted} == {"package"}


def test_the_overlap_of_a_package_is_the_total_of_both_sides(tmp_path, network):
    card = load_card(czann(tmp_path / "leaf.czann", network, MinOverlap=[8, 13]))
    assert card.suggested == Suggested(tile=SIDES, halo=(4, 7))


@pytest.mark.parametrize(("dtype", "top"), [(np.uint8, 255), (np.uint16, 30000), (np.float32, 1)])
def test_labels_are_those_of_the_network_fed_as_zeiss_feeds_it(tmp_path, network, dtype, top):
    path = czann(tmp_path / "leaf.czann", network)
    rng = np.random.default_rng(5)
    whole = np.issubdtype(dtype, np.integer)
    image = picture(dtype, top, side=90) if whole else rng.random((90, 97, 3), np.float32)
    labels = segment_image(image, path, rgb=True).labels
    assert len(np.unique(labels)) > 1
    np.testing.assert_array_equal(labels, reference(image, dtype))


def test_the_order_of_colours_changes_the_answer(tmp_path, network):
    path, image = czann(tmp_path / "leaf.czann", network), picture()
    turned = segment_image(image, path, rgb=True).labels
    straight = segment_image(image, path, rgb=True, colour_order="RGB").labels
    assert (turned != straight).mean() > 0.1


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("SingleClassInstanceSegmentation", "finds instances"),
        ("MultiClassClassification", "whole pictures"),
        ("ObjectDetection", "boxes"),
        ("Poetry", "none of the types"),
        (None, "none of the types"),
        (7, "none of the types"),
    ],
)
def test_other_types_are_refused_in_words(tmp_path, network, kind, words):
    with pytest.raises(ModelError, match=words):
        load_card(czann(tmp_path / "leaf.czann", network, Type=kind))


def test_a_regression_gives_a_channel_of_values_each(tmp_path, network):
    path = czann(tmp_path / "leaf.czann", network, Type="Regression")
    card = load_card(path)
    assert (card.task, card.scores, card.classes) == ("image", "values", ())
    assert card.facts["task"] == "package"
    image = np.random.default_rng(0).integers(0, 256, (*SIDES, 3), np.uint8)
    values = scored(np.moveaxis(image[..., ::-1] / 255, -1, 0))
    result = segment_image(image, path, rgb=True)
    np.testing.assert_allclose(result.image, values, atol=1e-5)
    assert channel_names(card.heads[0], len(values))[0] == "channel 1"


def test_a_card_beside_the_package_wins_and_one_inside_it_is_no_card(tmp_path, network):
    path = czann(tmp_path / "leaf.czann", network)
    told = {"format": 1, "input": {"colour_order": "RGB"}}
    path.with_suffix(".json").write_text(json.dumps(told))
    card = load_card(path)
    assert (card.colour_order, card.facts["colour_order"]) == ("RGB", "card")
    assert not any("is not a card" in note for note in card.notes)
    assert load_card(path.with_suffix(".json")) == card


def test_the_graph_wins_over_the_package_and_the_contradiction_is_noted(tmp_path):
    network = linear(tmp_path / "network.onnx", layout="NCHW")
    card = load_card(czann(tmp_path / "leaf.czann", network, Classes=["a", "b"]))
    assert (card.input.layout, len(card.classes)) == ("NCHW", 4)
    assert any("NHWC, but the graph shows NCHW" in note for note in card.notes)
    assert "The package names 2 classes, the model gives 4." in card.notes


def test_a_pixel_size_in_metres_is_kept_unless_it_is_the_placeholder(tmp_path, network):
    assert load_card(czann(tmp_path / "a.czann", network)).pixel_size is None
    card = load_card(czann(tmp_path / "b.czann", network, Scaling=[2.5e-7, 2.5e-7]))
    assert card.pixel_size == (pytest.approx(0.25), "µm")


def test_unknown_entries_are_kept_for_people(tmp_path, network):
    assert load_card(czann(tmp_path / "a.czann", network, Author="me")).extra == {"Author": "me"}


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"model.model": b"x"}, "holds no 'model.json'"),
        ({"model.json": "{}"}, "holds no 'model.model'"),
        ({"model.json": "{", "model.model": b"x"}, "not valid JSON"),
        ({"model.json": b"\xff\xfe", "model.model": b"x"}, "UTF-8"),
        ({"model.json": "[]", "model.model": b"x"}, "no named entries"),
        ({"model.json": '{"Type": "MultiClassSemanticSegmentation"}', "model.model": b"x"}, "ONNX"),
    ],
)
def test_an_incomplete_package_gets_one_sentence(tmp_path, members, words):
    with pytest.raises(ModelError, match=words):
        load_card(package(tmp_path / "a.czann", members))


def test_a_package_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(ModelNotFoundError):
        load_card(tmp_path / "a.czann")


def test_a_tensorflow_package_is_told_from_an_onnx_one(tmp_path):
    inner = package(tmp_path / "saved.zip", {"saved_model.pb": b"x"})
    with pytest.raises(ModelError, match="TensorFlow"):
        load_card(czann(tmp_path / "a.czann", inner))


@pytest.mark.parametrize("suffix", [".czseg", ".czmodel", ".CZSEG"])
def test_a_legacy_package_is_read_from_its_xml(tmp_path, network, suffix):
    card = load_card(czseg(tmp_path / f"old{suffix}", network, XML))
    assert (card.name, card.title, card.description) == ("old", "Old leaf", "Made in 2019")
    assert [entry.name for entry in card.classes] == ["Background", "Cell", "Wall", "Dust"]
    assert [entry.colour for entry in card.classes] == [None, "#ff8000", "#0000ff", "#000000"]
    assert card.suggested == Suggested(halo=(24, 24))
    assert (card.colour_order, card.normalization.method) == ("BGR", "dtype_max")


def test_a_legacy_package_distrusts_64_px_and_may_want_raw_values(tmp_path, network):
    xml = XML.replace("<BorderSize>24</BorderSize>", "").replace(">true<", ">false<")
    card = load_card(czseg(tmp_path / "old.czseg", network, xml))
    assert card.suggested == Suggested(halo=(64, 64))
    assert card.normalization.method == "none"


def test_labels_of_a_legacy_package_are_those_of_the_network(tmp_path, network):
    path, image = czseg(tmp_path / "old.czseg", network, XML), picture()
    labels = segment_image(image, path, rgb=True).labels
    np.testing.assert_array_equal(labels, reference(image, np.uint8))


def test_a_monochrome_legacy_package_takes_one_channel(tmp_path):
    network = linear(tmp_path / "n.onnx", weight=WEIGHT[:, :1], layout="NHWC", sides=SIDES)
    xml = XML.replace("SplitRgb", "ConvertToMonochrome")
    assert load_card(czseg(tmp_path / "old.czseg", network, xml)).input.channels == 1


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "entities"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "entities"),
        ("<Model><Id></Model>", "not valid XML"),
        ("", "not valid XML"),
    ],
)
def test_xml_that_defines_things_or_is_broken_is_refused(tmp_path, network, xml, words):
    with pytest.raises(ModelError, match=words):
        load_card(czseg(tmp_path / "old.czseg", network, xml))


def test_a_postprocessing_that_is_not_done_is_said(tmp_path, network):
    xml = XML.replace(
        "<Postprocessing>None</Postprocessing>", "<Postprocessing>FillHoles</Postprocessing>"
    )
    card = load_card(czseg(tmp_path / "old.czseg", network, xml))
    assert any("FillHoles" in note for note in card.notes)


@pytest.mark.parametrize("overlap", [[8], [-8, 8], [8, 5000]])
def test_an_overlap_that_fits_no_tile_is_left_aside_and_said(tmp_path, network, overlap):
    card = load_card(czann(tmp_path / "leaf.czann", network, MinOverlap=overlap))
    assert any("'MinOverlap' of the package is" in note for note in card.notes)
    assert card.suggested is None or card.suggested.halo is None
