import os
from pathlib import Path

import numpy as np
import pytest
import tifffile
from drawn import mark
from PIL import Image

from napari_onnxseg.arrays import tiff_read
from napari_onnxseg.arrays.files import read_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.tiling.region import Region


@pytest.fixture(params=["at once", "by region"], autouse=True)
def how(request, monkeypatch):
    if request.param == "by region":
        monkeypatch.setattr(tiff_read, "EAGER_BYTES", -1)
    return request.param


def values(*shape, dtype=np.uint16):
    return (np.arange(np.prod(shape)) * 31 % 251).reshape(shape).astype(dtype)


def whole(image, index=()):
    """Return the first plane as a pipeline reads it, (C, Y, X)."""
    stack = as_stack(image.data, channel_axis=image.channel_axis, rgb=image.rgb)
    return stack.plane(index).read(Region.of_shape(stack.shape))


def test_ome_axes_and_pixel_size_are_read(tmp_path):
    data = values(3, 2, 20, 30)
    size = {"PhysicalSizeX": 0.25, "PhysicalSizeY": 0.5, "PhysicalSizeZ": 2.0}
    units = {f"PhysicalSize{axis}Unit": "µm" for axis in "XYZ"}
    tifffile.imwrite(tmp_path / "a.ome.tif", data, metadata={"axes": "ZCYX", **size, **units})
    image = read_image(tmp_path / "a.ome.tif")
    assert (image.axes, image.channel_axis, image.rgb) == ("ZCYX", 1, False)
    assert image.scale == (2.0, 0.5, 0.25)
    assert image.units == ("micrometer",) * 3
    np.testing.assert_array_equal(whole(image, (2,)), data[2])


def test_a_unit_of_ome_other_than_micrometres_is_kept(tmp_path):
    about = {"axes": "YX", "PhysicalSizeX": 3, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 4}
    tifffile.imwrite(tmp_path / "a.ome.tif", values(9, 8), metadata=about)
    image = read_image(tmp_path / "a.ome.tif")
    assert (image.scale, image.units) == ((4.0, 3.0), ("micrometer", "nanometer"))


def test_imagej_pixel_size_time_and_depth_are_read(tmp_path):
    data = values(2, 4, 3, 20, 30)
    about = {"axes": "TZCYX", "unit": "um", "spacing": 1.5, "finterval": 10.0}
    tifffile.imwrite(
        tmp_path / "a.tif", data, imagej=True, resolution=(1 / 0.25, 1 / 0.5), metadata=about
    )
    image = read_image(tmp_path / "a.tif")
    assert (image.axes, image.channel_axis) == ("TZCYX", 2)
    assert image.scale == pytest.approx((10, 1.5, 0.5, 0.25))
    assert image.units == ("second", "micrometer", "micrometer", "micrometer")
    np.testing.assert_array_equal(whole(image, (1, 3)), data[1, 3])


