"""Published networks known by the name of their file, fed and read as they were trained."""

import json

import numpy as np
import pytest
from PIL import Image

from napari_onnxseg import load_card, matte_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.rembg import describe
from napari_onnxseg.cards.write import write_card
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.job import MatteJob
from napari_onnxseg.pipeline.matte_plan import plan_matte
from netbuild import Net, save

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
HALF = ((0.5, 0.5, 0.5), (1.0, 1.0, 1.0))

PUBLISHED = {
    "u2net": (320, *IMAGENET, "probabilities"),
    "u2netp": (320, *IMAGENET, "probabilities"),
    "u2net_human_seg": (320, *IMAGENET, "probabilities"),
    "silueta": (320, *IMAGENET, "probabilities"),
    "isnet-general-use": (1024, *HALF, "probabilities"),
    "isnet-anime": (1024, IMAGENET[0], (1.0, 1.0, 1.0), "probabilities"),
    "BiRefNet-general-epoch_244": (1024, *IMAGENET, "logits"),
    "BiRefNet-general-bb_swin_v1_tiny-epoch_232": (1024, *IMAGENET, "logits"),
    "birefnet-portrait": (1024, *IMAGENET, "logits"),
    "bria-rmbg-2.0": (1024, *IMAGENET, "probabilities"),
    "RMBG-1.4": (1024, *HALF, "probabilities"),
}
"""Side, mean, standard deviation and kind of output of each, written down by hand."""


def mean_net(path, *, side=None, maps=1, others=(), sigmoid=False, channels=3):
    """Score = mean of the channels; further outputs of other sizes as asked."""
    net = Net([1, channels, side or "y", side or "x"])
    last = net.conv("input", np.full((maps, channels, 1, 1), 1 / channels))
    if sigmoid:
        last = net.add("Sigmoid", last)
    outputs = {last: ("float32", [1, maps, side or "y", side or "x"])}
    for wide in others:
        extra = net.conv("input", np.zeros((wide, channels, 1, 1)))
        outputs[extra] = ("float32", [1, wide, side or "y", side or "x"])
    return save(net.model(outputs), path)


class Recorder:
    """A network that keeps what it was given and answers 0."""

    def __call__(self, batch):
        self.given = batch.copy()
        return np.zeros((1, 1, *batch.shape[2:]), np.float32)


def fed(image, model):
    network = Recorder()
    matte_image(image, model, rgb=True, predictor=network)
    return network.given


