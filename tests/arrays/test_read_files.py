import numpy as np
import pytest
import tifffile
from drawn import mark, raw_png, stored_turned
from PIL import Image

from napari_onnxseg.arrays.files import is_image, read_image, read_labels
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.errors import FileFormatError, OnnxSegError


def ramp(shape=(40, 50), dtype=np.uint8):
    return (np.arange(np.prod(shape)) * 7919 % 256).reshape(shape).astype(dtype)


def seen(image):
    """Return what a pipeline makes of a file: (channels, leading, shape)."""
    stack = as_stack(image.data, channel_axis=image.channel_axis, rgb=image.rgb)
    return stack.channels, stack.leading, stack.shape


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photographs_are_upright_whatever_way_the_camera_was_held(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = Image.fromarray(stored_turned(mark(), orientation))
    stored.save(tmp_path / "photo.jpg", exif=exif, quality=95)
    image = read_image(tmp_path / "photo.jpg")
    assert image.data.shape == (300, 400, 3)
    assert image.rgb
    assert np.abs(image.data.astype(int) - mark()).mean() < 2
    assert (np.abs(image.data[30:50, 40:140].astype(int) - (250, 200, 10)) < 30).all()


def test_a_cmyk_photograph_becomes_rgb(tmp_path):
    Image.fromarray(mark()).convert("CMYK").save(tmp_path / "print.jpg", quality=95)
    image = read_image(tmp_path / "print.jpg")
    assert image.data.shape == (300, 400, 3)
    assert np.abs(image.data.astype(int) - mark()).mean() < 3


def test_a_grey_photograph_stays_grey(tmp_path):
    Image.fromarray(ramp()).save(tmp_path / "grey.jpg")
    image = read_image(tmp_path / "grey.jpg")
    assert seen(image) == (1, (), (40, 50))
    assert not image.rgb


def test_sixteen_bits_of_grey_keep_every_level(tmp_path):
    levels = np.tile(np.linspace(0, 65_535, 256).astype(np.uint16), (10, 1))
    Image.fromarray(levels).save(tmp_path / "deep.png")
    image = read_image(tmp_path / "deep.png")
    assert image.data.dtype == np.uint16
    np.testing.assert_array_equal(image.data, levels)


def test_twelve_bits_in_sixteen_are_not_stretched(tmp_path):
    levels = np.tile(np.arange(0, 4096, 16, dtype=np.uint16), (10, 1))
    (tmp_path / "twelve.png").write_bytes(raw_png(levels, 0))
    np.testing.assert_array_equal(read_image(tmp_path / "twelve.png").data, levels)


def test_sixteen_bit_colours_are_scaled_not_clipped_and_it_is_said(tmp_path):
    levels = np.tile(np.linspace(0, 65_535, 256).astype(np.uint16)[:, None], (8, 1, 3))
    (tmp_path / "deep.png").write_bytes(raw_png(levels, 2))
    image = read_image(tmp_path / "deep.png")
    assert len(np.unique(image.data)) >= 250
    assert (np.diff(image.data[0, :, 0].astype(int)) >= 0).all()
    assert "16 bits" in image.notes[0]


@pytest.mark.parametrize(
    ("mode", "channels"),
    [("L", 1), ("RGB", 3), ("RGBA", 4), ("LA", 4), ("P", 3), ("1", 1)],
)
def test_png_files_of_every_mode_are_read(tmp_path, mode, channels):
    picture = Image.fromarray(mark()).convert(mode)
    picture.save(tmp_path / "picture.png")
    image = read_image(tmp_path / "picture.png")
    assert image.data.dtype == np.uint8
    assert seen(image) == (channels, (), (300, 400))
    assert image.rgb == (channels > 1)
    expected = np.asarray(picture.convert({1: "L", 3: "RGB", 4: "RGBA"}[channels]))
    np.testing.assert_array_equal(image.data, expected)


def test_a_transparent_palette_keeps_its_transparency(tmp_path):
    picture = Image.fromarray(ramp() % 4)
    picture.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9])
    picture.save(tmp_path / "palette.png", transparency=bytes([0, 255, 255, 128]))
    image = read_image(tmp_path / "palette.png")
    assert image.rgb
    colours = np.array([[255, 0, 0, 0], [0, 255, 0, 255], [0, 0, 255, 255], [9, 9, 9, 128]])
    np.testing.assert_array_equal(image.data, colours[ramp() % 4])
    np.testing.assert_array_equal(read_labels(tmp_path / "palette.png").data, ramp() % 4)


