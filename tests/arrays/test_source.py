import dask.array
import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.arrays.source import as_stack, read_padded
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.tiling.region import Region

zarr.zeros((1,))[:]  # starts zarr's own thread, which lives as long as the process


class Counting:
    """An array that remembers the shapes read from it and is no ndarray."""

    def __init__(self, data):
        self.data, self.reads = data, []
        self.shape, self.dtype = data.shape, data.dtype

    def __getitem__(self, index):
        block = self.data[index]
        self.reads.append(block.shape)
        return block


def counted(*shape, dtype=np.uint16):
    return np.arange(np.prod(shape), dtype=np.int64).reshape(shape).astype(dtype)


def test_a_grey_plane_has_one_channel_and_nothing_to_loop_over():
    stack = as_stack(counted(6, 8))
    assert (stack.leading, stack.shape, stack.channels, stack.result_axes) == (
        (),
        (6, 8),
        1,
        (0, 1),
    )
    assert stack.indices() == [()]


@pytest.mark.parametrize("shape", [(5, 6, 3), (20, 64, 4), (7, 4, 3)])
def test_a_last_axis_of_three_or_four_is_not_taken_for_colour(shape):
    stack = as_stack(counted(*shape))
    assert (stack.leading, stack.shape, stack.channels) == (shape[:1], shape[1:], 1)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -4, -3, -2, -1])
def test_the_channel_axis_may_be_anywhere(axis):
    planes = counted(5, 2, 6, 7)  # (Z, C, Y, X)
    data = np.moveaxis(planes, 1, axis)
    stack = as_stack(data, channel_axis=axis)
    assert (stack.leading, stack.shape, stack.channels) == ((5,), (6, 7), 2)
    assert stack.result_axes == tuple(a for a in range(4) if a != axis % 4)
    block = stack.plane((3,)).read(Region((1, 2), (4, 7)))
    np.testing.assert_array_equal(block, planes[3, :, 1:4, 2:7])


def test_colour_comes_channels_first():
    picture = counted(6, 7, 3, dtype=np.uint8)
    stack = as_stack(picture, rgb=True)
    assert (stack.shape, stack.channels, stack.channel_axis) == ((6, 7), 3, 2)
    source = stack.plane(())
    np.testing.assert_array_equal(source.read(Region.of_shape((6, 7))), picture.transpose(2, 0, 1))


def test_a_model_in_two_dimensions_meets_every_plane_of_time_and_depth():
    data = np.arange(15).reshape(3, 5, 1, 1) * np.ones((3, 5, 8, 9), int)
    stack = as_stack(data)
    assert stack.leading == (3, 5)
    for time, depth in stack.indices():
        block = stack.plane((time, depth)).read(Region((0, 0), (8, 9)))
        assert (block == 5 * time + depth).all()
    assert stack.indices()[:6] == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]


def test_a_volume_keeps_its_depth():
    data = counted(2, 4, 5, 6)
    stack = as_stack(data, channel_axis=0, spatial_ndim=3)
    assert (stack.leading, stack.shape, stack.channels) == ((), (4, 5, 6), 2)
    box = Region((1, 0, 2), (3, 5, 6))
    np.testing.assert_array_equal(stack.plane(()).read(box), data[:, 1:3, 0:5, 2:6])


