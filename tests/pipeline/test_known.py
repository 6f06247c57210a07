"""What a graph leaves open is seen in the values of one run, and only then is one made."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import nets
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import CancelledError
from napari_onnxseg.pipeline import known
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.known import is_open, known_model
from napari_onnxseg.pipeline.semantic import segment_image
from napari_onnxseg.runtime import probing
from napari_onnxseg.runtime.probing import RANGES, Probing, picture
from netbuild import Net, save


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch):
    known._seen.clear()
    monkeypatch.setenv("ONNXSEG_MODELS", "/nowhere")


def scores(net: Net, classes: int) -> str:
    weights = np.arange(1.0, classes + 1)[:, None, None, None] - classes / 2
    return net.conv("input", weights, list(0.3 * weights.ravel()))


def ending(path: Path, end, *, classes: int = 3, declared: int | None = -1) -> Path:
    """Build a net of a convolution and what ``end`` adds to it."""
    net = Net(nets.dims_of("NCHW", None, 1, nets.FREE))
    last = end(net, scores(net, classes))
    count = classes if declared == -1 else declared
    dims = ["batch", count or "k", "y", "x"]
    return save(net.model({last: ("float32", dims)}), path)


def own_softmax(net: Net, x: str) -> str:
    bounded = net.add("Sub", x, net.add("ReduceMax", x, axes=[1], keepdims=1))
    powers = net.add("Exp", bounded)
    axes = net.constant([1], "int64")
    return net.add("Div", powers, net.add("ReduceSum", powers, axes, keepdims=1))


def own_sigmoid(net: Net, x: str) -> str:
    half = net.constant(0.5)
    return net.add("Add", net.add("Mul", net.add("Tanh", x), half), half)


def held(net: Net, x: str) -> str:
    return net.add("Clip", x, net.constant(0.0), net.constant(1.0))


def rounded(net: Net, x: str) -> str:
    small = net.add("Mul", net.add("Sigmoid", x), net.constant(4.0))
    return net.add("Floor", small)


def plain(net: Net, x: str) -> str:
    return net.add("Identity", x)


@pytest.mark.parametrize(
    ("end", "classes", "kind"),
    [
        (own_softmax, 3, "probabilities"),
        (own_sigmoid, 1, "probabilities"),
        (held, 1, "probabilities"),
        (rounded, 1, "labels"),
        (plain, 1, "logits"),
    ],
)
def test_values_tell_what_the_end_of_the_graph_does_not(tmp_path, end, classes, kind):
    path = ending(tmp_path / "net.onnx", end, classes=classes)
    assert (load_card(path).scores, load_card(path).facts["scores"]) == ("logits", "graph")
    card = known_model(path)
    assert (card.scores, card.facts["scores"]) == (kind, "probe")
    assert not any("trial run" in note for note in card.notes)


def test_classes_that_are_rated_one_by_one_get_a_note(tmp_path):
    card = known_model(ending(tmp_path / "net.onnx", own_sigmoid))
    assert card.scores == "probabilities"
    assert "rates each class by itself" in card.notes[-1]


def test_a_graph_that_tells_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(known, "Probing", lambda card: pytest.fail("a model was run"))
    for path in (
        ending(tmp_path / "conv.onnx", plain),
        ending(tmp_path / "relu.onnx", lambda net, x: net.add("Relu", x)),
        ending(tmp_path / "sum.onnx", lambda net, x: net.add("Add", net.add("Tanh", x), x)),
        nets.slow(tmp_path / "slow.onnx"),
        nets.two_class(tmp_path / "softmax.onnx", softmax=True),
        nets.arg_max(tmp_path / "labels.onnx"),
    ):
        assert known_model(path) == load_card(path)
    assert known_model("unet-nuclei").facts["scores"] == "card"


def test_a_card_is_believed(tmp_path):
    path = ending(tmp_path / "net.onnx", own_softmax)
    path.with_suffix(".json").write_text('{"format": 1, "output": {"scores": "logits"}}')
    assert not is_open(load_card(path))
    assert known_model(path).scores == "logits"


def test_the_number_of_classes_is_seen_when_the_graph_hides_it(tmp_path):
    def hidden(net: Net, x: str) -> str:
        cut = net.add("NonZero", net.constant([1.0, 1.0, 1.0, 0.0]))
        flat = net.add("Squeeze", cut, net.constant([0], "int64"))
        return net.add("Gather", x, flat, axis=1)

    path = ending(tmp_path / "net.onnx", hidden, classes=4, declared=None)
    card = known_model(path)
    assert card.output.channels == 3
    assert [entry.id for entry in card.classes] == [0, 1, 2]


def test_the_same_content_is_tried_once(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(known, "Probing", lambda card: made.append(card) or Probing(card))
    path = ending(tmp_path / "net.onnx", own_softmax)
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(path.read_bytes())
    assert known_model(path).scores == known_model(copy).scores == "probabilities"
    assert len(made) == 1


def test_a_shape_that_contradicts_the_graph_is_noted(tmp_path):
    card = load_card(ending(tmp_path / "net.onnx", own_softmax))
    wrong = replace(card, geometry=replace(card.geometry, ratio=(Fraction(1, 2),) * 2))
    assert "gave 128 × 128 px for 128 × 128 px, where the graph says 64 × 64" in (
        Probing(wrong).run().note
    )


def test_a_model_that_gives_no_numbers_keeps_its_guess(tmp_path):
    def broken(net: Net, x: str) -> str:
        return net.add("Mul", x, net.constant(np.nan))

    card = known_model(ending(tmp_path / "net.onnx", broken))
    assert (card.scores, card.facts["scores"]) == ("logits", "graph")
    assert "no numbers (NaN)" in card.notes[-1]


def test_a_model_that_fails_is_described_all_the_same(tmp_path):
    def unknown(net: Net, x: str) -> str:
        low = net.add("Reshape", x, net.constant([1, 3, 7, 7], "int64"))
        return net.add("Mul", x, net.add("ReduceMean", low, keepdims=1))

    card = known_model(ending(tmp_path / "net.onnx", unknown))
    assert card.scores == "logits"
    assert "A trial run failed" in card.notes[-1]


def test_a_trial_can_be_cancelled(tmp_path):
    cancel = Cancel()
    cancel.set()
    path = ending(tmp_path / "net.onnx", own_softmax)
    with pytest.raises(CancelledError):
        known_model(path, cancel=cancel)
    assert known_model(path).scores == "probabilities"


def test_a_large_model_is_not_tried(tmp_path):
    card = load_card(ending(tmp_path / "net.onnx", own_softmax))
    heavy = replace(card, geometry=replace(card.geometry, bytes_per_px=1e6))
    assert Probing(heavy).run() is None


def test_a_slow_model_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(probing, "PATIENCE_S", 0.1)
    path = nets.slow(tmp_path / "slow.onnx", layers=400, sides=(256, 256))
    start = time.monotonic()
    assert Probing(load_card(path)).run() is None
    assert time.monotonic() - start < 5


def test_the_picture_covers_what_networks_are_fed():
    drawn = picture(3, (64, 64))
    parts = [drawn[..., :32, :32], drawn[..., :32, 32:], drawn[..., 32:, :32], drawn[..., 32:, 32:]]
    for part, (low, high) in zip(parts, RANGES, strict=True):
        assert low <= part.min() < low + 0.2 * (high - low)
        assert high - 0.3 * (high - low) < part.max() <= high
    assert np.array_equal(drawn, picture(3, (64, 64)))


def test_a_run_by_path_uses_what_the_trial_showed(tmp_path):
    path = ending(tmp_path / "net.onnx", own_sigmoid, classes=1)
    image = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    result = segment_image(image, path, confidence=True)
    assert result.card.facts["scores"] == "probe"
