import json
import zipfile

import numpy as np
import pytest
import zarr

from napari_onnxseg.arrays.files import is_image, read_image
from napari_onnxseg.arrays.ngff import PyramidSink
from napari_onnxseg.arrays.ngff_meaning import Meaning
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.arrays.store import Form
from napari_onnxseg.errors import FileFormatError
from napari_onnxseg.tiling.region import Region

zarr.zeros((1,))[:]  # starts zarr's own thread, which lives as long as the process


def picture(*shape, dtype=np.uint16):
    return np.random.default_rng(7).integers(0, 200, shape).astype(dtype)


def axes_of(letters, unit="micrometer"):
    kinds = {"t": "time", "c": "channel"}
    return [
        {"name": a, "type": kinds.get(a, "space"), **({"unit": unit} if a in "zyx" else {})}
        for a in letters
    ]


def write_group(path, data, version, *, letters, levels=3, moved=True, by=2):
    """Write an image as others do: 0.4 on zarr 2, 0.5 on zarr 3."""
    group = zarr.create_group(path, zarr_format=2 if version == "0.4" else 3)
    datasets = []
    for n in range(levels):
        step = tuple(slice(None, None, by**n if a in "yx" else None) for a in letters)
        level = data[step]
        array = group.create_array(
            f"s{n}", shape=level.shape, dtype=data.dtype, chunks=(*(1,) * (data.ndim - 2), 64, 64)
        )
        array[:] = level
        scale = [0.5 * by**n if a in "yx" else 1.0 for a in letters]
        move = [10 + 0.5 * (by**n - 1) / 2 if a in "yx" else 0.0 for a in letters]
        steps = [{"type": "scale", "scale": scale}]
        steps += [{"type": "translation", "translation": move}] if moved else []
        datasets.append({"path": f"s{n}", "coordinateTransformations": steps})
    entry = {"axes": axes_of(letters), "datasets": datasets}
    if version == "0.4":
        group.attrs["multiscales"] = [{**entry, "version": "0.4"}]
    else:
        group.attrs["ome"] = {"version": version, "multiscales": [entry]}


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_images_of_other_tools_are_read_with_axes_scale_and_levels(tmp_path, version):
    data = picture(2, 3, 300, 201)
    write_group(tmp_path / "a.zarr", data, version, letters="tcyx")
    image = read_image(tmp_path / "a.zarr")
    assert (image.axes, image.channel_axis, image.rgb) == ("TCYX", 1, False)
    assert (image.scale, image.translate) == ((1.0, 0.5, 0.5), (0.0, 10.0, 10.0))
    assert image.units == ("pixel", "micrometer", "micrometer")
    assert image.levels.shapes == ((2, 300, 201), (2, 150, 101), (2, 75, 51))
    assert image.levels.factors[2] == (1.0, 4.0, 4.0)
    assert image.levels.offsets[2] == pytest.approx((0, 1.5, 1.5))
    stack = as_stack(image.data, channel_axis=image.channel_axis)
    region = Region((5, 60), (70, 200))
    np.testing.assert_array_equal(stack.plane((1,)).read(region), data[1, :, 5:70, 60:200])


def test_levels_of_which_no_place_is_said_meet_at_the_corner(tmp_path):
    write_group(tmp_path / "a.zarr", picture(300, 201), "0.4", letters="yx", moved=False)
    image = read_image(tmp_path / "a.zarr")
    assert image.translate is None
    assert image.levels.offsets[1] == (0.5, 0.5)


def test_a_pyramid_of_thirds_is_no_pyramid_of_halves(tmp_path):
    write_group(tmp_path / "a.zarr", picture(301, 200), "0.5", letters="yx", by=3)
    assert read_image(tmp_path / "a.zarr").levels.factors[2] == (9.0, 9.0)


def test_sizes_that_contradict_the_levels_do_not_count_and_it_is_said(tmp_path):
    write_group(tmp_path / "a.zarr", picture(300, 200), "0.4", letters="yx")
    file = tmp_path / "a.zarr" / ".zattrs"
    told = json.loads(file.read_text())
    for dataset in told["multiscales"][0]["datasets"]:
        dataset["coordinateTransformations"] = [{"type": "scale", "scale": [1, 1]}]
    file.write_text(json.dumps(told))
    image = read_image(tmp_path / "a.zarr")
    assert image.levels.factors[1] == (2, 2)
    assert "shapes count" in image.notes[0]


def test_a_scale_over_all_levels_comes_on_top(tmp_path):
    write_group(tmp_path / "a.zarr", picture(300, 200), "0.4", letters="yx")
    file = tmp_path / "a.zarr" / ".zattrs"
    told = json.loads(file.read_text())
    told["multiscales"][0]["coordinateTransformations"] = [{"type": "scale", "scale": [2, 3]}]
    file.write_text(json.dumps(told))
    image = read_image(tmp_path / "a.zarr")
    assert (image.scale, image.translate) == ((1.0, 1.5), (20.0, 30.0))
    assert image.levels.offsets[1] == pytest.approx((0.5, 0.5))


def test_the_oldest_versions_name_no_axes(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=2)
    group.create_array("0", shape=(1, 2, 3, 40, 30), dtype=np.uint8, chunks=(1, 1, 1, 40, 30))
    group.attrs["multiscales"] = [{"version": "0.1", "datasets": [{"path": "0"}]}]
    image = read_image(tmp_path / "a.zarr")
    assert (image.axes, image.channel_axis, image.levels) == ("TCZYX", 1, None)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_plain_array_is_read_lazily(tmp_path, zarr_format):
    data = picture(3, 90, 80)
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=data.shape, dtype=data.dtype, chunks=(1, 32, 32),
        zarr_format=zarr_format,
    )  # fmt: skip
    array[:] = data
    image = read_image(tmp_path / "a.zarr")
    assert (image.axes, image.channel_axis) == ("QYX", None)
    assert isinstance(image.data, zarr.Array)
    np.testing.assert_array_equal(image.data[1, 4:50, 7:], data[1, 4:50, 7:])


