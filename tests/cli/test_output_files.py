"""Files of images of values."""

from __future__ import annotations

import json

import numpy as np
import tifffile
from PIL import Image
from typer.testing import CliRunner

import headnets
from napari_onnxseg import segment_image
from napari_onnxseg.cli import app


def onnxseg(*words: object) -> object:
    return CliRunner().invoke(app, [str(word) for word in words])


def picture(path: object) -> np.ndarray:
    pixels = np.random.default_rng(0).integers(0, 256, (30, 40)).astype(np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


def test_values_go_to_a_tiff_of_floats_with_named_channels(tmp_path):
    pixels = picture(tmp_path / "a.png")
    model = headnets.blur(tmp_path / "m.onnx", outputs=2)
    done = onnxseg("segment", tmp_path / "a.png", "-m", model, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    with tifffile.TiffFile(tmp_path / "out" / "a.tif") as tif:
        assert (tif.series[0].axes, tif.series[0].dtype) == ("CYX", np.float32)
        assert 'Name="channel 2"' in tif.ome_metadata
        np.testing.assert_array_equal(tif.asarray(), segment_image(pixels, model).image)


def test_values_in_png_are_refused_before_the_model_runs(tmp_path):
    picture(tmp_path / "a.png")
    model = headnets.line(tmp_path / "m.onnx")
    out = tmp_path / "b.png"
    done = onnxseg("segment", tmp_path / "a.png", "-m", model, "-o", out, "--json")
    assert done.exit_code == 2
    assert "PNG holds whole numbers only" in done.output
    assert not out.exists()


def test_an_output_that_there_is_not_is_wrong_usage(tmp_path):
    picture(tmp_path / "a.png")
    model = headnets.two_heads(tmp_path / "m.onnx")
    words = ("segment", tmp_path / "a.png", "-m", model, "-o", tmp_path / "out")
    done = onnxseg(*words, "--head", "depth", "--json")
    assert done.exit_code == 2
    assert "There is no output 'depth'" in json.loads(done.stdout)["error"]
