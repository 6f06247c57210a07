from dataclasses import replace
from inspect import signature

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import nets
from bad_exports import BAD, FIXED, WELL, export
from bad_layers import norm, norm_training, shuffled_by_numbers, softmax, softmax_twice, up_to_size
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.graph.check import check
from napari_onnxseg.graph.mend import Choices, mend
from napari_onnxseg.graph.subject import Limits
from netbuild import Net, save

LIMITS = Limits(opset=23, ir_version=11, release=(1, 31))
MENDED = {name: bad for name, bad in BAD.items() if bad.good is not None}
REFUSED = {name: bad for name, bad in BAD.items() if bad.good is None}


def answer(path, picture):
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: picture})[0]


def picture(*shape):
    return np.random.default_rng(3).random(shape, np.float32)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_export_gets_its_verdict(tmp_path, name):
    bad = BAD[name]
    found = check(bad.write(tmp_path / "a.onnx", bad.plan), LIMITS)
    assert {f.code: f.severity for f in found.findings}[bad.code] == bad.severity
    assert found.ok == (bad.severity != "error")
    finding = next(f for f in found.findings if f.code == bad.code)
    assert finding.mendable == (bad.good is not None)
    assert finding.export


@pytest.mark.parametrize("shape", [(2, 1, 96, 128), (1, 1, 64, 64)])
@pytest.mark.parametrize("name", MENDED)
def test_a_mended_export_answers_as_a_good_one(tmp_path, name, shape):
    bad = MENDED[name]
    path = bad.write(tmp_path / "bad.onnx", bad.plan)
    before = path.read_bytes()
    mended = mend(path, tmp_path / "mended.onnx", bad.choices, LIMITS)
    good = export(tmp_path / "good.onnx", bad.good)
    given = picture(*shape)
    expected = answer(good, given)
    np.testing.assert_allclose(
        answer(mended.path, given), expected, atol=2e-6 * np.abs(expected).max()
    )
    assert bad.code not in mended.report.codes
    assert mended.report.ok
    assert mended.done
    assert path.read_bytes() == before
    onnx.checker.check_model(str(mended.path), full_check=True)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_mended_stays_named_in_the_report(tmp_path, name):
    bad = REFUSED[name]
    path, out = bad.write(tmp_path / "bad.onnx", bad.plan), tmp_path / "mended.onnx"
    try:
        mended = mend(path, out, bad.choices, LIMITS)
    except OnnxSegError:
        assert not out.exists()
    else:
        assert bad.code in mended.report.codes


TOYS = [
    pytest.param(build, id=name)
    for name, build in vars(nets).items()
    if callable(build)
    and getattr(build, "__module__", "") == "nets"
    and "card" in signature(build).parameters
]


def toy(build, path):
    return build(path, sigmoid=True) if build is nets.one_channel else build(path)


@pytest.mark.parametrize("build", TOYS)
def test_a_sound_model_has_no_errors_and_mends_to_the_same_answer(tmp_path, build):
    path = toy(build, tmp_path / "sound.onnx")
    found = check(path, LIMITS)
    assert found.ok
    assert not {"does-not-run", "seams"} & found.codes
    mended = mend(path, tmp_path / "mended.onnx")
    (source,) = ort.InferenceSession(str(path)).get_inputs()
    shape = [
        n if isinstance(n, int) else d for n, d in zip(source.shape, (1, 1, 64, 64), strict=True)
    ]
    given = picture(*shape)
    np.testing.assert_array_equal(answer(mended.path, given), answer(path, given))
    assert not mended.left


@pytest.mark.parametrize("opset", range(10, 23))
def test_every_operator_set_is_mended(tmp_path, opset):
    made = replace(WELL, opset=opset, dims=FIXED, up=shuffled_by_numbers)
    bad = export(tmp_path / "bad.onnx", replace(made, middle=norm_training, tail=softmax_twice))
    good = export(tmp_path / "good.onnx", replace(made, middle=norm, tail=softmax))
    assert {"norm-training", "activation-doubled", "sides-fixed"} <= check(bad).codes
    mended = mend(bad, tmp_path / "mended.onnx", Choices(activation="softmax"))
    given = picture(*FIXED)
    np.testing.assert_allclose(answer(mended.path, given), answer(good, given), atol=1e-6)
    both = answer(mended.path, np.concatenate([given, given]))
    np.testing.assert_allclose(both[1], answer(good, given)[0], atol=1e-6)
    assert answer(mended.path, picture(3, 1, 96, 32)).shape == (3, 3, 96, 32)
    assert mended.report.ok
    assert not {"sides-fixed", "batch-fixed"} & mended.report.codes


@pytest.mark.parametrize("opset", range(11, 23))
def test_sizes_in_every_operator_set_become_factors(tmp_path, opset):
    bad = export(tmp_path / "bad.onnx", replace(WELL, opset=opset, dims=FIXED, up=up_to_size))
    good = export(tmp_path / "good.onnx", replace(WELL, opset=opset))
    mended = mend(bad, tmp_path / "mended.onnx")
    given = picture(2, 1, 32, 96)
    np.testing.assert_allclose(answer(mended.path, given), answer(good, given), atol=1e-5)


@pytest.mark.parametrize(
    ("where", "rounding"),
    [("asymmetric", "ceil"), ("half_pixel", "floor"), ("asymmetric", "round_prefer_ceil")],
)
def test_nearest_neighbours_that_move_the_picture_are_put_right(tmp_path, where, rounding):
    net = Net(["batch", 1, "y", "x"])
    modes = {"coordinate_transformation_mode": where, "nearest_mode": rounding}
    last = net.resize("input", 2.0, "nearest", **modes)
    path = save(net.model({last: ("float32", [None] * 4)}), tmp_path / "bad.onnx")
    mended = mend(path, tmp_path / "mended.onnx", Choices(resize="half_pixel"))
    assert "resize-shifted" not in mended.report.codes
    given = picture(1, 1, 5, 7)
    expected = given.repeat(2, axis=2).repeat(2, axis=3)
    np.testing.assert_array_equal(answer(mended.path, given), expected)
