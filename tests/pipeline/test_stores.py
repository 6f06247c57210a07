"""Runs into stores on disk: the same answer, and nothing lost however a run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import zarr

import nets
from napari_onnxseg import segment_image
from napari_onnxseg.errors import ChoiceError, RunError
from napari_onnxseg.pipeline import log as log_module
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.journal import NAME
from napari_onnxseg.pipeline.semantic import segment
from napari_onnxseg.pipeline.shelf import aside

TESTS = Path(__file__).parents[1]
SHAPE = (2, 300, 340)
RULE = {"format": 1, "objects": {"method": "components", "inside": 1}}
CHOICES = {"tile": 96, "confidence": True, "objects": True}


def picture() -> np.ndarray:
    return np.random.default_rng(8).random(SHAPE, np.float32)


@pytest.fixture(scope="module")
def unet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nets")
    return nets.unet(folder / "unet.onnx", channels=1, depth=2, seed=3, card=RULE)


@pytest.fixture(autouse=True)
def noted_at_once(monkeypatch):
    monkeypatch.setattr(log_module, "EVERY_S", 0.0)


@pytest.fixture(scope="module")
def expected(unet):
    return segment_image(picture(), unet, **CHOICES)


def check_equal(store: Path, expected) -> None:
    for name in ("labels", "confidence", "objects"):
        path = store if name == "labels" else store.with_name(f"out-{name}.zarr")
        stored = zarr.open_array(str(path / "0"), mode="r")
        np.testing.assert_array_equal(stored[:], getattr(expected, name))
        assert stored.dtype == getattr(expected, name).dtype


@pytest.mark.parametrize("overlap", [None, 16])
def test_a_store_holds_what_memory_would_hold(tmp_path, unet, overlap):
    choices = {**CHOICES, "overlap": overlap}
    expected = segment_image(picture(), unet, **choices)
    found = segment_image(picture(), unet, store=tmp_path / "out.zarr", **choices)
    check_equal(tmp_path / "out.zarr", expected)
    assert found.record["pixels"] == expected.record["pixels"]
    np.testing.assert_array_equal(np.asarray(found.labels[:]), expected.labels)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out-confidence.zarr",
        "out-objects.zarr",
        "out.zarr",
    ]


def test_coarser_levels_are_complete(tmp_path, unet):
    image = np.random.default_rng(8).random((1300, 700), np.float32)
    segment_image(image, unet, store=tmp_path / "out.zarr", tile=256)
    group = zarr.open_group(str(tmp_path / "out.zarr"), mode="r")
    full, half = group["0"][:], group["1"][:]
    assert half.shape == (650, 350)
    flat = (full[::2, ::2] == full[1::2, ::2]) & (full[::2, ::2] == full[::2, 1::2])
    flat &= full[::2, ::2] == full[1::2, 1::2]
    np.testing.assert_array_equal(half[flat], full[::2, ::2][flat])


@pytest.mark.parametrize("overlap", [None, 16])
@pytest.mark.parametrize("steps", [2, 3, 9, 20])
def test_a_run_that_is_left_goes_on_to_the_same_answer(tmp_path, unet, overlap, steps):
    choices = {**CHOICES, "overlap": overlap}
    expected = segment_image(picture(), unet, **choices)
    store = tmp_path / "out.zarr"
    story = segment(picture(), SegmentJob(unet, store=store, **choices))
    for _ in range(steps):
        next(story)
    story.close()
    assert (aside(store) / NAME).is_file()
    story = segment(picture(), SegmentJob(unet, store=store, resume=True, **choices))
    first = next(step for step in story if step.stage == "statistics")
    assert first.done >= (0 if overlap else steps - 2)
    for _ in story:
        pass
    check_equal(store, expected)
    assert not aside(store).exists()


def test_a_resumed_run_counts_what_was_done_before(tmp_path, unet, expected):
    store = tmp_path / "out.zarr"
    story = segment(picture(), SegmentJob(unet, store=store, **CHOICES))
    for _ in range(12):
        next(story)
    story.close()
    found = segment_image(picture(), unet, store=store, resume=True, **CHOICES)
    assert found.record["pixels"] == expected.record["pixels"]


@pytest.fixture
def begun(tmp_path, unet):
    store = tmp_path / "out.zarr"
    story = segment(picture(), SegmentJob(unet, store=store, **CHOICES))
    for _ in range(12):
        next(story)
    story.close()
    return store


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tile": 128}, "'tile'"),
        ({"nodata": 0.0}, "'nodata' null, now it is 0.0"),
        ({"confidence": False}, "'confidence' true, now it is false"),
    ],
)
def test_another_job_is_refused_and_nothing_is_changed(begun, unet, change, words):
    before = {path: path.stat().st_mtime_ns for path in begun.parent.rglob("*") if path.is_file()}
    with pytest.raises(ChoiceError, match=words):
        segment_image(picture(), unet, store=begun, resume=True, **{**CHOICES, **change})
    assert before == {
        path: path.stat().st_mtime_ns for path in begun.parent.rglob("*") if path.is_file()
    }


def test_another_image_or_model_is_refused(begun, unet, tmp_path):
    changed = picture()
    changed[1, 200, 20] += 1
    with pytest.raises(ChoiceError, match="was begun with image"):
        segment_image(changed, unet, store=begun, resume=True, **CHOICES)
    other = nets.unet(tmp_path / "other.onnx", channels=1, depth=2, seed=4, card=RULE)
    with pytest.raises(ChoiceError, match="was begun with model 'sha256'"):
        segment_image(picture(), other, store=begun, resume=True, **CHOICES)


def test_a_store_that_is_taken_is_refused(begun, unet, tmp_path):
    with pytest.raises(ChoiceError, match=r"go on with it \(resume\)"):
        segment_image(picture(), unet, store=begun, **CHOICES)
    segment_image(picture(), unet, store=begun, resume=True, **CHOICES)
    with pytest.raises(ChoiceError, match="holds a result already"):
        segment_image(picture(), unet, store=begun, **CHOICES)
    with pytest.raises(ChoiceError, match="no run to go on with"):
        segment_image(picture(), unet, store=begun, resume=True, **CHOICES)
    with pytest.raises(ChoiceError, match=r"ends in .zarr"):
        segment_image(picture(), unet, store=tmp_path / "out.tif")
    with pytest.raises(ChoiceError, match="name the one it was begun in"):
        segment_image(picture(), unet, resume=True)


def test_a_full_disk_loses_nothing(tmp_path, unet, expected, monkeypatch):
    store = tmp_path / "out.zarr"
    real = log_module.Journal.tiles
    calls = []

    def full(journal, position, numbers):
        calls.append(numbers)
        if len(calls) == 5:
            raise RunError("no room")
        real(journal, position, numbers)

    monkeypatch.setattr(log_module.Journal, "tiles", full)
    with pytest.raises(RunError, match="no room"):
        segment_image(picture(), unet, store=store, **CHOICES)
    segment_image(picture(), unet, store=store, resume=True, **CHOICES)
    check_equal(store, expected)


def test_a_power_cut_between_data_and_journal_loses_nothing(begun, unet, expected):
    journal = aside(begun) / NAME
    journal.write_bytes(journal.read_bytes()[:-7])  # the last line did not reach the disk
    (begun / "0" / "c" / "9.partial").parent.mkdir(parents=True, exist_ok=True)
    segment_image(picture(), unet, store=begun, resume=True, **CHOICES)
    check_equal(begun, expected)


CHILD = """
import json, sys
from pathlib import Path
import numpy as np
from napari_onnxseg.pipeline import log
from napari_onnxseg.pipeline.journal import NAME
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.semantic import segment
from napari_onnxseg.pipeline.shelf import aside

log.EVERY_S = float(sys.argv[3])
model, store = Path(sys.argv[1]), Path(sys.argv[2])
image = np.random.default_rng(8).random((2, 300, 340), np.float32)
resume = (aside(store) / NAME).exists()
job = SegmentJob(model, store=store, resume=resume, tile=96, confidence=True, objects=True)
for step in segment(image, job):
    print(step.done, flush=True)
print("end", flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_to_the_same_answer(tmp_path, unet, expected):
    rng = np.random.default_rng(11)
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    kills = ends = 0
    while kills < 20:
        store = tmp_path / f"{ends}" / "out.zarr"
        store.parent.mkdir(exist_ok=True)
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(unet), str(store), str(rng.choice([0, 0.05]))],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        child.stdout.readline()
        time.sleep(rng.uniform(0, 0.4))
        child.send_signal(signal.SIGKILL)
        out, faults = child.communicate(timeout=60)
        assert child.returncode in (0, -signal.SIGKILL), faults
        kills += child.returncode != 0
        if "end" in out:
            check_equal(store, expected)
            ends += 1
    if (aside(store) / NAME).exists():
        segment_image(picture(), unet, store=store, resume=True, **CHOICES)
    check_equal(store, expected)
