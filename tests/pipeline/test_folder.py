"""Many images: resume, faults, order and three doors, with real files and tiny nets."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import nets
from folders import UNIT, results
from napari_onnxseg import matte_folder, segment_folder, segment_image
from napari_onnxseg.arrays import atomic as atomic_module
from napari_onnxseg.arrays.files import read_labels
from napari_onnxseg.cli import app
from napari_onnxseg.errors import ChoiceError, FileFormatError, OutOfMemoryError
from napari_onnxseg.pipeline import folder_crew
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.folder_ledger import LEDGER
from napari_onnxseg.pipeline.folder_segment import Segmenting


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    """Return a model of two classes that cuts at half of the full range."""
    return nets.two_class(tmp_path / "halves.onnx", card=UNIT)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Return a folder of 12 pictures, in folders in folders, with names of several scripts."""
    names = [f"plate {n}/well_{m:02}.png" for n in (1, 2) for m in range(5)]
    random = np.random.default_rng(11)
    for name in (*names, "Zellkerne µm.png", "plate 1/deep/細胞.png"):
        path = tmp_path / "many" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (48, 56), dtype=np.uint8)).save(path)
    return tmp_path / "many"


def rows(summary: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    return list(csv.DictReader(summary.read_text(encoding="utf-8").splitlines()))


def run(inputs: Any, out: Path, model: Path, **more: Any) -> list[Any]:
    """Work through a folder and return the outcomes."""
    return list(segment_folder(inputs, out, model, **more))


def test_folders_are_kept_and_outcomes_come_in_order(many, halves, tmp_path):
    outcomes = run(many, tmp_path / "out", halves, at_once=3)
    assert [o.status for o in outcomes] == ["done"] * 12
    assert [o.source.relative_to(many).as_posix() for o in outcomes] == [
        "Zellkerne µm.png",
        *(f"plate 1/well_{m:02}.png" for m in range(5)),
        "plate 1/deep/細胞.png",
        *(f"plate 2/well_{m:02}.png" for m in range(5)),
    ]
    for outcome in outcomes:
        target = tmp_path / "out" / outcome.source.relative_to(many)
        assert outcome.outputs == {"labels": target}
        expected = segment_image(np.asarray(Image.open(outcome.source)), halves).labels
        np.testing.assert_array_equal(read_labels(target).data, expected)


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_any_number_at_once_gives_the_same_files(many, halves, tmp_path, at_once):
    run(many, tmp_path / "one", halves)
    run(many, tmp_path / "out", halves, at_once=at_once)
    assert results(tmp_path / "out") == results(tmp_path / "one")


def test_a_pattern_picks_by_name_or_by_path(many, halves, tmp_path):
    by_name = run(many, tmp_path / "a", halves, pattern="WELL_0[01].png")
    assert len(by_name) == 4
    by_path = run(many, tmp_path / "b", halves, pattern="plate 2/*.png")
    assert {o.source.parent.name for o in by_path} == {"plate 2"}
    with pytest.raises(ChoiceError, match=r"fits '\*\.tif'"):
        segment_folder(many, tmp_path / "c", halves, pattern="*.tif")


def test_hidden_files_and_results_are_named_and_skipped(many, halves, tmp_path):
    (many / ".DS_Store").write_bytes(b"x")
    run(many, many / "out", halves, pattern="*.png")
    before = results(many / "out")
    again = run(many, many / "out", halves, overwrite=True)
    assert [(o.source.name, o.error) for o in again if o.status == "skipped"] == [
        (".DS_Store", "hidden"),
        ("out", "the folder of results"),
    ]
    assert results(many / "out") == before
    elsewhere = run(many, tmp_path / "other", halves)
    assert ("out", "a result of an earlier run") in [(o.source.name, o.error) for o in elsewhere]


def test_results_beside_their_images_are_not_taken_for_images(many, halves):
    first = run(many, many, halves, name="{stem}-{model}")
    assert len(first) == 12
    again = run(many, many, halves, name="{stem}-{model}", resume=True)
    assert {o.error for o in again} == {"done before", "a result of an earlier run"}


def test_results_that_are_there_are_refused_before_the_run(many, halves, tmp_path):
    run(many, tmp_path / "out", halves)
    with pytest.raises(ChoiceError, match=r"11 more exists already.*--resume.*--overwrite"):
        segment_folder(many, tmp_path / "out", halves)
    (tmp_path / "out" / LEDGER).unlink()
    with pytest.raises(ChoiceError, match="no run is remembered"):
        segment_folder(many, tmp_path / "out", halves, resume=True)


def test_resume_keeps_what_is_whole_and_makes_the_rest_anew(many, halves, tmp_path):
    out = tmp_path / "out"
    run(many, out, halves, summary=tmp_path / "first.csv")
    whole = results(out)
    (out / "plate 1/well_00.png").unlink()
    torn = out / "plate 1/well_01.png"
    torn.write_bytes(torn.read_bytes()[:40])
    changed = many / "plate 1/well_02.png"
    os.utime(changed, ns=(1, 1))
    again = run(many, out, halves, resume=True, summary=tmp_path / "second.csv")
    done = [o.source.name for o in again if o.status == "done"]
    assert done == ["well_00.png", "well_01.png", "well_02.png"]
    assert results(out) == whole

    first, second = (rows(tmp_path / f"{name}.csv") for name in ("first", "second"))
    assert list(first[0])[:6] == ["input", "status", "reason", "files", "seconds", "device"]
    counted = [name for name in first[0] if name.endswith(("pixels", "share"))]
    assert len(counted) == 4
    assert {r["input"]: [r[n] for n in counted] for r in first} == {
        r["input"]: [r[n] for n in counted] for r in second
    }


def test_resume_with_another_choice_is_refused_and_says_which(many, halves, tmp_path):
    run(many, tmp_path / "out", halves, nodata=3)
    with pytest.raises(ChoiceError, match="nodata was 3, now not chosen"):
        segment_folder(many, tmp_path / "out", halves, resume=True)
    run(many, tmp_path / "out", halves, nodata=3, resume=True, workers=1, device="cpu")


def test_one_bad_file_of_fifty_is_told_and_stops_nothing(halves, tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(50):
        np.save(tmp_path / "in" / f"{number:02}.npy", np.full((20, 20), number, np.uint8))
    (tmp_path / "in" / "17.npy").write_bytes(b"\x93NUMPY torn")
    outcomes = run(tmp_path / "in", tmp_path / "out", halves, at_once=4)
    assert [o.source.name for o in outcomes if o.status == "failed"] == ["17.npy"]
    assert isinstance(outcomes[17].fault, FileFormatError)
    assert len(results(tmp_path / "out")) == 49
    again = run(tmp_path / "in", tmp_path / "out", halves, resume=True)
    assert [o.status for o in again if o.error != "done before"] == ["failed"]


def test_a_cancelled_run_leaves_the_rest_and_goes_on_later(many, halves, tmp_path):
    cancel, seen = Cancel(), []
    for outcome in segment_folder(many, tmp_path / "out", halves, cancel=cancel):
        seen.append(outcome)
        cancel.set()
    assert len(seen) == 12
    assert seen[0].status == "done"
    assert {o.status for o in seen[-3:]} == {"skipped"}
    run(many, tmp_path / "out", halves, resume=True)
    run(many, tmp_path / "whole", halves)
    assert results(tmp_path / "out") == results(tmp_path / "whole")


KILLED = """
import os, sys
from pathlib import Path
from napari_onnxseg import segment_folder
after = int(sys.argv[4])
for number, outcome in enumerate(segment_folder(*sys.argv[1:4], at_once=2, resume=True,
                                                summary="all.json")):
    print(outcome.status, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_killed_run_goes_on_to_the_same_files(many, halves, tmp_path, after):
    words = [sys.executable, "-c", KILLED, str(many), "out", str(halves), str(after)]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE)
    for _ in range(after):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    rows = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert len(rows) >= after
    torn = tmp_path / "out" / LEDGER
    torn.write_bytes(torn.read_bytes() + b'0000beef {"fact": "ima')
    run(many, tmp_path / "out", halves, resume=True)
    run(many, tmp_path / "whole", halves)
    left = {k: v for k, v in results(tmp_path / "out").items() if not k.endswith(".part")}
    assert left == results(tmp_path / "whole")


def test_a_full_disk_fails_the_images_in_a_sentence(many, halves, tmp_path, monkeypatch):
    real = atomic_module.os.replace

    def full(source: Any, target: Any) -> None:
        if str(target).endswith("well_03.png"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(atomic_module.os, "replace", full)
    outcomes = run(many, tmp_path / "out", halves)
    failed = [o for o in outcomes if o.status == "failed"]
    assert [o.source.name for o in failed] == ["well_03.png"] * 2
    assert all("No space left" in o.error and "\n" not in o.error for o in failed)
    monkeypatch.undo()
    assert [o.status for o in run(many, tmp_path / "out", halves, resume=True)].count("done") == 2


def test_a_place_that_takes_no_results_is_refused_before_the_run(many, halves, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises((FileFormatError, ChoiceError), match="out"):
        segment_folder(many, tmp_path / "out", halves)
    if os.geteuid():
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(FileFormatError, match="closed"):
            segment_folder(many, tmp_path / "closed", halves)


def test_a_large_image_runs_alone_and_says_so(halves, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_crew, "BUDGET_BYTES", 400_000)
    (tmp_path / "in").mkdir()
    for name, side in {"a": 20, "b": 400, "c": 20, "d": 20}.items():
        np.save(tmp_path / "in" / f"{name}.npy", np.zeros((side, side), np.uint8))
    outcomes = run(tmp_path / "in", tmp_path / "out", halves, at_once=4)
    alone = [folder_crew.LARGE_WORDS in o.notes for o in outcomes]
    assert alone == [False, True, False, False]


def test_an_image_that_does_not_fit_beside_others_is_tried_alone(
    many, halves, tmp_path, monkeypatch
):
    real, tried = Segmenting.story, []

    def story(self: Any, image: Any, cancel: Any, workers: int | None = None) -> Any:
        tried.append(workers)
        if len(tried) == 3:
            raise OutOfMemoryError("too much")
        return real(self, image, cancel, workers)

    monkeypatch.setattr(Segmenting, "story", story)
    outcomes = run(many, tmp_path / "out", halves, at_once=2)
    assert [o.status for o in outcomes] == ["done"] * 12
    assert len(tried) == 13


def test_a_zarr_store_counts_as_one_image(halves, tmp_path):
    import zarr

    (tmp_path / "in" / "deeper").mkdir(parents=True)
    pixels = np.random.default_rng(5).integers(0, 256, (40, 44), dtype=np.uint8)
    zarr.save_array(str(tmp_path / "in" / "deeper" / "a.zarr"), pixels)
    (outcome,) = run(tmp_path / "in", tmp_path / "out", halves)
    assert outcome.outputs["labels"] == tmp_path / "out" / "deeper" / "a.tif"
    expected = segment_image(pixels, halves).labels
    np.testing.assert_array_equal(read_labels(outcome.outputs["labels"]).data, expected)


def test_the_command_line_and_python_write_the_same_files(many, halves, tmp_path):
    run(many, tmp_path / "python", halves, name="{index:03}-{stem}")
    words = ["segment", str(many), "-m", str(halves), "-o", str(tmp_path / "typed")]
    done = CliRunner().invoke(app, [*words, "--name", "{index:03}-{stem}", "--at-once", "2"])
    assert done.exit_code == 0, done.output
    assert results(tmp_path / "typed") == results(tmp_path / "python")


def test_cut_outs_go_the_same_way(many, tmp_path):
    card = {**UNIT, "task": "matting", "output": {"scores": "probabilities"}}
    model = nets.saliency(tmp_path / "subject.onnx", card=card)
    summary = tmp_path / "cut.json"
    outcomes = list(matte_folder(many, tmp_path / "out", model, summary=summary, at_once=2))
    assert {o.status for o in outcomes} == {"done"}
    rows = json.loads(summary.read_text(encoding="utf-8"))
    assert [row["input"] for row in rows] == [str(o.source) for o in outcomes]
    assert all(0 <= row["subject share"] <= 1 for row in rows)


def test_a_summary_knows_areas_where_the_pixel_size_is_known(halves, tmp_path):
    import tifffile

    pixels = np.zeros((20, 30), np.uint8)
    pixels[:, :10] = 255
    path = tmp_path / "a.ome.tif"
    meta = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "µm"}
    tifffile.imwrite(
        path, pixels, ome=True, metadata={**meta, "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "µm"}
    )
    (outcome,) = run(path, tmp_path / "out", halves)
    (name,) = [n for n in outcome.row if n.endswith("pixels") and outcome.row[n] == 200]
    assert outcome.row[name.replace("pixels", "area")] == 50.0
    assert outcome.row["area unit"] == "micrometer²"
