"""Descriptions that are damaged or mean harm: one sentence, in bounded time and memory."""

from __future__ import annotations

import copy
import os
import random
import time
import zipfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import nets
import zoo
from foreign import package
from napari_onnxseg.cards import bioimageio_files
from napari_onnxseg.cards.add import add
from napari_onnxseg.cards.bioimageio_files import MOST_BYTES, is_offered, read_yaml
from napari_onnxseg.cards.catalog import list_models
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError, OnnxSegError
from zoo import op, step

STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    float("nan"),
    "",
    "x" * 300,
    "../../etc/passwd",
    [],
    [[]],
    {},
    {"source": []},
    [None, 1, "a"],
    {"": {"": ""}},
)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path / "models"))


@pytest.fixture
def network(tmp_path):
    return nets.one_channel(tmp_path / "network.onnx", sigmoid=False)


def fate(path: Path) -> str:
    """Return in what words a model was refused, if it was."""
    try:
        load_card(path)
    except OnnxSegError as error:
        return str(error)
    return "loaded"


def finished(steps: Generator[Any, None, Path]) -> Path:
    """Return what a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def spots(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every entry."""
    if path:
        yield path
    if isinstance(content, (dict, list)):
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in pairs:
            yield from spots(value, (*path, key))


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy with another value in one place."""
    fresh = copy.deepcopy(content)
    spot = fresh
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = value
    return fresh


@pytest.mark.parametrize("form", ["0.4", "0.5"])
def test_any_entry_may_be_anything(tmp_path, network, form):
    old = [
        step("zero_mean_unit_variance", mode="per_sample", axes="yx"),
        step("scale_range", mode="per_sample", axes="yx", min_percentile=1, max_percentile=99),
    ]
    new = [
        op("zero_mean_unit_variance", axes=["x", "y"]),
        op("scale_range", axes=["x", "y"], min_percentile=1.0),
        op("clip", min=0.0, max=1.0),
    ]
    x = np.zeros((1, 1, 64, 64), np.float32)
    post = [op("sigmoid")] if form == "0.5" else [step("sigmoid")]
    make, pre = (zoo.v05, new) if form == "0.5" else (zoo.v04, old)
    path = make(tmp_path / "net", network, pre=pre, post=post, tests=(x, [x]))
    content = yaml.safe_load(path.read_text())
    load_card(path)
    told: list[str] = []
    rng = random.Random(6)
    for place in spots(content):
        for value in rng.sample(STRANGE, 6):
            zoo.write(path, changed(content, place, value))
            told.append(fate(path))
    assert 100 < told.count("loaded") < len(told) - 100
    assert not [words for words in told if "\n" in words]


def test_any_byte_of_a_description_may_be_another(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network, post=[op("sigmoid")])
    text = path.read_bytes()
    rng = random.Random(7)
    refused = 0
    for _ in range(300):
        damaged = bytearray(text)
        for _ in range(rng.choice([1, 3, 20])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged[: rng.choice([len(text), rng.randrange(len(text))])])
        try:
            load_card(path)
        except OnnxSegError:
            refused += 1
    assert refused > 50


def test_any_byte_of_a_package_may_be_another(tmp_path, network):
    packed = zoo.zipped(zoo.v05(tmp_path / "net", network), tmp_path / "a.zip")
    data = packed.read_bytes()
    rng = random.Random(8)
    refused = 0
    for _ in range(200):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 4, 40])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        packed.write_bytes(damaged[: rng.choice([len(data), rng.randrange(len(data))])])
        is_offered(packed)
        try:
            load_card(packed)
        except OnnxSegError:
            refused += 1
    assert refused > 100


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "more than 100000 entries"),
        ("a: &a [*a]\n", "holds itself"),
        ("[" * 100_000, "not valid YAML"),
        ("a: " + "{a: " * 5000, "not valid YAML"),
        ("a: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
        ("a: !!python/name:os.system\n", "not valid YAML"),
        ("a: 2020-99-99\n", "not valid YAML"),
        ("? [a]\n: b\n", "not valid YAML"),
        ("- a\n", "no named entries"),
        ("1: a\n", "no named entries"),
        ("a: b\n---\na: c\n", "not valid YAML"),
        ("", "no named entries"),
        ("\x00", "not valid YAML"),
    ],
)
def test_yaml_that_means_harm_or_is_none_gets_one_sentence(tmp_path, text, words):
    path = tmp_path / "rdf.yaml"
    path.write_text(text)
    begun = time.process_time()
    with pytest.raises(ModelError, match=words):
        read_yaml(path)
    assert time.process_time() - begun < 20


def test_a_large_description_is_not_read(tmp_path):
    path = tmp_path / "rdf.yaml"
    path.write_bytes(b"a" * (MOST_BYTES + 1))
    with pytest.raises(ModelError, match="larger than 512 kB"):
        load_card(path)


def test_entries_may_be_shared_as_writers_of_yaml_do(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network, post=[op("sigmoid")])
    text = path.read_text().replace("authors:\n-", "authors:\n- &id001", 1)
    path.write_text(text + "maintainers:\n- *id001\n")
    assert load_card(path).origin.startswith("Ada Lovelace")


def test_a_zip_file_of_something_else_is_not_unpacked(tmp_path):
    path = package(tmp_path / "a.zip", {"photo.png": bytes(1_000_000)})
    with pytest.raises(ModelError, match="holds no description of a model"):
        load_card(path)
    assert not (tmp_path / "cache").exists()
    (tmp_path / "b.zip").write_bytes(b"no zip")
    with pytest.raises(ModelError, match="not a zip file"):
        load_card(tmp_path / "b.zip")


def test_a_folder_in_a_package_may_not_lead_outside(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network)
    os.replace(path.parent / "weights.onnx", tmp_path / "weights.onnx")
    (path.parent / "weights.onnx").symlink_to(tmp_path / "weights.onnx")
    with pytest.raises(ModelError, match="outside its own folder"):
        load_card(path)


def test_a_glance_needs_little(tmp_path):
    path = tmp_path / "large.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3000):
            archive.writestr(f"images/{number}.png", b"x")
    begun = time.process_time()
    assert not is_offered(path)
    assert time.process_time() - begun < 1
    assert not is_offered(tmp_path)
    assert bioimageio_files.is_offered(tmp_path / "none.yaml") is False


def test_a_folder_is_added_as_one_file_that_holds_what_is_needed(tmp_path, network):
    x = np.zeros((1, 1, 64, 64), np.float32)
    path = zoo.v05(tmp_path / "net", network, post=[op("sigmoid")], tests=(x, [x]))
    (path.parent / "weights.pt").write_bytes(bytes(1000))
    (path.parent / "LICENSE").write_text("MIT")
    place = finished(add(path.parent))
    assert place == tmp_path / "models" / "affable-shark.zip"
    with zipfile.ZipFile(place) as archive:
        assert sorted(archive.namelist()) == [
            "LICENSE",
            "README.md",
            "bioimageio.yaml",
            "test_input.npy",
            "test_output_0.npy",
            "weights.onnx",
        ]
    card = load_card("affable-shark")
    assert (card.name, card.task, card.path.name) == ("affable-shark", "semantic", "weights.onnx")
    assert "affable-shark" in [summary.name for summary in list_models()]
    assert finished(add(path)) == place


def test_a_card_beside_a_description_goes_with_it(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network)
    path.with_suffix(".json").write_text('{"format": 1, "title": "Mine"}')
    finished(add(path))
    assert load_card("affable-shark").title == "Mine"
