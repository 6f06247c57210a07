"""The segmentation widget: what it plans, what it gives, where that lies."""

from __future__ import annotations

import json
from dataclasses import replace

import dask.array
import numpy as np
import pytest
from fakes import BACKGROUND, BORDER, NUCLEUS, card
from napari.layers import Labels
from superqt import QCollapsible

from napari_onnxseg.cards.card import ObjectRule, Suggested
from napari_onnxseg.prepare.normalize import Normalization


def results(desk) -> list[Labels]:
    return [layer for layer in desk.viewer.layers if isinstance(layer, Labels)]


def test_a_run_gives_the_classes_of_the_image_just_above_it(desk):
    image = desk.image(name="A", scale=(0.5, 0.25), translate=(10, -7), units=("um", "um"))
    desk.image(name="B")
    desk.viewer.layers.selection.active = image
    panel = desk.segment(card())
    desk.run(panel)
    (labels,) = results(desk)
    assert [layer.name for layer in desk.viewer.layers] == ["A", "A · classes", "B"]
    assert (labels.data == (image.data > 0.5)).all()
    assert np.allclose(labels.extent.world, image.extent.world, atol=1e-6)
    assert labels.units == image.units
    assert desk.viewer.layers.selection.active is image


def test_the_record_of_the_run_is_in_the_metadata(desk):
    desk.image(name="A")
    desk.run(desk.segment(card()))
    (labels,) = results(desk)
    record = json.loads(json.dumps(labels.metadata["onnxseg"]))
    assert record["layer"]["source"] == "A"
    assert record["model"]["name"] == "toy"


@pytest.mark.parametrize("channel", [0, 1])
def test_a_channel_axis_named_by_the_user_is_consumed(desk, channel):
    shape, scale = [16, 64, 64], [2, 0.5, 0.5]
    shape.insert(channel, 2)
    scale.insert(channel, 1)
    image = desk.image(tuple(shape), scale=scale)
    panel = desk.segment(card(channels=2))
    panel.image.channel.choose(channel)
    desk.run(panel)
    (labels,) = results(desk)
    assert labels.data.shape == (16, 64, 64)
    assert labels.scale.tolist() == [2, 0.5, 0.5]
    assert (labels.data == (np.take(image.data, 0, channel) > 0.5)).all()


def test_a_labelled_channel_axis_is_chosen_by_itself(desk):
    desk.image((2, 64, 64), axis_labels=("c", "y", "x"))
    panel = desk.segment(card(channels=2))
    assert panel.image.channel.value == 0
    desk.run(panel)
    assert results(desk)[0].data.shape == (64, 64)


def test_without_a_channel_axis_a_one_channel_model_loops(desk):
    image = desk.image((2, 64, 64))
    desk.run(desk.segment(card()))
    assert (results(desk)[0].data == (image.data > 0.5)).all()


def test_two_leading_axes_are_looped_over(desk):
    values = np.arange(15, dtype=np.float32).reshape(3, 5)
    desk.image(data=np.broadcast_to(values[..., None, None], (3, 5, 32, 40)))
    desk.predictor.level = 6.5
    desk.run(desk.segment(card()))
    (labels,) = results(desk)
    assert labels.data.shape == (3, 5, 32, 40)
    assert (labels.data == (values > 6.5)[..., None, None]).all()


def test_a_grey_volume_four_pixels_wide_is_no_colour_image(desk):
    image = desk.image((20, 64, 4))
    desk.run(desk.segment(card()))
    assert (results(desk)[0].data == (image.data > 0.5)).all()
    assert len(desk.predictor.shapes) == 20


def test_a_wrong_number_of_channels_is_refused_in_red_with_both_numbers(desk, messages):
    desk.image((2, 64, 64))
    panel = desk.segment(card(channels=3))
    panel.image.channel.choose(0)
    text = desk.plan(panel)
    assert "2" in text
    assert "3" in text
    assert "color" in panel.foot.plan.styleSheet()
    assert not panel.foot.run.isEnabled()
    panel.run()
    assert results(desk) == []
    assert messages == []


