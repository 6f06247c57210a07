import json

import numpy as np
import onnx
import pytest

from foreign import BIAS, WEIGHT, global_mean, linear, picture, scored
from napari_onnxseg.cards.card import Suggested
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.semantic import segment_image
from napari_onnxseg.pipeline.settle import settle_tiles
from netbuild import Net, save

NAMES = {"0": "not classified", "1": "road", "2": "roof", "3": "tree"}
ROAD = {
    "model_type": '"Segmentor"',
    "class_names": json.dumps(NAMES),
    "resolution": '"5.5"',
    "tiles_size": '"256"',
    "tiles_overlap": '"11"',
    "standardization_mean": "[0.485, 0.456, 0.406]",
    "standardization_std": "[0.229, 0.224, 0.225]",
}
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def reference(image, *, mean=0.0, std=1.0):
    """Deepness: float32(x / 255), minus mean, by deviation, whatever the raster holds."""
    return np.moveaxis((image / 255.0 - mean) / std, -1, 0)


def test_every_entry_of_a_segmentor_is_on_the_card(tmp_path):
    card = load_card(linear(tmp_path / "roads.onnx", metadata=ROAD))
    assert (card.task, card.colour_order, card.pixel_size) == ("semantic", "RGB", (5.5, "cm"))
    assert [entry.name for entry in card.classes] == list(NAMES.values())
    assert card.suggested == Suggested(tile=(256, 256), halo=(15, 15))  # 11 % of 256 is 28.2
    wanted = ("task", "normalization", "classes", "pixel_size", "suggested", "colour_order")
    assert {card.facts[name] for name in wanted} == {"metadata"}
    assert not card.extra


@pytest.mark.parametrize(("dtype", "top"), [(np.uint8, 255), (np.uint16, 4000), (np.float32, 300)])
def test_pixels_are_divided_by_255_whatever_the_raster_holds(tmp_path, dtype, top):
    image = picture(dtype, top)
    plain = {key: text for key, text in ROAD.items() if "standard" not in key}
    for metadata, moved in ((ROAD, {"mean": MEAN, "std": STD}), (plain, {})):
        path = linear(tmp_path / "a.onnx", metadata=metadata)
        labels = segment_image(image, path, rgb=True).labels
        np.testing.assert_array_equal(labels, scored(reference(image, **moved)).argmax(0))


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_one_channel_is_a_probability_that_is_cut_at_the_threshold_of_the_file(tmp_path, threshold):
    entries = {"model_type": "Segmentor"} | ({"seg_thresh": "0.3"} if threshold else {})
    weight, bias = WEIGHT[1:2] / 2, BIAS[:1]
    path = linear(tmp_path / "a.onnx", weight=weight, bias=bias, metadata=entries)
    image = picture()
    scores = scored(reference(image), weight, bias)[0]
    result = segment_image(image, path, rgb=True)
    assert result.card.scores == "probabilities"
    assert 0 < result.labels.mean() < 1
    np.testing.assert_array_equal(result.labels, scores > (threshold or 0.5))
    assert result.record["threshold"] == (threshold or 0.5)
    chosen = segment_image(image, path, rgb=True, threshold=0.1).labels
    np.testing.assert_array_equal(chosen, scores > 0.1)


@pytest.mark.parametrize(
    "names",
    [
        '{"0": "a", "1": "b"}',
        "{0: 'a', 1: 'b'}",
        '[{"0": "a", "1": "b"}, {"0": "other"}]',
        '["a", "b"]',
        '{"1": "b", "0": "a"}',
    ],
)
@pytest.mark.parametrize("key", ["class_names", "names"])
def test_names_are_read_in_every_spelling(tmp_path, names, key):
    if key == "names" and names.startswith("[{"):
        return
    entries = {"model_type": '"segmentor"', key: names}
    card = load_card(
        linear(tmp_path / "a.onnx", weight=WEIGHT[:2], bias=BIAS[:2], metadata=entries)
    )
    assert [entry.name for entry in card.classes] == ["a", "b"]


@pytest.mark.parametrize("key", ["tile_size", "tiles_size"])
def test_both_spellings_of_the_tile_are_read(tmp_path, key):
    card = load_card(linear(tmp_path / "a.onnx", metadata={key: "512"}))
    assert card.suggested == Suggested(tile=(512, 512))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Detector", "detects boxes"),
        ('"Recognition"', "compares"),
        ('"Superresolution"', "enlarges"),
    ],
)
def test_other_kinds_of_model_are_refused_in_words(tmp_path, kind, words):
    path = linear(tmp_path / "a.onnx", metadata={"model_type": kind})
    with pytest.raises(ModelError, match=words):
        load_card(path)


def test_a_regressor_gives_its_scaled_values_named_by_channel(tmp_path):
    entries = {
        "model_type": "Regressor",
        "class_names": '{"0": "height", "1": "slope"}',
        "reg_output_scaling": "2.5",
        "resolution": "10",
    }
    path = linear(tmp_path / "a.onnx", weight=WEIGHT[:2], bias=BIAS[:2], metadata=entries)
    card = load_card(path)
    assert (card.task, card.scores, card.classes) == ("image", "values", ())
    assert (card.channels, card.pixel_size) == (("height", "slope"), (10.0, "cm"))
    assert {card.facts[name] for name in ("task", "scores", "channels", "after")} == {"metadata"}
    image = picture()
    values = scored(reference(image), weight=WEIGHT[:2], bias=BIAS[:2])
    np.testing.assert_allclose(segment_image(image, path, rgb=True).image, 2.5 * values, atol=1e-4)


