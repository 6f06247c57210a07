import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.metrics import contingency_table, hausdorff_distance

from napari_onnxseg.correct import pairs as pairs_module
from napari_onnxseg.correct.agreement import agreement, pooled
from napari_onnxseg.correct.objects import THRESHOLDS, object_agreement, pooled_objects
from napari_onnxseg.correct.outlines import distances, hausdorff, outlines
from napari_onnxseg.correct.pairs import blocks, count_pairs
from napari_onnxseg.errors import ChoiceError, ImageError

fixed = settings(derandomize=True, deadline=None, max_examples=25)


def blobs(seed, shape=(60, 70), classes=4):
    noise = np.random.default_rng(seed).normal(size=(classes, *shape))
    smooth = ndimage.gaussian_filter(noise, (0, *(3,) * len(shape)))
    return smooth.argmax(0).astype(np.uint8)


@fixed
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_confusion_is_the_contingency_table_of_scikit_image(one, other):
    prediction, truth = blobs(one), blobs(other)
    found = agreement(prediction, truth, names=dict.fromkeys(range(4), "x"), tolerance=0)
    expected = contingency_table(truth.astype(int), prediction.astype(int)).toarray()
    np.testing.assert_array_equal(found.confusion[: len(expected), : expected.shape[1]], expected)
    assert found.accuracy == (prediction == truth).mean()


@fixed
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_figures_of_a_class_are_those_of_its_masks(one, other):
    prediction, truth = blobs(one), blobs(other)
    for entry in agreement(prediction, truth, tolerance=0).classes:
        ours, theirs = truth == entry.id, prediction == entry.id
        both = (ours & theirs).sum()
        assert entry.iou == both / (ours | theirs).sum()
        assert entry.dice == 2 * both / (ours.sum() + theirs.sum())
        assert entry.precision == both / theirs.sum()
        assert entry.recall == both / ours.sum()


@fixed
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from([(1, 1), (2.5, 0.5)]))
def test_outlines_agree_with_scikit_image_and_distance_transforms(one, other, scale):
    labels = blobs(one), blobs(other)
    masks = [image == 1 for image in labels]
    edges = [mask & ~ndimage.binary_erosion(mask) for mask in masks]
    points = [outlines(image, scale)[1] for image in labels]
    there, back = distances(points[0], points[1]), distances(points[1], points[0])
    for own, far, found in ((edges[0], edges[1], there), (edges[1], edges[0], back)):
        expected = ndimage.distance_transform_edt(~far, sampling=scale)[own]
        np.testing.assert_allclose(np.sort(found), np.sort(expected), atol=1e-9)
    if scale == (1, 1):
        assert hausdorff(there, back, 100) == pytest.approx(hausdorff_distance(*edges))


def test_one_shifted_square_is_measured_in_world_units():
    truth, prediction = np.zeros((2, 40, 40), np.uint8)
    truth[10:20, 10:20] = 1
    prediction[13:23, 10:20] = 1
    found = agreement(prediction, truth, scale=(0.5, 0.5), tolerance=0.4, names={1: "cell"})
    cell = found.classes[1]
    assert (cell.name, cell.truth_px, cell.common_px) == ("cell", 100, 70)
    assert cell.iou == 70 / 130
    assert cell.hausdorff95 == 1.5
    assert 0 < cell.boundary_f < 1
    near = agreement(prediction, truth, scale=(0.5, 0.5), tolerance=1.5).classes[1]
    assert near.boundary_f == 1


def test_a_perfect_answer_is_perfect():
    labels = blobs(3)
    found = agreement(labels, labels)
    assert found.accuracy == found.mean_iou == 1
    assert {(c.boundary_f, c.hausdorff95) for c in found.classes} == {(1, 0)}


def test_what_was_not_annotated_does_not_count():
    truth = np.array([[1, 255, 0, 255]], np.uint8)
    prediction = np.array([[1, 1, 0, 0]], np.uint8)
    found = agreement(prediction, truth, ignore={255}, tolerance=0)
    assert [c.id for c in found.classes] == [0, 1]
    assert found.accuracy == 1
    assert found.confusion.sum() == 2


def test_a_class_that_is_missing_on_one_side_is_told_apart_from_one_that_is_nowhere():
    truth, prediction = np.zeros((2, 9, 9), np.uint8)
    truth[2:4, 2:4] = 2
    _, nowhere, missed = agreement(prediction, truth, names={0: "a", 1: "b", 2: "c"}).classes
    assert np.isnan(nowhere.iou)
    assert np.isnan(nowhere.hausdorff95)
    assert (missed.iou, missed.boundary_f, missed.hausdorff95) == (0, 0, np.inf)


@pytest.mark.parametrize("block_px", [60, 900])
def test_blocks_of_any_size_and_lazy_arrays_give_the_same(monkeypatch, block_px):
    prediction, truth = blobs(1, (9, 30, 41)), blobs(2, (9, 30, 41))
    expected = agreement(prediction, truth)
    objects = object_agreement(prediction, truth)
    monkeypatch.setattr(pairs_module, "BLOCK_PX", block_px * 11)
    lazy = [da.from_array(image, chunks=(4, 7, 9)) for image in (prediction, truth)]
    found = agreement(*lazy)
    assert found.classes == expected.classes
    assert object_agreement(*lazy) == objects


