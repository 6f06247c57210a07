import json
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto

import nets
from bad_exports import FIXED, WELL, export
from napari_onnxseg.errors import ChoiceError, FileFormatError, ModelError
from napari_onnxseg.graph import mend_files
from napari_onnxseg.graph.check import check
from napari_onnxseg.graph.inspect import inspect
from napari_onnxseg.graph.load import read_model
from napari_onnxseg.graph.mend import CARD_KEY, Choices, mend


def answer(path):
    picture = np.random.default_rng(3).random((1, 1, 64, 64), np.float32)
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"input": picture})[0]


def with_side_file(path, location="weights.bin"):
    model = onnx.load(nets.unet(path, width=16))
    onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)
    return path


def test_weights_are_brought_into_the_file(tmp_path):
    path = with_side_file(tmp_path / "a.onnx")
    mended = mend(path, tmp_path / "b.onnx", Choices(external="in"))
    assert mended.done == ("moved weights into the file",)
    expected = answer(path)
    (tmp_path / "weights.bin").unlink()
    np.testing.assert_array_equal(answer(mended.path), expected)
    assert "side-files" not in mended.report.codes


def test_weights_are_moved_to_a_side_file_on_whole_pages(tmp_path):
    path = nets.unet(tmp_path / "a.onnx", width=16)
    out = tmp_path / "copy"
    out.mkdir()
    mended = mend(path, out / "b.onnx", Choices(external="out"))
    assert inspect(mended.path).external_data == ("b.onnx.data",)
    assert sorted(p.name for p in out.iterdir()) == ["b.onnx", "b.onnx.data"]
    np.testing.assert_array_equal(answer(mended.path), answer(path))
    outside = [t for t in read_model(mended.path).graph.initializer if t.external_data]
    offsets = [int(e.value) for t in outside for e in t.external_data if e.key == "offset"]
    assert offsets
    assert all(offset % 4096 == 0 for offset in offsets)


def test_a_side_file_stays_a_side_file_of_the_copy(tmp_path):
    path = with_side_file(tmp_path / "a.onnx")
    mended = mend(path, tmp_path / "b.onnx")
    assert inspect(mended.path).external_data == ("b.onnx.data",)
    (tmp_path / "weights.bin").unlink()
    assert answer(mended.path).shape == (1, 3, 64, 64)


def test_a_side_file_cut_short_is_named(tmp_path):
    path = with_side_file(tmp_path / "a.onnx")
    side = tmp_path / "weights.bin"
    side.write_bytes(side.read_bytes()[:-8])
    with pytest.raises(ModelError, match=r"'weights\.bin' beside 'a\.onnx' is cut short"):
        mend(path, tmp_path / "b.onnx")
    assert "side-file-short" in check(path).codes


def test_a_side_file_that_does_not_say_its_lengths_is_measured(tmp_path):
    path = with_side_file(tmp_path / "a.onnx")
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        told = [(e.key, e.value) for e in tensor.external_data if e.key != "length"]
        del tensor.external_data[:]
        for key, value in told:
            tensor.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    expected = answer(path)
    np.testing.assert_array_equal(answer(mend(path, tmp_path / "b.onnx").path), expected)
    side = tmp_path / "weights.bin"
    side.write_bytes(side.read_bytes()[:-8])
    with pytest.raises(ModelError, match=r"'weights\.bin' holds \d+ bytes for '.*', which needs"):
        mend(path, tmp_path / "c.onnx")


def test_a_card_is_embedded_without_the_hash_of_another_file(tmp_path):
    path = nets.unet(tmp_path / "a.onnx")
    card = {"format": 1, "name": "cells", "sha256": "0" * 64}
    first = mend(path, tmp_path / "b.onnx", Choices(card=card))
    second = mend(first.path, tmp_path / "c.onnx", Choices(card={**card, "name": "nuclei"}))
    entries = [(e.key, e.value) for e in onnx.load(second.path).metadata_props]
    assert [(key, json.loads(value)) for key, value in entries] == [
        (CARD_KEY, {"format": 1, "name": "nuclei"})
    ]


def test_other_metadata_is_kept(tmp_path):
    model = onnx.load(nets.unet(tmp_path / "a.onnx"))
    model.metadata_props.add(key="resolution", value="5.5")
    model.producer_name = "pytorch"
    onnx.save(model, tmp_path / "a.onnx")
    mended = mend(tmp_path / "a.onnx", tmp_path / "b.onnx", Choices(card={"format": 1}))
    facts = inspect(mended.path)
    assert facts.metadata["resolution"] == "5.5"
    assert facts.producer == "pytorch"


@pytest.mark.parametrize("name", ["a.onnx", "b.onnx"])
def test_an_existing_file_is_never_replaced(tmp_path, name):
    path = nets.unet(tmp_path / "a.onnx")
    (tmp_path / "b.onnx").write_bytes(b"other")
    before = path.read_bytes()
    with pytest.raises(ChoiceError, match="exists already"):
        mend(path, tmp_path / name)
    assert path.read_bytes() == before
    assert (tmp_path / "b.onnx").read_bytes() == b"other"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ChoiceError, match="no folder"):
        mend(nets.unet(tmp_path / "a.onnx"), tmp_path / "gone" / "b.onnx")


def test_a_model_too_large_for_one_file_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(mend_files, "LIMIT_BYTES", 1000)
    path = nets.unet(tmp_path / "a.onnx")
    with pytest.raises(ChoiceError, match="keep its weights in a side file"):
        mend(path, tmp_path / "b.onnx")
    with pytest.raises(ChoiceError):
        mend(path, tmp_path / "b.onnx", Choices(external="out"))
    assert [p.name for p in tmp_path.iterdir()] == ["a.onnx"]


def test_a_copy_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("napari_onnxseg.arrays.atomic.os.replace", full)
    path = nets.unet(tmp_path / "a.onnx")
    with pytest.raises(FileFormatError, match="No space left"):
        mend(path, tmp_path / "b.onnx")
    assert [p.name for p in tmp_path.iterdir()] == ["a.onnx"]


def test_names_of_axes_and_outputs_stay_where_they_were(tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, dims=(1, 1, "rows", "columns")))
    mended = mend(path, tmp_path / "b.onnx", Choices(activation="softmax"))
    facts, before = inspect(mended.path), inspect(path)
    assert facts.inputs[0].dims == ("batch", 1, "rows", "columns")
    assert facts.outputs[0].dims == ("batch", 3, "rows", "columns")
    assert facts.outputs[0].name == before.outputs[0].name


def test_unused_weights_are_dropped_with_the_outputs_that_used_them(tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, dims=FIXED, side_outputs=True))
    main = inspect(path).outputs[0].name
    mended = mend(path, tmp_path / "b.onnx", Choices(keep=(main,)))
    model = onnx.load(mended.path)
    read = {name for node in model.graph.node for name in node.input}
    assert {tensor.name for tensor in model.graph.initializer} <= read
    assert all(t.data_type != TensorProto.DOUBLE for t in model.graph.initializer)
    assert [info.name for info in model.graph.output] == [main]
