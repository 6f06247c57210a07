"""The bundled land-cover network on its sample picture."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from napari_onnxseg import segment_image
from napari_onnxseg.arrays.files import read_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.catalog import bundled_folder
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.graph.check import check
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.plan import plan_segment

NAME = "unet-aerial"
REPORT = Path(__file__).parents[2] / "models" / "reports" / f"{NAME}.json"
CLASSES = ("unlabelled", "building", "land", "road", "vegetation", "water")
BUILDING, LAND, ROAD, VEGETATION, WATER = range(1, 6)


@pytest.fixture(scope="module")
def picture():
    return read_image(bundled_folder() / "samples" / "aerial.jpg").data


@pytest.fixture(scope="module")
def answer(picture):
    """Return the labels of the sample picture."""
    return segment_image(picture, NAME, rgb=True).labels


def share(labels, number):
    """Return the part of an area that has a class."""
    return float((labels == number).mean())


def test_the_card_names_five_classes_in_colour_and_a_transparent_zero():
    card = load_card(NAME)
    assert tuple(entry.name for entry in card.classes) == CLASSES
    assert [entry.id for entry in card.classes] == list(range(6))
    assert card.classes[0].colour is None
    assert len({entry.colour for entry in card.classes}) == 6
    assert card.output.channels == 6
    assert card.licence == "BSD-3-Clause"
    assert "CC0" in card.origin
    assert "Not for" in card.description
    assert not card.notes


def test_nothing_is_left_to_guess_and_the_check_is_clean():
    report = check(load_card(NAME).path)
    assert not report.of("error")
    assert not report.of("warning")


def test_the_file_is_small_plain_and_tells_nothing_of_where_it_was_made():
    path = load_card(NAME).path
    model = onnx.load(path)
    assert path.stat().st_size < 5_000_000
    assert {node.op_type for node in model.graph.node} <= {
        *("Conv", "Relu", "MaxPool", "ConvTranspose", "Concat")
    }
    assert not model.metadata_props
    assert not model.graph.doc_string
    assert not any(mark in path.read_bytes() for mark in (b".py", b"/home", b"/tmp", b"/work"))


def test_its_tiles_are_exact_and_said_to_be():
    card = load_card(NAME)
    plan = plan_segment(
        as_stack(np.zeros((3000, 4000, 3), np.uint8), rgb=True), card, SegmentJob(NAME)
    )
    assert card.geometry.exact
    assert card.geometry.multiple == (32, 32)
    assert not plan.tiles.blends
    assert plan.tiles.halo == card.geometry.halo


@pytest.mark.parametrize("tile", [448, (448, 544)])
def test_tiles_equal_the_whole_sample_bit_for_bit(picture, tile):
    larger = np.pad(picture, ((0, 210), (0, 300), (0, 0)), mode="symmetric")
    whole = segment_image(larger, NAME, rgb=True, tile=4096, confidence=True)
    tiled = segment_image(larger, NAME, rgb=True, tile=tile, confidence=True)
    assert whole.record["tiles"] == 1
    assert tiled.record["tiles"] > 2
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    np.testing.assert_array_equal(tiled.confidence, whole.confidence)


def test_every_pixel_of_the_sample_gets_a_class_and_every_class_occurs(answer, picture):
    assert answer.shape == picture.shape[:2]
    assert answer.dtype == np.uint8
    assert set(np.unique(answer)) == {BUILDING, LAND, ROAD, VEGETATION, WATER}


def test_lake_and_highway_of_the_sample_are_found(answer):
    assert share(answer[330:440, 200:400], WATER) > 0.95
    assert share(answer[20:200, :250], WATER) < 0.05
    assert share(answer[233:254, 20:490], ROAD) > 0.6


def test_pixels_without_data_get_the_id_of_no_class(picture):
    seen = np.full((*picture.shape[:2], 1), 255, np.uint8)
    seen[:40] = 0
    labels = segment_image(np.concatenate((picture, seen), axis=2), NAME, rgb=True).labels
    assert (labels[:40] == 0).all()
    assert (labels[40:] > 0).all()


def test_the_report_says_what_the_card_says():
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    card = json.loads((bundled_folder() / f"{NAME}.json").read_text(encoding="utf-8"))
    ours, rival = report["test"]["all"], report["test_forest"]["all"]
    assert report["sha256"] == card["sha256"] == load_card(NAME).sha256
    assert card["metrics"]["network"]["mean_iou"] == round(ours["mean_iou"], 4)
    assert ours["mean_iou"] > rival["mean_iou"] + 0.1


def test_the_program_scores_what_the_report_says():
    scene = "tile2_part005"
    given = os.environ.get("ONNXSEG_DATA")
    if not given:
        pytest.skip("ONNXSEG_DATA names no folder with the real images")
    folder = Path(given) / "aerial" / "test"
    truth = read_image(folder / "labels" / f"{scene}.png").data
    found = segment_image(
        read_image(folder / "images" / f"{scene}.jpg").data, NAME, rgb=True
    ).labels[truth < 5]
    truth = truth[truth < 5] + 1
    ious = [
        ((found == k) & (truth == k)).sum() / ((found == k) | (truth == k)).sum()
        for k in np.unique(truth)
    ]
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    assert np.mean(ious) == pytest.approx(report["test"]["mean_iou_by_scene"][scene], abs=1e-4)
