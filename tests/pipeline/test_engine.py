"""Networks and predictors that do not give what their card says."""

from __future__ import annotations

import numpy as np
import pytest

import nets
from napari_onnxseg import Normalization, matte_image, segment_image
from napari_onnxseg.errors import RunError
from netbuild import Net, save

RAW = Normalization("none")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        np.zeros((2, 8, 8), np.float32),
        np.zeros((0, 2, 8, 8), np.float32),
        np.zeros((1, 5, 8, 8), np.float32),
    ],
    ids=["nothing", "no batch axis", "too few", "too many classes"],
)
def test_scores_of_another_shape_are_refused_with_the_one_needed(tmp_path, answer):
    path = nets.two_class(tmp_path / "two.onnx")
    with pytest.raises(RunError, match=r"\(1, 2, \?, \?\) is needed"):
        segment_image(np.zeros((8, 8), np.float32), path, predictor=lambda _: answer)


def test_a_cut_out_refuses_them_too(tmp_path):
    card = {"task": "matting", "output": {"scores": "probabilities"}}
    path = nets.saliency(tmp_path / "saliency.onnx", card=card)
    with pytest.raises(RunError, match="is needed"):
        matte_image(np.zeros((8, 8), np.uint8), path, predictor=lambda _: None)


def test_class_ids_that_the_card_does_not_name_are_kept_and_pointed_out(tmp_path):
    net = Net(["batch", 1, "y", "x"])
    ids = net.add("Cast", net.add("Mul", "input", net.constant(10.0)), to=7)
    model = net.model({ids: ("int64", ["batch", 1, "y", "x"])})
    card = {"classes": [{"id": 0, "name": "ground"}, {"id": 1, "name": "tree"}]}
    path = save(model, tmp_path / "ids.onnx", card)
    image = np.random.default_rng(3).random((50, 60), np.float32)
    result = segment_image(image, path, normalization=RAW, tile=32)
    np.testing.assert_array_equal(result.labels, (image * 10).astype(np.uint8))
    assert any("up to 9, its card names 2" in note for note in result.notes)
    assert sum(result.record["pixels"].values()) == image.size