def test_a_plain_array_may_name_its_axes(tmp_path):
    zarr.create_array(
        tmp_path / "a.zarr", shape=(2, 3, 40, 30), dtype=np.uint8, chunks=(1, 1, 40, 30),
        dimension_names=["t", "c", "y", "x"],
    )  # fmt: skip
    image = read_image(tmp_path / "a.zarr")
    assert (image.axes, image.channel_axis) == ("TCYX", 1)


def test_arrays_of_falling_size_are_levels(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    for name, side in (("0", 200), ("1", 100), ("2", 50)):
        group.create_array(name, shape=(side, side), dtype=np.uint8, chunks=(50, 50))
    image = read_image(tmp_path / "a.zarr")
    assert image.levels.shapes == ((200, 200), (100, 100), (50, 50))
    assert image.data.shape == (200, 200)


def test_our_own_cutouts_come_back_as_colour(tmp_path):
    meaning = Meaning("YXS", "rgba", scale=(0.5, 0.5), units=("micrometer",) * 2)
    form = Form((700, 90, 4), np.uint8, (64, 64))
    sink = PyramidSink.create(tmp_path / "a.zarr", form, meaning)
    data = picture(700, 90, 4, dtype=np.uint8)
    sink.write((), Region((0, 0), (700, 90)), data)
    image = read_image(tmp_path / "a.zarr")
    assert (image.axes, image.rgb, image.scale) == ("YXS", True, (0.5, 0.5))
    assert image.levels.factors == ((1, 1), (2, 2))
    np.testing.assert_array_equal(image.data[600:, 5:9], data[600:, 5:9])


def test_our_own_labels_come_back_with_their_place(tmp_path):
    meaning = Meaning("TYX", scale=(3.0, 0.5, 0.25), translate=(0.0, 7.0, -2.0))
    form = Form((2, 1301, 90), np.uint8, (64, 64))
    PyramidSink.create(tmp_path / "a.zarr", form, meaning)
    image = read_image(tmp_path / "a.zarr")
    assert (image.axes, image.scale, image.translate) == (
        "TYX",
        (3.0, 0.5, 0.25),
        (0.0, 7.0, -2.0),
    )
    assert image.levels.factors[2] == (1, 4, 4)
    assert image.levels.offsets[2] == (0, 1.5, 1.5)


def test_the_first_of_several_images_is_read_and_it_is_said(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=2)
    group.attrs["bioformats2raw.layout"] = 3
    for name in ("0", "1"):
        write_group(tmp_path / "a.zarr" / name, picture(90, 80), "0.4", letters="yx")
    image = read_image(tmp_path / "a.zarr")
    assert image.data.shape == (90, 80)
    assert "2 images" in image.notes[-1]


def test_a_zip_file_of_a_store_is_read(tmp_path):
    store = zarr.storage.ZipStore(tmp_path / "a.zip", mode="w")
    zarr.create_array(store, shape=(9, 8), dtype=np.uint8, chunks=(9, 8))[:] = 7
    store.close()
    image = read_image(tmp_path / "a.zip")
    assert (np.asarray(image.data) == 7).all()
    assert is_image(tmp_path / "a.zip")
    image.data.store.close()


def test_a_zip_file_of_something_else_is_no_image(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("thesis.txt", "words")
    (tmp_path / "b.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:40])
    assert not is_image(tmp_path / "a.zip")
    assert not is_image(tmp_path / "b.zip")


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"plate": {"wells": [{"path": "A/1"}]}}, "plate or a well.*A/1"),
        ({"well": {"images": [{"path": "0"}]}}, "such as 'a.zarr/0'"),
        ({}, "a group, no single image"),
    ],
)
def test_a_group_without_an_image_says_what_is_in_it(tmp_path, attributes, words):
    zarr.create_group(tmp_path / "a.zarr", zarr_format=2).attrs.update(attributes)
    with pytest.raises(FileFormatError, match=words):
        read_image(tmp_path / "a.zarr")


def test_arrays_that_are_no_levels_are_named(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    for name, shape in (("mean", (9, 8)), ("std", (9, 8))):
        group.create_array(name, shape=shape, dtype=np.uint8, chunks=shape)
    with pytest.raises(FileFormatError, match=r"several arrays.*mean, std"):
        read_image(tmp_path / "a.zarr")


def test_a_damaged_store_is_told_in_one_sentence(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text("{")
    with pytest.raises(FileFormatError, match="cannot be read as ZARR"):
        read_image(tmp_path / "a.zarr")


def test_stores_are_images_and_other_folders_are_not(tmp_path):
    write_group(tmp_path / "a.zarr", picture(90, 80), "0.5", letters="yx")
    (tmp_path / "empty").mkdir()
    assert is_image(tmp_path / "a.zarr")
    assert not is_image(tmp_path / "empty")
    assert not is_image(tmp_path)


def test_a_region_reads_only_the_chunks_that_it_needs(tmp_path, monkeypatch):
    write_group(tmp_path / "a.zarr", picture(300, 300), "0.5", letters="yx", levels=1)
    image = read_image(tmp_path / "a.zarr")
    from zarr.storage import _local

    get, chunks = _local._get, []

    def counted(path, *args, **kwargs):
        chunks.append("/".join(path.parts[-2:]))
        return get(path, *args, **kwargs)

    monkeypatch.setattr(_local, "_get", counted)
    as_stack(image.data).plane(()).read(Region((70, 10), (120, 65)))
    assert sorted(chunks) == ["1/0", "1/1"]
