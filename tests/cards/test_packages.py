import io
import os
import stat
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from foreign import czann, czseg, linear, package
from napari_onnxseg.cards import packages
from napari_onnxseg.cards.packages import cache_folder, unpack
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError, ModelNotFoundError, OnnxSegError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def left_in(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def crafted(path: Path, entries: Iterator[tuple[zipfile.ZipInfo, bytes]]) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")  # names that are there twice
        for info, content in entries:
            archive.writestr(info, content)
    return path


def test_a_package_is_unpacked_with_its_folders(tmp_path, cache):
    path = package(tmp_path / "a.zip", {"x.txt": "one", "deep/er/y.txt": "two"})
    folder = unpack(path)
    assert folder.parent.parent == cache
    assert (folder / "x.txt").read_text() == "one"
    assert (folder / "deep" / "er" / "y.txt").read_text() == "two"


def test_the_folder_goes_by_the_content_and_not_by_the_name(tmp_path):
    one = package(tmp_path / "a.zip", {"x": "1"})
    other = package(tmp_path / "b.zip", {"x": "2"})
    assert unpack(one) != unpack(other)
    (tmp_path / "c.zip").write_bytes(one.read_bytes())
    assert unpack(tmp_path / "c.zip") == unpack(one)


def test_an_earlier_copy_is_used_and_a_changed_one_made_again(tmp_path):
    path = package(tmp_path / "a.zip", {"x": "good"})
    file = unpack(path) / "x"
    before = file.stat().st_ino, file.stat().st_mtime_ns
    assert ((unpack(path) / "x").stat().st_ino, file.stat().st_mtime_ns) == before
    file.write_text("evil")
    assert (unpack(path) / "x").read_text() == "good"
    file.unlink()
    assert (unpack(path) / "x").read_text() == "good"


def test_a_package_that_changes_under_its_name_is_unpacked_anew(tmp_path):
    path = package(tmp_path / "a.zip", {"x": "old"})
    unpack(path)
    package(path, {"x": "newer"})
    assert (unpack(path) / "x").read_text() == "newer"


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "a/../../x",
        "/etc/x",
        "\\x",
        "..\\x",
        "C:\\x",
        "C:x",
        "a\nb",
        "a:b",
        "x.",
        "x /y",
        "*",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, cache, name):
    info = zipfile.ZipInfo("placeholder")
    info.filename = info.orig_filename = name
    path = crafted(tmp_path / "a.zip", iter([(zipfile.ZipInfo("good"), b"1"), (info, b"2")]))
    with pytest.raises(ModelError, match="not unpacked"):
        unpack(path)
    assert not left_in(cache)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices_are_refused(tmp_path, cache, kind):
    info = zipfile.ZipInfo("link")
    info.create_system, info.external_attr = 3, (kind | 0o777) << 16
    with pytest.raises(ModelError, match="link or a device"):
        unpack(crafted(tmp_path / "a.zip", iter([(info, b"/etc/passwd")])))
    assert not left_in(cache)


@pytest.mark.parametrize(
    "names",
    [("x", "x"), ("x", "X"), ("a/x", "A/x"), ("e\u0301", "\u00e9"), ("a", "a/b"), ("a/b/c", "a/b")],
)
def test_a_name_that_is_there_twice_on_some_system_is_refused(tmp_path, cache, names):
    entries = ((zipfile.ZipInfo(name), b"1") for name in names)
    with pytest.raises(ModelError, match=r"twice|as a file and as a folder"):
        unpack(crafted(tmp_path / "a.zip", entries))
    assert not left_in(cache)


def test_an_encrypted_package_is_refused(tmp_path):
    path = package(tmp_path / "a.zip", {"x": "1"})
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match="encrypted"):
        unpack(path)


def test_an_unusual_compression_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x", "1")
    with pytest.raises(ModelError, match="unusual"):
        unpack(tmp_path / "a.zip")


def test_a_bomb_is_refused_by_what_it_declares(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(packages, "HARMLESS_BYTES", 1000)
    path = package(tmp_path / "a.zip", {"x": bytes(1_000_000)})
    with pytest.raises(ModelError, match="would unpack to 1,000,000 bytes"):
        unpack(path)
    assert not left_in(cache)


def test_a_package_may_hold_weights_that_compress_well(tmp_path):
    assert (unpack(package(tmp_path / "a.zip", {"x": bytes(5_000_000)})) / "x").stat().st_size


@pytest.mark.parametrize("declared", [10, 100_000])
def test_a_size_that_is_not_the_declared_one_is_refused(tmp_path, cache, declared):
    path = package(tmp_path / "a.zip", {"x": bytes(50_000)})
    data = bytearray(path.read_bytes())
    for place in (22, data.index(b"PK\x01\x02") + 24):
        data[place : place + 4] = declared.to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(ModelError):
        unpack(path)
    assert not left_in(cache)


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "MOST_FILES", 3)
    with pytest.raises(ModelError, match="4 files"):
        unpack(package(tmp_path / "a.zip", dict.fromkeys("abcd", "1")))


