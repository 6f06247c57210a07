import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.errors import TileError
from napari_onnxseg.tiling.region import Region, reflected

fixed = settings(derandomize=True, deadline=None, max_examples=80)
boxes = st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=2, max_size=2).map(
    lambda spans: Region(tuple(a for a, _ in spans), tuple(a + n for a, n in spans))
)


@fixed
@given(st.integers(2, 12), st.integers(0, 40), st.integers(0, 40))
def test_reflection_is_what_numpy_pads_at_any_distance(length, before, after):
    row = np.arange(length)
    padded = np.pad(row, (before, after), mode="reflect")
    np.testing.assert_array_equal(row[reflected(-before, length + after, length)], padded)


def test_one_pixel_is_reflected_everywhere():
    np.testing.assert_array_equal(reflected(-3, 4, 1), np.zeros(7))


@fixed
@given(boxes, boxes)
def test_the_common_box_holds_exactly_the_common_pixels(a, b):
    def mask(region):
        canvas = np.zeros((40, 40), bool)
        canvas[region.shift((15, 15)).slices] = True
        return canvas

    np.testing.assert_array_equal(mask(a.intersect(b)), mask(a) & mask(b))


@fixed
@given(boxes, st.tuples(st.integers(-5, 5), st.integers(-5, 5)))
def test_a_box_moved_and_taken_back_is_the_same(box, offset):
    origin = Region(offset, offset)
    assert box.shift(offset).relative_to(origin) == box


def test_a_grown_box_holds_the_box_and_has_the_wider_shape():
    box = Region((2, 3), (5, 9))
    grown = box.grow((1, 2), (3, 4))
    assert grown == Region((1, 1), (8, 13))
    assert grown.contains(box)
    assert not box.contains(grown)
    assert grown.size == 84


@pytest.mark.parametrize(("start", "stop"), [((0, 0), (1,)), ((2,), (1,))])
def test_an_impossible_box_is_refused(start, stop):
    with pytest.raises(TileError):
        Region(start, stop)
