import json

import numpy as np
import pytest
import tifffile
from PIL import Image

from napari_onnxseg.arrays.files import (
    check_output,
    read_image,
    read_labels,
    write_image,
    write_labels,
    write_rgba,
)
from napari_onnxseg.arrays.placing import Placing, unit_name
from napari_onnxseg.errors import ChoiceError, FileFormatError, ImageError

MICRONS = ("micrometer", "micrometer")


def labels(highest, dtype, shape=(30, 40)):
    data = np.random.default_rng(4).integers(0, highest + 1, shape).astype(dtype)
    data.flat[0] = highest
    return data


@pytest.mark.parametrize("kind", ["labels", "rgba", "objects", "image"])
@pytest.mark.parametrize("name", ["out.jpg", "out.JPG", "out.jpeg", "out", "out.bmp", "out.png.gz"])
def test_a_format_that_loses_something_is_refused_before_the_run(tmp_path, name, kind):
    with pytest.raises(ChoiceError, match=r"\.png, \.tif or \.npy") as fault:
        check_output(tmp_path / name, kind)
    assert name in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    "name", ["out.png", "out.PNG", "out.tif", "out.TIFF", "o.ome.tif", "o.npy"]
)
def test_a_format_that_holds_everything_is_let_through(tmp_path, name):
    check_output(tmp_path / "not yet there" / name, "rgba")


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "out.png").mkdir()
    with pytest.raises(FileFormatError, match="is a folder"):
        check_output(tmp_path / "out.png", "labels")


def test_a_stack_in_a_png_is_refused_before_the_run(tmp_path):
    with pytest.raises(ChoiceError, match="one plane"):
        check_output(tmp_path / "out.png", "labels", planes=3)
    check_output(tmp_path / "out.tif", "labels", planes=3)


@pytest.mark.parametrize("writer", [write_labels, write_image])
@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif", "a.npy", "a.png"])
def test_seventy_thousand_labels_are_kept_or_refused(tmp_path, name, writer):
    data = labels(70_000, np.int32)
    if name == "a.png":
        with pytest.raises(ImageError, match=r"0 to 65535, got \d+ to 70000; use \.tif"):
            writer(tmp_path / name, data)
        assert not list(tmp_path.iterdir())
        return
    writer(tmp_path / name, data, scale=(0.5, 0.25), units=MICRONS)
    image = read_labels(tmp_path / name)
    np.testing.assert_array_equal(image.data, data)
    assert image.data.dtype == np.int32
    if name != "a.npy":
        assert (image.scale, image.units) == ((0.5, 0.25), MICRONS)


@pytest.mark.parametrize("name", ["a.tif", "a.png", "a.npy"])
@pytest.mark.parametrize(
    ("highest", "dtype"),
    [(2, "uint8"), (255, "uint8"), (256, "uint16"), (65_535, "int32"), (3, "int64"), (1, "bool")],
)
def test_labels_come_back_identical_with_their_pixel_size(tmp_path, name, highest, dtype):
    data = labels(highest, dtype)
    write_labels(tmp_path / name, data, scale=(0.5, 0.25), units=("µm", "micron"))
    image = read_labels(tmp_path / name)
    np.testing.assert_array_equal(image.data, data)
    assert not image.rgb
    if name != "a.npy":
        assert (image.scale, image.units) == ((0.5, 0.25), MICRONS)


@pytest.mark.parametrize("name", ["a.tif", "a.png"])
@pytest.mark.parametrize("bad", [np.array([[-1, 0]]), np.array([[0, 2**32]])])
def test_labels_that_no_pixel_can_hold_are_refused(tmp_path, name, bad):
    with pytest.raises(ImageError, match="got"):
        write_labels(tmp_path / name, bad)


def test_labels_are_whole_numbers(tmp_path):
    with pytest.raises(ImageError, match="float32"):
        write_labels(tmp_path / "a.tif", np.zeros((2, 2), np.float32))


