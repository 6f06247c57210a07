"""The same picture through every kind of array and file: the same regions, nothing more read."""

import dask.array
import numpy as np
import pytest
import tifffile
import xarray
import zarr
from drawn import write_pyramid
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.arrays import tiff_read
from napari_onnxseg.arrays.converted import ConvertedArray
from napari_onnxseg.arrays.files import read_image, write_result
from napari_onnxseg.arrays.ngff_meaning import Meaning
from napari_onnxseg.arrays.recent import Recent
from napari_onnxseg.arrays.source import as_stack, read_padded
from napari_onnxseg.arrays.turned import TurnedArray
from napari_onnxseg.tiling.region import Region

zarr.zeros((1,))[:]  # starts zarr's own thread, which lives as long as the process

CHUNK = 96
SHAPE = (400, 520)


def picture():
    """Return uint16 (Y, X) without two equal neighbours."""
    rows, columns = np.indices(SHAPE)
    return ((rows * 577 + columns * 31) % 4093).astype(np.uint16)


def stored(path, data, zarr_format):
    array = zarr.create_array(
        path, shape=data.shape, dtype=data.dtype, chunks=(CHUNK, CHUNK), zarr_format=zarr_format
    )
    array[:] = data
    return array


def through_file(write, name):
    def make(data, folder):
        write(folder / name, data)
        return read_image(folder / name).data

    return make


def tiff(**choices):
    return through_file(lambda path, data: tifffile.imwrite(path, data, **choices), "a.tif")


def memmap(data, folder):
    np.save(folder / "a.npy", data)
    return np.load(folder / "a.npy", mmap_mode="r")


def cog(path, data):
    rasterio = pytest.importorskip("rasterio")
    profile = {"count": 1, "height": data.shape[0], "width": data.shape[1], "dtype": data.dtype}
    with rasterio.open(
        path, "w", driver="COG", blocksize=128, crs="EPSG:32632",
        transform=rasterio.Affine(2, 0, 5e5, 0, -2, 5e6), **profile,
    ) as dataset:  # fmt: skip
        dataset.write(data, 1)


