import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.decode.confidence import confidence
from napari_onnxseg.decode.labels import to_probabilities
from napari_onnxseg.errors import ModelError


def sure(scores, kind="logits", **choices):
    out = np.full(scores.shape[1:], 7, np.uint8)
    confidence(scores, kind, out, **choices)
    return out


@settings(derandomize=True, max_examples=30, deadline=None)
@given(classes=st.integers(2, 9), shape=st.sampled_from([(1, 1), (40, 1000), (2, 9, 7)]))
def test_confidence_is_the_largest_probability(classes, shape):
    scores = np.random.default_rng(classes).normal(size=(classes, *shape)).astype(np.float32) * 4
    probabilities = to_probabilities(scores, "logits")
    expected = np.rint(probabilities.max(axis=0) * 255)
    assert np.abs(sure(scores).astype(int) - expected).max() <= 1
    np.testing.assert_array_equal(sure(probabilities, "probabilities"), expected)


def test_one_channel_is_as_sure_of_background_as_of_foreground():
    scores = np.array([[[0.1, 0.9, 0.5]]], np.float32)
    np.testing.assert_array_equal(sure(scores, "probabilities"), [[230, 230, 128]])


def test_the_confidence_is_that_of_the_class_the_threshold_chose():
    scores = np.array([[[0.2, 0.4]]], np.float32)
    np.testing.assert_array_equal(sure(scores, "probabilities", threshold=0.3), [[204, 102]])
    logits = np.log(scores / (1 - scores))
    np.testing.assert_array_equal(sure(logits, "logits", threshold=0.3), [[204, 102]])


def test_confidence_is_zero_where_scores_are_not_numbers():
    scores = np.zeros((2, 1, 3), np.float32)
    scores[1, 0] = [np.nan, 50, -50]
    np.testing.assert_array_equal(sure(scores), [[0, 255, 255]])


def test_huge_logits_do_not_overflow():
    assert sure(np.array([[[3e38]], [[-3e38]]], np.float32)).item() == 255


def test_confidence_of_class_ids_is_refused():
    with pytest.raises(ModelError, match="class ids"):
        sure(np.zeros((1, 2, 2), np.float32), "labels")


def test_scores_of_another_size_have_no_confidence():
    with pytest.raises(ModelError, match=r"\(4, 4\)"):
        confidence(np.zeros((2, 5, 4), np.float32), "logits", np.zeros((4, 4), np.uint8))
