import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import zarr

from napari_onnxseg.arrays.files import is_image, read_image, write_result
from napari_onnxseg.arrays.ngff_meaning import Meaning
from napari_onnxseg.arrays.world import VoxelGrid
from napari_onnxseg.errors import FileFormatError, ImageError

zarr.zeros((1,))[:]  # starts zarr's own thread, which lives as long as the process

AFFINE = np.array([[-2.0, 0, 0, 90], [0, 2.0, 0.5, -126], [0, -0.5, 3.0, -72], [0, 0, 0, 1]])


def volume(*shape, dtype=np.int16):
    return np.random.default_rng(5).integers(0, 200, shape).astype(dtype)


def write_nifti(path, data, affine=AFFINE, **header):
    nibabel = pytest.importorskip("nibabel")
    image = nibabel.Nifti1Image(data, affine)
    image.header.set_xyzt_units(header.pop("length", "mm"), header.pop("time", "sec"))
    nibabel.save(image, path)
    return nibabel.load(path)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_a_volume_is_read_with_depth_first_and_its_grid(tmp_path, name):
    data = volume(7, 8, 9)
    write_nifti(tmp_path / name, data)
    image = read_image(tmp_path / name)
    assert (image.axes, image.channel_axis, image.units) == ("ZYX", None, ("millimeter",) * 3)
    assert image.data.dtype == np.int16
    assert image.scale == pytest.approx((np.hypot(0.5, 3), np.hypot(2, 0.5), 2))
    np.testing.assert_array_equal(np.asarray(image.data), data.T)
    np.testing.assert_array_equal(image.data[2:5, 3, :4], data.T[2:5, 3, :4])
    np.testing.assert_allclose(image.world.affine, AFFINE)


def test_time_comes_before_depth(tmp_path):
    data = volume(5, 6, 7, 3)
    write_nifti(tmp_path / "a.nii", data, time="msec")
    image = read_image(tmp_path / "a.nii")
    assert (image.axes, image.data.shape) == ("TZYX", (3, 7, 6, 5))
    assert image.units[0] == "millisecond"
    np.testing.assert_array_equal(image.data[1], data[..., 1].T)


