from dataclasses import replace

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import nets
from bad_exports import BAD, FIXED, WELL, export
from bad_layers import custom, norm_training, up_to_size
from napari_onnxseg.errors import ChoiceError, ModelError, RunError
from napari_onnxseg.graph.mend import Choices
from napari_onnxseg.graph.receptive import Receptive
from napari_onnxseg.graph.subject import read_subject
from napari_onnxseg.runtime import compare as comparing
from napari_onnxseg.runtime.bare import Bare, limits, noise
from napari_onnxseg.runtime.compare import compare, mend_beside
from napari_onnxseg.runtime.trial import try_geometry
from napari_onnxseg.runtime.verdict import judge
from netbuild import Net, save


def titles(report):
    return {finding.code: finding.title for finding in report.findings}


def test_the_runtime_names_its_own_limits():
    found = limits()
    assert 20 <= found.opset < 999
    assert 10 <= found.ir_version < 999
    assert ort.__version__.startswith(f"{found.release[0]}.{found.release[1]}.")


def test_what_the_runtime_names_as_newest_it_really_loads(tmp_path):
    model = onnx.load(nets.echo(tmp_path / "a.onnx"))
    model.opset_import[0].version, model.ir_version = limits().opset, limits().ir_version
    assert Bare(save(model, tmp_path / "a.onnx")).names
    model.opset_import[0].version += 1
    with pytest.raises(ModelError):
        Bare(save(model, tmp_path / "b.onnx"))


@pytest.mark.parametrize("up", ["transpose", "nearest", "linear"])
@pytest.mark.parametrize("depth", [1, 3])
def test_a_trial_confirms_radius_and_grid_of_a_network(tmp_path, up, depth):
    path = nets.unet(tmp_path / "a.onnx", depth=depth, up=up)
    subject = read_subject(path)
    seen = try_geometry(Bare(path), subject)
    assert not seen.faults
    assert seen.coarsest
    assert max(seen.seen) <= max(subject.view.radius)
    assert max(seen.seen) > max(subject.view.radius) // 2


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [({"radius": (3, 9)}, "axis 0: a pixel reaches"), ({"multiple": (4, 2)}, "axis 1: the answer")],
)
def test_a_trial_contradicts_a_graph_that_was_misread(tmp_path, wrong, fault):
    path = nets.unet(tmp_path / "a.onnx", depth=2)
    subject = read_subject(path)
    misread = replace(subject, view=replace(subject.view, **wrong))
    assert isinstance(misread.view, Receptive)
    assert any(fault in words for words in try_geometry(Bare(path), misread).faults)


def test_a_box_reaches_exactly_its_radius(tmp_path):
    path = nets.box(tmp_path / "a.onnx", radius=7)
    assert try_geometry(Bare(path), read_subject(path)).seen == (7, 7)


@pytest.mark.parametrize(
    ("name", "words"),
    [("instance norm", "tiles are not exact"), ("traced at one size", "the sides are fixed")],
)
def test_what_was_not_tried_is_said(tmp_path, name, words):
    bad = BAD[name]
    assert words in titles(judge(bad.write(tmp_path / "a.onnx", bad.plan)))["trial"]


def test_nothing_is_claimed_for_tiles_that_are_not_exact(tmp_path):
    bad = BAD["instance norm"]
    found = judge(bad.write(tmp_path / "a.onnx", bad.plan))
    (trial,) = [finding for finding in found.findings if finding.code == "trial"]
    assert trial.meaning == "What the graph says of them stands unconfirmed."


def test_a_verdict_times_a_tile_and_has_no_error_for_a_sound_model(tmp_path):
    found = judge(nets.unet(tmp_path / "a.onnx"))
    assert found.ok
    assert "s on one processor core" in titles(found)["speed"]
    assert "and on no finer one" in titles(found)["trial"]


def test_a_model_that_does_not_run_is_an_error_with_the_reason(tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, middle=custom))
    assert "Swirl" in titles(judge(path))["does-not-run"]