@fixed
@given(st.lists(st.integers(1, 900), min_size=1, max_size=3))
def test_blocks_hold_each_pixel_once_and_are_bounded(shape):
    regions = list(blocks(tuple(shape)))
    assert sum(region.size for region in regions) == np.prod(shape)
    assert max(region.size for region in regions) <= pairs_module.BLOCK_PX


def test_images_that_cannot_be_compared_are_refused():
    labels = np.zeros((4, 5), np.uint8)
    with pytest.raises(ImageError, match=r"shape \(4, 5\), the truth \(5, 4\)"):
        count_pairs(labels, labels.T)
    with pytest.raises(ImageError, match="prediction holds float64"):
        count_pairs(labels.astype(float), labels)
    with pytest.raises(ChoiceError, match="does not fit 2 axes"):
        agreement(labels, labels, scale=(1, 1, 1))


def objects_image(*boxes):
    image = np.zeros((40, 40), np.uint16)
    for number, (row, column, side) in enumerate(boxes, start=1):
        image[row : row + side, column : column + side] = 10 * number
    return image


def test_objects_are_counted_at_each_overlap():
    truth = objects_image((0, 0, 10), (20, 20, 10), (0, 30, 5))
    prediction = objects_image((0, 0, 10), (22, 20, 10))
    found = object_agreement(prediction, truth)
    assert (found.truth, found.prediction, found.count_error) == (3, 2, -1)
    assert found.iou == (1, 80 / 120)
    assert found.precision[0.5] == found.precision[0.65] == 2 / 3
    assert found.precision[0.7] == found.precision[0.95] == 1 / 4
    assert found.mean_precision == pytest.approx(np.mean([2 / 3] * 4 + [1 / 4] * 6))


def test_split_and_merged_objects_are_told():
    one = objects_image((0, 0, 20))
    two = objects_image((0, 0, 10), (10, 10, 10))
    assert (object_agreement(two, one).split, object_agreement(two, one).merged) == (1, 0)
    assert (object_agreement(one, two).split, object_agreement(one, two).merged) == (0, 1)


def test_no_objects_at_all_is_no_number():
    empty = np.zeros((5, 5), int)
    found = object_agreement(empty, empty)
    assert np.isnan(found.precision[0.5])
    assert object_agreement(objects_image((0, 0, 3)), objects_image()).precision[0.5] == 0


@fixed
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_matches_are_those_of_a_plain_table(one, other):
    truth = ndimage.label(blobs(one) == 1)[0]
    prediction = ndimage.label(blobs(other) == 1)[0]
    found = object_agreement(prediction, truth)
    table = np.zeros((truth.max() + 1, prediction.max() + 1))
    np.add.at(table, (truth, prediction), 1)
    union = table.sum(1, keepdims=True) + table.sum(0, keepdims=True) - table
    overlap = (table / np.maximum(union, 1))[1:, 1:]
    for threshold in THRESHOLDS[1:]:
        hits = (overlap >= threshold).sum()
        total = truth.max() + prediction.max() - hits
        assert found.precision[threshold] == (hits / total if total else pytest.approx(np.nan))


@fixed
@given(st.integers(0, 10**6))
def test_pooled_figures_are_those_of_the_images_side_by_side(seed):
    truth, prediction = blobs(seed, (2, 30, 40)), blobs(seed + 1, (2, 30, 40))
    whole = agreement(np.hstack(prediction), np.hstack(truth), tolerance=0)
    found = pooled([agreement(*pair, tolerance=0) for pair in zip(prediction, truth, strict=True)])
    assert found.classes == whole.classes
    np.testing.assert_array_equal(found.confusion, whole.confusion)


def test_pooled_outlines_add_points_up_and_take_the_middle_distance():
    truth, prediction = np.zeros((2, 30, 30), np.uint8)
    truth[5:15, 5:15] = 1
    prediction[9:19, 5:15] = 1
    one, other = agreement(prediction, truth, tolerance=1), agreement(truth, truth, tolerance=1)
    cell = pooled([one, other]).classes[1]
    assert cell.hausdorff95 == one.classes[1].hausdorff95 / 2 == 2
    assert one.classes[1].boundary_f < cell.boundary_f < 1


def test_where_a_class_meets_what_was_not_annotated_is_no_outline():
    truth = np.zeros((20, 20), np.uint8)
    truth[:, 10:] = 1
    prediction = truth.copy()
    prediction[12:, 2:9] = 1
    truth[10:] = 255
    found = agreement(prediction, truth, ignore={255}, tolerance=1)
    assert [(c.boundary_f, c.hausdorff95) for c in found.classes] == [(1, 0), (1, 0)]


def test_pooled_objects_are_added_up():
    truth = objects_image((0, 0, 10), (20, 20, 10), (0, 30, 5))
    prediction = objects_image((0, 0, 10), (22, 20, 10))
    one, perfect = object_agreement(prediction, truth), object_agreement(truth, truth)
    found = pooled_objects([one, perfect])
    assert (found.truth, found.prediction, found.count_error) == (6, 5, -1)
    assert found.precision[0.5] == 5 / 6
    assert one.matched == ((10, 10), (20, 20))