def test_a_picture_of_many_megapixels_is_no_attack(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    Image.fromarray(ramp()).save(tmp_path / "large.png")
    assert read_image(tmp_path / "large.png").data.shape == (40, 50)
    assert Image.MAX_IMAGE_PIXELS == 100


def test_the_content_decides_not_the_name(tmp_path):
    Image.fromarray(mark()).save(tmp_path / "picture", "PNG")
    tifffile.imwrite(tmp_path / "wrong.png", ramp())
    np.save(tmp_path / "array.npy", ramp())
    (tmp_path / "array.npy").rename(tmp_path / "array.tif")
    assert read_image(tmp_path / "picture").rgb
    np.testing.assert_array_equal(read_image(tmp_path / "wrong.png").data, ramp())
    np.testing.assert_array_equal(read_image(tmp_path / "array.tif").data, ramp())


def test_arrays_are_mapped_and_their_axes_are_not_guessed(tmp_path):
    np.save(tmp_path / "array.npy", ramp((5, 40, 3)))
    image = read_image(str(tmp_path / "array.npy"))
    assert isinstance(image.data, np.memmap)
    assert (image.axes, image.rgb, image.channel_axis) == ("QYX", False, None)
    assert seen(image) == (1, (5,), (40, 3))


def test_a_pickle_in_an_array_file_is_never_opened(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{"run": "me"}], object))
    with pytest.raises(FileFormatError, match=r"objects\.npy"):
        read_image(tmp_path / "objects.npy")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("note.png", b"just some text, no picture", "PNG, JPEG, TIFF, NPY"),
        ("empty.tif", b"", "is empty"),
        ("short.jpg", b"\xff", "PNG, JPEG, TIFF, NPY"),
        ("cut.png", b"\x89PNG\r\n\x1a\n", "cannot be read as PNG"),
        ("cut.jpg", b"\xff\xd8\xff\xe0", "cannot be read as JPEG"),
        ("cut.tif", b"II*\0\x08\0\0\0", "cannot be read as TIFF"),
        ("cut.npy", b"\x93NUMPY\x01\0", "cannot be read as NPY"),
    ],
)
def test_what_is_no_image_is_refused_in_one_sentence(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=words) as fault:
        read_image(tmp_path / name)
    assert name in str(fault.value)
    assert "\n" not in str(fault.value)


def written(path, kind):
    """Write a picture of noise in one of four formats and return its bytes."""
    noise = np.random.default_rng(8).integers(0, 256, (200, 300), np.uint8)
    if kind == "npy":
        np.save(path, noise)
    elif kind == "tif":
        tifffile.imwrite(path, noise)
    elif kind == "zlib.tif":
        tifffile.imwrite(path, noise, compression="zlib", rowsperstrip=20)
    else:
        Image.fromarray(noise).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["png", "jpg", "tif", "zlib.tif", "npy"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.95])
def test_a_file_cut_short_is_refused_and_never_half_read(tmp_path, kind, part):
    path = tmp_path / f"cut.{kind}"
    content = written(path, kind)
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(FileFormatError, match=r"damaged or incomplete"):
        read_image(path)


@pytest.mark.parametrize("name", ["missing.png", "."])
def test_a_missing_file_or_a_folder_is_refused_by_name(tmp_path, name):
    with pytest.raises(OnnxSegError, match=r"cannot be opened|is a folder"):
        read_image(tmp_path / name)


def test_images_are_told_from_other_files_by_content(tmp_path):
    Image.fromarray(ramp()).save(tmp_path / "a.jpg")
    (tmp_path / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    (tmp_path / "note.png").write_text("text")
    assert is_image(tmp_path / "a.jpg")
    assert not any(is_image(tmp_path / name) for name in (".DS_Store", "note.png", "none", "."))
