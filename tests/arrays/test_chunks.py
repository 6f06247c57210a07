import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.arrays.chunks import ChunkLocks, blocks_of, chunk_sides, is_aligned, slabs
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region


@pytest.mark.parametrize(
    ("step", "side"),
    [
        (416, 416),
        (256, 256),
        (2048, 2048),
        (96, 288),
        (7, 259),
        (4096, 2048),
        (3968, 1984),
        (1, 256),
    ],
)
def test_a_chunk_is_a_multiple_or_a_divisor_of_the_step(step, side):
    assert chunk_sides((9000, 9000), (step, step)) == (side, side)
    assert step < 1 or step % side == 0 or side % step == 0


def test_a_chunk_is_no_longer_than_the_image():
    assert chunk_sides((100, 9000), (416, 416)) == (100, 416)


def test_a_step_without_a_fitting_divisor_gets_the_largest_chunk():
    assert chunk_sides((9000, 9000), (4099, 4099)) == (2048, 2048)  # a prime


def test_an_immense_image_gets_few_files():
    sides = chunk_sides((200_000, 200_000), (416, 416))
    assert sides == (1664, 1664)
    assert (200_000 / 1664) ** 2 < 20_000


def test_volumes_get_small_chunks():
    assert chunk_sides((300, 300, 300), (40, 200, 96)) == (40, 100, 96)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3000), st.integers(1, 500)),
    chunk=st.integers(1, 700),
    parts=st.integers(1, 40),
)
def test_slabs_cover_the_plane_once_and_share_no_chunk(shape, chunk, parts):
    found = slabs(shape, (chunk, chunk), parts)
    assert 1 <= len(found) <= parts
    assert found[0].start == (0, 0)
    assert found[-1].stop == shape
    assert all(a.stop[0] == b.start[0] for a, b in pairwise(found))
    assert all(slab.size for slab in found)
    assert all(is_aligned(slab, shape, (chunk, chunk)) for slab in found)


def test_no_parts_are_refused():
    with pytest.raises(ChoiceError):
        slabs((10, 10), (5, 5), 0)


def test_a_region_that_cuts_a_chunk_is_not_aligned():
    assert is_aligned(Region((100, 0), (200, 250)), (300, 250), (100, 100))
    assert not is_aligned(Region((100, 0), (200, 240)), (300, 250), (100, 100))
    assert not is_aligned(Region((90, 0), (200, 250)), (300, 250), (100, 100))


def test_blocks_cover_a_region_once_along_the_grid():
    seen = np.zeros((50, 70), int)
    region = Region((3, 11), (44, 70))
    for block in blocks_of(region, (16, 16)):
        seen[block.slices] += 1
        assert block.start[0] // 16 == (block.stop[0] - 1) // 16
    expected = np.zeros_like(seen)
    expected[region.slices] = 1
    np.testing.assert_array_equal(seen, expected)


def test_threads_take_turns_on_a_shared_chunk_only():
    locks = ChunkLocks()
    with locks.over([(0, 110)], [100]):
        free, shared = threading.Event(), threading.Event()

        def elsewhere():
            with locks.over([(200, 300)], [100]):
                free.set()

        def here():
            with locks.over([(190, 210)], [100]):
                shared.set()

        threads = [threading.Thread(target=work) for work in (elsewhere, here)]
        for thread in threads:
            thread.start()
        assert free.wait(5)
        assert not shared.wait(0.1)
    for thread in threads:
        thread.join(5)
    assert shared.is_set()


def test_a_box_over_very_many_chunks_can_be_locked():
    with ChunkLocks().over([(0, 10_000), (0, 10_000)], [10, 10]):
        pass