def test_the_size_on_paper_is_no_pixel_size(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", values(9, 8), resolution=(300, 300), resolutionunit=2)
    assert read_image(tmp_path / "a.tif").scale is None


@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_colour_is_read_however_it_is_stored(tmp_path, planar, compression):
    data = mark() if planar == "contig" else np.moveaxis(mark(), -1, 0)
    tifffile.imwrite(
        tmp_path / "a.tif", data, photometric="rgb", planarconfig=planar, compression=compression
    )
    image = read_image(tmp_path / "a.tif")
    assert image.rgb
    np.testing.assert_array_equal(image.data, mark())


@pytest.mark.parametrize("dtype", [">u2", ">i2", ">f4", "<u2", "u1", "f8", "i4"])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_either_byte_order_and_any_dtype_is_read(tmp_path, dtype, compression):
    data = values(20, 30, dtype=dtype)
    tifffile.imwrite(tmp_path / "a.tif", data, byteorder=dtype[0] if dtype[0] in "<>" else None)
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif").data, data)


def test_an_uncompressed_file_is_mapped_not_loaded(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", values(3, 200, 300), photometric="minisblack")
    assert isinstance(read_image(tmp_path / "a.tif").data, np.memmap)


@pytest.mark.parametrize(
    ("extra", "rgb"), [("unassalpha", True), ("assocalpha", True), ("unspecified", False)]
)
def test_a_fourth_sample_is_opacity_only_if_the_file_says_so(tmp_path, extra, rgb):
    data = values(20, 30, 4, dtype=np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", data, photometric="rgb", extrasamples=[extra])
    image = read_image(tmp_path / "a.tif")
    assert (image.rgb, image.channel_axis) == (rgb, None if rgb else 2)
    np.testing.assert_array_equal(whole(image), np.moveaxis(data, -1, 0))


@pytest.mark.parametrize("shape", [(20, 64, 4), (30, 40, 3)])
def test_a_grey_stack_with_a_short_last_axis_is_not_colour(tmp_path, shape):
    tifffile.imwrite(tmp_path / "a.tif", values(*shape), photometric="minisblack")
    image = read_image(tmp_path / "a.tif")
    assert not image.rgb
    assert image.channel_axis is None
    assert image.data.shape == shape


def test_a_palette_is_resolved_to_its_colours(tmp_path):
    index = values(20, 30, dtype=np.uint8)
    colours = np.random.default_rng(2).integers(0, 256, (3, 256))
    tifffile.imwrite(
        tmp_path / "a.tif", index, photometric="palette", colormap=(colours * 257).astype("u2")
    )
    image = read_image(tmp_path / "a.tif")
    assert image.rgb
    np.testing.assert_array_equal(image.data, colours.T[index])


def test_black_and_white_is_0_and_255(tmp_path):
    data = values(20, 30) > 100
    tifffile.imwrite(tmp_path / "a.tif", data)
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif").data, data * 255)


def test_an_image_meant_to_be_shown_inverted_is_read_as_stored_and_it_is_said(tmp_path):
    data = values(20, 30, dtype=np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", data, photometric="miniswhite")
    image = read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.data, data)
    assert "as stored" in image.notes[0]


def test_cmyk_becomes_rgb(tmp_path):
    Image.fromarray(mark()).convert("CMYK").save(tmp_path / "a.tif")
    image = read_image(tmp_path / "a.tif")
    assert image.rgb
    np.testing.assert_array_equal(image.data, mark())


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "I;16"])
def test_lzw_is_read_without_further_packages(tmp_path, mode):
    grey = values(20, 30)
    picture = Image.fromarray(grey) if mode == "I;16" else Image.fromarray(mark()).convert(mode)
    picture.save(tmp_path / "a.tif", compression="tiff_lzw")
    image = read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.data, np.asarray(picture))
    assert image.rgb == (mode in ("RGB", "RGBA"))


def test_a_compression_that_cannot_be_read_names_the_package(tmp_path, monkeypatch):
    Image.fromarray(mark()).save(tmp_path / "a.tif", compression="tiff_lzw")

    def refuse(*_args, **_choices):
        raise ValueError("<COMPRESSION.LZW: 5> requires the 'imagecodecs' package")

    monkeypatch.setattr(tiff_read, "_values", refuse)
    with pytest.raises(FileFormatError, match="pip install imagecodecs"):
        read_image(tmp_path / "a.tif")


def test_further_images_and_an_orientation_are_spoken_of(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as tif:
        tif.write(values(20, 30), extratags=[(274, 3, 1, 6, True)])
        tif.write(values(7, 8))
    image = read_image(tmp_path / "a.tif")
    assert image.data.shape == (20, 30)
    assert "2 images" in image.notes[0]
    assert "turned" in image.notes[1]


def test_a_mask_beside_the_image_is_spoken_of(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as tif:
        tif.write(values(20, 30), metadata=None)
        tif.write(values(20, 30) > 100, photometric="mask", subfiletype=4, metadata=None)
    image = read_image(tmp_path / "a.tif")
    assert image.data.shape == (20, 30)
    (note,) = image.notes
    assert "mask of missing pixels" in note


def test_real_microscopy_and_volume_files_are_read():
    folder = Path(os.environ.get("ONNXSEG_DATA", ""))
    files = {
        "multichannel/jump_BR00117006_A01_f01_3ch_crop800.ome.tif": ("CYX", (3, 800, 800)),
        "volumes/icbm152_2009a_t1_1mm.ome.tif": ("ZYX", (189, 233, 197)),
        "volumes/nibabel_example4d_t0.ome.tif": ("ZYX", (24, 96, 128)),
    }
    if not os.environ.get("ONNXSEG_DATA"):
        pytest.skip("ONNXSEG_DATA is not set")
    for name, (axes, shape) in files.items():
        image = read_image(folder / name)
        assert (image.axes, image.data.shape) == (axes, shape)
    assert image.scale == pytest.approx((2.2, 2, 2))
    assert image.units == ("millimeter",) * 3