def photograph(*shape):
    return np.random.default_rng(5).integers(0, 256, (*shape, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_network_is_fed_what_it_was_trained_on(tmp_path, name):
    side, mean, std, _ = PUBLISHED[name]
    image = photograph(side, side)
    expected = ((image / 255.0 - mean) / std).transpose(2, 0, 1)[None]
    given = fed(image, mean_net(tmp_path / f"{name}.onnx", side=side))
    np.testing.assert_allclose(given, expected, atol=2e-6)


@pytest.mark.parametrize("name", PUBLISHED)
def test_free_sides_are_brought_to_the_published_one(tmp_path, name):
    side = PUBLISHED[name][0]
    card = load_card(mean_net(tmp_path / f"{name}.onnx"))
    plan = plan_matte(as_stack(photograph(300, 500), rgb=True), card, MatteJob())
    assert plan.side == (side, side)
    assert card.facts["sizing"] == "file name"


def test_a_picture_is_squeezed_to_the_square_as_pillow_does(tmp_path):
    image = photograph(700, 900)
    small = np.asarray(Image.fromarray(image).resize((320, 320), Image.Resampling.BILINEAR))
    expected = ((small / 255.0 - IMAGENET[0]) / IMAGENET[1]).transpose(2, 0, 1)[None]
    given = fed(image, mean_net(tmp_path / "u2net.onnx", side=320))
    assert np.abs(given - expected).max() < 1.5 / 255 / min(IMAGENET[1])


@pytest.mark.parametrize("name", PUBLISHED)
def test_everything_guessed_is_shown_as_a_guess(tmp_path, name):
    card = load_card(mean_net(tmp_path / f"{name}.onnx", side=64))
    guessed = {key for key, fact in card.facts.items() if fact == "file name"}
    assert guessed == {"task", "normalization", "scores"}
    assert card.scores == PUBLISHED[name][3]
    (note,) = (note for note in card.notes if "name of the file" in note)
    assert "normalization" in note


def test_the_graph_wins_over_the_name(tmp_path):
    card = load_card(mean_net(tmp_path / "birefnet-lite.onnx", side=64, sigmoid=True))
    assert (card.scores, card.facts["scores"]) == ("probabilities", "graph")
    assert card.input.sides == (64, 64)
    assert card.sizing is None
    assert not any("logits" in note for note in card.notes)


def test_a_card_wins_over_the_name(tmp_path):
    path = mean_net(tmp_path / "isnet-mine.onnx", side=64)
    content = {"format": 1, "input": {"normalization": {"method": "unit"}}}
    path.with_suffix(".json").write_text(json.dumps(content), encoding="utf-8")
    card = load_card(path)
    assert (card.normalization.method, card.facts["normalization"]) == ("unit", "card")
    assert card.facts["task"] == "file name"


@pytest.mark.parametrize("wrong", [{"maps": 5}, {"channels": 1}])
def test_a_network_that_cannot_be_the_published_one_is_not_taken_for_it(tmp_path, wrong):
    card = load_card(mean_net(tmp_path / "u2net.onnx", side=64, **wrong))
    assert card.facts["normalization"] == "assumed"
    assert card.task == "semantic"


@pytest.mark.parametrize(
    "name", ["cells", "unet-nuclei", "display", "my-distance", "isnetwork", "u2network", "ben"]
)
def test_other_names_say_nothing(name):
    assert describe(name).normalization is None


def test_the_first_of_different_outputs_is_the_alpha(tmp_path):
    card = load_card(mean_net(tmp_path / "isnet-general-use.onnx", side=64, others=(64, 128)))
    assert card.output.channels == 1


def test_scores_of_birefnet_become_an_alpha_by_a_sigmoid(tmp_path):
    path = mean_net(tmp_path / "birefnet.onnx", side=64)
    for value in (0, 124, 255):
        image = np.full((64, 64, 3), value, np.uint8)
        score = ((value / 255 - np.array(IMAGENET[0])) / IMAGENET[1]).mean()
        alpha = matte_image(image, path, rgb=True, device="cpu").rgba[..., 3]
        assert np.abs(alpha - 255 / (1 + np.exp(-score))).max() <= 0.51


@pytest.mark.parametrize("name", ["silueta", "isnet-general-use", "birefnet-general"])
def test_an_even_picture_is_not_stretched_into_a_subject(tmp_path, name):
    path = mean_net(tmp_path / f"{name}.onnx", side=64)
    noise = np.random.default_rng(2).integers(0, 3, (64, 64, 3), dtype=np.uint8)
    alpha = matte_image(noise, path, rgb=True, device="cpu").rgba[..., 3]
    assert np.ptp(alpha) <= 4


def test_the_network_for_clothes_names_four_classes(tmp_path):
    card = load_card(mean_net(tmp_path / "u2net_cloth_seg.onnx", side=64, maps=4))
    assert card.task == "semantic"
    assert [c.name for c in card.classes] == ["background", "upper body", "lower body", "full body"]
    assert (card.scores, card.facts["classes"]) == ("logits", "file name")
    assert card.normalization.mean == IMAGENET[0]
    assert card.sizing.side_px == 768


def modnet_side(height, width):
    """Size a picture as MODNet's own inference script does."""
    wide, high = width, height
    if max(height, width) < 512 or min(height, width) > 512:
        if width >= height:
            wide, high = int(width / height * 512), 512
        else:
            wide, high = 512, int(height / width * 512)
    return high - high % 32, wide - wide % 32


@pytest.mark.parametrize(
    "shape", [(300, 200), (512, 512), (400, 900), (1080, 1920), (1500, 1000), (64, 600), (101, 307)]
)
def test_modnet_sees_whole_multiples_of_32_and_keeps_the_aspect(tmp_path, shape):
    given = fed(photograph(*shape), mean_net(tmp_path / "modnet_photographic.onnx"))
    assert given.shape[2:] == modnet_side(*shape)
    assert given.min() >= -1
    assert given.max() <= 1


def test_modnet_is_fed_from_minus_one_to_one(tmp_path):
    image = photograph(512, 512)
    given = fed(image, mean_net(tmp_path / "modnet.onnx"))
    expected = ((image / 255.0 - 0.5) / 0.5).transpose(2, 0, 1)[None]
    np.testing.assert_allclose(given, expected, atol=2e-6)


@pytest.mark.parametrize("shape", [(3, 600), (600, 90_000)])
def test_a_strip_does_not_grow_without_limit(tmp_path, shape):
    card = load_card(mean_net(tmp_path / "modnet.onnx"))
    image = np.broadcast_to(np.uint8(0), (*shape, 3))
    side = plan_matte(as_stack(image, rgb=True), card, MatteJob()).side
    assert all(0 < s <= 2048 and s % 32 == 0 for s in side)


def with_sizing(path, sizing):
    path = mean_net(path)
    content = {"format": 1, "task": "matting", "input": {"sizing": sizing}}
    path.with_suffix(".json").write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_card_can_say_what_a_picture_is_brought_to(tmp_path):
    sizing = {"side_px": 96, "keep_aspect": True, "multiple": 16}
    path = with_sizing(tmp_path / "mine.onnx", sizing)
    assert fed(photograph(200, 300), path).shape[2:] == (96, 144)
    card = load_card(path)
    assert card.facts["sizing"] == "card"
    write_card(card, path.with_suffix(".json"))
    assert load_card(path).sizing == card.sizing


@pytest.mark.parametrize(
    ("sizing", "message"),
    [
        ({"keep_aspect": True}, "'input.sizing.side_px' is missing"),
        (
            {"side_px": 64, "keep_aspect": "yes"},
            "'input.sizing.keep_aspect' is .*; allowed is true or false",
        ),
        ({"side_px": 0}, "'input.sizing.side_px' is .*; allowed is a whole number from 1"),
        (
            {"side_px": 64, "multiple": 1.5},
            "'input.sizing.multiple' is .*; allowed is a whole number from 1",
        ),
        ({"side_px": 64, "side": 3}, "'side' is not an entry of 'input.sizing'"),
    ],
)
def test_a_size_that_is_not_allowed_is_named(tmp_path, sizing, message):
    with pytest.raises(ModelError, match=message):
        load_card(with_sizing(tmp_path / "mine.onnx", sizing))
