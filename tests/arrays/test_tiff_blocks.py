import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tifffile
from drawn import write_pyramid
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.arrays import tiff_read
from napari_onnxseg.arrays.files import read_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.arrays.tiff_blocks import TiffArray
from napari_onnxseg.tiling.region import Region


@pytest.fixture(autouse=True)
def by_region(monkeypatch):
    monkeypatch.setattr(tiff_read, "EAGER_BYTES", -1)


def picture(*shape, dtype=np.uint8):
    return np.random.default_rng(7).integers(0, 200, shape).astype(dtype)


def opened(path):
    with tifffile.TiffFile(path) as tif:
        return TiffArray(path, tif.series[0])


RGB = {"photometric": "rgb"}
STORED = {
    "strips": ((150, 170), {"rowsperstrip": 7, "compression": "zlib"}),
    "one strip": ((150, 170), {"rowsperstrip": 150, "compression": "lzw"}),
    "tiles": ((150, 170), {"tile": (64, 32), "compression": "zlib"}),
    "tiles, plain": ((150, 170), {"tile": (64, 32)}),
    "zstd": ((150, 170), {"tile": (64, 64), "compression": "zstd", "predictor": True}),
    "lzma": ((150, 170), {"tile": (64, 64), "compression": "lzma"}),
    "big": ((150, 170), {"tile": (64, 64), "compression": "lzw", "bigtiff": True}),
    "colours": ((150, 170, 3), {"tile": (64, 64), "compression": "lzw", **RGB}),
    "colours apart": (
        (3, 150, 170),
        {"tile": (64, 64), "compression": "zlib", "planarconfig": "separate", **RGB},
    ),
    "stack": ((4, 150, 170), {"tile": (64, 64), "compression": "zlib"}),
    "hyperstack": ((2, 3, 50, 70), {"rowsperstrip": 9, "compression": "zlib"}),
    "stack of colours": ((3, 50, 70, 3), {"tile": (32, 32), "compression": "zlib", **RGB}),
}
"""Shape, and how it is stored."""

PICK = st.one_of(
    st.integers(-2, 1),
    st.tuples(st.integers(0, 200), st.integers(0, 200), st.sampled_from([1, 1, 2, -1, -3])),
)


def index_of(picks):
    return tuple(pick if isinstance(pick, int) else slice(*pick) for pick in picks)


@pytest.mark.parametrize("kind", STORED)
def test_any_part_is_that_of_the_whole_image(tmp_path, kind):
    shape, stored = STORED[kind]
    data = picture(*shape, dtype=np.uint16 if kind in ("zstd", "stack") else np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", data, **({"photometric": "minisblack"} | stored))
    array = opened(tmp_path / "a.tif")
    assert (array.shape, array.dtype) == (data.shape, data.dtype)
    np.testing.assert_array_equal(np.asarray(array), data)

    @settings(derandomize=True, max_examples=25, deadline=None)
    @given(st.lists(PICK, min_size=1, max_size=len(shape)))
    def check(picks):
        found = array[index_of(picks)]
        np.testing.assert_array_equal(found, data[index_of(picks)])

    check()
    np.testing.assert_array_equal(array[..., 3:9, 2], data[..., 3:9, 2])


@pytest.mark.parametrize("index", [500, (0, 0, 0), ([1, 2],), (0, -171)])
def test_what_lies_outside_is_refused(tmp_path, index):
    tifffile.imwrite(tmp_path / "a.tif", picture(150, 170), compression="zlib")
    with pytest.raises(IndexError):
        opened(tmp_path / "a.tif")[index]


def test_only_the_tiles_of_a_region_are_decoded(tmp_path):
    data = picture(640, 640)
    tifffile.imwrite(tmp_path / "a.tif", data, tile=(64, 64), compression="zlib")
    array = opened(tmp_path / "a.tif")
    decode, decoded = array._decode, []

    def counted(data, segment, **tables):
        decoded.append(segment)
        return decode(data, segment, **tables)

    array._decode = counted
    source = as_stack(array).plane(())
    region = Region((70, 130), (200, 192))
    np.testing.assert_array_equal(source.read(region)[0], data[region.slices])
    assert decoded == [12, 22, 32]
    source.read(Region((64, 128), (65, 129)))
    assert decoded == [12, 22, 32]  # kept from before


def test_threads_share_an_array(tmp_path):
    data = picture(300, 300)
    tifffile.imwrite(tmp_path / "a.tif", data, tile=(32, 32), compression="lzw")
    array = opened(tmp_path / "a.tif")
    starts = [(y, x) for y in range(0, 260, 20) for x in range(0, 260, 20)]

    def read(start):
        y, x = start
        return np.array_equal(array[y : y + 40, x : x + 40], data[y : y + 40, x : x + 40])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, starts))


