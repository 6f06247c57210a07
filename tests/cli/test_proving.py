"""``onnxseg models test``, and adding packages by name."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import nets
import zoo
from napari_onnxseg.cli.main import app
from zoo import op


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path / "models"))


def packed(tmp_path, shift: float = 0.0):
    """Return a package whose test tensor is off by something."""
    x = np.random.default_rng(2).random((1, 1, 64, 64)).astype(np.float32)
    wanted = 1 / (1 + np.exp(-x)) + shift
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    path = zoo.v05(tmp_path / "net", network, post=[op("sigmoid")], tests=(x, [wanted]))
    return zoo.zipped(path, tmp_path / "net.zip")


def ran(*words: object):
    return CliRunner().invoke(app, list(map(str, words)))


def test_a_model_that_agrees_exits_with_0(tmp_path):
    result = ran("models", "test", packed(tmp_path), "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "gives what its author got" in result.output


def test_a_model_that_differs_exits_with_1_and_says_by_how_much(tmp_path):
    path = packed(tmp_path, shift=0.5)
    result = ran("models", "test", path, "--device", "cpu", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["ok"], told["outputs"][0]["mismatched"]) == (1, False, 1e6)
    assert told["outputs"][0]["difference"] == pytest.approx(0.5, abs=1e-6)


def test_a_model_without_test_tensors_gets_a_sentence(tmp_path):
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    result = ran("models", "test", network)
    assert result.exit_code == 1
    assert "without test tensors" in result.output


def test_a_package_is_added_under_its_name_and_can_be_tested_and_removed(tmp_path):
    path = packed(tmp_path)
    assert ran("models", "add", path).exit_code == 0
    assert ran("models", "test", "net", "--device", "cpu").exit_code == 0
    assert "affable-shark (format 0.5.11)" in ran("models", "show", "net").output
    assert ran("models", "add", tmp_path / "net").exit_code == 0
    assert ran("models", "remove", "net", "--yes").exit_code == 0
    assert ran("models", "test", "net").exit_code == 2
