import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import nets
from napari_onnxseg.pipeline.folder_ledger import LEDGER


@pytest.fixture
def mixed(tmp_path: Path, grey: np.ndarray) -> Path:
    """Return a folder of five pictures, a text, a torn PNG, a dot-file and a folder."""
    folder = tmp_path / "mixed"
    (folder / "deeper").mkdir(parents=True)
    for name in ("c.png", "a.png", "b.tif", "e.jpg", "deeper/no.png"):
        Image.fromarray(grey).save(folder / name)
    np.save(folder / "d.npy", grey)
    (folder / "notes.txt").write_text("not a picture")
    (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    (folder / "torn.png").write_bytes((folder / "a.png").read_bytes()[:300])
    return folder


def written(folder: Path | str) -> list[str]:
    """Return the results in a folder, without the ledger."""
    files = (path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if path.name != LEDGER)


def test_a_bad_file_never_stops_the_rest(onnxseg, halves, mixed) -> None:
    done = onnxseg("segment", mixed, "-m", halves, "-o", "out", "--json")
    assert done.exit_code == 1
    assert [done.json[status] for status in ("done", "failed", "skipped")] == [6, 1, 2]
    by_name = {Path(r["input"]).name: r for r in done.json["results"]}
    assert by_name["torn.png"]["status"] == "failed"
    assert by_name["notes.txt"]["reason"] == "not an image"
    assert written("out") == ["a.png", "b.tif", "c.png", "d.npy", "deeper/no.png", "e.png"]


def test_what_is_no_picture_is_named_and_counted(onnxseg, halves, mixed) -> None:
    done = onnxseg("segment", mixed, "-m", halves, "-o", "out")
    assert "6 done, 1 failed, 2 skipped" in done.stderr
    assert "notes.txt" in done.stderr
    assert "torn.png" in done.stderr
    assert len(done.stdout.splitlines()) == 6


def test_skipped_files_alone_are_no_failure(onnxseg, halves, mixed) -> None:
    (mixed / "torn.png").unlink()
    assert onnxseg("segment", mixed, "-m", halves, "-o", "out").exit_code == 0


def test_a_named_file_that_is_no_picture_fails(onnxseg, halves, mixed) -> None:
    words = (mixed / "a.png", mixed / "notes.txt", "-m", halves, "-o", "out", "--json")
    done = onnxseg("segment", *words)
    assert done.exit_code == 1
    assert [r["status"] for r in done.json["results"]] == ["done", "failed"]


def test_a_folder_without_pictures_is_wrong_usage(onnxseg, halves, tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    done = onnxseg("segment", "empty", "-m", halves, "-o", "out")
    assert done.exit_code == 2
    assert "empty" in done.stderr


def test_a_chosen_format_holds_for_the_whole_folder(onnxseg, halves, mixed) -> None:
    onnxseg("segment", mixed, "-m", halves, "-o", "out", "--format", "npy")
    assert {Path(name).suffix for name in written("out")} == {".npy"}


def test_a_note_that_holds_for_every_image_is_told_once(onnxseg, tmp_path, mixed) -> None:
    bare = nets.two_class(tmp_path / "bare.onnx")
    done = onnxseg("segment", mixed, "-m", bare, "-o", "out")
    notes = [line for line in done.stderr.splitlines() if line.startswith("note")]
    assert notes
    assert len(notes) == len(set(notes))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_the_run_and_leaves_no_half_file(tmp_path: Path, mixed: Path) -> None:
    slow = nets.slow(tmp_path / "slow.onnx")
    np.save(tmp_path / "a.npy", np.zeros((40, 50), np.uint8))
    np.save(tmp_path / "b.npy", np.zeros((6000, 6000), np.uint8))
    np.save(tmp_path / "c.npy", np.zeros((40, 50), np.uint8))
    words = ("segment", "a.npy", "b.npy", "c.npy", "-m", slow, "-o", "out", "--json")
    process = subprocess.Popen(
        [sys.executable, "-m", "napari_onnxseg", *map(str, words)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / "a.npy").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert time.monotonic() - asked < 5
    assert [r["status"] for r in json.loads(stdout)["results"]] == ["done", "failed", "skipped"]
    assert written(tmp_path / "out") == ["a.npy"]


def test_an_unknown_device_is_wrong_usage_and_told_once(onnxseg, halves, mixed) -> None:
    done = onnxseg("segment", mixed, "-m", halves, "-o", "out", "-d", "toaster")
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert "'toaster' is not a device" in done.stderr
    assert onnxseg("matte", mixed, "-o", "out", "--device", "cpu:1").exit_code == 2


def test_a_plan_is_told_when_it_is_another_than_before(onnxseg, halves, tmp_path) -> None:
    for name, side in {"a": 20, "b": 20, "c": 30, "d": 20}.items():
        np.save(tmp_path / f"{name}.npy", np.zeros((side, side), np.uint8))
    names = [f"{name}.npy" for name in "abcd"]
    done = onnxseg("segment", *names, "-m", halves, "-o", "out")
    plans = [line for line in done.stderr.splitlines() if line.startswith("plan")]
    assert [line.split("of ")[1][:2] for line in plans] == ["20", "30", "20"]


def test_a_model_for_volumes_is_wrong_usage(onnxseg, tmp_path, mixed) -> None:
    volumes = nets.echo(tmp_path / "volumes.onnx", layout="NCDHW", sides=(16, 32, 32))
    done = onnxseg("segment", mixed / "a.png", "-m", volumes, "-o", "out")
    assert done.exit_code == 2
    assert "takes volumes" in done.stderr
    assert "only models for planes can be run" in done.stderr
