"""Choices of careless users: plain values in the record, or one sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nets
from napari_onnxseg import MatteJob, Normalization, SegmentJob, load_card, segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.errors import ChoiceError, OutOfMemoryError
from napari_onnxseg.pipeline.plan import plan_segment
from napari_onnxseg.tiling.region import Region
from netbuild import Net, save

RAW = Normalization("none")


@pytest.fixture
def two_class(tmp_path):
    """Class 1 where x > 0.5."""
    return nets.two_class(tmp_path / "two.onnx")


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"tile": "64"}, "'tile' must be a number of pixels"),
        ({"tile": True}, "'tile'"),
        ({"tile": ("a", 64)}, "'tile'"),
        ({"overlap": np.array(["8", "8"])}, "'overlap'"),
        ({"batch": 2.5}, "'batch' must be a whole number, got 2.5"),
        ({"batch": True}, "'batch'"),
        ({"workers": "2"}, "'workers'"),
        ({"workers": np.inf}, "'workers'"),
        ({"index": 3}, r"such as \(3,\)"),
        ({"index": (1.5,)}, "'index'"),
        ({"index": ("1",)}, "'index'"),
        ({"index": (slice(0, 2),)}, "'index'"),
        ({"channel_axis": "0"}, "'channel_axis'"),
        ({"channel_axis": 0.5}, "'channel_axis'"),
        ({"rgb": "yes"}, "True or False"),
        ({"channels": 0}, "'channels'"),
        ({"channels": (0.5,)}, "'channels'"),
        ({"colour_order": "GBR"}, "'RGB' or 'BGR'"),
        ({"normalization": "unit"}, r"Normalization\('unit'\)"),
        ({"statistics": "tile"}, "'image' or 'plane'"),
        ({"nodata": "0"}, "'nodata'"),
        ({"threshold": "half"}, "'threshold'"),
        ({"confidence": "yes"}, "'confidence'"),
        ({"device": None}, "'device'"),
        ({"model": 7}, "'model'"),
    ],
)
def test_a_choice_of_another_kind_is_refused_by_name(choice, words):
    with pytest.raises(ChoiceError, match=words):
        SegmentJob(**{"model": "m"} | choice)


@pytest.mark.parametrize("choice", [{"feather_px": "3"}, {"background": (255, 255, 255)}])
def test_a_cut_out_refuses_them_too(choice):
    with pytest.raises(ChoiceError, match=next(iter(choice))):
        MatteJob(**choice)


@pytest.mark.parametrize(
    "choice",
    [
        {"index": (np.int64(1), None)},
        {"index": np.array([1, 0])},
        {"channels": np.array([0])},
        {"tile": np.array([64, 64])},
        {"tile": [64, 64]},
        {"halo": np.int32(16), "tile": np.int64(64)},
        {"overlap": np.uint8(16), "tile": 64},
        {"batch": np.int64(2), "workers": np.int64(2)},
        {"nodata": np.float32(3)},
        {"nodata": np.nan},
        {"nodata": -np.inf},
        {"confidence": np.bool_(True), "rgb": np.False_},
        {"normalization": Normalization("window", low=np.float32(0), high=np.int64(1))},
        {"normalization": Normalization("mean_std", mean=np.array([0.5]), std=[np.float32(1)])},
    ],
    ids=str,
)
def test_numpy_values_and_lists_are_recorded_as_plain_json(two_class, choice):
    image = np.random.default_rng(5).random((2, 2, 70, 90), np.float32)
    given = {"normalization": RAW} | choice
    record = segment_image(image, two_class, **given).record
    assert json.loads(json.dumps(dict(record), allow_nan=False))["task"] == "semantic"


def test_a_numpy_threshold_is_recorded_as_a_plain_number(tmp_path):
    path = nets.one_channel(tmp_path / "one.onnx", sigmoid=True)
    image = np.random.default_rng(5).random((70, 90), np.float32)
    record = segment_image(image, path, normalization=RAW, threshold=np.float32(0.4)).record
    assert json.loads(json.dumps(dict(record)))["threshold"] == pytest.approx(0.4)


def test_a_batch_beyond_all_tiles_takes_no_memory_for_the_missing_ones(two_class):
    image = np.random.default_rng(6).random((100, 130), np.float32)
    result = segment_image(image, two_class, tile=64, batch=10**12, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)
    assert result.record["batch"] == result.record["tiles"]


def test_more_workers_than_any_machine_has_are_refused_before_they_start(two_class):
    with pytest.raises(ChoiceError, match=r"At most 256 workers .* got 1000000"):
        segment_image(np.zeros((8, 8), np.float32), two_class, workers=10**6)


def test_memory_that_runs_out_outside_the_network_is_said_in_the_same_words(two_class, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr("napari_onnxseg.pipeline.tiles.read_padded", full)
    with pytest.raises(OutOfMemoryError, match="smaller tile"):
        segment_image(np.zeros((8, 8), np.float32), two_class)


def test_the_memory_of_blended_scores_is_part_of_the_plan(tmp_path):
    card = load_card(nets.many_classes(tmp_path / "many.onnx", classes=26))
    stack = as_stack(np.broadcast_to(np.float32(0), (2000, 100_000)))
    job = SegmentJob("many", tile=512, overlap=64, workers=1)
    assert plan_segment(stack, card, job).memory_bytes > 26 * 512 * 100_000 * 4


def test_an_overlap_that_was_asked_for_is_not_blamed_on_the_tile(two_class):
    image = np.random.default_rng(8).random((100, 130), np.float32)
    result = segment_image(image, two_class, tile=64, overlap=16, normalization=RAW)
    assert not any("too small" in note for note in result.notes)


def test_a_tile_that_halos_eat_up_is_noted_when_the_user_asked_for_it(tmp_path):
    card = load_card(nets.box(tmp_path / "box.onnx", radius=96))
    stack = as_stack(np.zeros((1200, 1200), np.uint8))
    (note,) = plan_segment(stack, card, SegmentJob(card.path, tile=256)).notes[-1:]
    assert note == (
        "Halo 96 px leaves 64 px of each 256 px tile; tiles of 512 px or more are faster."
    )
    for job in (SegmentJob(card.path), SegmentJob(card.path, tile=800)):
        assert not any("are faster" in words for words in plan_segment(stack, card, job).notes)


def test_what_exact_tiles_of_a_fixed_size_cost_is_said(tmp_path):
    path = nets.unet(tmp_path / "net.onnx", channels=1, depth=3, seed=1, sides=(128, 128))
    card = load_card(path)
    plan = plan_segment(as_stack(np.zeros((900, 900), np.uint8)), card, SegmentJob(path))
    kept = [128 - 2 * halo for halo in plan.tiles.halo]
    times = round(128 * 128 / (kept[0] * kept[1]))
    assert times > 2
    assert any(f"exact: {times} × the work. A smaller halo is faster" in n for n in plan.notes)
    chosen = plan_segment(as_stack(np.zeros((900, 900), np.uint8)), card, SegmentJob(path, halo=8))
    assert not any("× the work" in note for note in chosen.notes)


def test_a_part_for_a_network_without_exact_tiles_is_said_to_differ(tmp_path):
    net = Net(nets.planes(1, nets.FREE))
    last = net.add("Sub", "input", net.add("GlobalAveragePool", "input"))
    path = save(net.model({last: ("float32", nets.planes(1, nets.FREE))}), tmp_path / "net.onnx")
    job = SegmentJob(path, region=Region((0, 0), (50, 60)))
    plan = plan_segment(as_stack(np.zeros((300, 300), np.uint8)), load_card(path), job)
    assert any("this part may differ from what a run on the whole gives" in n for n in plan.notes)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"inside": 1, "border": 1}, "inside 1 and border 1, which must be two classes above 0"),
        ({"inside": 1, "border": 0}, "must be two classes above 0"),
        ({"inside": 0}, "takes class 0, the background, for the inside"),
    ],
)
def test_a_rule_that_cannot_separate_objects_is_refused(tmp_path, rule, words):
    card = {"format": 1, "objects": {"method": "watershed", **rule}}
    path = nets.two_class(tmp_path / "net.onnx", card=card)
    with pytest.raises(ChoiceError, match=words):
        segment_image(np.zeros((40, 40), np.float32), path, objects=True)
    assert segment_image(np.zeros((40, 40), np.float32), path).objects is None


def test_no_objects_where_there_are_pixels_of_them_is_explained(tmp_path):
    rule = {"method": "watershed", "inside": 1, "seed_threshold": 1.0}
    path = nets.two_class(tmp_path / "net.onnx", card={"format": 1, "objects": rule})
    image = np.zeros((40, 40), np.float32)
    image[5:20, 5:20] = 0.9
    found = segment_image(image, path, objects=True)
    assert not found.objects.any()
    assert any("No object was found, although 225 pixels" in note for note in found.notes)
