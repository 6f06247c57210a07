from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import zarr

from children import run_child
from napari_onnxseg.arrays.ngff import PyramidSink
from napari_onnxseg.arrays.ngff_beside import labels_beside
from napari_onnxseg.arrays.ngff_meaning import Meaning, level_shapes, result_axes
from napari_onnxseg.arrays.reduce import halve
from napari_onnxseg.arrays.store import Form
from napari_onnxseg.arrays.store_folders import read_attributes
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region

zarr.zeros((1,))[:]  # starts zarr's own thread, which lives as long as the process

SHAPE = (1301, 1033)
CLASSES = {"names": {0: "background", 1: "nucleus"}, "colours": {0: None, 1: "#ff0080"}}


def drawn(shape=SHAPE, classes=5):
    """Return labels whose objects are larger than a pixel."""
    seeds = np.random.default_rng(3).integers(0, classes, [n // 7 + 1 for n in shape])
    return np.kron(seeds, np.ones([7] * len(shape), int))[tuple(map(slice, shape))].astype(np.uint8)


def made(path, shape=SHAPE, axes="YX", dtype=np.uint8, **meaning):
    form = Form(shape, dtype, (256, 256))
    return PyramidSink.create(path / "a.zarr", form, Meaning(axes, **meaning))


def filled(path, labels, **meaning):
    sink = made(path, labels.shape, **meaning)
    sink.write((), Region.of_shape(labels.shape), labels)
    sink.refresh()
    return sink


def check_rules(path):
    """Hold the metadata of a group against the words of NGFF 0.5 for multiscales."""
    ome = read_attributes(path)["ome"]
    assert ome["version"] == "0.5"
    group = zarr.open_group(path, mode="r")
    assert group.metadata.zarr_format == 3
    (image,) = ome["multiscales"]
    kinds = [axis.get("type") for axis in image["axes"]]
    names = [axis["name"] for axis in image["axes"]]
    assert 2 <= len(kinds) <= 5
    assert len(set(names)) == len(names)
    assert kinds.count("space") in (2, 3)
    assert kinds.count("time") <= 1
    rank = {"time": 0, "channel": 1, "other": 1, "space": 2}
    assert [rank[kind] for kind in kinds] == sorted(rank[kind] for kind in kinds)
    assert sum(kind not in ("space", "time") for kind in kinds) <= 1
    assert [name for name in names if name in "zyx"] == [n for n in "zyx" if n in names]
    sizes = []
    for dataset in image["datasets"]:
        array = group[dataset["path"]]
        assert array.ndim == len(names)
        assert list(array.metadata.dimension_names) == names
        scale, translation = dataset["coordinateTransformations"]
        assert (scale["type"], translation["type"]) == ("scale", "translation")
        assert len(scale["scale"]) == len(translation["translation"]) == len(names)
        sizes.append(array.size)
    assert sizes == sorted(sizes, reverse=True)
    for entry in ome.get("image-label", {}).get("colors", []):
        assert isinstance(entry["label-value"], int)
        assert len(entry["rgba"]) == 4
        assert all(isinstance(part, int) and 0 <= part <= 255 for part in entry["rgba"])
    values = [e["label-value"] for e in ome.get("image-label", {}).get("colors", [])]
    assert len(set(values)) == len(values)
    return ome


@pytest.mark.parametrize(
    ("axes", "shape", "more"),
    [
        ("YX", SHAPE, {"scale": (0.5, 0.25), "units": ("micrometer", "micrometer"), **CLASSES}),
        ("TZYX", (2, 3, 700, 40), {"units": ("second", "pixel", "pixel", "pixel")}),
        ("ZYX", (40, 600, 41), {"spatial_ndim": 3, "scale": (2.0, 1.0, 1.0)}),
        ("TZCYX", (2, 2, 3, 600, 40), {"kind": "image"}),
        ("TYXS", (2, 600, 40, 4), {"kind": "rgba"}),
        ("TQZYX", (2, 3, 2, 600, 40), {}),
    ],
)
def test_the_metadata_follow_the_specification(tmp_path, axes, shape, more):
    sink = made(tmp_path, shape, axes, **more)
    check_rules(sink.path)
    assert sink.array.shape == shape
    assert len(sink.arrays) == 1 + (max(shape) > 512) + (max(shape) > 1024)


def test_classes_have_their_colours_and_names(tmp_path):
    ome = check_rules(made(tmp_path, **CLASSES).path)
    assert ome["image-label"]["colors"] == [
        {"label-value": 0, "rgba": [0, 0, 0, 0]},
        {"label-value": 1, "rgba": [255, 0, 128, 255]},
    ]
    assert ome["image-label"]["properties"] == [
        {"label-value": 0, "class": "background"},
        {"label-value": 1, "class": "nucleus"},
    ]


def test_a_level_lies_where_its_pixels_lie(tmp_path):
    """The first pixel of level 2 covers four of level 0, whose common centre is at 1.5."""
    scale, first = (0.5, 0.25), (100.0, -20.0)
    ome = check_rules(made(tmp_path, scale=scale, translate=first).path)
    transformations = ome["multiscales"][0]["datasets"][2]["coordinateTransformations"]
    assert transformations[0]["scale"] == [2.0, 1.0]
    assert transformations[1]["translation"] == [100 + 1.5 * 0.5, -20 + 1.5 * 0.25]


def test_unknown_units_are_left_out_and_known_ones_kept(tmp_path):
    units = ("second", "micrometer", "pixel")
    axes = check_rules(made(tmp_path, (2, 60, 40), "TYX", units=units).path)["multiscales"][0][
        "axes"
    ]
    assert axes == [
        {"name": "t", "type": "time", "unit": "second"},
        {"name": "y", "type": "space", "unit": "micrometer"},
        {"name": "x", "type": "space"},
    ]


def test_coarser_levels_are_those_of_the_whole_image(tmp_path):
    labels = drawn()
    expected = labels
    for level in filled(tmp_path, labels).arrays:
        np.testing.assert_array_equal(level[:], expected)
        expected = halve(expected, (0, 1), "majority")


def test_levels_cover_odd_sizes():
    assert list(level_shapes((3, 1301, 7), (1, 2))) == [(3, 1301, 7), (3, 651, 4), (3, 326, 2)]


REGIONS = [
    Region((0, 0), (1, 1)),
    Region((1300, 1032), (1301, 1033)),
    Region((255, 511), (259, 515)),
    Region((101, 3), (702, 1033)),
]


@pytest.mark.parametrize("region", REGIONS)
def test_refreshing_an_edited_region_equals_building_anew(tmp_path, region):
    sink = filled(tmp_path, drawn())
    edit = np.full(region.shape, 4, np.uint8)
    sink.write((), region, edit)
    sink.refresh((), region)
    edited = drawn()
    edited[region.slices] = 4
    (tmp_path / "anew").mkdir()
    anew = filled(tmp_path / "anew", edited)
    for found, expected in zip(sink.arrays, anew.arrays, strict=True):
        np.testing.assert_array_equal(found[:], expected[:])


def test_levels_that_catch_up_now_and_then_are_complete_in_the_end(tmp_path):
    labels = drawn()
    sink = made(tmp_path)
    corners = [(y, x) for y in range(0, SHAPE[0], 173) for x in range(0, SHAPE[1], 211)]

    def write(corner):
        stop = (min(corner[0] + 173, SHAPE[0]), min(corner[1] + 211, SHAPE[1]))
        region = Region(corner, stop)
        sink.write((), region, labels[region.slices])

    with ThreadPoolExecutor(4) as pool:
        for done, _ in enumerate(pool.map(write, corners)):
            if done % 7 == 0:
                sink.catch_up()
    sink.catch_up()
    (tmp_path / "anew").mkdir()
    anew = filled(tmp_path / "anew", labels)
    for found, expected in zip(sink.arrays, anew.arrays, strict=True):
        np.testing.assert_array_equal(found[:], expected[:])


def test_levels_lag_until_they_catch_up(tmp_path):
    sink = made(tmp_path)
    sink.write((), Region((0, 0), (300, 300)), np.ones((300, 300), np.uint8))
    assert not sink.arrays[1][:].any()
    sink.catch_up()
    assert sink.arrays[1][:].sum() == 150 * 150
    assert sink.arrays[2][:].sum() == 75 * 75


MEMORY = """
from napari_onnxseg.arrays.chunks import blocks_of
from napari_onnxseg.arrays.ngff import PyramidSink
from napari_onnxseg.arrays.ngff_meaning import Meaning
from napari_onnxseg.arrays.store import Form
from napari_onnxseg.tiling.region import Region
side = 6000
sink = PyramidSink.create('a.zarr', Form((side, side), np.uint8, (512, 512)), Meaning('YX'))
block = (np.arange(464 * 464) // 300 % 5).reshape(464, 464).astype(np.uint8)
sink.write((), Region((0, 0), (464, 464)), block)
sink.refresh((), Region((0, 0), (464, 464)))
before = now_mib('VmRSS')
for region in blocks_of(Region.of_shape((side, side)), (464, 464)):
    h, w = region.shape
    sink.write((), region, block[:h, :w])
sink.catch_up()
sink.refresh()
print(now_mib('VmHWM') - before)
"""


def test_memory_does_not_grow_with_the_pyramid(tmp_path):
    assert float(run_child(MEMORY, tmp_path)) < 30  # level 0 alone has 34 MiB


def test_only_the_planes_that_changed_are_refreshed(tmp_path):
    sink = made(tmp_path, (3, 600, 90), "ZYX")
    for plane in range(3):
        sink.write((plane,), Region((0, 0), (600, 90)), np.full((600, 90), 1, np.uint8))
    sink.refresh((1,))
    assert [int(sink.arrays[1][plane].sum()) for plane in range(3)] == [0, 300 * 45, 0]


def test_a_volume_is_halved_in_three_axes(tmp_path):
    volume = drawn((37, 601, 44))
    sink = made(tmp_path, volume.shape, "ZYX", spatial_ndim=3)
    sink.write((), Region.of_shape(volume.shape), volume)
    sink.refresh()
    np.testing.assert_array_equal(sink.arrays[1][:], halve(volume, (0, 1, 2), "majority"))


def test_colours_are_stored_before_space_and_seen_behind_it(tmp_path):
    sink = made(tmp_path, (600, 31, 4), "YXS", kind="rgba")
    picture = np.random.default_rng(0).integers(0, 255, (600, 31, 4)).astype(np.uint8)
    sink.write((), Region((0, 0), (600, 31)), picture)
    sink.refresh()
    assert sink.levels[0].array.shape == (4, 600, 31)
    np.testing.assert_array_equal(sink.array[5:9, :, :3], picture[5:9, :, :3])
    np.testing.assert_array_equal(np.asarray(sink.array), picture)
    np.testing.assert_array_equal(sink.read((), Region((3, 4), (5, 6))), picture[3:5, 4:6])
    assert sink.arrays[1].shape == (300, 16, 4)
    omero = check_rules(sink.path)["omero"]["channels"]
    assert [channel["label"] for channel in omero] == ["red", "green", "blue", "alpha"]


def test_depth_and_channels_change_places_on_disk_only(tmp_path):
    sink = made(tmp_path, (2, 3, 40, 30), "ZCYX", kind="image", dtype=np.float32)
    block = np.arange(3 * 40 * 30, dtype=np.float32).reshape(3, 40, 30)
    sink.write((1, slice(None)), Region((0, 0), (40, 30)), block)
    sink.write((0, 2), Region((0, 0), (40, 30)), block[0])
    assert sink.levels[0].array.shape == (3, 2, 40, 30)
    np.testing.assert_array_equal(sink.array[1], block)
    np.testing.assert_array_equal(sink.array[0, 2], block[0])


def test_a_pyramid_is_taken_up_where_it_was_left(tmp_path):
    sink = made(tmp_path, **CLASSES)
    form = Form(SHAPE, np.uint8, (256, 256))
    again = PyramidSink.resume(sink.path, form, Meaning("YX", **CLASSES))
    again.write((), Region((0, 0), (500, 500)), np.ones((500, 500), np.uint8))
    again.catch_up()
    assert sink.arrays[2][:].sum() == 125 * 125
    with pytest.raises(ChoiceError, match="not what this run makes"):
        PyramidSink.resume(sink.path, form, Meaning("YX", "image"))
    with pytest.raises(ChoiceError, match="shape"):
        PyramidSink.resume(sink.path, Form((1301, 1034), np.uint8), Meaning("YX"))


def test_a_finished_result_is_opened_for_editing(tmp_path):
    path = made(tmp_path, (4, 600, 31), "TYX", scale=(2.0, 1.0, 1.0)).path
    before = read_attributes(path)
    sink = PyramidSink.reopen(path)
    sink.write((2,), Region((0, 0), (2, 2)), np.ones((2, 2), np.uint8))
    sink.refresh((2,), Region((0, 0), (2, 2)))
    assert (sink.array.shape, int(sink.arrays[1][2, 0, 0])) == ((4, 600, 31), 1)
    assert read_attributes(path) == before
    zarr.create_group(tmp_path / "foreign.zarr")
    with pytest.raises(ChoiceError, match="not written by this package"):
        PyramidSink.reopen(tmp_path / "foreign.zarr")


@pytest.mark.parametrize("axes", ["Y", "ZYXC2", "TTYX", "CYXS", "QCYX", "ABYX"])
def test_axes_without_a_place_in_the_format_are_refused(axes):
    with pytest.raises(ChoiceError, match="no place for the axes"):
        Meaning(axes)


def test_axes_that_do_not_fit_the_shape_are_refused(tmp_path):
    with pytest.raises(ChoiceError, match="does not fit its axes"):
        made(tmp_path, (2, 40, 30), "YX")


@pytest.mark.parametrize(
    ("leading", "units", "ndim", "axes"),
    [
        (0, None, 2, "YX"),
        (1, None, 2, "ZYX"),
        (1, ("second", "pixel", "pixel"), 2, "TYX"),
        (2, None, 2, "TZYX"),
        (3, None, 2, "TQZYX"),
        (1, None, 3, "TZYX"),
    ],
)
def test_axes_are_named_where_the_image_does_not(leading, units, ndim, axes):
    assert result_axes(leading, units, ndim) == axes
    Meaning(axes)


def test_more_than_five_axes_are_refused():
    with pytest.raises(ChoiceError, match="5 axes"):
        result_axes(4)


def test_labels_go_beside_their_image(tmp_path):
    image = made(tmp_path, kind="image").path
    path = labels_beside(image, "nuclei")
    assert path == image / "labels" / "nuclei"
    PyramidSink.create(path, Form(SHAPE, np.uint8, (256, 256)), Meaning("YX", **CLASSES))
    labels_beside(image, "rims")
    labels_beside(image, "nuclei")
    assert read_attributes(image / "labels")["ome"]["labels"] == ["nuclei", "rims"]
    check_rules(path)


def test_labels_do_not_go_where_no_image_is(tmp_path):
    zarr.create_group(tmp_path / "old.zarr", zarr_format=2).attrs["multiscales"] = []
    with pytest.raises(ChoiceError, match=r"no OME-Zarr 0\.5 image"):
        labels_beside(tmp_path / "old.zarr", "nuclei")
    image = made(tmp_path, kind="image").path
    for name in ("", "a/b", "..", ".hidden", str(Path("/") / "etc")):
        with pytest.raises(ChoiceError, match="plain name"):
            labels_beside(image, name)