def test_a_label_png_shows_the_colours_of_the_card_on_a_transparent_ground(tmp_path):
    data = np.array([[0, 1, 2, 3, 255]], np.uint8)
    colours = {0: None, 1: "#ff8000", 2: "#00f", 3: None}
    write_labels(tmp_path / "a.png", data, colours=colours, names={1: "nucleus µ"})
    with Image.open(tmp_path / "a.png") as image:
        assert image.mode == "P"
        np.testing.assert_array_equal(np.asarray(image), data)
        shown = np.asarray(image.convert("RGBA"))[0]
        kept = json.loads(image.text["onnxseg"])
    assert shown[0, 3] == shown[3, 3] == 0
    assert tuple(shown[1]) == (255, 128, 0, 255)
    assert tuple(shown[2]) == (0, 0, 255, 255)
    assert shown[4, 3] == 255
    assert kept["classes"][1] == {"id": 1, "name": "nucleus µ", "colour": "#ff8000"}


def test_classes_without_a_colour_get_one_that_differs_from_their_neighbours(tmp_path):
    write_labels(tmp_path / "a.png", np.arange(256, dtype=np.uint8).reshape(16, 16))
    with Image.open(tmp_path / "a.png") as image:
        shown = np.asarray(image.convert("RGBA")).reshape(256, 4).astype(int)
    assert shown[0, 3] == 0
    assert (shown[1:, 3] == 255).all()
    assert (np.abs(np.diff(shown[1:, :3], axis=0)).sum(axis=1) > 50).all()


def test_a_colour_that_is_none_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(ChoiceError, match="'reddish' of class 1"):
        write_labels(tmp_path / "a.png", labels(3, "uint8"), colours={1: "reddish"})
    assert not list(tmp_path.iterdir())


def test_more_than_255_labels_go_to_sixteen_bits_of_grey(tmp_path):
    write_labels(tmp_path / "a.png", labels(300, "uint16"))
    with Image.open(tmp_path / "a.png") as image:
        assert image.mode == "I;16"


@pytest.mark.parametrize(
    ("shape", "scale", "units", "axes"),
    [
        ((4, 30, 40), (2, 0.5, 0.25), ("micrometer",) * 3, "ZYX"),
        ((4, 30, 40), (1.5, 0.5, 0.25), ("second", *MICRONS), "TYX"),
        ((3, 4, 30, 40), (10, 2, 0.5, 0.25), ("second", *("nanometer",) * 3), "TZYX"),
    ],
)
def test_stacks_in_tiff_keep_shape_and_pixel_size(tmp_path, shape, scale, units, axes):
    data = labels(9, "uint8", shape)
    write_labels(tmp_path / "a.tif", data, scale=scale, units=units)
    image = read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.data, data)
    assert (image.axes, image.units) == (axes, units)
    assert image.scale == pytest.approx(scale)
    assert image.channel_axis is None


def test_stacks_of_many_axes_are_not_lost(tmp_path):
    data = labels(9, "uint8", (2, 3, 2, 8, 9))
    write_labels(tmp_path / "a.tif", data, scale=(1, 1, 1, 0.5, 0.5), units=None)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), data)


def test_other_programs_find_the_pixel_size_too(tmp_path):
    write_labels(tmp_path / "a.tif", labels(9, "uint8"), scale=(0.5, 0.25), units=MICRONS)
    with tifffile.TiffFile(tmp_path / "a.tif") as tif:
        page = tif.pages[0]
        assert page.compression == 8
        assert page.get_resolution("micrometer") == pytest.approx((4, 2))


@pytest.mark.parametrize("scale", [None, (1.0, 1.0), (0.0, 0.0), (1e-9, 1e12)])
@pytest.mark.parametrize("units", [None, ("pixel", "pixel"), ("degree", "meter")])
def test_a_strange_pixel_size_never_costs_the_result(tmp_path, scale, units):
    for name in ("a.tif", "a.png"):
        write_labels(tmp_path / name, labels(9, "uint8"), scale=scale, units=units)
        np.testing.assert_array_equal(read_labels(tmp_path / name).data, labels(9, "uint8"))


