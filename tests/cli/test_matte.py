from pathlib import Path

import numpy as np
import pytest
from drawn_pictures import corner_mark, stored_turned
from PIL import Image

from napari_onnxseg import matte_image
from napari_onnxseg.arrays.files import read_image


@pytest.fixture
def photograph(tmp_path: Path) -> Path:
    """Return an RGB picture with a bright subject."""
    Image.fromarray(corner_mark()).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


@pytest.mark.parametrize("name", ["out.png", "out.tif", "out.npy"])
def test_colours_and_exact_alpha_are_written(name, onnxseg, subject, photograph) -> None:
    assert onnxseg("matte", photograph, "-m", subject, "-o", name).exit_code == 0
    expected = matte_image(corner_mark(), subject, rgb=True).rgba
    assert len(np.unique(expected[..., 3])) > 2
    np.testing.assert_array_equal(read_image(name).data, expected)


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize("name", ["out.jpg", "out.JPG", "out.jpeg", "out.webp"])
def test_a_format_without_alpha_is_refused_before_the_model_runs(
    name, onnxseg, subject, photograph
) -> None:
    done = onnxseg("matte", photograph, "-m", subject, "-o", name)
    assert done.exit_code == 2
    assert "png" in done.stderr
    assert not Path(name).exists()


def test_a_name_without_suffix_is_a_folder_that_keeps_alpha(onnxseg, subject, photograph) -> None:
    onnxseg("matte", photograph, "-m", subject, "-o", "out")
    assert read_image("out/photo.png").data.shape == (60, 80, 4)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photographs_come_out_upright(orientation, onnxseg, subject, tmp_path) -> None:
    mark = corner_mark(300, 400)
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = Image.fromarray(stored_turned(mark, orientation))
    stored.save(tmp_path / "phone.jpg", quality=95, exif=exif)
    onnxseg("matte", "phone.jpg", "-m", subject, "-o", "out.png")
    with Image.open("out.png") as image:
        assert image.getexif().get(0x0112, 1) == 1
        rgba = np.asarray(image)
    assert rgba.shape == (300, 400, 4)
    assert np.abs(rgba[..., :3].astype(int) - mark).mean() < 4
    assert rgba[40, 60, 3] > 200
    assert rgba[280, 60, 3] < 20


def test_a_cmyk_photograph_is_converted(onnxseg, subject, tmp_path) -> None:
    Image.fromarray(corner_mark()).convert("CMYK").save(tmp_path / "print.jpg", quality=95)
    assert onnxseg("matte", "print.jpg", "-m", subject, "-o", "out.png").exit_code == 0
    rgba = read_image("out.png").data
    assert np.abs(rgba[..., :3].astype(int) - corner_mark()).mean() < 6


def test_what_is_transparent_already_stays_so(onnxseg, subject, tmp_path) -> None:
    rgba = np.full((200, 300, 4), 230, np.uint8)
    rgba[:, :150, 3] = 0
    Image.fromarray(rgba).save(tmp_path / "half.png")
    onnxseg("matte", "half.png", "-m", subject, "-o", "out.png")
    alpha = read_image("out.png").data[..., 3]
    assert not alpha[:, :150].any()
    assert alpha[:, 200:].min() > 150


def test_background_feather_and_threshold_arrive(onnxseg, subject, photograph) -> None:
    words = ("--background", "#102030", "--feather", "3", "--threshold", "0.5", "--json")
    done = onnxseg("matte", photograph, "-m", subject, "-o", "out.png", *words)
    job = done.json["results"][0]["record"]["job"]
    assert (job["feather_px"], job["threshold"], job["background"]) == (3, 0.5, "#102030")
    rgba = read_image("out.png").data
    np.testing.assert_array_equal(rgba[-1, -1], (0x10, 0x20, 0x30, 255))


def test_compression_changes_the_size_and_not_the_pixels(onnxseg, subject, photograph) -> None:
    for level in ("0", "9"):
        onnxseg("matte", photograph, "-m", subject, "-o", f"{level}.png", "--compression", level)
    np.testing.assert_array_equal(read_image("0.png").data, read_image("9.png").data)
    assert Path("0.png").stat().st_size > Path("9.png").stat().st_size


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--compression", "10"], "9"), (["--background", "no colour"], "#rrggbb"),
     (["--feather", "-1"], "feather")],
)  # fmt: skip
@pytest.mark.usefixtures("no_session")
def test_wrong_choices_are_told_before_the_model_runs(
    words, told, onnxseg, subject, photograph
) -> None:
    done = onnxseg("matte", photograph, "-m", subject, "-o", "out.png", *words)
    assert done.exit_code == 2
    assert told in done.stderr
