import numpy as np
import pytest
from formulas import CHAINS, after, expected, noise

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.steps import Step

AFTER = [
    *CHAINS,
    (Step("sigmoid"), Step("clip", low_percentile=10, high_percentile=60, per_channel=True)),
    (Step("softmax"), Step("binarize", threshold=0.5)),
]


@pytest.mark.parametrize("chain", AFTER, ids=lambda chain: "+".join(s.op for s in chain))
def test_the_output_of_a_network_is_changed_as_a_whole(chain):
    scores = np.random.default_rng(3).normal(0, 3, (2, 25, 17)).astype(np.float32)
    found, _ = after(scores, chain, reference=scores)
    np.testing.assert_allclose(found, expected(scores, chain), rtol=5e-5, atol=5e-5)


def test_the_reference_is_the_input_before_anything_was_done_to_it():
    image = noise("u2", (1, 30, 20), 4).astype(float)
    output = np.random.default_rng(0).normal(size=(3, 30, 20)).astype(np.float32)
    chain = (
        Step("scale_linear", gain=2),
        Step("scale_mean_variance", reference="input", eps=1e-3),
    )
    found, settled = after(output, chain, reference=image)
    out = output * 2.0
    unit = (out - out.mean()) / (out.std() + 1e-3)
    np.testing.assert_allclose(found, unit * (image.std() + 1e-3) + image.mean(), 1e-4, 1e-3)
    (told,) = settled.measured
    assert (told.step, told.op) == (2, "scale_mean_variance")
    np.testing.assert_allclose(told.reference_std, image.std())
    np.testing.assert_allclose(told.mean, out.mean(), rtol=1e-6)


def test_one_channel_of_input_is_followed_by_every_channel_of_output():
    image = noise("u1", (1, 12, 20), 4)
    output = np.random.default_rng(0).normal(size=(3, 12, 20)).astype(np.float32)
    step = Step("scale_mean_variance", reference="input", per_channel=True)
    found, _ = after(output, (step,), reference=image)
    for plane in found:
        np.testing.assert_allclose((plane.mean(), plane.std()), (image.mean(), image.std()), 1e-4)
    with pytest.raises(ModelError, match="which has 2, but is given 3"):
        after(output, (step,), reference=noise("u1", (2, 12, 20), 4))


def test_no_data_in_an_output_is_not_measured_and_stays_no_data():
    values = np.random.default_rng(0).normal(size=(2, 12, 20)).astype(np.float32)
    values[:, :3] = np.nan
    steps = (Step("scale_range"), Step("binarize", threshold=0.5), Step("cast", dtype="uint8"))
    found, _ = after(values, steps)
    assert np.isnan(found[:, :3]).all()
    np.testing.assert_array_equal(found[:, 3:], expected(values[:, 3:], steps))


def test_casts_cut_what_the_dtype_cannot_hold_and_drop_fractions():
    values = np.array([[[-3.7, -0.2, 0.9, 254.99, 300, 1e12]]], np.float32)
    found, _ = after(values, (Step("cast", dtype="uint8"),))
    np.testing.assert_array_equal(found, [[[0, 0, 0, 254, 255, 255]]])
    signed, _ = after(values, (Step("cast", dtype="int32"),))
    assert signed.astype(np.int64).max() < 2**31
    half, _ = after(values / 7, (Step("cast", dtype="float16"),))
    np.testing.assert_array_equal(half[..., :5], (values[..., :5] / 7).astype("f2"))
    assert np.isfinite(half).all()
