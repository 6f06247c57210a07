import numpy as np
import pytest

from napari_onnxseg.arrays.sink import MemorySink
from napari_onnxseg.errors import RunError
from napari_onnxseg.tiling.region import Region


def test_blocks_land_where_they_belong():
    sink = MemorySink.zeros((3, 2, 8, 9), np.uint8)
    sink.write((2, 1), Region((1, 2), (4, 9)), np.full((3, 7), 5, np.uint8))
    expected = np.zeros((3, 2, 8, 9), np.uint8)
    expected[2, 1, 1:4, 2:9] = 5
    np.testing.assert_array_equal(sink.array, expected)
    assert sink.array.flags.writeable


def test_colour_blocks_fill_the_trailing_axis():
    sink = MemorySink.zeros((8, 9, 4), np.uint8)
    sink.write((), Region((0, 0), (8, 9)), np.full((8, 9, 4), 200, np.uint8))
    assert (sink.array == 200).all()


@pytest.mark.parametrize(
    "block", [np.zeros((2, 3), np.uint8), np.zeros((1, 4), np.uint8), np.zeros((2, 4), np.int64)]
)
def test_a_block_that_would_be_stretched_or_narrowed_is_refused(block):
    with pytest.raises(RunError, match="does not fit"):
        MemorySink.zeros((5, 5), np.uint8).write((), Region((0, 0), (2, 4)), block)


def test_a_result_beyond_memory_is_refused_in_words():
    with pytest.raises(RunError, match="GiB"):
        MemorySink.zeros((2**40, 2**20), np.uint8)