def test_nothing_is_left_when_unpacking_stops_half_way(tmp_path, cache):
    path = package(tmp_path / "a.zip", {"good": b"1" * 1000, "bad": os.urandom(1000)})
    data = bytearray(path.read_bytes())
    start = data.index(b"bad")
    data[start + 500] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ModelError, match="damaged"):
        unpack(path)
    assert not left_in(cache)
    assert not any((cache / "packages").iterdir())


def test_what_is_no_package_gets_one_sentence(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(ModelError, match="not a zip file"):
        unpack(tmp_path / "a.zip")
    with pytest.raises(ModelNotFoundError):
        unpack(tmp_path / "b.zip")


def test_a_cache_that_cannot_be_written_gets_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="ONNXSEG_CACHE"):
        unpack(package(tmp_path / "a.zip", {"x": "1"}))


def test_the_cache_follows_the_system(monkeypatch, tmp_path):
    monkeypatch.delenv("ONNXSEG_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "napari-onnxseg"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder().parts[-3:] == ("Library", "Caches", "napari-onnxseg")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert cache_folder() == tmp_path / "napari-onnxseg" / "cache"


XML = (
    '<Model Version="3.1.0"><Channels><Item PixelType="Bgr24"/></Channels><TrainingClasses>'
    '<Item Name="a" LabelValue="1" colR="1" colG="2" colB="3"/></TrainingClasses>'
    "<BorderSize>8</BorderSize></Model>"
)
METADATA = {
    "onnxseg.card": '{"format": 1, "classes": [{"id": 0, "name": "a", "colour": null}]}',
    "model_type": '"Segmentor"',
    "class_names": "{0: 'a', 1: 'b'}",
    "tiles_overlap": "11",
    "model_info labels": "a b c",
    "model_info mean_values": "1 2 3",
    "model_info scale_values": "1 2 3",
}
SIDECARS = {
    "config.json": '{"architectures": ["XForSemanticSegmentation"], "id2label": {"0": "a"}}',
    "preprocessor_config.json": '{"image_mean": [0.5], "image_std": [0.5], "size": {"height": 8}}',
    "dataset.json": '{"labels": {"background": 0, "a": 1}, "numTraining": 2}',
    "plans.json": '{"configurations": {"2d": {"spacing": [1, 1], "patch_size": [8, 8]}}}',
    "metadata.json": '{"monai_version": "1", "network_data_format": {"outputs": {"pred": {}}}}',
}


def stored(path: Path) -> bytes:
    """Write a package anew without compression, so that damage reaches what is inside."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return out.getvalue()


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Change, drop, double or cut some bytes."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(len(out)))
        kind = int(rng.integers(5))
        if kind == 0:
            out[place] = int(rng.integers(256))
        elif kind == 1:
            out[place] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del out[place : place + int(rng.integers(1, 9))]
        elif kind == 3:
            out[place:place] = out[place : place + int(rng.integers(1, 9))]
        else:
            out[place] = int(rng.choice(list(b'\x00\xff"{}[]<>:,-9')))
        if len(out) < 2:
            break
    return bytes(out[: len(out) // 2] if rng.random() < 0.05 else out)


def survives(path: Path) -> None:
    """Read a model; only our own faults may come out."""
    with suppress(OnnxSegError):
        load_card(path)


def members_damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage the descriptions inside a package, and keep the package whole."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            told = name.endswith((".json", ".xml"))
            new.writestr(name, damaged(content, rng) if told else content)
    return out.getvalue()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["czann", "czseg"])
@pytest.mark.parametrize("damage", [damaged, members_damaged])
def test_a_damaged_package_gives_a_card_or_one_sentence(tmp_path, kind, seed, damage):
    network = linear(tmp_path / "n.onnx", layout="NHWC", sides=(16, 16))
    path = tmp_path / f"a.{kind}"
    whole = czann(path, network) if kind == "czann" else czseg(path, network, XML)
    data, rng = stored(whole), np.random.default_rng(seed)
    for number in range(25):
        victim = tmp_path / f"v{number}.{kind}"
        victim.write_bytes(damage(data, rng))
        survives(victim)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_model_file_gives_a_card_or_one_sentence(tmp_path, seed):
    data = linear(tmp_path / "n.onnx", sides=(16, 16), metadata=METADATA).read_bytes()
    rng = np.random.default_rng(100 + seed)
    for number in range(25):
        victim = tmp_path / f"v{number}.onnx"
        victim.write_bytes(damaged(data, rng))
        survives(victim)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_metadata_gives_a_card_or_one_sentence(tmp_path, seed):
    rng = np.random.default_rng(200 + seed)
    for number in range(15):
        texts = {
            key: damaged(text.encode(), rng).decode("utf-8", "replace")
            for key, text in METADATA.items()
            if rng.random() < 0.7
        }
        survives(linear(tmp_path / f"v{number}.onnx", sides=(16, 16), metadata=texts))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_beside_a_model_give_a_card_or_one_sentence(tmp_path, seed):
    rng = np.random.default_rng(300 + seed)
    path = linear(tmp_path / "a.onnx", sides=(16, 16))
    for _ in range(15):
        for name, text in SIDECARS.items():
            (tmp_path / name).write_bytes(damaged(text.encode(), rng))
        survives(path)
