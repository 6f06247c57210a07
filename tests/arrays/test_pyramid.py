import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.arrays.pyramid import as_levels
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.tiling.region import Region


def zeros(*shapes, dtype=np.uint8):
    return [np.zeros(shape, dtype) for shape in shapes]


def test_levels_keep_their_real_ratios():
    levels = as_levels(zeros((1001, 900), (501, 450), (100, 90)))
    assert levels.factors == ((1, 1), (1001 / 501, 2), (10.01, 10))
    assert levels.offsets[2] == pytest.approx((4.505, 4.5))
    assert levels.shapes == ((1001, 900), (501, 450), (100, 90))


def test_what_the_file_says_of_its_levels_wins():
    levels = as_levels(zeros((1001, 900), (501, 450)), factors=[(1, 1), (2, 2)])
    assert (levels.factors[1], levels.offsets[1]) == ((2, 2), (0.5, 0.5))


def test_channels_have_no_factor():
    levels = as_levels(zeros((3, 5, 64, 64), (3, 5, 32, 16)), channel_axis=0)
    assert (levels.factors[1], levels.shapes[1]) == ((1, 2, 4), (5, 32, 16))
    rgb = as_levels(zeros((64, 64, 3), (32, 32, 3)), rgb=True)
    assert rgb.factors[1] == (2, 2)


@pytest.mark.parametrize(("wanted", "level"), [(0.5, 0), (0.1, 0), (0.9, 1), (2.1, 2), (99, 2)])
def test_the_level_nearest_in_pixel_size_is_chosen(wanted, level):
    levels = as_levels(zeros((64, 64), (32, 32), (16, 16)))
    assert levels.nearest(0.5, wanted) == level


def test_of_two_levels_as_near_the_finer_one_is_chosen():
    levels = as_levels(zeros((64, 64), (16, 16)))
    assert levels.nearest(1.0, 2.0) == 0


@pytest.mark.parametrize("sizes", [(0, 1), (1, -2), (1, float("nan"))])
def test_pixel_sizes_that_are_none_are_refused(sizes):
    with pytest.raises(ChoiceError, match="positive"):
        as_levels(zeros((64, 64), (16, 16))).nearest(*sizes)


def test_a_level_that_the_user_names_must_exist():
    levels = as_levels(zeros((64, 64), (16, 16)))
    assert (levels.check(1), levels.check(-1)) == (1, 1)
    for level in (2, -3):
        with pytest.raises(ChoiceError, match="0 to 1"):
            levels.check(level)


def test_statistics_come_from_the_coarsest_level_that_is_large_enough():
    levels = as_levels(zeros((640, 640), (320, 320), (160, 160)))
    assert [levels.smallest_over(n) for n in (100, 50_000, 200_000, 10**9)] == [2, 1, 0, 0]


def test_a_result_of_a_coarse_level_lies_over_the_image():
    levels = as_levels(zeros((2048, 2048), (1024, 1024), (512, 512)))
    scale, translate = levels.placed(2, (0.5, 0.25), (10, 20))
    assert scale == (2.0, 1.0)
    assert translate == (10 + 1.5 * 0.5, 20 + 1.5 * 0.25)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(shape=st.tuples(st.integers(5, 4000), st.integers(5, 4000)), by=st.integers(2, 5))
def test_the_corners_of_every_level_lie_on_those_of_the_image(shape, by):
    levels = as_levels(zeros(shape, tuple(-(-n // by) for n in shape)))
    scale, translate = levels.placed(1, (0.5, 2.0), (7.0, -3.0))
    facts = zip(shape, levels.shapes[1], scale, translate, (0.5, 2.0), (7.0, -3.0), strict=True)
    for full, length, size, first, size0, first0 in facts:
        assert first - size / 2 == pytest.approx(first0 - size0 / 2)
        assert first + (length - 0.5) * size == pytest.approx(first0 + (full - 0.5) * size0)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    length=st.integers(8, 500),
    by=st.integers(1, 4),
    ends=st.tuples(st.integers(0, 499), st.integers(1, 500)),
)
def test_a_region_finds_the_pixels_of_a_level_that_touch_it(length, by, ends):
    start, stop = min(ends[0], length - 1), min(max(ends[1], ends[0] + 1), length)
    image = zeros((length, 8), (-(-length // by), 8))[: 1 + (by > 1)]
    levels = as_levels(image, factors=[(1, 1), (by, 1)][: len(image)])
    found = levels.region_at(len(levels) - 1, Region((start, 0), (stop, 8)))
    assert found == Region((start // by, 0), (-(-stop // by), 8))


def test_the_whole_image_is_the_whole_level():
    levels = as_levels(zeros((1001, 77, 64), (334, 33, 17)))
    assert levels.region_at(1, Region((0, 0), (77, 64))) == Region((0, 0), (33, 17))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "at least one level"),
        (zeros((64, 64), (32, 32, 3)), "has 3 axes"),
        (zeros((64, 64), (64, 64)), "not smaller"),
        (zeros((32, 32), (64, 64)), "not smaller"),
        (zeros((64, 64), (32, 65)), "not smaller"),
        ([*zeros((64, 64)), *zeros((32, 32), dtype=np.uint16)], "holds uint16"),
        ([*zeros((64, 64)), *zeros((0, 32))], "empty"),
        ([*zeros((64, 64)), 3], "got int"),
    ],
)
def test_levels_that_are_not_one_image_are_refused(data, words):
    with pytest.raises(ImageError, match=words):
        as_levels(data)


def test_levels_with_other_channels_are_refused():
    with pytest.raises(ImageError, match="has 4 channels"):
        as_levels(zeros((3, 64, 64), (4, 32, 32)), channel_axis=0)
