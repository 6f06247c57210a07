import json
import os
import sqlite3
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr

from napari_onnxseg.arrays.files import read_image, write_result
from napari_onnxseg.arrays.geopackage import Row, Srs, geopackage
from napari_onnxseg.arrays.ngff_meaning import Meaning
from napari_onnxseg.arrays.world import Georeference
from napari_onnxseg.errors import FileFormatError

zarr.zeros((1,))[:]  # starts zarr's own thread, which lives as long as the process

UTM = (
    1, 1, 0, 4, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632, 3076, 0, 1, 9001,
)  # fmt: skip
DEGREES = (1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326)


def write_geotiff(path, data, keys=UTM, *, tags=None, nodata=None, **stored):
    extra = [(34735, "H", len(keys), keys, True)]
    extra += tags or [
        (33550, "d", 3, (2.0, 3.0, 0.0), True),
        (33922, "d", 6, (0.0, 0.0, 0.0, 500_000.0, 5_000_000.0, 0.0), True),
    ]
    extra += [(42113, "s", 0, nodata, True)] if nodata else []
    tifffile.imwrite(path, data, metadata=None, extratags=extra, **stored)


def picture(*shape):
    return np.random.default_rng(5).integers(0, 200, shape).astype(np.uint8)


def test_place_pixel_size_and_missing_value_of_a_geotiff_are_read(tmp_path):
    write_geotiff(tmp_path / "a.tif", picture(40, 50), nodata="255")
    image = read_image(tmp_path / "a.tif")
    assert image.world.transform == (2.0, 0.0, 500_000.0, 0.0, -3.0, 5_000_000.0)
    assert (image.scale, image.units) == ((3.0, 2.0), ("meter", "meter"))
    assert image.nodata == 255


@pytest.mark.parametrize(("text", "value"), [("-9999.0", -9999.0), ("0 ", 0.0), ("none", None)])
def test_the_missing_value_is_a_number_or_none(tmp_path, text, value):
    write_geotiff(tmp_path / "a.tif", picture(9, 8), nodata=text)
    assert read_image(tmp_path / "a.tif").nodata == value


def test_feet_are_metres_and_degrees_are_none(tmp_path):
    feet = (*UTM[:-1], 9003)
    write_geotiff(tmp_path / "a.tif", picture(9, 8), feet)
    assert read_image(tmp_path / "a.tif").scale == pytest.approx((3 * 1200 / 3937, 2 * 1200 / 3937))
    write_geotiff(tmp_path / "b.tif", picture(9, 8), DEGREES)
    image = read_image(tmp_path / "b.tif")
    assert image.scale is None
    assert image.world is not None


def test_coordinates_of_pixel_centres_are_told_from_those_of_corners(tmp_path):
    point = (*UTM[:10], 1, 2, *UTM[12:])
    assert point[8:12] == (1025, 0, 1, 2)
    write_geotiff(tmp_path / "a.tif", picture(9, 8), point)
    image = read_image(tmp_path / "a.tif")
    assert image.world.transform == (2.0, 0.0, 499_999.0, 0.0, -3.0, 5_000_001.5)
    write_result(tmp_path / "b.tif", picture(9, 8), Meaning("YX"), world=image.world)
    assert read_image(tmp_path / "b.tif").world == image.world


def test_a_turned_picture_keeps_its_matrix(tmp_path):
    rows = (1.0, 2.0, 0, 7.0, 2.0, -1.0, 0, 9.0, 0, 0, 0, 0, 0, 0, 0, 1.0)
    write_geotiff(tmp_path / "a.tif", picture(9, 8), tags=[(34264, "d", 16, rows, True)])
    image = read_image(tmp_path / "a.tif")
    assert image.world.transform == (1, 2, 7, 2, -1, 9)
    assert image.scale == pytest.approx((5**0.5, 5**0.5))
    write_result(tmp_path / "b.tif", picture(9, 8), Meaning("YX"), world=image.world)
    assert read_image(tmp_path / "b.tif").world == image.world


