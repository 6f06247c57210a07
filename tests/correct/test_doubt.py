import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import entropy

from napari_onnxseg.correct.doubt import Inverted, disagreement, doubt, flipped, flips
from napari_onnxseg.errors import ModelError

fixed = settings(derandomize=True, deadline=None, max_examples=25)


def written(scores, kind, **more):
    out = np.full(scores.shape[1:], 7, np.uint8)
    doubt(scores, kind, out, **more)
    return out


@fixed
@given(st.integers(0, 10**6), st.integers(2, 7), st.sampled_from([(9, 11), (3, 5, 8)]))
def test_margin_and_entropy_are_their_formulas(seed, classes, shape):
    logits = np.random.default_rng(seed).normal(size=(classes, *shape), scale=3).astype(np.float32)
    probabilities = softmax(logits.astype(float), axis=0)
    top = np.sort(probabilities, axis=0)
    margin = np.rint(255 * (1 - top[-1] + top[-2]))
    np.testing.assert_allclose(written(logits, "logits"), margin, atol=1)
    whole = np.rint(255 * entropy(probabilities, axis=0) / np.log(classes))
    np.testing.assert_allclose(written(logits, "logits", measure="entropy"), whole, atol=1)


@pytest.mark.parametrize("measure", ["margin", "entropy"])
def test_one_channel_is_two_classes(measure):
    one = np.array([[[0, 0.1, 0.5, 0.9, 1]]], np.float32)
    two = np.concatenate([1 - one, one])
    found = written(one, "probabilities", measure=measure)
    np.testing.assert_array_equal(found, written(two, "probabilities", measure=measure))
    assert found[0].tolist() == [0, found[0, 1], 255, found[0, 1], 0]
    assert 0 < found[0, 1] < 255


def test_doubt_of_a_certain_model_is_nothing_and_of_no_number_everything():
    scores = np.zeros((3, 2, 2), np.float32)
    scores[1] = 1
    assert written(scores, "probabilities").max() == 0
    scores[:, 0, 0] = np.nan
    assert written(scores, "probabilities")[0].tolist() == [255, 0]


def test_scores_are_not_changed():
    scores = np.random.default_rng(1).random((1, 8, 8), np.float32)
    before = scores.copy()
    written(scores, "probabilities", measure="entropy")
    np.testing.assert_array_equal(scores, before)


def test_labels_show_no_doubt():
    with pytest.raises(ModelError, match="shows no doubt"):
        written(np.zeros((1, 2, 2), np.float32), "labels")
    with pytest.raises(ModelError, match="for an image block"):
        doubt(np.zeros((2, 3, 3), np.float32), "logits", np.zeros((2, 2), np.uint8))


def test_disagreement_is_none_where_all_agree_and_all_where_as_few_as_can_be_do():
    votes = [np.array([[0, 0, 0, 0]]), np.array([[0, 0, 0, 1]]), np.array([[0, 1, 1, 2]])]
    votes.append(np.array([[0, 0, 1, 3]]))
    out = np.zeros((1, 4), np.uint8)
    disagreement(votes, 2, out)
    assert out[0, :3].tolist() == [0, 128, 255]
    disagreement(votes, 4, out)
    assert out[0].tolist() == [0, 85, 170, 255]
    with pytest.raises(ModelError, match="two or more"):
        disagreement(votes[:1], 2, out)


@pytest.mark.parametrize(("ndim", "count"), [(2, 4), (3, 8)])
def test_flips_are_all_different_and_turn_back(ndim, count):
    image = np.random.default_rng(0).random((2, *range(3, 3 + ndim)))
    views = [flipped(image, way) for way in flips(ndim)]
    assert len({view.tobytes() for view in views}) == count
    np.testing.assert_array_equal(views[0], image)
    for way, view in zip(flips(ndim), views, strict=True):
        np.testing.assert_array_equal(flipped(view, way), image)


def test_confidence_can_be_read_as_doubt():
    confidence = np.array([[0, 200, 255]], np.uint8)
    assert Inverted(confidence)[:, 1:].tolist() == [[55, 0]]
    assert (Inverted(confidence).shape, Inverted(confidence).dtype) == ((1, 3), np.uint8)
