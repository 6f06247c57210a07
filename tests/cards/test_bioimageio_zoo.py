"""What `bioimageio.spec` is asked, with a stand-in for it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import nets
import zoo
from napari_onnxseg.cards import bioimageio_pack
from napari_onnxseg.cards.bioimageio_zoo import fetched, validated
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import DownloadError, ModelError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ONNXSEG_OFFLINE", raising=False)


@pytest.fixture
def spec(monkeypatch):
    parent, module = ModuleType("bioimageio"), ModuleType("bioimageio.spec")
    monkeypatch.setitem(sys.modules, "bioimageio", parent)
    monkeypatch.setitem(sys.modules, "bioimageio.spec", module)
    return module


def test_a_model_of_the_zoo_is_brought_with_its_onnx_weights_alone(tmp_path, spec, monkeypatch):
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    packed = zoo.zipped(zoo.v05(tmp_path / "net", network), tmp_path / "p.zip")
    asked = []

    def save(name, /, *, output_path, weights_priority_order):
        asked.append((name, weights_priority_order))
        shutil.copyfile(packed, output_path)

    spec.save_bioimageio_package = save
    place = fetched("affable-shark/1.1")
    assert (place.name, asked) == ("affable-shark.zip", [("affable-shark/1.1", ["onnx"])])
    assert load_card(place).name == "affable-shark"
    assert fetched("affable-shark/1.1") == place
    monkeypatch.setattr(bioimageio_pack, "is_available", lambda: True)
    assert bioimageio_pack.packed(Path("affable-shark")) == place
    assert bioimageio_pack.packed(network) == network


def test_what_goes_wrong_is_one_sentence(spec, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("no\nnetwork")

    spec.save_bioimageio_package = fail
    with pytest.raises(DownloadError, match=r"\(no network\); try again"):
        fetched("affable-shark")
    with pytest.raises(ModelError, match="they look like affable-shark"):
        fetched("../evil")
    monkeypatch.setenv("ONNXSEG_OFFLINE", "1")
    with pytest.raises(DownloadError, match="switched off"):
        fetched("affable-shark")


def test_each_fault_of_a_description_is_named(tmp_path, spec):
    error = SimpleNamespace(loc=("inputs", 0, "axes"), msg="too few")
    summary = SimpleNamespace(details=[SimpleNamespace(errors=[error]), SimpleNamespace(errors=[])])
    spec.load_description = lambda path, perform_io_checks: SimpleNamespace(
        validation_summary=summary
    )
    assert validated(tmp_path / "rdf.yaml") == ("inputs.0.axes: too few",)


def test_the_extra_is_named_when_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "bioimageio.spec", None)
    with pytest.raises(ModelError, match=r"napari-onnxseg\[bioimageio\]"):
        validated(tmp_path / "rdf.yaml")