def test_planes_are_picked_from_the_start_or_the_end():
    stack = as_stack(counted(3, 4, 5, 6))
    assert stack.indices((None, -1)) == [(0, 3), (1, 3), (2, 3)]
    assert stack.indices((1, None)) == [(1, 0), (1, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("picked", [(3, 0), (-4, 0), (0,), (0, 0, 0)])
def test_planes_that_do_not_exist_are_refused(picked):
    with pytest.raises(ChoiceError):
        as_stack(counted(3, 4, 5, 6)).indices(picked)


@pytest.mark.parametrize(
    ("data", "choices", "words"),
    [
        (np.zeros(5), {}, r"shape \(5,\), but 2 axes"),
        (np.zeros((5, 6)), {"channel_axis": 0}, "3 axes are needed"),
        (np.zeros((5, 6)), {"spatial_ndim": 3}, "3 axes are needed"),
        (np.zeros((5, 0, 6)), {}, "empty"),
        (np.zeros((5, 6), complex), {}, "complex128"),
        (np.zeros((5, 6), object), {}, "object"),
        (np.zeros((5, 6), "M8[s]"), {}, "datetime64"),
        (np.zeros((5, 6, 2)), {"rgb": True}, "3 or 4 channels"),
        (np.zeros((3, 5, 6)), {"rgb": True}, "3 or 4 channels"),
        (np.zeros((3, 5, 3)), {"rgb": True, "channel_axis": 0}, "channel axis 0"),
        (np.zeros((3, 5, 3)), {"channel_axis": 3}, "no channel axis 3"),
        (np.zeros((3, 5, 3)), {"channel_axis": -4}, "no channel axis -4"),
        ([np.zeros((8, 8)), np.zeros((4, 4))], {}, "give one level"),
        (7, {}, "got int"),
    ],
)
def test_what_cannot_be_an_image_is_refused(data, choices, words):
    with pytest.raises(ImageError, match=words):
        as_stack(data, **choices)


def test_an_image_of_one_channel_on_an_axis_of_its_own_is_grey_all_the_same():
    data = counted(6, 7, 1)
    block = as_stack(data, channel_axis=-1).plane(()).read(Region((0, 0), (6, 7)))
    np.testing.assert_array_equal(block, data.transpose(2, 0, 1))


def as_memmap(data, folder):
    np.save(folder / "image.npy", data)
    return np.load(folder / "image.npy", mmap_mode="r")


KINDS = {
    "numpy": lambda data, _: data,
    "big-endian": lambda data, _: data.astype(">u2"),
    "memmap": as_memmap,
    "dask": lambda data, _: dask.array.from_array(data, chunks=(1, 30, 30)),
    "zarr": lambda data, _: zarr.array(data, chunks=(1, 30, 30)),
    "xarray": lambda data, _: pytest.importorskip("xarray").DataArray(data, dims=("z", "y", "x")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_array_gives_the_same_block(tmp_path, kind):
    data = counted(4, 100, 130)
    image = KINDS[kind](data, tmp_path)
    block = read_padded(as_stack(image).plane((2,)), Region((-7, 90), (40, 140)))
    expected = np.pad(data[2], ((7, 0), (0, 10)), mode="reflect")[:47, 90:]
    assert isinstance(block, np.ndarray)
    np.testing.assert_array_equal(block, expected[np.newaxis])


def test_a_region_beyond_the_image_is_refused_by_a_plain_read():
    with pytest.raises(ImageError, match="outside the image"):
        as_stack(counted(6, 8)).plane(()).read(Region((-1, 0), (3, 3)))


def test_nothing_is_read_before_it_is_asked_for_and_nothing_more():
    data = Counting(counted(3, 50, 60))
    source = as_stack(data).plane((1,))
    assert data.reads == []
    read_padded(source, Region((10, 20), (30, 50)))
    read_padded(source, Region((-5, 50), (15, 70)))
    assert data.reads == [(20, 30), (15, 11)]  # columns 60..69 mirror 58..49


@settings(derandomize=True, max_examples=80, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    start=st.tuples(st.integers(-30, 10), st.integers(-30, 10)),
    sides=st.tuples(st.integers(1, 30), st.integers(1, 30)),
)
def test_padding_is_that_of_numpy_and_never_reads_more_than_the_box(shape, start, sides):
    data = Counting(counted(*shape))
    stop = tuple(a + n for a, n in zip(start, sides, strict=True))
    block = read_padded(as_stack(data).plane(()), Region(start, stop))
    padded = np.pad(data.data, 50, mode="reflect")
    expected = padded[tuple(slice(a + 50, b + 50) for a, b in zip(start, stop, strict=True))]
    np.testing.assert_array_equal(block[0], expected)
    assert len(data.reads) == 1
    assert all(read <= side for read, side in zip(data.reads[0], sides, strict=True))


def test_reading_leaves_the_image_unchanged():
    data = counted(10, 12)
    data.flags.writeable = False
    read_padded(as_stack(data).plane(()), Region((-3, -3), (13, 15)))
    np.testing.assert_array_equal(data, counted(10, 12))


def test_a_masked_array_is_refused_before_its_mask_is_lost():
    with pytest.raises(ImageError, match="filled"):
        as_stack(np.ma.array(np.zeros((4, 4)), mask=np.eye(4)))


def test_an_image_of_unknown_shape_is_refused():
    import dask.array as da

    rows = da.from_array(np.arange(9.0))
    image = da.ones((9, 9))[rows > 3]
    with pytest.raises(ImageError, match="compute_chunk_sizes"):
        as_stack(image)
