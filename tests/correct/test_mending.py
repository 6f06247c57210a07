"""What each operation does, by answers that can be seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.morphology import remove_small_objects
from skimage.segmentation import expand_labels

from napari_onnxseg.correct import operations as ops
from napari_onnxseg.correct.components import piece_at
from napari_onnxseg.correct.operations import Scope
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.tiling.region import Region

fixed = settings(derandomize=True, deadline=None, max_examples=20)


def picture(text):
    """Return labels drawn with digits, '.' for background."""
    rows = [line.strip().replace(".", "0") for line in text.strip().splitlines()]
    return np.array([list(map(int, row)) for row in rows], np.uint8)


def after(edit, labels):
    mended = labels.copy()
    edit.apply(mended)
    return mended


def discs(*centres, shape=(60, 60), radius=9, label=1):
    labels = np.zeros(shape, np.uint8)
    grid = np.indices(shape)
    for centre in centres:
        away = sum((g - c) ** 2 for g, c in zip(grid, centre, strict=True))
        labels[away <= radius**2] = label
    return labels


def count(labels):
    return ndimage.label(labels, np.ones((3,) * labels.ndim))[1]


def noise(seed, shape=(40, 50), sigma=1.5):
    values = np.random.default_rng(seed).normal(size=shape)
    return ndimage.gaussian_filter(values, sigma) > 0.05


@fixed
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_small_pieces_go_as_scikit_image_says(seed, size):
    mask = noise(seed)
    found = after(ops.remove_small(mask.astype(np.uint8), size), mask.astype(np.uint8))
    try:
        expected = remove_small_objects(mask, max_size=size - 1, connectivity=2)
    except TypeError:
        expected = remove_small_objects(mask, min_size=size, connectivity=2)
    np.testing.assert_array_equal(found > 0, expected)


def test_sizes_are_in_world_units_and_what_goes_on_outside_stays():
    labels = picture("""
        11....22
        11....22
        ......22
        .3....22
    """)
    assert len(ops.remove_small(labels, 1.0, Scope(scale=(0.5, 0.5)))) == 1
    assert len(ops.remove_small(labels, 1.01, Scope(scale=(0.5, 0.5)))) == 5
    left = Region((0, 0), (4, 7))
    assert 2 in after(ops.remove_small(labels, 5, Scope(left)), labels)[:, 6]
    assert len(ops.remove_small(labels, 5, Scope(left, selection=(3,)))) == 1


@fixed
@given(st.integers(0, 10**6))
def test_holes_are_those_of_scipy(seed):
    mask = noise(seed)
    found = after(ops.fill_holes(mask.astype(np.uint8)), mask.astype(np.uint8))
    np.testing.assert_array_equal(found > 0, ndimage.binary_fill_holes(mask))


def test_a_hole_belongs_to_the_one_label_around_it():
    labels = picture("""
        11111222
        1.11..2.
        11111222
        ........
    """)
    filled = after(ops.fill_holes(labels), labels)
    assert filled[1, 1] == 1
    assert (filled[1, 4:6] == 0).all()
    assert filled[1, 7] == 0
    assert len(ops.fill_holes(labels, max_size=0.2, scope=Scope(scale=(0.5, 0.5)))) == 0
    assert len(ops.fill_holes(labels, max_size=0.25, scope=Scope(scale=(0.5, 0.5)))) == 1


def test_holes_of_one_plane_of_a_stack_are_filled_in_that_plane():
    stack = np.zeros((3, 5, 5), np.uint8)
    stack[:, 1:4, 1:4] = 1
    stack[:, 2, 2] = 0
    assert len(ops.fill_holes(stack)) == 0
    plane = Region((1, 0, 0), (2, 5, 5))
    assert after(ops.fill_holes(stack, Scope(plane)), stack)[:, 2, 2].tolist() == [0, 1, 0]


def test_the_largest_piece_of_each_label_stays():
    labels = picture("""
        11.1.222
        11.1.2..
        ......2.
        22..3...
    """)
    kept = after(ops.keep_largest(labels), labels)
    assert [(kept == n).sum() for n in (1, 2, 3)] == [4, 5, 1]
    only = after(ops.keep_largest(labels, Scope(selection=(1,))), labels)
    assert [(only == n).sum() for n in (1, 2, 3)] == [4, 7, 1]


def test_labels_are_deleted_and_renamed_at_once():
    labels = picture("112233")
    assert after(ops.delete(labels, Scope(selection=(2,))), labels).tolist() == [[1, 1, 0, 0, 3, 3]]
    swapped = after(ops.relabel(labels, {1: 2, 2: 1}), labels)
    assert swapped.tolist() == [[2, 2, 1, 1, 3, 3]]
    with pytest.raises(ImageError, match="up to 255, but 256 is needed; convert the labels to"):
        ops.relabel(labels, {1: 256})
    with pytest.raises(ChoiceError, match="from 0 on"):
        ops.relabel(labels, {1: -1})


def test_a_click_deletes_the_piece_under_it_however_far_it_reaches():
    labels = np.zeros((500, 400), np.uint8)
    labels[10, 10:390] = 1
    labels[10:490, 389] = 1
    labels[100, 100] = 1
    mended = after(ops.delete_at(labels, [(10, 20), (0, 0)]), labels)
    assert np.argwhere(mended).tolist() == [[100, 100]]
    assert len(ops.delete_at(labels, [(0, 0)])) == 0
    region, piece = piece_at(labels, (10, 20), Region.of_shape(labels.shape))
    assert (region, piece.sum()) == (Region((10, 10), (490, 390)), (labels > 0).sum() - 1)


@fixed
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([1.0, 0.4]))
def test_growing_is_expanding_labels(seed, steps, scale):
    labels = ndimage.label(noise(seed, sigma=3))[0].astype(np.uint8)
    found = after(ops.grow(labels, steps * scale, Scope(scale=(scale, scale))), labels)
    expected = expand_labels(labels, steps)
    np.testing.assert_array_equal(found > 0, expected > 0)


def test_shrinking_takes_touching_labels_apart_but_not_the_border_of_the_image():
    labels = picture("""
        11112222
        11112222
        11112222
    """)
    mended = after(ops.shrink(labels, 1), labels)
    assert mended[1].tolist() == [1, 1, 1, 0, 0, 2, 2, 2]
    assert after(ops.shrink(labels, 1, Scope(selection=(2,))), labels)[1, 4] == 0
    assert after(ops.shrink(labels, 1, Scope(selection=(2,))), labels)[1, 3] == 1


def test_smoothing_keeps_straight_edges_and_takes_specks_away():
    labels = np.zeros((40, 40), np.uint8)
    labels[:, 20:] = 2
    assert len(ops.smooth(labels, 4)) == 0
    labels[10, 10] = 1
    labels[30, 30] = 0
    mended = after(ops.smooth(labels, 4), labels)
    assert (mended[10, 10], mended[30, 30]) == (0, 2)
    with pytest.raises(ChoiceError, match="above 0"):
        ops.smooth(labels, 0)


def test_touching_objects_are_divided_and_single_ones_are_not():
    labels = discs((20, 15), (20, 31), (45, 40))
    assert count(labels) == 2
    mended = after(ops.split_touching(labels, 8), labels)
    assert sorted(np.unique(mended)) == [0, 1, 2]
    assert mended[20, 15] != mended[20, 31]
    assert mended[45, 40] == 1
    np.testing.assert_array_equal(mended > 0, labels > 0)
    apart = after(ops.split_touching(labels, 8, gap=True), labels)
    assert count(apart) == 3
    assert ((labels > 0) & (apart == 0)).sum() < 20


@pytest.mark.parametrize("shape", [(80, 12), (61, 11), (40, 40)])
def test_a_bar_has_no_waist(shape):
    labels = np.zeros((100, 60), np.uint8)
    labels[5 : 5 + shape[0], 5 : 5 + shape[1]] = 1
    assert len(ops.split_touching(labels, 5)) == 0


def test_objects_are_divided_in_volumes_and_world_units():
    labels = discs((10, 20, 15), (10, 20, 31), shape=(21, 40, 48))
    mended = after(ops.split_touching(labels, 8), labels)
    assert mended[10, 20, 15] != mended[10, 20, 31]
    flat = labels[::2]
    mended = after(ops.split_touching(flat, 4, Scope(scale=(1.0, 0.5, 0.5))), flat)
    assert mended[5, 20, 15] != mended[5, 20, 31]


def test_touching_labels_are_divided_each_on_its_own():
    labels = discs((20, 15), (20, 31))
    labels[labels.nonzero()[0].min() : 21][labels[labels.nonzero()[0].min() : 21] > 0] = 2
    mended = after(ops.split_touching(labels, 8, first_id=10), labels)
    for label in (1, 2):
        parts = np.unique(mended[labels == label])
        assert len(parts) == 2
        assert label in parts
    assert mended.max() == 11


def test_new_ids_must_fit():
    labels = discs((20, 15), (20, 31), label=255)
    with pytest.raises(ImageError, match="uint8 hold ids up to 255, but 256 is needed"):
        ops.split_touching(labels, 8)
    wide = labels.astype(np.uint16)
    assert after(ops.split_touching(wide, 8), wide).max() == 256


@pytest.mark.parametrize(
    "line", [[(0, 20), (40, 20)], [(0, 0), (41, 40)], [(5, 1), (20, 30), (9, 39)]]
)
def test_a_line_divides_what_it_crosses_and_nothing_else(line):
    labels = np.zeros((42, 42), np.uint8)
    labels[2:38, 2:38] = 1
    labels[40, 0:2] = 1
    mended = after(ops.split_along(labels, line), labels)
    np.testing.assert_array_equal(mended > 0, labels > 0)
    assert count(mended == 1) == 2
    assert count(mended == 2) == 1
    gap = after(ops.split_along(labels, line, gap=True), labels)
    assert count(gap) == 3
    short = ops.split_along(labels, [(10, 10), (20, 20)])
    assert len(short) == 0


def test_a_line_cuts_through_the_planes_of_the_region():
    stack = np.ones((4, 9, 9), np.uint8)
    scope = Scope(Region((1, 0, 0), (3, 9, 9)))
    mended = after(ops.split_along(stack, [(1, 0, 4), (1, 8, 4)], scope), stack)
    assert [np.unique(plane).tolist() for plane in mended] == [[1], [1, 2], [1, 2], [1]]
    with pytest.raises(ChoiceError, match="two corners"):
        ops.split_along(stack, [(1, 2)])


def test_two_clicked_pieces_become_one():
    labels = picture("""
        11..22..1
        11..22...
        11..22...
    """)
    mended = after(ops.merge(labels, (0, 0), (1, 5)), labels)
    assert mended[:, 4:6].all()
    assert set(np.unique(mended)) == {0, 1}
    assert count(mended) == 3
    joined = after(ops.merge(labels, (0, 0), (1, 5), bridge=2), labels)
    assert count(joined) == 2
    assert (joined[:, 2:4] == 1).all()
    assert len(ops.merge(labels, (0, 0), (1, 5), bridge=1)) == 6
    for point, told in (((0, 2), "background"), ((9, 9), "outside")):
        with pytest.raises(ChoiceError, match=told):
            ops.merge(labels, (0, 0), point)


def test_a_plane_is_copied_where_the_target_is_empty():
    stack = np.zeros((3, 4, 4), np.uint8)
    stack[0, :2] = 1
    stack[0, 2:] = 2
    stack[1, :, 0] = 3
    mended = after(ops.copy_plane(stack, 0, 1, Scope(selection=(1,))), stack)
    assert mended[1].tolist() == [[3, 1, 1, 1], [3, 1, 1, 1], [3, 0, 0, 0], [3, 0, 0, 0]]
    over = after(ops.copy_plane(stack, 0, 1, Scope(selection=(1,)), over=True), stack)
    assert over[1].tolist() == [[1] * 4, [1] * 4, [3, 0, 0, 0], [3, 0, 0, 0]]
    assert len(ops.copy_plane(stack, 0, 0)) == 0
    side = ops.copy_plane(np.moveaxis(stack, 0, 2), 0, -1, axis=-1)
    assert len(side) == 16
    for labels, planes in ((stack, (0, 5)), (stack[0], (0, 1))):
        with pytest.raises(ChoiceError, match="planes"):
            ops.copy_plane(labels, *planes)


def test_shapes_go_over_from_plane_to_plane():
    stack = np.zeros((9, 60, 60), np.uint8)
    stack[0] = discs((20, 20), radius=6)
    stack[8] = discs((36, 36), radius=12)
    stack[4, 0, 0] = 2
    stack[4, 55:, 55:] = 1
    mended = after(ops.fill_between(stack, 0, 8), stack)
    middle = mended[4] == 1
    assert np.allclose([np.mean(n) for n in np.nonzero(middle)], 28, atol=0.6)
    assert abs(np.sqrt(middle.sum() / np.pi) - 9) < 0.5
    assert mended[4, 0, 0] == 2
    areas = (mended == 1).sum((1, 2))
    assert (np.diff(areas) >= 0).all()
    assert len(ops.fill_between(stack, 8, 0)) == len(ops.fill_between(stack, 0, 8))
    assert len(ops.fill_between(stack, 3, 4)) == 0


def test_planes_of_another_axis_are_filled_the_same():
    stack = np.zeros((5, 40, 40), np.uint8)
    stack[0], stack[4] = discs((20, 20), shape=(40, 40)), discs((15, 22), shape=(40, 40))
    turned = np.moveaxis(stack, 0, 1)
    expected = np.moveaxis(after(ops.fill_between(stack, 0, 4), stack), 0, 1)
    np.testing.assert_array_equal(after(ops.fill_between(turned, 0, 4, axis=1), turned), expected)


def test_a_rough_stroke_finds_the_edge():
    truth = discs((30, 30), radius=12) > 0
    image = truth * 100.0 + np.random.default_rng(1).normal(size=truth.shape) * 5
    stroke = discs((30, 27), radius=9) > 0
    stroke[28:33, 15:20] = True
    labels = np.zeros(truth.shape, np.uint8)
    mended = after(ops.snap(labels, image, stroke, 3, reach=8), labels) == 3
    assert (mended & truth).sum() / (mended | truth).sum() > 0.97
    before = (stroke & truth).sum() / (stroke | truth).sum()
    assert before < 0.6


def test_a_stroke_on_a_flat_image_is_its_middle_and_no_warning():
    stroke = discs((30, 30), radius=6) > 0
    labels = np.zeros(stroke.shape, np.uint8)
    image = np.zeros((2, *stroke.shape), np.uint8)
    mended = after(ops.snap(labels, image, stroke, 1, reach=4), labels) > 0
    assert mended[30, 30]
    assert not (mended & ~stroke).any()
    assert len(ops.snap(labels, image, np.zeros_like(stroke), 1, reach=4)) == 0
    with pytest.raises(ChoiceError, match="do not fit"):
        ops.snap(labels, image[:, :3], stroke, 1, reach=4)


def test_strokes_stay_off_locked_classes():
    truth = discs((30, 30), radius=12) > 0
    labels = np.where(truth & (np.indices(truth.shape)[1] > 30), 5, 0).astype(np.uint8)
    stroke = discs((30, 28), radius=5) > 0
    mended = after(ops.snap(labels, truth * 1.0, stroke, 1, Scope(locked=(5,)), reach=20), labels)
    np.testing.assert_array_equal(mended == 5, labels == 5)
    assert ((mended == 1) & truth).sum() > 150