@pytest.mark.parametrize("lazy", [False, True])
def test_a_result_lies_where_its_image_lies(tmp_path, lazy):
    write_geotiff(tmp_path / "a.tif", picture(600, 50))
    image = read_image(tmp_path / "a.tif")
    labels = picture(600, 50) % 3
    values = zarr.array(labels) if lazy else labels
    meaning = Meaning("YX", names={1: "wood"}, scale=image.scale, units=image.units)
    write_result(tmp_path / "b.tif", values, meaning, world=image.world)
    result = read_image(tmp_path / "b.tif")
    assert (result.world, result.scale, result.units) == (image.world, image.scale, image.units)
    np.testing.assert_array_equal(np.asarray(result.data), labels)


def test_a_part_and_a_level_lie_where_they_were_cut_from():
    place = Georeference((2.0, 0.5, 100.0, 0.25, -3.0, 50.0))

    def at(transform, column, row):
        a, b, c, d, e, f = transform
        return a * column + b * row + c, d * column + e * row + f

    part = place.at((7, 11), (4, 2))
    for column, row in ((0, 0), (1, 0), (0, 1), (5, 9)):
        expected = at(place.transform, 11 + 2 * column, 7 + 4 * row)
        assert at(part.transform, column, row) == pytest.approx(expected)


def block(rows=8, columns=10):
    """Return labels: a square of class 2 with a hole, and one pixel of class 1."""
    labels = np.zeros((rows, columns), np.uint8)
    labels[1:6, 2:7] = 2
    labels[3, 4] = 0
    labels[7, 9] = 1
    return labels


def test_outlines_run_along_pixel_edges_and_keep_holes():
    pytest.importorskip("rasterio")
    from napari_onnxseg.arrays.polygons import outlines

    found = {outline.number: outline.rings for outline in outlines(block())}
    assert sorted(found) == [1, 2]
    outer, hole = found[2]
    assert set(outer) == {(2, 1), (7, 1), (7, 6), (2, 6)}
    assert set(hole) == {(4, 3), (5, 3), (5, 4), (4, 4)}
    assert set(found[1][0]) == {(9, 7), (10, 7), (10, 8), (9, 8)}


def area(ring):
    pairs = pairwise(ring)
    return sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs) / 2


@pytest.mark.parametrize("transform", [(1, 0, 0, 0, 1, 0), (2.0, 0, 5e5, 0, -3.0, 5e6)])
def test_outlines_have_the_area_of_their_pixels_and_the_sense_of_the_standard(transform):
    pytest.importorskip("rasterio")
    from napari_onnxseg.arrays.polygons import outlines

    labels = np.kron(np.random.default_rng(1).integers(0, 4, (12, 13)), np.ones((3, 2), int))
    pixel = abs(transform[0] * transform[4])
    total = dict.fromkeys((1, 2, 3), 0.0)
    for outline in outlines(labels, Georeference(transform)):
        outer, *holes = map(area, outline.rings)
        assert outer > 0
        assert all(hole < 0 for hole in holes)
        total[outline.number] += outer + sum(holes)
    for number, found in total.items():
        assert found == pytest.approx((labels == number).sum() * pixel)


