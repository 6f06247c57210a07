"""Result layers are coloured, named, recorded, in their place, and ready to be corrected."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import BACKGROUND, BORDER, NUCLEUS, card
from napari.components import ViewerModel
from napari.layers import Image, Labels
from napari.layers.labels._labels_key_bindings import new_label

from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.pipeline.job import HeadResult, MatteResult, SegmentResult
from napari_onnxseg.plugin.layers import Placement, capture
from napari_onnxseg.plugin.results import (
    NEW_CLASS_COLOUR,
    class_colours,
    insert_above,
    matte_layers,
    segment_layers,
)

SHAPE = (40, 50)


def place(layer: Image) -> Placement:
    return Placement(capture(layer), (0, 1), (None, None))


def segmented(labels: np.ndarray, layer: Image, **more: object) -> list[Labels]:
    classes = (BACKGROUND, NUCLEUS, BORDER)
    model = card(classes=classes)
    found = HeadResult(model.heads[0], labels, **more)
    result = SegmentResult((found,), model, "CPU", {"total": 1.0})
    return segment_layers(result, place(layer))


def hex_of(colour: np.ndarray) -> str:
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in colour[:3])


@pytest.fixture
def source() -> Image:
    return Image(np.zeros(SHAPE), name="A", scale=(0.5, 2))


@pytest.fixture
def classes(source) -> Labels:
    labels = np.zeros(SHAPE, np.uint8)
    labels[:10], labels[10:20] = 1, 2
    (layer,) = segmented(labels, source)
    return layer


def test_classes_have_the_colours_of_the_card(classes):
    assert hex_of(classes.get_color(1)) == "#ff0000"
    assert hex_of(classes.get_color(2)) == "#00ff00"
    assert classes.get_color(0) is None or classes.get_color(0)[3] == 0


def test_a_class_that_somebody_adds_can_be_seen(classes):
    assert hex_of(classes.get_color(5)) == NEW_CLASS_COLOUR


def test_a_class_without_colour_is_transparent():
    colours = class_colours((BACKGROUND, ClassInfo(1, "ignored", None)))
    assert colours.map(1)[3] == 0


def test_the_status_bar_names_the_class_under_the_pointer(classes):
    assert "nucleus" in classes.get_status((1, 1), world=False)["value"]
    assert classes.name == "A · classes"


def test_class_layers_are_small_unsigned_integers_and_not_copied(source):
    labels = np.zeros(SHAPE, np.uint8)
    (layer,) = segmented(labels, source)
    assert layer.data is labels or layer.data.base is labels
    assert layer.data.dtype == np.uint8


def test_new_labels_go_past_255_without_wrapping(classes):
    before = classes.data.copy()
    for label in range(3, 257):
        new_label(classes)
        assert classes.selected_label == label
        classes.data_setitem((np.array([30]), np.array([label % 50])), label)
    assert classes.data.dtype == np.uint16
    assert classes.data.max() == 256
    assert (classes.data[:30] == before[:30]).all()


def test_a_widened_layer_keeps_its_undo(classes):
    before = classes.data.copy()
    classes.data_setitem((np.array([35]), np.array([3])), 2)
    classes.selected_label = 255
    assert classes.data.dtype == np.uint16
    classes.undo()
    assert (classes.data == before).all()


def test_a_layer_that_uses_255_already_has_room_at_once(source):
    labels = np.zeros(SHAPE, np.uint8)
    labels[0, 0] = 255
    (layer,) = segmented(labels, source)
    new_label(layer)
    assert layer.selected_label == 256


def test_classes_can_be_painted_filled_erased_undone_and_redone(classes, tmp_path):
    before = classes.data.copy()
    classes.brush_size = 3
    classes.selected_label = 2
    classes.paint((30, 30), 2)
    classes.fill((0, 0), 2)
    classes.paint((15, 15), 0)
    edited = classes.data.copy()
    assert edited[30, 30] == 2
    assert edited[0, 0] == 2
    assert edited[15, 15] == 0
    for _ in range(3):
        classes.undo()
    assert (classes.data == before).all()
    for _ in range(3):
        classes.redo()
    assert (classes.data == edited).all()
    np.save(tmp_path / "edited.npy", classes.data)
    assert (np.load(tmp_path / "edited.npy") == edited).all()


def test_objects_hide_the_classes_that_they_cover(source):
    labels, objects = np.zeros(SHAPE, np.uint8), np.zeros(SHAPE, np.int32)
    confidence = np.full(SHAPE, 200, np.uint8)
    layers = segmented(labels, source, objects=objects, confidence=confidence)
    assert [layer.name for layer in layers] == ["A · confidence", "A · classes", "A · objects"]
    assert [layer.visible for layer in layers] == [False, False, True]
    assert all(layer.scale.tolist() == [0.5, 2] for layer in layers)


def test_a_confidence_as_wide_as_a_colour_axis_stays_grey(source):
    source = Image(np.zeros((20, 64, 4)), rgb=False, name="A")
    zeros = np.zeros((20, 64, 4), np.uint8)
    model = card()
    found = HeadResult(model.heads[0], zeros, confidence=zeros)
    result = SegmentResult((found,), model, "CPU", {})
    placement = Placement(capture(source), (0, 1, 2), (None, None, None))
    confidence, _classes = segment_layers(result, placement)
    assert not confidence.rgb


def test_a_cut_out_is_an_rgba_image_in_the_place_of_its_source(source):
    rgba = np.zeros((*SHAPE, 4), np.uint8)
    (layer,) = matte_layers(MatteResult(rgba, card(task="matting"), "CPU", {}), place(source))
    assert layer.rgb
    assert layer.name == "A · cut-out"
    assert np.allclose(layer.extent.world, source.extent.world)


def test_results_go_just_above_their_source_and_leave_the_selection(source):
    viewer = ViewerModel()
    viewer.add_layer(source)
    top = viewer.add_image(np.zeros(SHAPE), name="B")
    viewer.layers.selection.active = source
    assert insert_above(viewer, source, [Image(np.zeros(SHAPE), name=n) for n in ("x", "y")])
    assert [layer.name for layer in viewer.layers] == ["A", "x", "y", "B"]
    assert viewer.layers.selection.active is source
    assert top in viewer.layers


def test_a_new_result_lies_above_the_older_ones_of_its_source(source):
    viewer = ViewerModel()
    viewer.add_layer(source)
    viewer.add_image(np.zeros(SHAPE), name="B")
    first, second = (segmented(np.zeros(SHAPE, np.uint8), source)[0] for _ in range(2))
    insert_above(viewer, source, [first])
    insert_above(viewer, source, [second])
    assert [layer is second for layer in viewer.layers] == [False, False, True, False]


def test_two_selected_layers_stay_selected(source):
    viewer = ViewerModel()
    viewer.add_layer(source)
    other = viewer.add_image(np.zeros(SHAPE))
    viewer.layers.selection = {source, other}
    insert_above(viewer, source, [Image(np.zeros(SHAPE))])
    assert set(viewer.layers.selection) == {source, other}


def test_the_result_of_a_removed_source_goes_on_top(source):
    viewer = ViewerModel()
    viewer.add_image(np.zeros(SHAPE), name="B")
    assert not insert_above(viewer, source, [Image(np.zeros(SHAPE), name="x")])
    assert [layer.name for layer in viewer.layers] == ["B", "x"]


def test_names_of_several_results_do_not_collide(source):
    viewer = ViewerModel()
    viewer.add_layer(source)
    for _ in range(3):
        insert_above(viewer, source, segmented(np.zeros(SHAPE, np.uint8), source))
    names = [layer.name for layer in viewer.layers]
    assert len(set(names)) == 4
