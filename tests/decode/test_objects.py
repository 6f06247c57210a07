from dataclasses import dataclass

import numpy as np
import pytest

from napari_onnxseg.decode.objects import object_planes, objects_from_labels, objects_from_planes
from napari_onnxseg.errors import ModelError


@dataclass(frozen=True)
class Rule:
    method: str = "watershed"
    foreground_threshold: float = 0.5
    seed_threshold: float = 0.5
    min_area_px: int = 0
    landscape: str = "score"


def disc(shape, centre, radius):
    grids = np.meshgrid(*map(np.arange, shape), indexing="ij")
    return sum((grid - c) ** 2 for grid, c in zip(grids, centre, strict=True)) <= radius**2


def two_touching_discs():
    """Two discs of radius 15 that overlap by 4 px: (whole, left core, right core)."""
    shape, left, right = (60, 80), (30, 25), (30, 51)
    whole = disc(shape, left, 15) | disc(shape, right, 15)
    return whole, disc(shape, left, 9), disc(shape, right, 9)


def planes():
    whole, left, right = two_touching_discs()
    return ((left | right) * 255).astype(np.uint8), (whole * 255).astype(np.uint8)


@pytest.mark.parametrize("landscape", ["score", "distance"])
def test_touching_discs_come_apart_and_cover_the_foreground(landscape):
    inside, foreground = planes()
    objects = objects_from_planes(inside, foreground, Rule(landscape=landscape))
    whole, left, right = two_touching_discs()
    assert objects.dtype == np.int32
    np.testing.assert_array_equal(objects > 0, whole)
    assert objects.max() == 2
    assert len(np.unique(objects[left])) == len(np.unique(objects[right])) == 1
    assert objects[30, 25] != objects[30, 51]
    sizes = np.bincount(objects.ravel())[1:]
    assert abs(int(sizes[0]) - int(sizes[1])) <= 60


def test_components_leave_touching_discs_together():
    objects = objects_from_planes(*planes(), Rule(method="components"))
    assert objects.max() == 1


def test_foreground_without_a_seed_is_background():
    inside, foreground = planes()
    inside[:, :38] = 0
    objects = objects_from_planes(inside, foreground, Rule(foreground_threshold=0.5))
    assert objects.max() == 1
    lone = np.zeros_like(inside)
    assert not objects_from_planes(lone, foreground, Rule()).any()


def test_small_objects_go_and_the_rest_is_numbered_without_gaps():
    foreground = np.zeros((20, 30), np.uint8)
    foreground[2:6, 2:6] = foreground[10, 10] = foreground[2:6, 20:26] = 255
    objects = objects_from_planes(foreground, foreground, Rule(min_area_px=2))
    assert set(np.unique(objects)) == {0, 1, 2}
    assert objects[10, 10] == 0
    exact = objects_from_planes(foreground, foreground, Rule(min_area_px=16))
    assert exact.max() == 2


def test_thresholds_are_probabilities():
    inside = np.full((3, 3), 128, np.uint8)
    assert objects_from_planes(inside, inside, Rule()).max() == 1
    assert objects_from_planes(inside, inside, Rule(foreground_threshold=0.51)).max() == 0
    assert objects_from_planes(inside, inside, Rule(seed_threshold=0.51)).max() == 0


def test_volumes_separate_like_planes():
    shape = (20, 30, 44)
    whole = disc(shape, (10, 15, 13), 9) | disc(shape, (10, 15, 29), 9)
    cores = disc(shape, (10, 15, 13), 4) | disc(shape, (10, 15, 29), 4)
    objects = objects_from_planes(
        (cores * 255).astype(np.uint8), (whole * 255).astype(np.uint8), Rule()
    )
    np.testing.assert_array_equal(objects > 0, whole)
    assert objects.max() == 2


def test_planes_are_probabilities_of_inside_and_of_inside_or_border():
    scores = np.random.default_rng(5).normal(size=(3, 300, 200)).astype(np.float32)
    odds = np.exp(scores - scores.max(axis=0))
    odds /= odds.sum(axis=0)
    inside, foreground = object_planes(scores, "logits", 1, 2)
    np.testing.assert_array_equal(inside, np.rint(odds[1] * 255))
    np.testing.assert_array_equal(foreground, np.rint((odds[1] + odds[2]) * 255))
    np.testing.assert_array_equal(object_planes(odds, "probabilities", 1, None)[1], inside)


def test_one_channel_is_the_inside_of_objects():
    scores = np.array([[[0.2, 0.8]]], np.float32)
    inside, foreground = object_planes(scores, "probabilities", 1, None)
    np.testing.assert_array_equal(inside, [[51, 204]])
    np.testing.assert_array_equal(foreground, inside)


@pytest.mark.parametrize(("inside", "border"), [(3, None), (1, 3), (-1, None), (1, -2)])
def test_a_class_the_model_does_not_give_is_refused(inside, border):
    with pytest.raises(ModelError, match="0 to 2"):
        object_planes(np.zeros((3, 2, 2), np.float32), "logits", inside, border)


def test_labels_become_objects_class_by_class():
    labels = np.array([[1, 1, 0, 2], [0, 2, 0, 2], [1, 0, 0, 0]], np.uint8)
    objects = objects_from_labels(labels)
    np.testing.assert_array_equal(objects, [[1, 1, 0, 3], [0, 4, 0, 3], [2, 0, 0, 0]])
    assert objects_from_labels(labels, [2, 9]).max() == 2
    assert objects_from_labels(labels, min_area_px=2).max() == 2
    assert not objects_from_labels(labels, []).any()
