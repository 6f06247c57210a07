import json
import os
import subprocess
import sys
from dataclasses import replace

import onnx
import pytest

import nets
from bad_exports import BAD, FIXED, WELL, export
from bad_layers import up_to_size


@pytest.fixture
def traced(tmp_path):
    """Return a network that was exported at one size."""
    return export(tmp_path / "traced.onnx", replace(WELL, dims=FIXED, up=up_to_size))


def test_a_sound_model_passes(onnxseg, tmp_path):
    done = onnxseg("models", "check", nets.unet(tmp_path / "a.onnx"))
    assert done.exit_code == 0
    assert "a.onnx: no errors, no warnings." in done.stdout
    assert "INFO geometry: Total downsampling 4 px" in done.stdout


def test_errors_are_shown_first_with_meaning_and_how_to_export_again(onnxseg, tmp_path):
    bad = BAD["norm in training"]
    path = bad.write(tmp_path / "a.onnx", bad.plan)
    done = onnxseg("models", "check", path)
    assert done.exit_code == 1
    first = done.stdout.split("\n\n")[0]
    assert first.startswith("ERROR norm-training: In training mode: BatchNormalization")
    assert "    Each tile is normalised by its own mean" in first
    assert "net.eval()" in first
    assert "onnxseg models mend" in first
    assert "net.eval()" not in onnxseg("models", "check", path, "--brief").stdout


def test_findings_can_be_read_by_a_program(onnxseg, traced):
    found = onnxseg("models", "check", traced, "--json").json
    assert found["ok"] is True
    codes = {finding["code"]: finding for finding in found["findings"]}
    assert codes["sides-fixed"]["severity"] == "warning"
    assert codes["sides-fixed"]["mendable"] is True


def test_a_model_is_mended_and_compared(onnxseg, traced, tmp_path):
    done = onnxseg("models", "mend", traced, "-o", tmp_path / "free.onnx")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "done: freed the batch and the sides",
        "Largest difference of scores to the original: 0; 0 of 4096 labels differ; "
        "runs at 2 pictures of 128 x 64 px too.",
        "free.onnx: no errors, no warnings.",
    ]


def test_what_was_mended_can_be_read_by_a_program(onnxseg, traced, tmp_path):
    words = ("models", "mend", traced, "-o", tmp_path / "b.onnx", "--keep-batch", "--json")
    told = onnxseg(*words).json
    assert told["done"] == ["freed the sides"]
    assert told["comparison"]["difference"] == 0
    assert told["report"]["ok"] is True


def test_what_is_asked_for_and_cannot_be_proven_is_wrong_usage(onnxseg, tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, opset=10))
    done = onnxseg("models", "mend", path, "-o", tmp_path / "b.onnx", "--resize", "half_pixel")
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "b.onnx").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--layout", "NCYX"),
        ("--activation", "relu"),
        ("--weights", "away"),
        ("--keep", "no-such-output"),
    ],
)
def test_unknown_words_are_wrong_usage(onnxseg, traced, tmp_path, words):
    done = onnxseg("models", "mend", traced, "-o", tmp_path / "b.onnx", *words)
    assert done.exit_code == 2
    assert not (tmp_path / "b.onnx").exists()


def test_the_original_is_never_the_copy(onnxseg, traced):
    before = traced.read_bytes()
    assert onnxseg("models", "mend", traced, "-o", traced).exit_code == 2
    assert traced.read_bytes() == before


def test_a_card_is_checked_and_embedded(onnxseg, traced, tmp_path):
    card = tmp_path / "card.json"
    card.write_text(json.dumps({"format": 1, "name": "cells"}))
    done = onnxseg("models", "mend", traced, "-o", tmp_path / "b.onnx", "--card", card)
    assert "done: embedded the card" in done.stdout
    (entry,) = onnx.load(tmp_path / "b.onnx").metadata_props
    assert (entry.key, json.loads(entry.value)["name"]) == ("onnxseg.card", "cells")
    card.write_text(json.dumps({"format": 1, "colour": "red"}))
    refused = onnxseg("models", "mend", traced, "-o", tmp_path / "c.onnx", "--card", card)
    assert "'colour' is not an entry of 'card'" in refused.stderr
    gone = onnxseg("models", "mend", traced, "-o", tmp_path / "c.onnx", "--card", "gone.json")
    assert gone.exit_code == 2


def test_what_was_left_is_said(onnxseg, tmp_path):
    bad = BAD["instance norm"]
    path = bad.write(tmp_path / "a.onnx", replace(bad.plan, dims=FIXED, up=up_to_size))
    done = onnxseg("models", "mend", path, "-o", tmp_path / "b.onnx")
    assert "1 warning." in done.stdout
    assert onnxseg("models", "check", tmp_path / "b.onnx").exit_code == 0


@pytest.mark.parametrize("verb", [("check",), ("mend", "-o", "out.onnx")])
def test_a_file_that_is_not_there_is_wrong_usage(onnxseg, verb):
    done = onnxseg("models", *verb, "gone.onnx")
    assert done.exit_code == 2
    assert "gone.onnx" in done.stderr


def test_a_model_for_volumes_is_an_error(onnxseg, tmp_path):
    path = nets.echo(tmp_path / "a.onnx", layout="NCDHW", sides=(16, 32, 32))
    done = onnxseg("models", "check", path)
    assert done.exit_code == 1
    assert "ERROR takes-volumes: The model takes volumes" in done.stdout


@pytest.mark.parametrize(
    "card",
    [
        {"format": 1, "colour": "red"},
        {"format": 1, "sha256": "0" * 64},
        {"format": 1, "output": {"name": "no-such-output"}},
    ],
)
def test_a_broken_card_beside_the_file_is_an_error(onnxseg, tmp_path, card):
    path = nets.unet(tmp_path / "a.onnx")
    assert onnxseg("models", "check", path).exit_code == 0
    (tmp_path / "a.json").write_text(json.dumps(card))
    found = onnxseg("models", "check", path, "--json")
    assert found.exit_code == 1
    first = found.json["findings"][0]
    assert (first["severity"], first["code"]) == ("error", "card")
    assert first["title"] in onnxseg("models", "show", path, "--json").json["error"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no broken pipes")
def test_a_reader_that_leaves_early_ends_it_quietly(tmp_path):
    path = nets.unet(tmp_path / "a.onnx")
    words = [sys.executable, "-m", "napari_onnxseg", "models", "check", str(path)]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, timeout=120)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