def test_a_stack_does_not_fit_in_a_png_but_a_single_plane_does(tmp_path):
    with pytest.raises(ImageError, match="stack of"):
        write_labels(tmp_path / "a.png", labels(9, "uint8", (2, 8, 9)))
    write_labels(tmp_path / "a.png", labels(9, "uint8", (1, 8, 9)), scale=(3, 0.5, 0.25))
    image = read_labels(tmp_path / "a.png")
    assert image.data.shape == (8, 9)
    assert image.scale == (0.5, 0.25)


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.npy"])
def test_cut_outs_keep_four_channels_and_their_exact_alpha(tmp_path, name):
    rgba = np.random.default_rng(6).integers(0, 256, (30, 40, 4)).astype(np.uint8)
    rgba[:5, :, 3] = 0
    write_rgba(tmp_path / name, rgba, scale=(0.5, 0.25), units=MICRONS)
    image = read_image(tmp_path / name)
    np.testing.assert_array_equal(image.data, rgba)
    if name != "a.npy":
        assert image.rgb
        assert (image.scale, image.units) == ((0.5, 0.25), MICRONS)


def test_stacks_of_cut_outs_go_to_tiff(tmp_path):
    rgba = np.random.default_rng(6).integers(0, 256, (3, 30, 40, 4)).astype(np.uint8)
    write_rgba(tmp_path / "a.tif", rgba)
    image = read_image(tmp_path / "a.tif")
    assert image.rgb
    np.testing.assert_array_equal(image.data, rgba)
    with pytest.raises(ImageError, match="stack of"):
        write_rgba(tmp_path / "a.png", rgba)


def test_more_compression_makes_smaller_files_of_the_same_picture(tmp_path):
    rgba = np.zeros((200, 200, 4), np.uint8)
    rgba[..., 0] = np.arange(200) // 9
    sizes = []
    for level in (0, 1, 9):
        write_rgba(tmp_path / "a.png", rgba, compression=level)
        sizes.append((tmp_path / "a.png").stat().st_size)
        np.testing.assert_array_equal(read_image(tmp_path / "a.png").data, rgba)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[2]


@pytest.mark.parametrize("level", [-1, 10])
def test_a_compression_out_of_range_is_refused(tmp_path, level):
    with pytest.raises(ChoiceError, match="0 to 9"):
        write_rgba(tmp_path / "a.png", np.zeros((2, 2, 4), np.uint8), compression=level)


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.npy"])
def test_confidence_is_written_as_grey(tmp_path, name):
    data = labels(255, "uint8")
    write_image(tmp_path / name, data)
    image = read_image(tmp_path / name)
    assert image.data.dtype == np.uint8
    np.testing.assert_array_equal(image.data, data)


def test_numbers_of_objects_take_sixteen_bits_of_grey_however_few_they_are(tmp_path):
    write_image(tmp_path / "a.png", labels(3, "int32"))
    assert read_image(tmp_path / "a.png").data.dtype == np.uint16


def test_real_numbers_go_to_tiff_and_arrays_only(tmp_path):
    data = np.random.default_rng(1).random((8, 9)).astype(np.float32)
    for name in ("a.tif", "a.npy"):
        write_image(tmp_path / name, data)
        np.testing.assert_array_equal(read_image(tmp_path / name).data, data)
    with pytest.raises(ImageError, match="float32"):
        write_image(tmp_path / "a.png", data)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("µm", "micrometer"),
        ("μm", "micrometer"),
        ("um", "micrometer"),
        ("Micron", "micrometer"),
        ("nm", "nanometer"),
        ("Å", "angstrom"),
        ("sec", "second"),
        ("micrometer", "micrometer"),
        ("furlong", "pixel"),
        ("", "pixel"),
    ],
)
def test_units_are_known_by_their_usual_spellings(text, name):
    assert unit_name(text) == name


def test_a_pixel_size_is_fitted_from_the_last_axis_backwards():
    assert Placing.of((2, 3), ("um", "um"), 3) == Placing((1, 2, 3), ("pixel", *MICRONS))
    assert Placing.of((9, 2, 3), None, 2) == Placing((2, 3), ("pixel", "pixel"))
    assert Placing.of(None, None, 2) is None
