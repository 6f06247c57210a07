"""Images of values, several outputs in one run, and steps after the network."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import onnx
import pytest

import headnets
import nets
from napari_onnxseg import Normalization, SegmentJob, matte_image, segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.card import Suggested
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ChoiceError, ModelError, RunError
from napari_onnxseg.pipeline.plan import plan_segment
from napari_onnxseg.prepare.steps import Step
from netbuild import Net, save

RAW = Normalization("none")


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def two_headed(path, **more):
    """Card of the two-headed net: classes, and an image with named channels."""
    card = load_card(headnets.two_heads(path, **more))
    image = replace(card.others[0], task="image", scores="values", classes=(), name="flow")
    return replace(card, head_name="mask", others=(replace(image, channels=("y", "x")),))


# -- images


def test_a_regression_gives_its_values(tmp_path):
    image = noise(40, 50)
    result = segment_image(image, headnets.line(tmp_path / "a.onnx"))
    np.testing.assert_allclose(result.image, 2 * image - 1, atol=1e-6)
    assert (result.image.dtype, result.labels, result.objects) == (np.float32, None, None)
    assert result.heads[0].limits == ((result.image.min(), result.image.max()),)
    json.dumps(result.record, allow_nan=False)


@pytest.mark.parametrize(("outputs", "tile"), [(1, 32), (3, 48), (3, (32, 64))])
def test_tiles_of_an_image_equal_the_whole_bit_for_bit(tmp_path, outputs, tile):
    path = headnets.blur(tmp_path / "a.onnx", outputs=outputs)
    image = noise(131, 97)
    whole, tiled = (segment_image(image, path, tile=side).image for side in (256, tile))
    assert whole.shape == ((3, 131, 97) if outputs == 3 else (131, 97))
    np.testing.assert_array_equal(tiled, whole)


def test_a_stack_keeps_its_planes_and_the_channels_stand_before_the_rows(tmp_path):
    path = headnets.blur(tmp_path / "a.onnx", outputs=3)
    stack = noise(4, 30, 20)
    every = segment_image(stack, path, rgb=False).image
    assert every.shape == (4, 3, 30, 20)
    np.testing.assert_array_equal(every[2], segment_image(stack[2], path).image)
    (picked,) = segment_image(stack, path, rgb=False, index=(2,)).image
    np.testing.assert_array_equal(picked, every[2])


def test_blended_tiles_average_values_as_they_are(tmp_path):
    image = noise(90, 80)
    result = segment_image(image, headnets.line(tmp_path / "a.onnx"), tile=32, overlap=16)
    np.testing.assert_allclose(result.image, 2 * image - 1, atol=1e-5)


def test_pixels_without_data_are_not_a_number_and_no_fault(tmp_path):
    image = noise(64, 64)
    image[:8, :8] = np.nan
    path = headnets.line(tmp_path / "a.onnx")
    for choices in ({}, {"tile": 32, "overlap": 8}):
        result = segment_image(image, path, **choices)
        np.testing.assert_array_equal(np.isnan(result.image), np.isnan(image))
        assert not any("not finite" in note for note in result.notes)


def test_values_that_are_not_finite_are_pointed_out(tmp_path):
    net = Net(["batch", 1, "y", "x"])
    last = net.add("Log", "input")
    model = net.model({last: ("float32", ["batch", 1, "y", "x"])})
    path = save(model, tmp_path / "log.onnx", headnets.IMAGE)
    image = np.ones((20, 20), np.float32)
    image[0, :3], image[1] = 0, 4
    result = segment_image(image, path)
    assert any("not finite numbers at 3 of 400 pixels" in note for note in result.notes)
    assert result.heads[0].limits == ((0.0, pytest.approx(np.log(4))),)


def test_an_image_of_one_value_is_pointed_out(tmp_path):
    path = headnets.line(tmp_path / "a.onnx", gain=0.0, offset=3.0)
    result = segment_image(noise(20, 20), path)
    assert any("Every pixel came out as 3." in note for note in result.notes)


@pytest.mark.parametrize("choice", [{"threshold": 0.4}, {"confidence": True}, {"objects": True}])
def test_what_needs_classes_is_refused_for_an_image(tmp_path, choice):
    path = headnets.line(tmp_path / "a.onnx")
    with pytest.raises(ChoiceError, match="gives values and no classes"):
        segment_image(noise(8, 8), path, **choice)


def test_an_image_model_is_no_cut_out(tmp_path):
    path = headnets.line(tmp_path / "a.onnx")
    with pytest.raises(ChoiceError, match="gives values per pixel"):
        matte_image(np.zeros((8, 8), np.uint8), path)


def test_the_memory_of_float_results_is_counted(tmp_path):
    card = load_card(headnets.blur(tmp_path / "a.onnx", outputs=3))
    stack = as_stack(np.zeros((500, 600), np.float32))
    plan = plan_segment(stack, card, SegmentJob(card.path, tile=64))
    assert plan.memory_bytes >= 12 * 500 * 600


@pytest.mark.parametrize("size", [64, 96])
def test_an_image_at_half_the_resolution_fills_the_picture(tmp_path, size):
    net = Net(["batch", 1, "y", "x"])
    last = net.add("AveragePool", "input", kernel_shape=[2, 2], strides=[2, 2])
    model = net.model({last: ("float32", ["batch", 1, "h", "w"])})
    path = save(model, tmp_path / "half.onnx", headnets.IMAGE)
    ramp = np.tile(np.arange(size, dtype=np.float32), (size, 1))
    whole, tiled = (segment_image(ramp, path, tile=side).image for side in (size, 32))
    np.testing.assert_allclose(whole[:, 2:-2], ramp[:, 2:-2], atol=1e-4)
    np.testing.assert_array_equal(tiled, whole)


# -- several outputs


def test_two_outputs_come_from_one_run_and_tiles_equal_the_whole(tmp_path):
    card = two_headed(tmp_path / "a.onnx")
    image = noise(131, 97)
    whole, tiled = (
        segment_image(image, card.path, card=card, normalization=RAW, tile=side)
        for side in (256, 48)
    )
    assert [head.name for head in whole.heads] == ["mask", "flow"]
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    np.testing.assert_array_equal(tiled.image, whole.image)
    names = [entry["name"] for entry in whole.record["outputs"]]
    assert names == ["mask", "flow"]
    assert sum(whole.record["outputs"][0]["pixels"].values()) == image.size
    assert whole.record["outputs"][1]["channels"] == ["y", "x"]


def test_two_outputs_equal_two_models_of_one_output(tmp_path):
    card = two_headed(tmp_path / "both.onnx")
    image = noise(90, 70)
    both = segment_image(image, card.path, card=card, normalization=RAW, tile=48, confidence=True)
    mask = headnets.two_heads(tmp_path / "mask.onnx", keep="mask")
    flow = headnets.two_heads(tmp_path / "flow.onnx", keep="field", card=headnets.IMAGE)
    one = segment_image(image, mask, normalization=RAW, tile=48, confidence=True)
    np.testing.assert_array_equal(both.labels, one.labels)
    np.testing.assert_array_equal(both.confidence, one.confidence)
    np.testing.assert_array_equal(both.image, segment_image(image, flow, tile=48).image)


@pytest.mark.parametrize("name", ["flow", "tensor"])
def test_one_of_several_outputs_can_be_chosen_by_either_name(tmp_path, name):
    card = two_headed(tmp_path / "a.onnx")
    wanted = card.others[0].output.name if name == "tensor" else name
    result = segment_image(noise(30, 30), card.path, card=card, heads=[wanted])
    assert [head.name for head in result.heads] == ["flow"]
    assert (result.labels, result.image.shape) == (None, (2, 30, 30))


@pytest.mark.parametrize("heads", [("mask", "depth"), ()])
def test_an_unknown_output_is_refused_with_those_there_are(tmp_path, heads):
    card = two_headed(tmp_path / "a.onnx")
    with pytest.raises(ChoiceError, match="choose among 'mask', 'flow'"):
        segment_image(noise(30, 30), card.path, card=card, heads=heads)


def test_blending_serves_every_output(tmp_path):
    card = two_headed(tmp_path / "a.onnx")
    image = noise(100, 60)
    whole = segment_image(image, card.path, card=card, normalization=RAW, tile=256)
    blended = segment_image(image, card.path, card=card, normalization=RAW, tile=48, overlap=16)
    assert (whole.labels != blended.labels).mean() < 0.05
    assert np.abs(whole.image - blended.image).mean() < 0.2 * np.abs(whole.image).mean()


def test_a_predictor_gives_one_array_an_output(tmp_path):
    card = two_headed(tmp_path / "a.onnx")

    def fake(batch):
        return np.repeat(batch, 3, 1), np.repeat(batch, 2, 1)

    image = noise(20, 20)
    result = segment_image(image, card.path, card=card, normalization=RAW, predictor=fake)
    np.testing.assert_array_equal(result.image, np.stack([image, image]))
    with pytest.raises(RunError, match="gave 1 outputs where 2 are wanted"):
        segment_image(image, card.path, card=card, predictor=lambda batch: fake(batch)[:1])


def test_outputs_of_different_resolution_and_border_are_tiled_together(tmp_path):
    net = Net(["batch", 1, "y", "x"])
    full = net.random_conv("input", 1, 2, 5)
    low = net.add("AveragePool", "input", kernel_shape=[4, 4], strides=[4, 4])
    half = net.random_conv(low, 1, 1, 3)
    outputs = {
        full: ("float32", ["batch", 2, "y", "x"]),
        half: ("float32", ["batch", 1, "h", "w"]),
    }
    card = load_card(save(net.model(outputs), tmp_path / "a.onnx"))
    image_head = replace(card.others[0], task="image", scores="values", classes=())
    card = replace(card, others=(image_head,))
    whole, tiled = (
        segment_image(noise(128, 128), card.path, card=card, normalization=RAW, tile=side)
        for side in (128, 48)
    )
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    np.testing.assert_array_equal(tiled.image, whole.image)
    assert tiled.record["multiple"] == [4, 4]


# -- steps after the network


def test_steps_after_the_network_are_done(tmp_path):
    card = load_card(headnets.line(tmp_path / "a.onnx"))
    steps = (Step("scale_linear", gain=(10.0,), offset=(1.0,)), Step("clip", low=-5.0, high=5.0))
    image = noise(60, 50)
    for choices in ({}, {"tile": 16, "overlap": 8}):
        result = segment_image(image, card.path, card=replace(card, after=steps), **choices)
        wanted = np.clip(10 * (2 * image - 1) + 1, -5, 5)
        np.testing.assert_allclose(result.image, wanted, atol=1e-4)
    assert "clip" in result.record["plan"]


def test_a_step_that_measures_the_output_measures_all_of_it(tmp_path):
    card = load_card(headnets.line(tmp_path / "a.onnx"))
    steps = (Step("zero_mean_unit_variance"),)
    image = noise(60, 50) * 7 + 3
    image[:5] = np.nan
    whole = segment_image(image, card.path, card=replace(card, after=steps)).image
    tiled = segment_image(image, card.path, card=replace(card, after=steps), tile=16).image
    values = 2 * image[5:].astype(float) - 1
    wanted = (values - values.mean()) / (values.std() + 1e-6)
    np.testing.assert_allclose(whole[5:], wanted, atol=1e-5)
    np.testing.assert_array_equal(tiled, whole)
    assert np.isnan(whole[:5]).all()


def test_a_decision_of_the_description_is_that_of_the_labels(tmp_path):
    card = load_card(nets.one_channel(tmp_path / "a.onnx", sigmoid=False))
    steps = (Step("sigmoid"), Step("binarize", threshold=(0.7,)))
    decided = replace(card, after=steps, scores="probabilities")
    image = noise(64, 64)
    wanted = 1 / (1 + np.exp(-image.astype(float))) > 0.7
    for choices in ({}, {"tile": 32, "overlap": 16}):
        result = segment_image(image, card.path, card=decided, normalization=RAW, **choices)
        np.testing.assert_array_equal(result.labels, wanted)


def test_classes_may_follow_from_measured_scores(tmp_path):
    card = load_card(nets.one_channel(tmp_path / "a.onnx", sigmoid=False))
    steps = (Step("scale_range"), Step("binarize", threshold=(0.5,)))
    measured = replace(card, after=steps, scores="probabilities")
    image = noise(64, 64)
    low, high = float(image.min()), float(image.max())
    result = segment_image(image, card.path, card=measured, normalization=RAW, tile=32)
    np.testing.assert_array_equal(result.labels, image > low + 0.5 * (high - low))
    assert result.record["outputs"][0]["measured"]


# -- a threshold on several classes


@pytest.mark.parametrize("choices", [{}, {"tile": 16, "overlap": 8}])
@pytest.mark.parametrize("told", [True, False])
def test_pixels_whose_best_class_is_unlikely_become_class_zero(tmp_path, choices, told):
    card = load_card(nets.many_classes(tmp_path / "a.onnx", classes=4))
    image = np.random.default_rng(0).random((40, 40)).astype(np.float32)
    plain = segment_image(image, card.path, normalization=RAW, confidence=True, **choices)
    given = {} if told else {"threshold": 0.6}
    if told:
        card = replace(card, suggested=Suggested(threshold=0.6))
    cut = segment_image(
        image, card.path, card=card, normalization=RAW, confidence=True, **given, **choices
    )
    sure = plain.confidence >= round(0.6 * 255)
    assert 0.1 < sure.mean() < 0.9
    np.testing.assert_array_equal(cut.labels, np.where(sure, plain.labels, 0))
    np.testing.assert_array_equal(cut.confidence[sure], plain.confidence[sure])
    assert (cut.confidence[~sure] <= plain.confidence[~sure]).all()
    assert "class 0 where the best is below 0.6" in cut.record["plan"]


# -- what the graph tells


def test_outputs_that_are_no_maps_are_left_aside_by_name(tmp_path):
    net = Net(["batch", 1, 32, 32])
    mask = net.random_conv("input", 1, 2, 3)
    whole = net.add("GlobalAveragePool", mask)
    outputs = {
        mask: ("float32", ["batch", 2, 32, 32]),
        net.add("Flatten", whole): ("float32", ["batch", 2]),
    }
    card = load_card(save(net.model(outputs), tmp_path / "a.onnx"))
    assert card.others == ()
    assert any(note.startswith("Left aside, because they are no maps") for note in card.notes)


def test_a_classifier_is_refused_in_a_sentence(tmp_path):
    net = Net(["batch", 3, 32, 32])
    wide = net.random_conv("input", 3, 10, 3)
    last = net.add("Flatten", net.add("GlobalAveragePool", wide))
    path = save(net.model({last: ("float32", ["batch", 10])}), tmp_path / "a.onnx")
    with pytest.raises(ModelError, match="10 numbers for the whole picture, as classifiers give"):
        load_card(path)


@pytest.mark.parametrize("card", [None, headnets.IMAGE])
def test_more_than_a_thousand_classes_or_channels_are_refused(tmp_path, card):
    net = Net(["batch", 1, "y", "x"])
    last = net.conv("input", np.zeros((1001, 1, 1, 1)))
    path = save(
        net.model({last: ("float32", ["batch", 1001, "y", "x"])}), tmp_path / "a.onnx", card
    )
    with pytest.raises(ModelError, match=r"1001 numbers for each pixel.*at most 1000"):
        load_card(path)


def test_an_output_built_like_an_image_is_taken_for_scores_and_said_so(tmp_path):
    card = load_card(nets.echo(tmp_path / "a.onnx"))
    assert (card.task, card.facts["task"]) == ("semantic", "assumed")
    assert any('put {"task": "image"} into a card' in note for note in card.notes)


def test_outputs_of_one_name_are_told_apart(tmp_path):
    path = headnets.two_heads(tmp_path / "a.onnx")
    names = [output.name for output in onnx.load(path).graph.output]
    assert [head.name for head in load_card(path).heads] == names
