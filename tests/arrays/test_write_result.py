import subprocess
import sys

import numpy as np
import pytest
import tifffile
import zarr

from napari_onnxseg.arrays.files import check_result, read_image, read_labels, write_result
from napari_onnxseg.arrays.ngff_meaning import Meaning
from napari_onnxseg.arrays.write_result import suffix_of
from napari_onnxseg.errors import ChoiceError, FileFormatError

zarr.zeros((1,))[:]  # starts zarr's own thread, which lives as long as the process

PLACED = {"scale": (0.5, 0.25), "units": ("micrometer", "micrometer")}
CLASSES = {"names": {1: "nucleus"}, "colours": {1: "#ff0080"}}


def labels(*shape, dtype=np.uint8):
    return (np.arange(np.prod(shape)) // 37 % 5).reshape(shape).astype(dtype)


def on_disk(path, data):
    array = zarr.create_array(path, shape=data.shape, dtype=data.dtype, chunks=data.shape)
    array[:] = data
    return array


@pytest.mark.parametrize("suffix", [".png", ".tif", ".npy", ".zarr", ".ome.zarr", ".ome.tif"])
@pytest.mark.parametrize("lazy", [False, True])
def test_labels_come_back_as_they_were(tmp_path, suffix, lazy):
    data = labels(1100, 700)
    values = on_disk(tmp_path / "run", data) if lazy else data
    path = tmp_path / f"a{suffix}"
    write_result(path, values, Meaning("YX", **PLACED, **CLASSES))
    image = read_labels(path)
    np.testing.assert_array_equal(np.asarray(image.data), data)
    assert image.data.dtype == np.uint8
    if suffix != ".npy":
        assert (image.scale, image.units) == (PLACED["scale"], PLACED["units"])


@pytest.mark.parametrize("suffix", [".tif", ".npy", ".zarr"])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("axes", "kind", "shape", "dtype"),
    [
        ("ZYX", "labels", (3, 600, 90), np.uint16),
        ("TZYX", "labels", (2, 2, 600, 90), np.int32),
        ("YX", "image", (600, 90), np.float32),
        ("YXS", "rgba", (600, 90, 4), np.uint8),
        ("ZYXS", "rgba", (2, 600, 90, 4), np.uint8),
    ],
)
def test_stacks_images_and_cutouts_come_back_as_they_were(
    tmp_path, suffix, lazy, axes, kind, shape, dtype
):
    data = labels(*shape, dtype=dtype)
    values = on_disk(tmp_path / "run", data) if lazy else data
    write_result(tmp_path / f"a{suffix}", values, Meaning(axes, kind))
    image = read_image(tmp_path / f"a{suffix}")
    np.testing.assert_array_equal(np.asarray(image.data), data)
    assert image.data.dtype == dtype
    if suffix != ".npy":
        assert (image.axes, image.rgb) == (axes, kind == "rgba")


def test_object_numbers_above_16_bits_survive_or_are_refused(tmp_path):
    data = np.array([[0, 70_000], [1, 2]], np.int32)
    for suffix in (".tif", ".npy", ".zarr"):
        write_result(tmp_path / f"a{suffix}", data, Meaning("YX", **PLACED))
        np.testing.assert_array_equal(np.asarray(read_image(tmp_path / f"a{suffix}").data), data)
    with pytest.raises(ValueError, match="65535"):
        write_result(tmp_path / "a.png", data, Meaning("YX"))


def test_a_large_tiff_is_tiled(tmp_path):
    values = on_disk(tmp_path / "run", labels(1100, 700))
    write_result(tmp_path / "a.tif", values, Meaning("YX"))
    with tifffile.TiffFile(tmp_path / "a.tif") as tif:
        assert tif.pages[0].chunks == (512, 512)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.NII.GZ", ".nii.gz"), ("a.ome.zarr", ".zarr"), ("a.tar.gz", ".gz"), ("a", "")],
)
def test_the_suffix_is_what_stands_for_the_format(name, suffix):
    assert suffix_of(name) == suffix


@pytest.mark.parametrize(
    ("name", "kind", "planes", "words"),
    [
        ("a.jpg", "labels", 1, "loses class numbers"),
        ("a", "labels", 1, "ends in"),
        ("a.nii.gz", "rgba", 1, "ends in .png, .tif, .tiff, .npy, .zarr"),
        ("a.gpkg", "image", 1, "ends in"),
        ("a.gpkg", "labels", 2, "one plane"),
        ("a.png", "labels", 2, "one plane"),
    ],
)
def test_a_name_that_cannot_hold_the_result_is_refused_before_the_run(name, kind, planes, words):
    with pytest.raises(ChoiceError, match=words):
        check_result(name, kind, planes=planes)


def test_an_older_store_stays_unless_it_may_go(tmp_path):
    write_result(tmp_path / "a.zarr", labels(20, 30), Meaning("YX"))
    with pytest.raises(ChoiceError, match="holds a result"):
        check_result(tmp_path / "a.zarr", "labels")
    check_result(tmp_path / "a.zarr", "labels", replace=True)
    assert read_image(tmp_path / "a.zarr").data.shape == (20, 30)
    write_result(tmp_path / "a.zarr", labels(5, 6), Meaning("YX"), replace=True)
    assert read_image(tmp_path / "a.zarr").data.shape == (5, 6)


@pytest.mark.parametrize(("name", "extra"), [("a.nii.gz", "medical"), ("a.gpkg", "geo")])
def test_a_missing_extra_is_named_before_the_run(monkeypatch, name, extra):
    def refuse(package):
        raise ImportError(package)

    monkeypatch.setattr("napari_onnxseg.arrays.extras.import_module", refuse)
    with pytest.raises(FileFormatError, match=rf"pip install 'napari-onnxseg\[{extra}\]'"):
        check_result(name, "labels")


HEAVY = ("zarr", "dask", "tifffile", "imagecodecs", "rasterio", "nibabel", "pydicom", "xarray")


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import napari_onnxseg", HEAVY),
        ("import napari_onnxseg.arrays.store, napari_onnxseg.arrays.ngff", HEAVY),
        (
            "import napari_onnxseg.arrays.files",
            [name for name in HEAVY if name not in ("tifffile", "imagecodecs")],
        ),
    ],
)
def test_importing_does_not_import_array_libraries(code, heavy):
    code += f"; import sys; print([m for m in {tuple(heavy)} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