TILED = {"tile": (CHUNK, CHUNK), "compression": "zlib"}
KINDS = {
    "numpy": lambda data, _: data,
    "numpy, big-endian": lambda data, _: data.astype(">u2"),
    "memmap": memmap,
    "zarr 2": lambda data, folder: stored(folder / "a.zarr", data, 2),
    "zarr 3": lambda data, folder: stored(folder / "a.zarr", data, 3),
    "dask": lambda data, _: dask.array.from_array(data, chunks=CHUNK),
    "dask over zarr": lambda data, folder: dask.array.from_zarr(stored(folder / "a.zarr", data, 3)),
    "xarray": lambda data, _: xarray.DataArray(data, dims=("y", "x")),
    "xarray over dask": lambda data, _: xarray.DataArray(
        dask.array.from_array(data, chunks=CHUNK), dims=("y", "x")
    ),
    "TIFF, plain": tiff(),
    "TIFF, tiles": tiff(**TILED),
    "TIFF, strips": tiff(rowsperstrip=5, compression="lzw"),
    "BigTIFF": tiff(bigtiff=True, **TILED),
    "OME-TIFF, pyramid": through_file(write_pyramid, "a.ome.tif"),
    "COG": through_file(cog, "a.tif"),
    "NPY": through_file(lambda path, data: write_result(path, data, Meaning("YX")), "a.npy"),
    "OME-Zarr": through_file(
        lambda path, data: write_result(path, data, Meaning("YX", "image")), "a.zarr"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_regions(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(tiff_read, "EAGER_BYTES", -1)
    data = picture()
    source = as_stack(KINDS[kind](data, tmp_path)).plane(())
    assert (source.shape, source.channels, source.dtype.kind) == (SHAPE, 1, "u")
    padded = np.pad(data, 128, mode="reflect")
    for start in ((-64, -64), (0, 0), (95, 190), (300, 456)):
        box = Region(start, tuple(a + 164 for a in start))
        block = read_padded(source, box)
        assert isinstance(block, np.ndarray)
        assert block.dtype.newbyteorder("=") == np.uint16
        expected = padded[tuple(slice(a + 128, a + 292) for a in start)]
        np.testing.assert_array_equal(block, expected[np.newaxis])


class Counting:
    """A source of chunks that counts the values taken from it."""

    def __init__(self, data):
        self.data, self.taken = data, 0
        self.shape, self.dtype, self.ndim = data.shape, data.dtype, data.ndim

    def __getitem__(self, index):
        block = self.data[index]
        self.taken += block.size
        return block


@settings(derandomize=True, max_examples=30, deadline=None)
@given(
    start=st.tuples(st.integers(0, 380), st.integers(0, 500)),
    sides=st.tuples(st.integers(1, 150), st.integers(1, 150)),
)
def test_of_dask_only_the_chunks_of_a_region_are_made(start, sides):
    counting = Counting(picture())
    lazy = dask.array.from_array(counting, chunks=CHUNK, inline_array=True)
    stop = tuple(min(a + n, length) for a, n, length in zip(start, sides, SHAPE, strict=True))
    as_stack(lazy).plane(()).read(Region(start, stop))
    rounded = [
        min(-(-b // CHUNK) * CHUNK, n) - a // CHUNK * CHUNK
        for a, b, n in zip(start, stop, SHAPE, strict=True)
    ]
    assert counting.taken <= rounded[0] * rounded[1]


PICK = st.one_of(
    st.integers(-4, 3),
    st.builds(slice, st.integers(-6, 6), st.integers(-6, 6), st.sampled_from([None, 1, 2, -1])),
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(order=st.permutations(range(3)), picks=st.lists(PICK, min_size=1, max_size=3))
def test_a_turned_array_is_that_of_numpy(order, picks):
    data = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    turned, expected = TurnedArray(data, tuple(order)), data.transpose(order)
    assert (turned.shape, turned.ndim, turned.size) == (expected.shape, 3, 120)
    np.testing.assert_array_equal(turned[tuple(picks)], expected[tuple(picks)])
    np.testing.assert_array_equal(turned[..., 1:, 2], expected[..., 1:, 2])
    np.testing.assert_array_equal(np.asarray(turned), expected)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(picks=st.lists(PICK, min_size=1, max_size=3))
def test_a_converted_array_is_that_of_numpy(picks):
    data = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    pairs = ConvertedArray(
        data[..., 0], lambda a: np.stack([a, -a] * 2, -1), (4, 5, 4), data.dtype, colours=True
    )
    expected = np.stack([data[..., 0], -data[..., 0]] * 2, -1)
    np.testing.assert_array_equal(pairs[tuple(picks)], expected[tuple(picks)])
    sums = ConvertedArray(data, lambda a: a + 1, data.shape, data.dtype, colours=False)
    np.testing.assert_array_equal(sums[tuple(picks)], data[tuple(picks)] + 1)


def test_pieces_used_last_are_kept_and_their_memory_is_bounded():
    recent, made = Recent(3 * 100), []

    def piece(key):
        def make():
            made.append(key)
            return np.zeros(100, np.uint8)

        return recent.get(key, make)

    for key in "abcab" + "d" + "abc":
        piece(key)
    assert made == list("abcdc")
    assert (len(recent), recent.held_bytes) == (3, 300)


def test_a_piece_larger_than_the_bound_is_given_but_not_kept():
    recent = Recent(10)
    assert recent.get(1, lambda: np.zeros(100, np.uint8)).size == 100
    assert (len(recent), recent.held_bytes) == (0, 0)


def test_a_tensorstore_array_is_an_image():
    tensorstore = pytest.importorskip("tensorstore")
    data = picture()
    source = as_stack(tensorstore.array(data)).plane(())
    assert source.dtype == np.uint16
    block = source.read(Region((5, 6), (70, 80)))
    assert isinstance(block, np.ndarray)
    np.testing.assert_array_equal(block[0], data[5:70, 6:80])
