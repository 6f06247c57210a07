import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.decode.labels import (
    decode_labels,
    label_dtype,
    nonfinite_count,
    to_probabilities,
)
from napari_onnxseg.errors import ChoiceError, ModelError


def decoded(scores, kind="logits", threshold=None, dtype=None):
    out = np.full(scores.shape[1:], 77, dtype or label_dtype(len(scores)))
    decode_labels(scores, out, kind=kind, threshold=threshold)
    return out


@pytest.mark.parametrize("classes", [2, 3, 20, 300])
@pytest.mark.parametrize("shape", [(1, 1), (70, 65), (3, 40_000), (2, 5, 33)])
def test_decoding_equals_argmax(classes, shape):
    scores = np.random.default_rng(classes).normal(size=(classes, *shape)).astype(np.float32)
    np.testing.assert_array_equal(decoded(scores), scores.argmax(axis=0))


@pytest.mark.parametrize("classes", [2, 3, 20, 300])
def test_of_equal_scores_the_lower_class_wins(classes):
    scores = np.random.default_rng(classes).integers(0, 3, (classes, 50, 60)).astype(np.float32)
    np.testing.assert_array_equal(decoded(scores, "probabilities"), scores.argmax(axis=0))


@settings(derandomize=True, max_examples=50, deadline=None)
@given(
    classes=st.integers(2, 12),
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    dtype=st.sampled_from(["float16", "float32", "float64", "int32"]),
    seed=st.integers(0, 99),
)
def test_decoding_equals_argmax_for_any_dtype_and_strides(classes, height, width, dtype, seed):
    random = np.random.default_rng(seed)
    scores = (random.normal(size=(classes, height + 4, 2 * width)) * 3).astype(dtype)
    view = scores[:, 2 : 2 + height, ::-2]
    out = np.zeros((height, 2 * width), np.uint8)
    decode_labels(view, out[:, 1::2], kind="logits")
    np.testing.assert_array_equal(out[:, 1::2], view.argmax(axis=0))
    assert not out[:, ::2].any()


def test_infinite_scores_are_ordered_like_numbers():
    scores = np.array([[[-np.inf, np.inf]], [[0, np.inf]], [[-1, 5]]], np.float32)
    np.testing.assert_array_equal(decoded(scores), [[1, 0]])


def test_a_pixel_that_is_not_a_number_gets_one_of_the_classes():
    scores = np.full((3, 4, 4), np.nan, np.float32)
    assert decoded(scores).max() < 3


@pytest.mark.parametrize(("threshold", "foreground"), [(0.01, 4), (0.5, 2), (0.99, 0)])
def test_the_threshold_means_the_same_for_logits_and_for_probabilities(threshold, foreground):
    logits = np.array([[[-4, -1], [1, 4]]], np.float32)
    assert decoded(logits, "logits", threshold).sum() == foreground
    sigmoid = (1 / (1 + np.exp(-logits))).astype(np.float32)
    assert decoded(sigmoid, "probabilities", threshold).sum() == foreground


def test_one_channel_is_thresholded_not_argmaxed():
    scores = np.array([[[0.2, 0.9]]], np.float32)
    np.testing.assert_array_equal(decoded(scores, "probabilities"), [[0, 1]])
    np.testing.assert_array_equal(decoded(scores, "probabilities", 0.1), [[1, 1]])
    np.testing.assert_array_equal(decoded(scores, "probabilities", 0.1, np.uint16), [[1, 1]])


@pytest.mark.parametrize("kind", ["logits", "probabilities"])
def test_a_threshold_of_one_leaves_nothing(kind):
    assert not decoded(np.ones((1, 2, 2), np.float32) * 1, kind, 1.0).any()


@pytest.mark.parametrize("threshold", [-0.1, 1.5, float("nan")])
def test_a_threshold_outside_zero_to_one_is_refused(threshold):
    with pytest.raises(ChoiceError, match="0 to 1"):
        decoded(np.zeros((1, 2, 2), np.float32), "logits", threshold)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "float32", "uint8"])
@pytest.mark.parametrize("channel", [True, False])
def test_class_ids_of_any_dtype_become_uint8(dtype, channel):
    ids = np.random.default_rng(3).integers(0, 256, (30, 40))
    given_ids = ids.astype(dtype)[np.newaxis] if channel else ids.astype(dtype)
    out = np.zeros((30, 40), np.uint8)
    decode_labels(given_ids, out, kind="labels")
    np.testing.assert_array_equal(out, ids)


def test_boolean_class_ids_become_zero_and_one():
    out = np.full((1, 2), 9, np.uint8)
    decode_labels(np.array([[[True, False]]]), out, kind="labels")
    np.testing.assert_array_equal(out, [[1, 0]])


@pytest.mark.parametrize("bad", [-1, 256, 0.5, np.nan])
def test_class_ids_that_would_change_are_refused(bad):
    with pytest.raises(ModelError, match="whole numbers from 0 to 255"):
        decode_labels(np.array([[0, bad]]), np.zeros((1, 2), np.uint8), kind="labels")


@pytest.mark.parametrize("kind", ["logits", "labels"])
def test_scores_of_another_size_are_refused(kind):
    with pytest.raises(ModelError, match=r"\(4, 5\)"):
        decode_labels(np.zeros((2, 4, 4), np.float32), np.zeros((4, 5), np.uint8), kind=kind)


def test_more_classes_than_the_labels_hold_are_refused():
    with pytest.raises(ModelError, match="300 classes"):
        decode_labels(np.zeros((300, 2, 2), np.float32), np.zeros((2, 2), np.uint8), kind="logits")


def test_labels_take_one_byte_up_to_256_classes():
    assert [label_dtype(count).itemsize for count in (1, 2, 256, 257, 65_536)] == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("classes", [0, 65_537])
def test_an_impossible_number_of_classes_is_refused(classes):
    with pytest.raises(ModelError, match=str(classes)):
        label_dtype(classes)


def test_pixels_with_scores_that_are_not_finite_are_counted_once_each():
    scores = np.zeros((3, 5, 5), np.float32)
    assert nonfinite_count(scores) == 0
    scores[:, 1, 1] = np.nan
    scores[1, 2, 2], scores[2, 3, 3] = np.inf, -np.inf
    assert nonfinite_count(scores) == 3


def test_large_finite_scores_are_not_counted_as_infinite():
    assert nonfinite_count(np.full((2, 3, 3), 3e38, np.float32)) == 0
    assert nonfinite_count(np.full((2, 3, 3), 60_000, np.float16)) == 0
    assert nonfinite_count(np.full((2, 3, 3), 7, np.int64)) == 0


def test_softmax_is_applied_once_and_survives_large_logits():
    logits = np.array([1000.0, 1001.0, -3e38], np.float32).reshape(3, 1, 1)
    result = to_probabilities(logits, "logits")
    np.testing.assert_allclose(result.ravel(), [0.26894143, 0.7310586, 0], rtol=1e-5, atol=1e-30)
    assert to_probabilities(result, "probabilities") is result


def test_one_channel_logits_go_through_the_sigmoid():
    logits = np.array([-1000, -4, 0, 4, 1000], np.float32).reshape(1, 1, 5)
    result = to_probabilities(logits, "logits")
    expected = [0, 0.017986209, 0.5, 0.98201376, 1]
    np.testing.assert_allclose(result.ravel(), expected, rtol=1e-6, atol=1e-30)
    assert result.dtype == np.float32


def test_probabilities_of_class_ids_are_refused():
    with pytest.raises(ModelError, match="class ids"):
        to_probabilities(np.zeros((1, 2, 2), np.float32), "labels")
