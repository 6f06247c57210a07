"""Test tensors of packages, made by an independent reading of the specification."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

import nets
import zoo
from foreign import BIAS, WEIGHT, linear, scored
from napari_onnxseg.cards.bioimageio_rdf import Tolerance
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.proof import compared, prove
from napari_onnxseg.pipeline.semantic import segment_image
from napari_onnxseg.runtime.session import open_session
from netbuild import Net, save
from zoo import op, step

SIDE = 40
EPS = 1e-6


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))


def raw(channels: int = 3, dtype=np.float32, top: float = 900.0) -> np.ndarray:
    """Return (1, C, Y, X), each channel of another range."""
    rng = np.random.default_rng(3)
    scale = np.linspace(0.2, 1, channels)[:, None, None] * top
    return (rng.random((channels, SIDE, SIDE + 8)) ** 2 * scale + 5)[None].astype(dtype)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def variance(x: np.ndarray, axes: tuple[int, ...], eps: float = EPS) -> np.ndarray:
    mean, std = x.mean(axes, keepdims=True), x.std(axes, keepdims=True)
    return (x - mean) / (std + eps)


def span(x: np.ndarray, axes: tuple[int, ...], low: float, high: float, eps=EPS) -> np.ndarray:
    a, b = (np.percentile(x, p, axis=axes, keepdims=True) for p in (low, high))
    return (x - a) / (b - a + eps)


def network(x: np.ndarray) -> np.ndarray:
    """Answer of `linear` to (1, 3, Y, X)."""
    return scored(x[0], WEIGHT, BIAS)[None]


def restored(x: np.ndarray) -> np.ndarray:
    """Answer of a network that gives its three channels, mixed."""
    return scored(x[0], WEIGHT[:3], BIAS[:3])[None]


PLANAR, JOINT = (2, 3), (1, 2, 3)

CASES_05 = {
    "nuclei": (
        [op("zero_mean_unit_variance", axes=["x", "y"])],
        [op("sigmoid")],
        lambda x: sigmoid(network(variance(x, PLANAR))),
    ),
    "all together, another eps": (
        [op("zero_mean_unit_variance", axes=["channel", "x", "y"], eps=0.05)],
        [op("softmax", axis="channel")],
        lambda x: softmax(network(variance(x, JOINT, 0.05))),
    ),
    "no axes named": (
        [op("zero_mean_unit_variance")],
        [],
        lambda x: network(variance(x, JOINT)),
    ),
    "percentiles of each channel, cut": (
        [
            op("scale_range", axes=["x", "y"], min_percentile=5.0, max_percentile=99.8),
            op("clip", min=0.0, max=1.0),
        ],
        [op("scale_linear", axis="channel", gain=[1.0, 2.0, 3.0, 4.0], offset=[0, 1, 0, -1])],
        lambda x: (
            network(np.clip(span(x, PLANAR, 5, 99.8), 0, 1)) * np.array([1, 2, 3, 4])[:, None, None]
            + np.array([0, 1, 0, -1])[:, None, None]
        ),
    ),
    "a measured step after another": (
        [
            op("scale_range", axes=["channel", "x", "y"], max_percentile=90.0),
            op("clip", max=0.8),
            op("zero_mean_unit_variance", axes=["x", "y"]),
        ],
        [op("clip", min=-1.0)],
        lambda x: np.maximum(network(variance(np.minimum(span(x, JOINT, 0, 90), 0.8), PLANAR)), -1),
    ),
    "numbers of a training set": (
        [
            op(
                "fixed_zero_mean_unit_variance",
                axis="channel",
                mean=[10.0, 20.0, 30.0],
                std=[90.0, 180.0, 270.0],
            )
        ],
        [op("binarize", axis="channel", threshold=[0.0, -1.0, 1.0, 0.1])],
        lambda x: (
            network(
                (x - np.array([10, 20, 30])[:, None, None])
                / np.array([90, 180, 270])[:, None, None]
            )
            > np.array([0, -1, 1, 0.1])[:, None, None]
        ),
    ),
    "one number for all": (
        [op("fixed_zero_mean_unit_variance", mean=100.0, std=50.0)],
        [op("binarize", threshold=0.25)],
        lambda x: network((x - 100) / 50) > 0.25,
    ),
    "range of the output": (
        [op("scale_linear", gain=0.01)],
        [op("scale_range", axes=["x", "y"], min_percentile=1.0, max_percentile=99.0)],
        lambda x: span(network(x * 0.01), PLANAR, 1, 99),
    ),
    "range of the input": (
        [op("scale_linear", gain=0.01, offset=-1.0)],
        [op("scale_range", axes=["channel", "x", "y"], reference_tensor="raw")],
        lambda x: (network(x * 0.01 - 1) - x.min()) / (x.max() - x.min() + EPS),
    ),
    "cast in the middle": (
        [op("scale_linear", gain=0.1), op("ensure_dtype", dtype="uint8")],
        [],
        lambda x: network((x * 0.1).astype(np.uint8).astype(np.float32)),
    ),
}


@pytest.mark.parametrize("name", CASES_05)
def test_a_model_05_gives_what_the_specification_says(tmp_path, name):
    pre, post, formula = CASES_05[name]
    x = raw()
    wanted = formula(x.astype(np.float64)).astype(np.float32)
    folder = zoo.v05(
        tmp_path / "net",
        linear(tmp_path / "n.onnx"),
        channels=("r", "g", "b"),
        out=("one", "two", "three", "four"),
        pre=pre,
        post=post,
        tests=(x, [wanted]),
        sides={"y": {"min": 8, "step": 8}, "x": {"min": 8, "step": 8}},
    )
    proof = prove(folder, "cpu")
    output, tiled = proof.outputs
    assert proof.ok, [entry.words() for entry in proof.outputs]
    assert (tiled.beside, tiled.difference < 1e-4) == ("one piece", True)
    assert output.difference < 1e-4 * max(1, float(np.abs(wanted).max()))
    assert (output.name, output.shape) == ("probability", wanted.shape)


CASES_04 = {
    "each channel": (
        [step("zero_mean_unit_variance", mode="per_sample", axes="yx")],
        [step("sigmoid")],
        lambda x: sigmoid(network(variance(x, PLANAR))),
    ),
    "of the data set": (
        [step("zero_mean_unit_variance", mode="per_dataset", axes="cyx")],
        [],
        lambda x: network(variance(x, JOINT)),
    ),
    "fixed, a list": (
        [
            step(
                "zero_mean_unit_variance", mode="fixed", axes="yx", mean=[1, 2, 3], std=[30, 60, 90]
            )
        ],
        [],
        lambda x: network(
            (x - np.array([1, 2, 3])[:, None, None]) / np.array([30, 60, 90])[:, None, None]
        ),
    ),
    "fixed, a number": (
        [step("zero_mean_unit_variance", mode="fixed", axes="cyx", mean=50.0, std=70.0)],
        [step("clip", min=-2.0, max=2.0)],
        lambda x: np.clip(network((x - 50) / 70), -2, 2),
    ),
    "atlas": (
        [step("scale_linear", axes="xy", gain=[0.004, 0.003, 0.002], offset=[0.0, 0.1, 0.2])],
        [step("binarize", threshold=0.3)],
        lambda x: (
            network(
                x * np.array([0.004, 0.003, 0.002])[:, None, None]
                + np.array([0, 0.1, 0.2])[:, None, None]
            )
            > 0.3
        ),
    ),
    "range": (
        [step("scale_range", mode="per_sample", axes="yx", min_percentile=2, max_percentile=98)],
        [],
        lambda x: network(span(x, PLANAR, 2, 98)),
    ),
}


@pytest.mark.parametrize("name", CASES_04)
def test_a_model_04_gives_what_the_specification_says(tmp_path, name):
    pre, post, formula = CASES_04[name]
    x = raw()
    wanted = formula(x.astype(np.float64)).astype(np.float32)
    output = {
        "name": "probability",
        "axes": "bcyx",
        "data_type": "float32",
        "data_range": [0.0, float("inf")],
        "shape": [1, 4, SIDE, SIDE + 8],
        "postprocessing": post,
    }
    path = zoo.v04(
        tmp_path / "net",
        linear(tmp_path / "n.onnx"),
        shape=(1, 3, SIDE, SIDE + 8),
        pre=pre,
        outputs=[output],
        tests=(x, [wanted]),
    )
    proof = prove(path, "cpu")
    assert proof.ok, proof.outputs[0].words()


def test_a_restored_image_follows_mean_and_deviation_of_the_input(tmp_path):
    x = raw()
    y = restored(variance(x.astype(np.float64), PLANAR))
    mean, std = x.mean(PLANAR, keepdims=True), x.std(PLANAR, keepdims=True)
    wanted = variance(y, PLANAR) * (std + EPS) + mean
    network = linear(tmp_path / "n.onnx", weight=WEIGHT[:3], bias=BIAS[:3])
    path = zoo.v05(
        tmp_path / "net",
        network,
        channels=("r", "g", "b"),
        out=("r", "g", "b"),
        pre=[op("zero_mean_unit_variance", axes=["x", "y"])],
        post=[op("scale_mean_variance", axes=["x", "y"], reference_tensor="raw")],
        tests=(x, [wanted.astype(np.float32)]),
        tags=["denoising"],
    )
    assert prove(path, "cpu").outputs[0].difference < 1e-2


def test_channels_may_come_last(tmp_path):
    x = raw()
    network = linear(tmp_path / "n.onnx", layout="NHWC")
    wanted = scored(x[0].astype(np.float64) * 0.01)[None]
    output = {
        "name": "out",
        "axes": "byxc",
        "data_type": "float32",
        "shape": [1, SIDE, SIDE + 8, 4],
        "halo": [0, 4, 4, 0],
    }
    path = zoo.v04(
        tmp_path / "net",
        network,
        axes="byxc",
        shape=(1, SIDE, SIDE + 8, 3),
        pre=[step("scale_linear", gain=0.01, offset=0.0)],
        outputs=[output],
        tests=(np.moveaxis(x, 1, -1), [np.moveaxis(wanted, 1, -1).astype(np.float32)]),
    )
    assert prove(path, "cpu").ok


def test_an_enlarged_output_is_compared_at_its_own_size(tmp_path):
    x = raw(1)
    big = x.repeat(2, 2).repeat(2, 3)
    wanted = np.concatenate([0.5 - big, big - 0.5], 1)
    output = {
        "name": "out",
        "axes": "bcyx",
        "data_type": "float32",
        "shape": {
            "reference_tensor": "raw",
            "scale": [1.0, None, 2.0, 2.0],
            "offset": [0, 1, 0, 0],
        },
    }
    path = zoo.v04(
        tmp_path / "net",
        nets.double_resolution(tmp_path / "n.onnx"),
        shape={"min": [1, 1, 8, 8], "step": [0, 0, 8, 8]},
        outputs=[output],
        tests=(x, [wanted]),
    )
    found, _tiled = prove(path, "cpu").outputs
    assert found.ok
    assert found.shape == (1, 2, 2 * SIDE, 2 * SIDE + 16)


def test_integer_images_are_fed_as_they_are(tmp_path):
    x = raw(1, np.uint16)
    path = zoo.v05(
        tmp_path / "net",
        nets.one_channel(tmp_path / "n.onnx", sigmoid=False),
        tests=(x, [x.astype(np.float32)]),
        sides={"y": {"min": 8, "step": 8}, "x": {"min": 8, "step": 8}},
    )
    found, _tiled = prove(path, "cpu").outputs
    assert (found.ok, found.difference) == (True, 0)


def threshold_package(tmp_path, wrong: int, **changes):
    """Return a package of a binarized output, some of whose expected pixels are wrong."""
    tmp_path.mkdir(exist_ok=True)
    x = raw(1)
    wanted = (x > 100).astype(np.uint8)
    wanted.reshape(-1)[:wrong] ^= 1
    return zoo.v05(
        tmp_path / "net",
        nets.one_channel(tmp_path / "n.onnx", sigmoid=False),
        post=[op("binarize", threshold=100.0)],
        data={"type": "uint8", "values": [0, 1]},
        tests=(x, [wanted]),
        sides={"y": {"min": 8, "step": 8}, "x": {"min": 8, "step": 8}},
        **changes,
    )


def test_whole_numbers_must_agree_but_for_a_thousand_in_a_million(tmp_path):
    pixels = SIDE * (SIDE + 8)
    assert prove(threshold_package(tmp_path, 1), "cpu").ok
    found, _tiled = prove(threshold_package(tmp_path / "b", 4), "cpu").outputs
    assert not found.ok
    assert found.mismatched == pytest.approx(4e6 / pixels)
    assert (found.tolerance.absolute, found.tolerance.per_million) == (0, 1000)


def test_the_tolerance_of_a_description_counts(tmp_path):
    entry = {"absolute_tolerance": "1e-05", "mismatched_elements_per_million": 5000}
    others = {"absolute_tolerance": 9.0, "weights_formats": ["torchscript"]}
    named = {"absolute_tolerance": 8.0, "output_ids": ["other"]}
    config = {"bioimageio": {"reproducibility_tolerance": [others, named, entry]}}
    found, _tiled = prove(threshold_package(tmp_path, 4, config=config), "cpu").outputs
    assert found.ok
    assert found.tolerance == Tolerance(1e-3, 1e-5, 5000)


def test_an_element_differs_by_the_rule_of_the_specification():
    wanted = np.array([0.0, 10.0, -10.0, np.nan, np.inf])
    found = np.array([0.0011, 10.0109, -10.02, np.nan, np.inf])
    proof = compared("x", found, wanted, Tolerance())
    assert proof.mismatched == pytest.approx(2e6 / 5)
    assert proof.difference == pytest.approx(0.02)
    bad = compared("x", np.array([np.nan]), np.array([1.0]), Tolerance())
    assert (bad.difference, bad.ok) == (np.inf, False)
    assert not compared("x", np.zeros((2, 3)), np.zeros((3, 2)), Tolerance()).ok


def test_a_package_without_test_tensors_says_so(tmp_path):
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    with pytest.raises(ModelError, match="without test tensors for raw, probability"):
        prove(zoo.v05(tmp_path / "net", network), "cpu")
    with pytest.raises(ModelError, match=r"only bioimage\.io packages"):
        prove(network, "cpu")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read"),
        (b"\x93NUMPY\x01\x00", "cannot be read"),
        (np.lib.format.magic(1, 0) + b"\x10\x00{'descr': '|O'}\n", "cannot be read"),
        (b"PK\x05\x06" + bytes(18), "no array of numbers"),
    ],
)
def test_damaged_test_tensors_get_one_sentence(tmp_path, content, words):
    x = raw(1)
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    path = zoo.v04(tmp_path / "net", network, tests=(x, [x]))
    (path.parent / "test_input.npy").write_bytes(content)
    with pytest.raises(ModelError, match=words):
        prove(path, "cpu")


def test_pickled_and_wrongly_shaped_tensors_are_refused(tmp_path):
    x = raw(1)
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    path = zoo.v04(tmp_path / "net", network, tests=(x, [x]))
    np.save(path.parent / "test_input.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ModelError, match="cannot be read"):
        prove(path, "cpu")
    np.save(path.parent / "test_input.npy", x[0])
    with pytest.raises(ModelError, match="the axes batch, channel, y, x"):
        prove(path, "cpu")


def test_a_changed_test_tensor_is_noticed_by_its_hash(tmp_path):
    x = raw(1)
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    path = zoo.v05(tmp_path / "net", network, tests=(x, [x]))
    np.save(path.parent / "test_input.npy", x + 1)
    with pytest.raises(ModelError, match="are not those that the description names"):
        prove(path, "cpu")


def test_a_proof_is_plain_json(tmp_path):
    told = prove(threshold_package(tmp_path, 0), "cpu").to_json()
    assert json.loads(json.dumps(told))["outputs"][0]["ok"] is True


def test_a_user_card_does_not_change_what_the_package_says(tmp_path):
    path = threshold_package(tmp_path, 0)
    card = {"format": 1, "input": {"normalization": {"method": "unit"}}}
    path.with_suffix(".json").write_text(json.dumps(card))
    assert prove(path, "cpu").ok
    assert yaml.safe_load(path.read_text())["name"] == "UNet 2D Nuclei"


def test_a_test_tensor_may_be_without_its_halo(tmp_path):
    x = raw(1)
    network = nets.one_channel(tmp_path / "n.onnx", sigmoid=False)
    path = zoo.v05(tmp_path / "net", network, tests=(x, [x[..., 8:-8, 8:-8]]), halo=8)
    found, *_ = prove(path, "cpu").outputs
    assert (found.ok, found.shape) == (True, (1, 1, SIDE - 16, SIDE - 8))
    path = zoo.v05(tmp_path / "other", network, tests=(x, [x[..., 4:-4, 4:-4]]), halo=8)
    assert "its shape is" in prove(path, "cpu").outputs[0].words()


def test_tiles_are_tried_where_they_can_be_exact(tmp_path):
    x = np.random.default_rng(1).random((1, 1, 96, 128)).astype(np.float32)
    network = nets.unet(tmp_path / "n.onnx", classes=1)
    scores = open_session(load_card(network), "cpu").run(x)
    path = zoo.v05(tmp_path / "net", network, post=[op("sigmoid")], tests=(x, [sigmoid(scores)]))
    proof = prove(path, "cpu")
    assert [entry.name for entry in proof.outputs] == [
        "probability",
        "probability in tiles of 48 × 64 px",
    ]
    assert proof.ok
    assert (proof.outputs[1].difference, proof.notes) == (0, ())


def test_it_is_said_why_there_are_no_tiles(tmp_path):
    x = raw(1)
    fixed = nets.one_channel(tmp_path / "fixed.onnx", sigmoid=False, sides=x.shape[2:])
    proof = prove(zoo.v05(tmp_path / "a", fixed, tests=(x, [x])), "cpu")
    assert proof.notes == ("The model has fixed sides, so that only the whole was compared.",)
    wide = nets.box(tmp_path / "wide.onnx", radius=30)
    scores = open_session(load_card(wide), "cpu").run(x)
    (note,) = prove(zoo.v05(tmp_path / "b", wide, tests=(x, [scores])), "cpu").notes
    assert "too small for tiles" in note


def test_an_image_run_in_tiles_is_what_the_specification_says(tmp_path):
    x = raw()
    y = restored(variance(x.astype(np.float64), PLANAR))
    mean, std = x.mean(PLANAR, keepdims=True), x.std(PLANAR, keepdims=True)
    wanted = variance(y, PLANAR) * (std + EPS) + mean
    path = zoo.v05(
        tmp_path / "net",
        linear(tmp_path / "n.onnx", weight=WEIGHT[:3], bias=BIAS[:3]),
        channels=("r", "g", "b"),
        out=("r", "g", "b"),
        pre=[op("zero_mean_unit_variance", axes=["x", "y"])],
        post=[op("scale_mean_variance", axes=["x", "y"], reference_tensor="raw")],
        sides={"y": {"min": 24, "step": 8}, "x": {"min": 24, "step": 8}},
        tags=["denoising"],
    )
    result = segment_image(x[0], path, channel_axis=0, tile=24, device="cpu")
    (head,) = result.heads
    np.testing.assert_allclose(head.image, wanted[0], rtol=1e-4, atol=1e-2)
    assert head.head.channels == ("r", "g", "b")


def test_labels_run_in_tiles_are_what_the_specification_says(tmp_path):
    x = raw(1)
    wanted = sigmoid(variance(x.astype(np.float64), PLANAR)) > 0.6
    path = zoo.v05(
        tmp_path / "net",
        nets.one_channel(tmp_path / "n.onnx", sigmoid=False),
        pre=[op("zero_mean_unit_variance", axes=["x", "y"])],
        post=[op("sigmoid"), op("binarize", threshold=0.6)],
        sides={"y": {"min": 24, "step": 8}, "x": {"min": 24, "step": 8}},
    )
    labels = segment_image(x[0, 0], path, tile=24, device="cpu").labels
    np.testing.assert_array_equal(labels, wanted[0, 0])


def test_each_output_is_compared_with_its_own_tensor(tmp_path):
    x = raw(1)
    net = Net([None, 1, None, None])
    double = net.add("Mul", "input", net.constant(2.0))
    half = net.add("Mul", "input", net.constant(0.5))
    open_dims = ("float32", [None, 1, None, None])
    network = save(net.model({double: open_dims, half: open_dims}), tmp_path / "n.onnx")
    space = [
        {"type": "space", "id": axis, "size": {"tensor_id": "raw", "axis_id": axis}}
        for axis in "yx"
    ]
    outputs = [
        {
            "id": name,
            "axes": [{"type": "batch"}, {"type": "channel", "channel_names": [name]}, *space],
            "postprocessing": post,
        }
        for name, post in (("twice", [op("scale_linear", gain=0.1)]), ("cells", [op("sigmoid")]))
    ]
    tests = (x, [x * 0.2, sigmoid(x / 2)])
    path = zoo.v05(tmp_path / "net", network, outputs=outputs, tests=tests, tags=["denoising"])
    card = load_card(path)
    assert [(head.name, head.task) for head in card.heads] == [
        ("twice", "image"),
        ("cells", "semantic"),
    ]
    proof = prove(path, "cpu")
    assert proof.ok
    assert [entry.name for entry in proof.outputs[:2]] == ["twice", "cells"]
