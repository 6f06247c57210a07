import zipfile

import onnx
import pytest

import nets
from napari_onnxseg.errors import ModelError, ModelNotFoundError
from napari_onnxseg.graph.load import read_model, side_files


def with_side_file(folder, location="weights.bin"):
    path = nets.unet(folder / "net.onnx")
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)
    return path


def test_a_good_file_is_read(tmp_path):
    assert len(read_model(nets.echo(tmp_path / "a.onnx")).graph.node) == 1


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"no model file '.*gone\.onnx'"):
        read_model(tmp_path / "gone.onnx")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"is a folder; choose the \.onnx file in it"):
        read_model(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"<!doctype html><html>404</html>", "is not an ONNX model"),
        (b"\x08\x07", "holds no network"),
    ],
)
def test_what_is_no_model_is_said_in_one_sentence(tmp_path, content, message):
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        read_model(path)
    assert "\n" not in str(caught.value)


def test_a_model_cut_short_is_refused(tmp_path):
    path = nets.unet(tmp_path / "a.onnx")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match="cut short"):
        read_model(path)


def test_a_zip_archive_is_recognised(tmp_path):
    path = tmp_path / "a.onnx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.onnx", b"x")
    with pytest.raises(ModelError, match="zip archive"):
        read_model(path)


def test_weights_beside_the_model_are_found_without_reading_them(tmp_path):
    model = read_model(with_side_file(tmp_path))
    assert side_files(model) == ("weights.bin",)


def test_missing_weights_are_named_with_the_place_where_they_were_sought(tmp_path):
    path = with_side_file(tmp_path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelError, match=r"'weights\.bin', which is missing in '.*'"):
        read_model(path)


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/weights.bin", "a/../../b"])
def test_weights_outside_the_folder_are_refused(tmp_path, location):
    path = with_side_file(tmp_path)
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="outside its own folder"):
        read_model(path)


def test_weights_cut_short_are_named_with_what_is_missing(tmp_path):
    path = with_side_file(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"1234")
    with pytest.raises(ModelError, match=r"'weights.bin' .* cut short: it has 4 bytes"):
        read_model(path)
