"""A result lies where its source lies, whatever the source's transform and axes."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image, Labels

from napari_onnxseg.plugin.layers import (
    Placement,
    axis_words,
    capture,
    channel_axes,
    distinct_names,
    index_shown,
    named_channel_axis,
    run_record,
)
from napari_onnxseg.plugin.transforms import Transform

RANDOM = np.random.default_rng(7)


def crooked(ndim: int, data: np.ndarray | None = None, **more: object) -> Image:
    """Make an image with every kind of transform on its last two axes and scale on all."""
    rotate, shear, affine = np.eye(ndim), np.eye(ndim), np.eye(ndim + 1)
    angle = 0.3
    rotate[-2:, -2:] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    shear[-2, -1] = 0.2
    affine[-3:-1, -3:-1] = [[1.1, 0.1], [-0.2, 0.9]]
    affine[:-1, -1] = RANDOM.uniform(-5, 5, ndim)
    return Image(
        RANDOM.random((6,) * ndim) if data is None else data,
        scale=RANDOM.uniform(0.2, 3, ndim),
        translate=RANDOM.uniform(-9, 9, ndim),
        rotate=rotate,
        shear=shear,
        affine=affine,
        units=("um",) * ndim,
        axis_labels=tuple("tzcyx"[-ndim:]),
        **more,
    )


def whole(layer: Image, axes: tuple[int, ...]) -> Placement:
    return Placement(capture(layer), axes, (None,) * len(axes))


def test_a_result_with_all_axes_has_the_transform_of_its_source():
    layer = crooked(3)
    twin = Labels(np.zeros((6, 6, 6), np.uint8), **whole(layer, (0, 1, 2)).transform().arguments())
    for point in product((0, 5), repeat=3):
        assert np.allclose(twin.data_to_world(point), layer.data_to_world(point))
    assert twin.units == layer.units
    assert twin.axis_labels == layer.axis_labels


def test_the_world_extent_of_a_result_is_that_of_its_source():
    layer = Image(np.zeros((256, 320)), scale=(0.5, 0.25), translate=(10, -7))
    twin = Labels(np.zeros((256, 320), np.uint8), **whole(layer, (0, 1)).transform().arguments())
    assert np.allclose(twin.extent.world, layer.extent.world, atol=1e-6)


@pytest.mark.parametrize("channel", [0, 1])
def test_only_the_channel_axis_is_dropped_from_the_transform(channel):
    scale = [2, 0.5, 0.5]
    scale.insert(channel, 1)
    shape = [16, 64, 64]
    shape.insert(channel, 2)
    layer = Image(np.zeros(shape), scale=scale, rgb=False)
    axes = tuple(axis for axis in range(4) if axis != channel)
    kept = whole(layer, axes).transform()
    assert kept.scale.tolist() == [2, 0.5, 0.5]
    assert kept.axis_labels == ("-3", "-2", "-1")
    assert whole(layer, axes).fit(np.zeros((16, 64, 64))).shape == (16, 64, 64)


def test_a_slice_shows_at_its_own_slice_and_nowhere_else():
    layer = Image(np.zeros((12, 128, 128)), scale=(3, 1, 1))
    place = Placement(capture(layer), (0, 1, 2), (7, None, None))
    labels = Labels(place.fit(np.ones((128, 128), np.uint8)), **place.transform().arguments())
    assert labels.data.shape == (1, 128, 128)
    viewer = ViewerModel()
    viewer.add_layer(layer)
    viewer.add_layer(labels)
    seen = []
    for z in range(12):
        viewer.dims.set_point(0, 3 * z)
        seen.append(labels.get_value((3 * z, 5, 5), world=True) or 0)
    assert seen == [0] * 7 + [1] + [0] * 4


def test_a_slice_of_a_crooked_stack_lies_on_its_plane():
    layer = crooked(4)
    place = Placement(capture(layer), (0, 1, 2, 3), (4, 2, None, None))
    part = Labels(place.fit(np.zeros((6, 6), np.uint8)), **place.transform().arguments())
    for y, x in product((0, 5), repeat=2):
        assert np.allclose(part.data_to_world((0, 0, y, x)), layer.data_to_world((4, 2, y, x)))


def test_a_crop_of_a_crooked_layer_lies_where_it_was_cut():
    layer = crooked(2)
    part = Image(np.zeros((2, 2)), **Transform.of(layer).at((3, 1)).arguments())
    for point in product((0, 1), repeat=2):
        assert np.allclose(part.data_to_world(point), layer.data_to_world(np.add(point, (3, 1))))


def test_a_crop_of_a_crop_adds_its_offsets():
    layer = Image(np.zeros((600, 800)), scale=(0.5, 0.5), translate=(1000, 2000))
    first = Transform.of(layer).at((100, 50))
    assert first.translate.tolist() == [1050, 2025]
    again = Image(np.zeros((200, 200)), **first.arguments())
    assert Transform.of(again).at((10, 20)).translate.tolist() == [1055, 2035]


def test_a_thinned_result_covers_the_same_world():
    layer = crooked(2, np.zeros((64, 64)))
    thin = Image(np.zeros((16, 16)), **Transform.of(layer).at((0, 0), (4, 4)).arguments())
    for corner in product((-0.5, 15.5), repeat=2):
        fine = np.add(corner, 0.5) * 4 - 0.5
        assert np.allclose(thin.data_to_world(corner), layer.data_to_world(fine))


def test_the_axis_of_colours_is_not_in_the_transform():
    layer = Image(np.zeros((20, 30, 3), np.uint8), rgb=True, scale=(2, 3))
    assert whole(layer, (0, 1)).transform().scale.tolist() == [2, 3]
    assert whole(layer, (0, 1)).fit(np.zeros((20, 30, 4)), trailing=1).shape == (20, 30, 4)


def test_a_captured_source_does_not_move_with_its_layer():
    layer = Image(np.zeros((4, 4)), scale=(2, 2), name="A")
    source = capture(layer)
    layer.scale, layer.name = (9, 9), "B"
    assert source.transform.scale.tolist() == [2, 2]
    assert source.name == "A"


def test_a_pyramid_is_worked_on_at_full_resolution():
    levels = [np.zeros((64, 64)), np.zeros((32, 32)), np.zeros((16, 16))]
    layer = Image(levels, multiscale=True)
    assert capture(layer).data.shape == (64, 64)


def test_channel_axes_are_offered_by_the_layer_not_by_the_shape():
    assert channel_axes(Image(np.zeros((64, 64, 3)), rgb=True)) == ()
    assert channel_axes(Image(np.zeros((20, 64, 4)), rgb=False)) == (0, 1, 2)
    assert channel_axes(Image(np.zeros((64, 64)))) == ()


def test_a_channel_axis_is_taken_from_labels_only():
    stack = np.zeros((2, 3, 64, 64))
    assert named_channel_axis(Image(stack, axis_labels=("z", "channel", "y", "x"))) == 1
    assert named_channel_axis(Image(stack, axis_labels=("C", "z", "y", "x"))) == 0
    assert named_channel_axis(Image(stack, axis_labels=("c", "channel", "y", "x"))) is None
    assert named_channel_axis(Image(stack)) is None


def test_axes_are_named_for_people():
    layer = Image(np.zeros((2, 3, 64)), axis_labels=("z", "-2", "x"))
    assert [axis_words(layer, axis) for axis in range(3)] == [
        "axis 0 · z (2)",
        "axis 1 (3)",
        "axis 2 · x (64)",
    ]


def test_the_slice_shown_is_found_through_scale_translate_and_units():
    viewer = ViewerModel()
    layer = viewer.add_image(
        np.zeros((12, 8, 8)), scale=(3, 1, 1), translate=(30, 0, 0), units=("um",) * 3
    )
    fine = viewer.add_image(
        np.zeros((12, 8, 8)),
        scale=(0.003, 0.001, 0.001),
        translate=(0.03, 0, 0),
        units=("mm",) * 3,
    )
    viewer.dims.set_point(0, viewer.dims.range[0].start + 7 * viewer.dims.range[0].step)
    shown = index_shown(layer, viewer)[0]
    assert shown == index_shown(fine, viewer)[0]
    assert 0 < shown < 12


def test_the_slice_shown_stays_inside_the_layer():
    viewer = ViewerModel()
    small = viewer.add_image(np.zeros((2, 8, 8)))
    viewer.add_image(np.zeros((12, 8, 8)))
    viewer.dims.set_point(0, 11)
    assert index_shown(small, viewer)[0] == 1


def test_equal_names_are_told_apart():
    assert distinct_names(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]


def test_the_record_of_a_run_is_plain_json():
    place = Placement(capture(Image(np.zeros((3, 4, 4)), name="A")), (0, 1, 2), (1, None, None))
    metadata = run_record({"device": "CPU"}, place, "classes")
    assert json.loads(json.dumps(metadata)) == {
        "onnxseg": {
            "device": "CPU",
            "layer": {"source": "A", "shows": "classes", "index": [1, None, None]},
        }
    }
    assert place.name("classes") == "A · classes (slice 1)"