def test_values_are_those_that_slope_and_intercept_mean(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    stored = volume(5, 6, 7)
    header = nibabel.Nifti1Header()
    header.set_data_shape(stored.shape)
    header.set_data_dtype(np.int16)
    header.set_slope_inter(0.5, -10)
    header["magic"], header["vox_offset"] = b"n+1", 352
    content = header.binaryblock + b"\0" * 4 + stored.tobytes(order="F")
    (tmp_path / "a.nii").write_bytes(content)
    image = read_image(tmp_path / "a.nii")
    assert image.data.dtype == np.float32
    part = image.data[1:4, 2]
    assert part.dtype == np.float32
    np.testing.assert_allclose(part, stored.T[1:4, 2] * 0.5 - 10)


@pytest.mark.parametrize("name", ["b.nii", "b.nii.gz"])
def test_labels_are_written_on_the_same_grid(tmp_path, name):
    nibabel = pytest.importorskip("nibabel")
    source = write_nifti(tmp_path / "a.nii.gz", volume(7, 8, 9))
    image = read_image(tmp_path / "a.nii.gz")
    labels = (np.asarray(image.data) > 100).astype(np.uint8)
    meaning = Meaning("ZYX", scale=image.scale, units=image.units)
    write_result(tmp_path / name, labels, meaning, world=image.world)
    result = nibabel.load(tmp_path / name)
    np.testing.assert_allclose(result.affine, source.affine)
    assert result.header["sform_code"] == source.header["sform_code"]
    assert result.get_data_dtype() == np.uint8
    np.testing.assert_array_equal(np.asarray(result.dataobj), np.asarray(source.dataobj) > 100)
    again = read_image(tmp_path / name)
    assert (again.world, again.scale) == (image.world, pytest.approx(image.scale))


def test_a_file_is_the_same_every_time(tmp_path):
    pytest.importorskip("nibabel")
    for name in ("a.nii.gz", "b.nii.gz"):
        write_result(tmp_path / name, volume(3, 4, 5, dtype=np.uint8), Meaning("ZYX"))
    assert (tmp_path / "a.nii.gz").read_bytes() == (tmp_path / "b.nii.gz").read_bytes()


def test_without_a_grid_the_voxel_size_remains(tmp_path):
    pytest.importorskip("nibabel")
    meaning = Meaning("ZYX", scale=(3.0, 2.0, 1.0))
    write_result(tmp_path / "a.nii", volume(3, 4, 5, dtype=np.uint8), meaning)
    image = read_image(tmp_path / "a.nii")
    assert image.scale == (3.0, 2.0, 1.0)
    np.testing.assert_array_equal(np.asarray(image.data), volume(3, 4, 5))


def test_numbers_that_do_not_fit_are_refused(tmp_path):
    pytest.importorskip("nibabel")
    fits = np.full((2, 3, 4), 70_000, np.int64)
    write_result(tmp_path / "a.nii", fits, Meaning("ZYX"))
    np.testing.assert_array_equal(np.asarray(read_image(tmp_path / "a.nii").data), fits)
    with pytest.raises(ImageError, match="without loss"):
        write_result(tmp_path / "b.nii", fits * 70_000, Meaning("ZYX"))
    assert not (tmp_path / "b.nii").exists()


def test_colours_in_a_volume_are_refused(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    rgb = np.zeros((3, 4, 5), np.dtype([("R", "u1"), ("G", "u1"), ("B", "u1")]))
    nibabel.save(nibabel.Nifti1Image(rgb, np.eye(4)), tmp_path / "a.nii")
    with pytest.raises(FileFormatError, match="grey volumes"):
        read_image(tmp_path / "a.nii")


def test_a_part_and_a_level_lie_where_they_were_cut_from():
    grid = VoxelGrid(tuple(map(tuple, AFFINE.tolist())))
    part = np.array(grid.at((3, 4, 5), (1, 2, 4)).affine)
    for x, y, z in ((0, 0, 0), (1, 0, 0), (2, 3, 4)):
        found = part @ (x, y, z, 1)
        np.testing.assert_allclose(found, AFFINE @ (5 + 4 * x, 4 + 2 * y, 3 + z, 1))


def test_a_compressed_file_of_something_else_is_no_volume(tmp_path):
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(b"words"))
    (tmp_path / "b.nii.gz").write_bytes(gzip.compress(b"words" * 200)[:30])
    assert not is_image(tmp_path / "a.nii.gz")
    assert not is_image(tmp_path / "b.nii.gz")


def test_real_volumes_come_back_on_their_grid(tmp_path):
    folder = Path(os.environ.get("ONNXSEG_DATA", ""))
    if not folder.is_absolute():
        pytest.skip("ONNXSEG_DATA is not set")
    nibabel = pytest.importorskip("nibabel")
    found = sorted((folder / "hippocampus_mri" / "test").rglob("*.nii.gz"))[:3]
    for path in [*found, folder / "volumes" / "nibabel_example4d.nii.gz"]:
        source = nibabel.load(path)
        image = read_image(path)
        np.testing.assert_allclose(np.asarray(image.data), source.get_fdata().T, rtol=1e-6)
        labels = (np.asarray(image.data) > 50).astype(np.uint8)
        write_result(tmp_path / "a.nii.gz", labels, Meaning(image.axes), world=image.world)
        result = nibabel.load(tmp_path / "a.nii.gz")
        np.testing.assert_allclose(result.affine, source.affine, atol=1e-5)
        assert result.shape == source.shape


def write_slice(path, pixels, place, *, series="1.2.3", number=1, **more):
    pydicom = pytest.importorskip("pydicom")
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = CTImageStorage
    meta.MediaStorageSOPInstanceUID = f"1.2.3.{number}"
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    header = Dataset()
    header.file_meta = meta
    header.SOPClassUID, header.SOPInstanceUID = CTImageStorage, f"1.2.3.{number}"
    header.SeriesInstanceUID, header.InstanceNumber = series, number
    header.Rows, header.Columns = pixels.shape[-2:]
    header.SamplesPerPixel, header.PhotometricInterpretation = 1, "MONOCHROME2"
    header.BitsAllocated, header.BitsStored, header.HighBit = 16, 12, 11
    header.PixelRepresentation = 0
    header.PixelSpacing = [0.75, 0.5]
    header.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
    header.ImagePositionPatient = list(place)
    header.PixelData = pixels.astype("<u2").tobytes()
    for name, value in more.items():
        setattr(header, name, value)
    pydicom.dcmwrite(path, header, enforce_file_format=True)


def write_series(folder, data, gaps=2.5, **more):
    folder.mkdir(exist_ok=True)
    order = np.random.default_rng(2).permutation(len(data))
    for n, plane in enumerate(order):
        place = (-10.0, -20.0, 30.0 + float(np.cumsum(np.full(plane + 1, gaps))[-1]) - gaps)
        write_slice(folder / f"{n:03}.dcm", data[plane], place, number=n + 1, **more)


def test_a_series_is_a_volume_in_the_order_of_its_places(tmp_path):
    data = volume(5, 6, 8, dtype=np.uint16)
    write_series(tmp_path / "ct", data)
    assert is_image(tmp_path / "ct")
    image = read_image(tmp_path / "ct")
    assert (image.axes, image.scale) == ("ZYX", (2.5, 0.75, 0.5))
    assert image.notes == ()
    assert image.data.dtype == np.uint16
    np.testing.assert_array_equal(np.asarray(image.data), data)
    np.testing.assert_array_equal(image.data[1:4, 2, 3:], data[1:4, 2, 3:])
    assert image.data[3:3].shape == (0, 6, 8)


def test_the_grid_of_a_series_is_that_of_nifti(tmp_path):
    """Left to the patient's left in DICOM, to his right in NIfTI."""
    write_series(tmp_path / "ct", volume(5, 6, 8))
    affine = read_image(tmp_path / "ct").world.affine
    expected = [(-0.5, 0, 0, 10), (0, -0.75, 0, 20), (0, 0, 2.5, 30), (0, 0, 0, 1)]
    np.testing.assert_allclose(affine, expected)


def test_labels_of_a_series_go_to_nifti(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    data = volume(5, 6, 8, dtype=np.uint16)
    write_series(tmp_path / "ct", data)
    image = read_image(tmp_path / "ct")
    labels = (data > 100).astype(np.uint8)
    write_result(tmp_path / "a.nii.gz", labels, Meaning("ZYX"), world=image.world)
    result = nibabel.load(tmp_path / "a.nii.gz")
    np.testing.assert_array_equal(np.asarray(result.dataobj).T, labels)
    np.testing.assert_allclose(result.affine, image.world.affine)


@pytest.mark.parametrize(
    ("slope", "intercept", "dtype"),
    [(1, -1024, np.int16), (16, -1024, np.int32), (0.5, 0, np.float32), (1, 0, np.uint16)],
)
def test_values_of_a_series_are_rescaled(tmp_path, slope, intercept, dtype):
    data = volume(3, 6, 8, dtype=np.uint16)
    write_series(tmp_path / "ct", data, RescaleSlope=slope, RescaleIntercept=intercept)
    image = read_image(tmp_path / "ct")
    assert image.data.dtype == dtype
    np.testing.assert_allclose(np.asarray(image.data), data * float(slope) + intercept)


def test_a_slice_that_is_missing_is_spoken_of(tmp_path):
    data = volume(5, 6, 8)
    write_series(tmp_path / "ct", data)
    last = max((tmp_path / "ct").iterdir(), key=lambda p: float(read_image(p).world.affine[2][3]))
    penultimate = sorted(
        (tmp_path / "ct").iterdir(), key=lambda p: float(read_image(p).world.affine[2][3])
    )[-2]
    assert last != penultimate
    penultimate.unlink()
    image = read_image(tmp_path / "ct")
    assert "not evenly spaced (2.5 to 5 mm)" in image.notes[0]
    assert image.scale[0] == pytest.approx(10 / 3)


def test_of_several_series_the_largest_is_read_and_it_is_said(tmp_path):
    write_series(tmp_path / "ct", volume(5, 6, 8))
    write_slice(tmp_path / "ct" / "scout.dcm", volume(9, 9), (0, 0, 0), series="9.9", number=99)
    (tmp_path / "ct" / "notes.txt").write_text("words")
    image = read_image(tmp_path / "ct")
    assert image.data.shape == (5, 6, 8)
    assert "2 series" in image.notes[0]


def test_one_file_is_a_plane_or_a_stack_of_frames(tmp_path):
    write_slice(tmp_path / "a.dcm", volume(6, 8), (0, 0, 0))
    image = read_image(tmp_path / "a.dcm")
    assert (image.axes, image.data.shape, image.scale) == ("YX", (6, 8), (0.75, 0.5))
    frames = volume(4, 6, 8)
    more = {"NumberOfFrames": 4, "SpacingBetweenSlices": 1.25}
    write_slice(tmp_path / "b.dcm", frames, (0, 0, 0), **more)
    image = read_image(tmp_path / "b.dcm")
    assert (image.axes, image.scale) == ("ZYX", (1.25, 0.75, 0.5))
    np.testing.assert_array_equal(np.asarray(image.data), frames)


def test_frames_of_different_sizes_are_no_volume(tmp_path):
    write_series(tmp_path / "ct", volume(3, 6, 8))
    write_slice(tmp_path / "ct" / "other.dcm", volume(9, 9), (0, 0, 0), number=9)
    with pytest.raises(FileFormatError, match="different sizes"):
        read_image(tmp_path / "ct")


def test_a_file_without_pixels_is_refused(tmp_path):
    pydicom = pytest.importorskip("pydicom")
    write_slice(tmp_path / "a.dcm", volume(6, 8), (0, 0, 0))
    header = pydicom.dcmread(tmp_path / "a.dcm")
    del header.PixelData, header.Rows, header.Columns
    header.save_as(tmp_path / "a.dcm")
    with pytest.raises(FileFormatError, match="no DICOM image"):
        read_image(tmp_path / "a.dcm")


@pytest.mark.parametrize(("name", "kind"), [("a.nii.gz", "NIfTI"), ("a.dcm", "DICOM")])
def test_a_missing_extra_is_named(tmp_path, monkeypatch, name, kind):
    nifti = np.zeros(352, np.uint8)
    nifti[344:347] = np.frombuffer(b"n+1", np.uint8)
    dicom = b"\0" * 128 + b"DICM"
    content = {"NIfTI": gzip.compress(nifti.tobytes()), "DICOM": dicom}[kind]
    (tmp_path / name).write_bytes(content)

    def refuse(package):
        raise ImportError(package)

    monkeypatch.setattr("napari_onnxseg.arrays.extras.import_module", refuse)
    with pytest.raises(FileFormatError, match=rf"{kind}.*napari-onnxseg\[medical\]"):
        read_image(tmp_path / name)