def test_each_output_of_a_segmentor_has_its_own_classes(tmp_path):
    net = Net(["n", 3, "y", "x"])
    one, two = (net.random_conv("input", 3, classes, 1) for classes in (2, 3))
    outputs = {one: ("float32", ["n", 2, "y", "x"]), two: ("float32", ["n", 3, "y", "x"])}
    model = net.model(outputs)
    names = [{"0": "ground", "1": "road"}, {"0": "none", "1": "car", "2": "bus"}]
    onnx.helper.set_model_props(
        model, {"model_type": "Segmentor", "class_names": json.dumps(names)}
    )
    card = load_card(save(model, tmp_path / "a.onnx"))
    found = [[entry.name for entry in head.classes] for head in card.heads]
    assert found == [["ground", "road"], ["none", "car", "bus"]]
    result = segment_image(picture(), card.path, rgb=True)
    assert len(result.heads) == 2


def test_the_threshold_of_several_classes_is_followed(tmp_path):
    path = linear(tmp_path / "a.onnx", metadata=ROAD | {"seg_thresh": "0.9"})
    image = picture()
    cut = segment_image(image, path, rgb=True)
    best = segment_image(image, path, rgb=True, threshold=1e-6)
    dropped = cut.labels != best.labels
    assert dropped.any()
    assert not cut.labels[dropped].any()
    assert "class 0 where the best is below 0.9" in cut.record["plan"]


def test_a_card_beside_the_file_overrules_a_refusal(tmp_path):
    path = linear(tmp_path / "a.onnx", metadata={"model_type": "Recognition"})
    path.with_suffix(".json").write_text('{"format": 1, "task": "semantic"}')
    assert load_card(path).facts["task"] == "card"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("resolution", "fine"),
        ("resolution", "-3"),
        ("tile_size", "many"),
        ("tiles_overlap", "100"),
        ("seg_thresh", "7"),
        ("class_names", '{"0": "a", "2": "c"}'),
        ("standardization_mean", "[1, 2"),
        ("standardization_std", "[0, 0, 0]"),
    ],
)
def test_an_entry_of_another_kind_is_left_aside_and_said(tmp_path, key, text):
    card = load_card(linear(tmp_path / "a.onnx", metadata=ROAD | {key: text}))
    assert any("left aside" in note for note in card.notes)
    assert card.task == "semantic"


def test_a_card_wins_over_the_metadata_entry_by_entry(tmp_path):
    path = linear(tmp_path / "a.onnx", metadata=ROAD)
    told = {"format": 1, "input": {"normalization": {"method": "unit"}}}
    path.with_suffix(".json").write_text(json.dumps(told))
    card = load_card(path)
    assert (card.normalization.method, card.facts["normalization"]) == ("unit", "card")
    assert (card.classes[1].name, card.facts["classes"]) == ("road", "metadata")


def test_the_graph_wins_over_the_number_of_names(tmp_path):
    entries = ROAD | {"class_names": '{"0": "a", "1": "b"}'}
    card = load_card(linear(tmp_path / "a.onnx", metadata=entries))
    assert len(card.classes) == 4
    assert "The metadata of the file names 2 classes, the model gives 4." in card.notes


def test_entries_that_others_use_too_do_not_make_a_model_one_of_deepness(tmp_path):
    entries = {"resolution": "10 m", "class_names": "a b c d"}
    card = load_card(linear(tmp_path / "a.onnx", metadata=entries))
    assert card.normalization.method == "unit"
    assert card.extra == entries


def test_the_tile_and_halo_of_the_author_are_followed_only_where_tiles_cannot_be_exact(tmp_path):
    entries = {"model_type": "Segmentor", "tile_size": "64", "tiles_overlap": "20"}
    seen_all = load_card(global_mean(tmp_path / "mean.onnx", entries))
    plan = settle_tiles((300, 300), seen_all, SegmentJob("m"))
    assert (plan.tile, plan.halo, plan.overlap) == ((64, 64), (7, 7), (16, 16))
    chosen = settle_tiles((300, 300), seen_all, SegmentJob("m", tile=100, halo=3))
    assert (chosen.tile, chosen.halo) == ((100, 100), (3, 3))
    exact = load_card(linear(tmp_path / "exact.onnx", metadata=entries))
    alone = load_card(linear(tmp_path / "alone.onnx"))
    assert settle_tiles((300, 300), exact, SegmentJob("m")) == settle_tiles(
        (300, 300), alone, SegmentJob("m")
    )


def test_a_halo_that_leaves_nothing_of_the_tile_is_not_followed(tmp_path):
    entries = {"model_type": "Segmentor", "tile_size": "32", "tiles_overlap": "95"}
    card = load_card(global_mean(tmp_path / "a.onnx", entries))
    plan = settle_tiles((200, 200), card, SegmentJob("m"))
    assert (plan.tile, plan.halo, plan.overlap) == ((32, 32), (0, 0), (8, 8))
