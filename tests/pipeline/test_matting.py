"""From a picture and a job to colours with an alpha channel."""

from __future__ import annotations

import numpy as np
import pytest

import nets
from napari_onnxseg import matte_image
from napari_onnxseg.cards.catalog import bundled_folder
from napari_onnxseg.errors import CancelledError, ChoiceError, OnnxSegError
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import MatteJob
from napari_onnxseg.pipeline.matting import matte

CARD = {
    "format": 1,
    "name": "toy",
    "title": "toy",
    "task": "matting",
    "input": {"normalization": {"method": "unit"}},
    "output": {"scores": "probabilities"},
}


@pytest.fixture
def saliency(tmp_path):
    """Bright is the subject."""
    return nets.saliency(tmp_path / "saliency.onnx", card=CARD)


def disc(height=200, width=320):
    """Draw a bright disc on black, uint8 RGB."""
    y, x = np.mgrid[:height, :width]
    inside = (y - height / 2) ** 2 + (x - width / 2) ** 2 < (height / 3) ** 2
    return (inside[..., None] * np.array([250, 240, 230])).astype(np.uint8)


def test_colours_stay_and_the_alpha_follows_the_subject(saliency):
    picture = disc()
    result = matte_image(picture, saliency, rgb=True)
    np.testing.assert_array_equal(result.rgba[..., :3], picture)
    assert result.rgba[100, 160, 3] > 250
    assert result.rgba[5, 5, 3] < 5
    assert result.rgba.shape == (200, 320, 4)


def test_a_flat_low_answer_stays_low_and_is_pointed_out(tmp_path):
    path = nets.flat_saliency(tmp_path / "flat.onnx", card=CARD)
    result = matte_image(disc(), path, rgb=True)
    assert result.rgba[..., 3].max() <= 7
    assert any("No subject" in note for note in result.notes)


def test_clear_pixels_stay_clear(saliency):
    picture = np.dstack([disc(), np.full((200, 320), 255, np.uint8)])
    picture[:, :160, 3] = 0
    picture[:, 160:200, 3] = 128
    result = matte_image(picture, saliency, rgb=True)
    assert not result.rgba[:, :160, 3].any()
    assert 100 < result.rgba[100, 180, 3] <= 128


@pytest.mark.parametrize("kind", ["grey", "uint16", "float", "bool"])
def test_other_pixels_than_bytes_keep_their_look(saliency, kind):
    picture = disc()
    given = {
        "grey": picture[..., 0],
        "uint16": picture.astype(np.uint16) * 257,
        "float": picture / 255,
        "bool": picture[..., 0] > 0,
    }[kind]
    colour = given.ndim == 3
    result = matte_image(given, saliency, rgb=colour)
    want = picture if colour else np.repeat(picture[..., :1], 3, axis=2)
    want = (want > 0) * 255 if kind == "bool" else want
    assert abs(result.rgba[..., :3].astype(int) - want).max() <= 1
    assert result.rgba[100, 160, 3] > 250


def test_a_background_colour_makes_the_result_opaque(saliency):
    result = matte_image(disc(), saliency, rgb=True, background="#0000ff")
    assert (result.rgba[..., 3] == 255).all()
    np.testing.assert_array_equal(result.rgba[5, 5, :3] > [5, 5, 249], [False, False, True])


@pytest.mark.parametrize("feather", [0, 3, 5])
def test_a_feather_softens_the_edge(saliency, feather):
    hard = matte_image(disc(), saliency, rgb=True, threshold=0.5)
    soft = matte_image(disc(), saliency, rgb=True, threshold=0.5, feather_px=feather)
    between = [((r.rgba[..., 3] > 0) & (r.rgba[..., 3] < 255)).sum() for r in (hard, soft)]
    assert between[1] >= between[0]
    assert (between[1] > between[0]) == (feather > 0)


def test_stacks_of_pictures_come_back_as_stacks(saliency):
    stack = np.stack([disc(), np.zeros_like(disc())])
    result = matte_image(stack, saliency, rgb=True)
    assert result.rgba.shape == (2, 200, 320, 4)
    single = matte_image(stack[0], saliency, rgb=True)
    np.testing.assert_array_equal(result.rgba[0], single.rgba)


def test_missing_data_is_transparent(saliency):
    picture = disc() / 255
    picture[80:120, 140:180] = np.nan
    result = matte_image(picture, saliency, rgb=True)
    assert not result.rgba[80:120, 140:180, 3].any()
    assert result.rgba[130, 160, 3] > 200


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_an_alpha_that_is_not_finite_spreads_nowhere(saliency, value):
    picture = np.dstack([disc() / 255, np.ones((200, 320))])
    opaque = matte_image(picture, saliency, rgb=True)
    picture[5:9, 5:9, 3] = value
    holed = matte_image(picture, saliency, rgb=True)
    np.testing.assert_array_equal(holed.rgba[20:, 20:], opaque.rgba[20:, 20:])


def test_one_channel_that_holds_the_no_data_value_is_still_data(saliency):
    picture = np.zeros((200, 320, 3), np.uint8)
    picture[50:150, 80:240] = 255, 255, 200
    plain = matte_image(picture, saliency, rgb=True)
    marked = matte_image(picture, saliency, rgb=True, nodata=255)
    np.testing.assert_array_equal(marked.rgba, plain.rgba)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"feather_px": -1}, "feather"),
        ({"feather_px": float("nan")}, "feather"),
        ({"feather_px": 1e9}, "feather must lie between 0 and the 32 px"),
        ({"feather_px": -1}, "got -1; use 0 for the model's own edge, or more"),
        ({"index": (0,)}, "has 1 entries"),
        ({"threshold": 0.0}, "between 0 and 1"),
        ({"background": "no-colour"}, "no-colour"),
        ({"model": "unet-nuclei"}, "segment"),
        ({"workers": 0}, "at least 1"),
    ],
)
def test_wrong_choices_are_refused_in_one_sentence(saliency, choices, message):
    with pytest.raises(ChoiceError, match=message):
        matte_image(disc(), **({"model": saliency, "rgb": True} | choices))


def test_a_cancelled_cut_out_ends(saliency):
    cancel = Cancel()
    story = matte(np.zeros((3000, 3000, 3), np.uint8), MatteJob(saliency, rgb=True), cancel=cancel)

    def cancel_at_the_first_band():
        for progress in story:
            if progress.regions:
                cancel.set()

    with pytest.raises(CancelledError):
        cancel_at_the_first_band()


def test_progress_covers_every_pixel_once(saliency):
    covered = np.zeros((1500, 900), int)
    last = None
    for last in matte(np.zeros((1500, 900, 3), np.uint8), MatteJob(saliency, rgb=True)):
        for region in last.regions:
            covered[region.slices] += 1
    assert (covered == 1).all()
    assert last.done == last.total


def test_the_bundled_model_cuts_a_photograph_out():
    from PIL import Image

    with Image.open(bundled_folder() / "samples" / "photograph.jpg") as sample:
        picture = np.asarray(sample.convert("RGB"))
    result = matte_image(picture, rgb=True)
    alpha = result.rgba[..., 3]
    assert 0.05 < (alpha > 127).mean() < 0.95
    assert ((alpha < 20) | (alpha > 235)).mean() > 0.8
    assert result.device == "CPU" or "CUDA" in result.device


def test_a_semantic_model_is_not_taken_for_a_matte(tmp_path):
    path = nets.two_class(tmp_path / "two.onnx")
    with pytest.raises(OnnxSegError, match="segment"):
        matte_image(disc(), path, rgb=True)