def test_a_choice_that_fits_again_can_be_run_again(desk):
    desk.image((2, 64, 64))
    panel = desk.segment(card())
    panel.choices.tiling.tile.setValue(30)
    desk.plan(panel)
    assert not panel.foot.run.isEnabled()
    panel.choices.tiling.tile.setValue(32)
    desk.plan(panel)
    assert panel.foot.run.isEnabled()
    assert panel.foot.plan.styleSheet() == ""


def test_the_current_slice_shows_at_its_slice_only(desk):
    image = desk.image((12, 64, 64), scale=(3, 1, 1))
    panel = desk.segment(card())
    panel.image.region.choose(True)
    desk.viewer.dims.set_point(0, 21)
    desk.run(panel)
    (labels,) = results(desk)
    assert labels.data.shape == (1, 64, 64)
    assert labels.translate.tolist() == [21, 0, 0]
    assert (labels.data[0] == (image.data[7] > 0.5)).all()
    assert labels.name.endswith("(slice 7)")


def test_a_preview_runs_on_the_slice_shown_and_leaves_the_region_alone(desk):
    desk.image((5, 64, 64))
    panel = desk.segment(card())
    desk.viewer.dims.set_point(0, 2)
    desk.run(panel, "preview")
    assert results(desk)[0].data.shape == (1, 64, 64)
    desk.run(panel)
    assert results(desk)[-1].data.shape == (5, 64, 64)


def test_region_and_preview_are_offered_for_stacks_only(desk):
    flat, stack = desk.image((64, 64)), desk.image((3, 64, 64))
    panel = desk.segment(card())
    for layer, expected in ((flat, False), (stack, True)):
        panel.image.layers.pick(layer)
        desk.plan(panel)
        assert panel.foot.preview.isVisibleTo(panel) is expected
        assert panel.image.region.isVisibleTo(panel) is expected


def test_automatic_numbers_are_shown(desk):
    desk.image((64, 80))
    panel = desk.segment(card())
    desk.plan(panel)
    assert panel.choices.tiling.tile.text() == "auto (64 × 80 px)"
    assert panel.choices.tiling.halo.text() == "auto (8 px)"
    assert panel.choices.tiling.tile.number is None


def test_numbers_of_the_user_reach_the_job(desk):
    desk.image((64, 80))
    panel = desk.segment(card())
    panel.choices.tiling.tile.setValue(32)
    panel.choices.tiling.halo.setValue(8)
    desk.run(panel)
    assert set(desk.predictor.shapes) == {(1, 1, 32, 32)}


def test_every_choice_is_a_field_of_the_job(desk):
    one = card()
    panel = desk.segment(replace(one, output=replace(one.output, channels=1)))
    form = panel.choices
    form.feeding.method.choose("window")
    form.feeding.low.setValue(10)
    form.feeding.high.setValue(20)
    form.feeding.order.choose("BGR")
    form.feeding.nodata.setText("-1")
    form.feeding.channels.setText("2, 0")
    form.decoding.threshold.setValue(0.3)
    form.decoding.statistics.choose("plane")
    form.confidence.setChecked(True)
    job = form.job(model="toy")
    assert job.normalization == Normalization("window", low=10, high=20)
    assert (job.colour_order, job.nodata, job.channels) == ("BGR", -1, (2, 0))
    assert (job.threshold, job.statistics, job.confidence) == (0.3, "plane", True)


@pytest.mark.parametrize(("field", "text"), [("nodata", "much"), ("channels", "red")])
def test_a_text_that_is_no_number_is_said_in_the_plan(desk, field, text):
    desk.image()
    panel = desk.segment(card())
    getattr(panel.choices.feeding, field).setText(text)
    assert text in desk.plan(panel)
    assert not panel.foot.run.isEnabled()


def test_objects_are_offered_when_the_card_says_how(desk):
    image = desk.image(data=np.pad(np.ones((8, 8), np.float32), 28))
    rule = ObjectRule("components", inside=1)
    panel = desk.segment(card(objects=rule))
    panel.choices.objects.setChecked(True)
    panel.choices.confidence.setChecked(True)
    desk.run(panel)
    assert [layer.name for layer in desk.viewer.layers][1:] == [
        f"{image.name} · {word}" for word in ("confidence", "classes", "objects")
    ]
    assert results(desk)[-1].data.max() == 1
    assert "1 object" in panel.foot.status.text()