def test_tiles_that_the_file_leaves_out_are_empty(tmp_path):
    def tiles():
        yield np.full((64, 64), 5, np.uint8)
        yield None
        yield np.full((64, 64), 6, np.uint8)
        yield None

    tifffile.imwrite(
        tmp_path / "a.tif", tiles(), shape=(128, 128), dtype=np.uint8, tile=(64, 64),
        compression="zlib",
    )  # fmt: skip
    data = np.asarray(opened(tmp_path / "a.tif"))
    assert [data[0, 0], data[0, 64], data[64, 0], data[64, 64]] == [5, 0, 6, 0]


def test_jpeg_tiles_are_those_of_the_whole_image(tmp_path):
    data = picture(150, 170, 3) // 50 * 50
    tifffile.imwrite(tmp_path / "a.tif", data, tile=(64, 64), compression="jpeg", **RGB)
    image = read_image(tmp_path / "a.tif")
    assert image.rgb
    whole = tifffile.imread(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.data[30:140, 5:160], whole[30:140, 5:160])


def test_planes_in_other_files_of_an_ome_series_are_found(tmp_path):
    data = picture(3, 60, 50, dtype=np.uint16)
    name = '<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16"'
    sizes = ' SizeX="50" SizeY="60" SizeC="1" SizeZ="3" SizeT="1">'
    planes = "".join(
        f'<TiffData IFD="0" FirstZ="{n}" PlaneCount="1"><UUID FileName="{n}.ome.tif">'
        f"urn:uuid:{n}</UUID></TiffData>"
        for n in range(3)
    )
    for n in range(3):
        xml = (
            '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"'
            f' UUID="urn:uuid:{n}">{name}{sizes}<Channel ID="Channel:0:0"/>{planes}</Pixels>'
            "</Image></OME>"
        )
        tifffile.imwrite(
            tmp_path / f"{n}.ome.tif", data[n], description=xml, metadata=None, compression="zlib"
        )
    image = read_image(tmp_path / "0.ome.tif")
    assert isinstance(image.data, TiffArray)
    np.testing.assert_array_equal(image.data[1:, 20:, :9], data[1:, 20:, :9])


@pytest.mark.parametrize("name", ["a.ome.tif", "a.tif"])
@pytest.mark.parametrize("compression", ["zlib", None])
def test_the_levels_of_a_pyramid_are_found(tmp_path, name, compression):
    data = picture(501, 403, 3)
    write_pyramid(tmp_path / name, data, photometric="rgb", compression=compression)
    image = read_image(tmp_path / name)
    assert image.rgb
    assert image.levels.shapes == ((501, 403), (251, 202), (126, 101))
    assert image.levels.factors[1] == (501 / 251, 403 / 202)
    for n, level in enumerate(image.levels.arrays):
        np.testing.assert_array_equal(np.asarray(level), data[:: 2**n, :: 2**n])
    np.testing.assert_array_equal(image.data[5:77, 300:], data[5:77, 300:])


def test_palettes_and_inks_are_resolved_in_the_part_that_is_read(tmp_path):
    index = picture(90, 80)
    colours = np.random.default_rng(2).integers(0, 256, (3, 256))
    tifffile.imwrite(
        tmp_path / "a.tif", index, photometric="palette", colormap=(colours * 257).astype("u2"),
        compression="zlib",
    )  # fmt: skip
    image = read_image(tmp_path / "a.tif")
    assert (image.data.shape, image.data.dtype, len(image.data)) == ((90, 80, 3), np.uint8, 90)
    np.testing.assert_array_equal(image.data[5:7, 9, 1:], colours.T[index[5:7, 9]][..., 1:])


def test_the_memory_of_a_large_file_is_that_of_its_parts(tmp_path):
    from children import run_child

    data = np.kron(picture(128, 128), np.ones((64, 64), np.uint8))  # 64 MiB
    tifffile.imwrite(tmp_path / "a.tif", data, tile=(256, 256), compression="zlib")
    code = """
from napari_onnxseg.arrays import tiff_blocks
from napari_onnxseg.arrays.files import read_image
tiff_blocks.KEPT_BYTES = 2**22
image = read_image('a.tif')
image.data[:256, :256]
before = now_mib('VmRSS')
for top in range(0, 8192, 256):
    image.data[top:top + 256, 1000:2000]
print(now_mib('VmHWM') - before)
"""
    assert float(run_child(code, tmp_path)) < 25


def test_a_real_aerial_picture_has_its_levels_and_its_place():
    folder = Path(os.environ.get("ONNXSEG_DATA", ""), "naip")
    if not folder.is_absolute():
        pytest.skip("ONNXSEG_DATA is not set")
    for path in sorted(folder.glob("*.tif")):
        image = read_image(path)
        assert image.axes == "YXS"
        assert (image.scale, image.units) == ((5.0, 5.0), ("meter", "meter"))
        assert len(image.levels) > 1
        assert image.world.transform[0] == 5.0
        with tifffile.TiffFile(path) as tif:
            for level, stored in zip(image.levels.arrays, tif.series[0].levels, strict=True):
                np.testing.assert_array_equal(np.asarray(level), stored.asarray())