def test_noise_fits_layout_dtype_and_batch(tmp_path):
    path = nets.echo(tmp_path / "a.onnx", layout="NHWC", channels=3, dtype="uint8")
    given = noise(read_subject(path), (20, 30), 2)
    assert given.shape == (2, 20, 30, 3)
    assert given.dtype == np.uint8
    assert given.max() > 200


def test_a_mended_copy_is_run_beside_the_original_and_at_a_larger_size(tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, dims=FIXED, up=up_to_size))
    mended, beside = mend_beside(path, tmp_path / "b.onnx")
    assert mended.done == ("freed the batch and the sides",)
    assert beside.difference == 0
    assert beside.changed_px == 0
    assert beside.pixels == 64 * 64
    assert beside.words() == (
        "Largest difference of scores to the original: 0; 0 of 4096 labels differ; "
        "runs at 2 pictures of 128 x 64 px too."
    )


def test_a_copy_freed_of_sizes_in_the_graph_is_compared_at_that_size(tmp_path):
    bad = BAD["free by name only"]
    path = bad.write(tmp_path / "a.onnx", bad.plan)
    assert not {"geometry", "sees-everything", "memory"} & judge(path).codes
    _, beside = mend_beside(path, tmp_path / "b.onnx")
    assert beside.difference < 1e-6
    assert beside.changed_px == 0
    assert beside.pixels == 64 * 64
    assert beside.larger == "2 pictures of 128 x 64 px"


def test_a_repair_that_changes_the_answer_says_by_how_much(tmp_path):
    path = export(tmp_path / "a.onnx", replace(WELL, middle=norm_training))
    _, beside = mend_beside(path, tmp_path / "b.onnx")
    assert beside.difference > 0.01
    assert beside.changed_px > 0


def test_an_original_that_does_not_run_is_said(tmp_path):
    bad = BAD["64-bit numbers"]
    path = bad.write(tmp_path / "a.onnx", bad.plan)
    assert "Conv" in titles(judge(path))["does-not-run"]
    _, beside = mend_beside(path, tmp_path / "b.onnx")
    assert beside.difference is None
    assert beside.words().startswith("The original cannot be run beside it: ")


def test_labels_and_values_that_are_no_numbers_are_compared(tmp_path):
    path = nets.arg_max(tmp_path / "a.onnx")
    assert compare(path, path).words().endswith("0 of 262144 labels differ.")
    path = nets.nan_emitter(tmp_path / "b.onnx")
    assert compare(path, path).difference == 0


def test_a_copy_that_does_not_run_is_not_left_behind(tmp_path, monkeypatch):
    def refuse(*_):
        raise RunError("It failed.")

    monkeypatch.setattr(comparing, "compare", refuse)
    path = nets.unet(tmp_path / "a.onnx")
    with pytest.raises(ModelError, match=r"mended copy of 'a\.onnx' does not run: It failed"):
        mend_beside(path, tmp_path / "b.onnx", Choices(external="out"))
    assert [p.name for p in tmp_path.iterdir()] == ["a.onnx"]


def test_a_refused_copy_leaves_the_file_that_was_there(tmp_path):
    path = nets.unet(tmp_path / "a.onnx")
    (tmp_path / "b.onnx").write_bytes(b"other")
    with pytest.raises(ChoiceError):
        mend_beside(path, tmp_path / "b.onnx")
    assert (tmp_path / "b.onnx").read_bytes() == b"other"


@pytest.mark.parametrize(
    ("operators", "severity"), [(("Sub", "Div"), "error"), (("Log", None), "warning"), ((), None)]
)
def test_scores_that_are_no_numbers_are_found(tmp_path, operators, severity):
    net = Net([1, 1, None, None])
    last = net.random_conv("input", 1, 2, 3)
    if operators == ("Sub", "Div"):
        nothing = net.add("Sub", last, last)
        last = net.add("Div", nothing, nothing)
    elif operators:
        last = net.add("Log", last)
    path = save(net.model({last: ("float32", [1, 2, None, None])}), tmp_path / "a.onnx")
    found = [f.severity for f in judge(path).findings if f.code == "no-numbers"]
    assert found == ([severity] if severity else [])