def test_without_a_rule_objects_are_not_offered(desk):
    desk.image()
    panel = desk.segment(card())
    assert not panel.choices.objects.isEnabled()
    panel.choices.objects.setChecked(True)
    desk.run(panel)
    assert len(results(desk)) == 1


def test_the_threshold_begins_at_half_for_one_channel_and_at_none_for_several(desk):
    several = desk.segment(card(classes=(BACKGROUND, NUCLEUS, BORDER)))
    one = card()
    single = desk.segment(replace(one, output=replace(one.output, channels=1)))
    assert several.choices.decoding.values()["threshold"] is None
    assert several.choices.decoding.threshold.text() == "best class wins"
    assert single.choices.decoding.values()["threshold"] == 0.5


def test_the_threshold_begins_with_the_authors_and_is_then_the_users(desk):
    one = replace(card(), output=replace(card().output, channels=1))
    told = replace(one, suggested=Suggested(threshold=0.3), sha256="other")
    panel = desk.segment(told)
    decoding = panel.choices.decoding
    assert decoding.values()["threshold"] == 0.3
    decoding.threshold.setValue(0.8)
    decoding.show_card(told)
    assert decoding.values()["threshold"] == 0.8
    decoding.show_card(one)
    assert decoding.values()["threshold"] == 0.5


def test_the_status_names_classes_device_and_seconds(desk):
    desk.image()
    panel = desk.segment(card())
    desk.run(panel)
    words = panel.foot.status.text()
    assert "nucleus" in words
    assert "%" in words
    assert " s" in words
    assert panel.model.device.currentText().startswith("auto (used")


def test_an_answer_of_one_class_is_diagnosed_in_one_notification(desk, messages):
    desk.image(data=np.zeros((64, 64), np.float32))
    panel = desk.segment(card())
    desk.run(panel)
    assert len(messages) == 1
    assert messages[0].startswith("warning")
    assert "normali" in messages[0].lower()
    assert "Only background found" in panel.foot.status.text()


def test_corrections_survive_the_next_run(desk):
    desk.image(name="A")
    panel = desk.segment(card())
    desk.run(panel)
    (first,) = results(desk)
    before = first.data.copy()
    rows = np.repeat(np.arange(10), 50)
    columns = np.tile(np.arange(50), 10)
    first.data_setitem((rows, columns), 7)
    desk.predictor.level = 0.9
    desk.run(panel)
    old, new = results(desk)
    assert old is first
    assert (old.data[:10, :50] == 7).all()
    assert new.data is not old.data
    assert old.name != new.name
    first.undo()
    assert (first.data == before).all()


def test_a_pyramid_is_segmented_at_full_resolution(desk):
    fine = np.random.default_rng(5).random((128, 96), dtype=np.float32)
    pyramid = [fine, fine[::2, ::2], fine[::4, ::4]]
    image = desk.viewer.add_image(pyramid, multiscale=True, rgb=False, scale=(2, 2))
    desk.run(desk.segment(card()))
    (labels,) = results(desk)
    assert (labels.data == (fine > 0.5)).all()
    assert np.allclose(labels.extent.world, image.extent.world)


def test_the_result_of_a_lazy_image_can_be_painted(desk):
    values = np.random.default_rng(5).random((300, 200), dtype=np.float32)
    desk.image(data=dask.array.from_array(values, chunks=64))
    desk.run(desk.segment(card()))
    (labels,) = results(desk)
    assert (labels.data == (values > 0.5)).all()
    labels.paint((100, 100), 9)
    assert labels.data[100, 100] == 9
    labels.undo()
    assert (labels.data == (values > 0.5)).all()


def test_without_an_image_the_widget_waits_for_one(desk):
    panel = desk.segment(card())
    assert "Open an image" in desk.plan(panel)
    assert not panel.foot.run.isEnabled()
    desk.image()
    desk.plan(panel)
    assert panel.foot.run.isEnabled()


def test_the_advanced_section_is_folded_away_at_first(desk):
    panel = desk.segment(card())
    assert not panel.findChild(QCollapsible).isExpanded()
    assert panel.minimumWidth() >= 320