def test_geojson_is_in_degrees(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    from rasterio.warp import transform

    write_geotiff(tmp_path / "a.tif", block())
    place = read_image(tmp_path / "a.tif").world
    meaning = Meaning("YX", names={2: "wood"})
    write_result(tmp_path / "a.geojson", block(), meaning, world=place)
    told = json.loads((tmp_path / "a.geojson").read_text())
    assert told["type"] == "FeatureCollection"
    by_class = {f["properties"]["class"]: f for f in told["features"]}
    assert by_class[2]["properties"]["name"] == "wood"
    ring = by_class[2]["geometry"]["coordinates"][0]
    corners = [(5e5 + 2 * x, 5e6 - 3 * y) for x, y in ((2, 1), (7, 1), (7, 6), (2, 6))]
    degrees = transform("EPSG:32632", rasterio.crs.CRS.from_epsg(4326), *zip(*corners, strict=True))
    for corner in zip(*degrees, strict=True):
        assert any(np.allclose(corner, point, atol=1e-9) for point in ring)


def test_outlines_without_a_map_are_in_pixels(tmp_path):
    pytest.importorskip("rasterio")
    write_result(tmp_path / "a.geojson", block(), Meaning("YX"))
    told = json.loads((tmp_path / "a.geojson").read_text())
    points = [p for f in told["features"] for p in f["geometry"]["coordinates"][0]]
    assert [9.0, 7.0] in points


def geometry_of(blob):
    """Read a polygon as GeoPackage stores it."""
    assert blob[:4] == b"GP\0\3"
    srs, *box = struct.unpack("<i4d", blob[4:40])
    order, kind, rings = struct.unpack("<BII", blob[40:49])
    assert (order, kind) == (1, 3)
    place, found = 49, []
    for _ in range(rings):
        (count,) = struct.unpack_from("<I", blob, place)
        flat = struct.unpack_from(f"<{2 * count}d", blob, place + 4)
        found.append(list(zip(flat[::2], flat[1::2], strict=True)))
        place += 4 + 16 * count
    assert place == len(blob)
    return srs, box, found


def test_a_geopackage_has_the_tables_of_the_standard(tmp_path):
    square = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0), (0.0, 0.0)]
    hole = [(1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (1.0, 1.0)]
    rows = [Row(7, "wood", [square, hole]), Row(8, "", [[(9.0, 9.0), (10.0, 9.0), (9.0, 12.0)]])]
    (tmp_path / "a.gpkg").write_bytes(geopackage('land "use"', rows, Srs("PROJCS[...]", 32632)))
    base = sqlite3.connect(tmp_path / "a.gpkg")
    assert base.execute("PRAGMA application_id").fetchone() == (0x47504B47,)
    assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert base.execute("PRAGMA foreign_key_check").fetchall() == []
    ids = {row[0] for row in base.execute("SELECT srs_id FROM gpkg_spatial_ref_sys")}
    assert ids == {-1, 0, 4326, 32632}
    contents = "SELECT table_name, data_type, min_x, min_y, max_x, max_y, srs_id FROM gpkg_contents"
    assert base.execute(contents).fetchall() == [
        ('land "use"', "features", 0.0, 0.0, 10.0, 12.0, 32632)
    ]
    table = base.execute('SELECT geom, class, name FROM "land ""use""" ORDER BY fid').fetchall()
    base.close()
    assert [row[1:] for row in table] == [(7, "wood"), (8, "")]
    assert geometry_of(table[0][0]) == (32632, [0.0, 4.0, 0.0, 3.0], [square, hole])


def test_a_geopackage_without_a_map_or_regions_is_valid_too(tmp_path):
    pytest.importorskip("rasterio")
    write_result(tmp_path / "a.gpkg", np.zeros((5, 6), np.uint8), Meaning("YX"))
    base = sqlite3.connect(tmp_path / "a.gpkg")
    assert base.execute("SELECT srs_id, min_x FROM gpkg_contents").fetchall() == [(-1, None)]
    base.close()


def test_a_geopackage_is_read_by_gdal_on_its_map(tmp_path):
    pytest.importorskip("rasterio")
    pyogrio = pytest.importorskip("pyogrio")
    write_geotiff(tmp_path / "a.tif", block())
    place = read_image(tmp_path / "a.tif").world
    write_result(tmp_path / "a.gpkg", block(), Meaning("YX", names={2: "wood"}), world=place)
    info = pyogrio.read_info(tmp_path / "a.gpkg")
    assert (info["crs"], info["features"], info["geometry_type"]) == ("EPSG:32632", 2, "Polygon")
    assert info["total_bounds"] == (5e5 + 4, 5e6 - 24, 5e5 + 20, 5e6 - 3)


def test_gdal_finds_our_result_on_the_map(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    write_geotiff(tmp_path / "a.tif", picture(40, 50))
    place = read_image(tmp_path / "a.tif").world
    write_result(tmp_path / "b.tif", picture(40, 50), Meaning("YX"), world=place)
    with rasterio.open(tmp_path / "b.tif") as dataset:
        assert dataset.crs.to_epsg() == 32632
        assert tuple(dataset.transform)[:6] == place.transform
        np.testing.assert_array_equal(dataset.read(1), picture(40, 50))


def write_cog(path, data, **more):
    rasterio = pytest.importorskip("rasterio")
    profile = {
        "driver": "COG", "count": len(data), "height": data.shape[1], "width": data.shape[2],
        "dtype": data.dtype, "crs": "EPSG:32632", "blocksize": 128,
        "transform": rasterio.Affine(2.0, 0, 5e5, 0, -3.0, 5e6),
        **more,
    }  # fmt: skip
    with rasterio.open(path, "w", **profile) as dataset:
        dataset.write(data)


@pytest.mark.parametrize("compress", ["DEFLATE", "LZW", "ZSTD"])
def test_a_cloud_optimised_geotiff_is_read_with_its_levels(tmp_path, compress):
    data = picture(3, 500, 701)
    write_cog(tmp_path / "a.tif", data, compress=compress, photometric="RGB")
    image = read_image(tmp_path / "a.tif")
    assert image.rgb
    np.testing.assert_array_equal(np.asarray(image.data), data.transpose(1, 2, 0))
    assert image.levels.shapes[1] == (250, 350)
    import rasterio

    with rasterio.open(tmp_path / "a.tif", OVERVIEW_LEVEL=0) as dataset:
        expected = dataset.read().transpose(1, 2, 0)
    np.testing.assert_array_equal(np.asarray(image.levels.arrays[1]), expected)
    assert image.world.transform == (2.0, 0, 5e5, 0, -3.0, 5e6)


def test_other_rasters_are_read_by_window_through_gdal(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    data = picture(2, 300, 400)
    profile = {"count": 2, "height": 300, "width": 400, "dtype": "uint8", "crs": "EPSG:32632"}
    profile["transform"] = rasterio.Affine(2.0, 0, 5e5, 0, -3.0, 5e6)
    with rasterio.open(tmp_path / "a.img", "w", driver="HFA", nodata=7, **profile) as dataset:
        dataset.write(data)
        dataset.build_overviews([2, 4])
    image = read_image(tmp_path / "a.img")
    assert (image.axes, image.channel_axis, image.nodata) == ("CYX", 0, 7)
    assert (image.scale, image.units) == ((3.0, 2.0), ("meter", "meter"))
    assert image.levels.shapes == ((300, 400), (150, 200), (75, 100))
    np.testing.assert_array_equal(np.asarray(image.data), data)
    np.testing.assert_array_equal(image.data[1, 5:77:3, 300], data[1, 5:77:3, 300])
    np.testing.assert_array_equal(image.data[:, -3, 10:20], data[:, -3, 10:20])
    assert image.data[:, 5:5].shape == (2, 0, 400)
    labels = picture(300, 400) % 3
    write_result(tmp_path / "b.tif", labels, Meaning("YX"), world=image.world)
    with rasterio.open(tmp_path / "b.tif") as dataset:
        assert dataset.crs.to_epsg() == 32632
        assert dataset.transform == profile["transform"]


def test_what_gdal_does_not_know_either_is_refused(tmp_path):
    (tmp_path / "a.dat").write_bytes(b"something else entirely" * 20)
    with pytest.raises(FileFormatError, match=r"no PNG, JPEG.*image"):
        read_image(tmp_path / "a.dat")


def test_labels_of_a_real_aerial_picture_lie_on_it(tmp_path):
    folder = Path(os.environ.get("ONNXSEG_DATA", ""), "naip")
    if not folder.is_absolute():
        pytest.skip("ONNXSEG_DATA is not set")
    rasterio = pytest.importorskip("rasterio")
    path = min(folder.glob("*.tif"))
    image = read_image(path)
    labels = np.asarray(image.data)[..., 0] // 64
    write_result(tmp_path / "a.tif", labels, Meaning("YX"), world=image.world)
    with rasterio.open(path) as source, rasterio.open(tmp_path / "a.tif") as result:
        assert (result.crs, result.transform) == (source.crs, source.transform)
        np.testing.assert_array_equal(source.read(1) // 64, result.read(1))
