"""The cut-out widget: an RGBA image in the place of its source, soft, sharp or on a colour."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import Threshold, card

from napari_onnxseg.pipeline.job import MatteJob


class Disc(Threshold):
    """The middle of the picture is the subject."""

    def __call__(self, batch):
        self.shapes.append(batch.shape)
        sides = [np.linspace(-1, 1, n) for n in batch.shape[2:]]
        inside = np.add.outer(sides[0] ** 2, sides[1] ** 2) < 0.5
        return np.broadcast_to(inside, (len(batch), 1, *inside.shape)).astype(np.float32)


@pytest.fixture
def panel(desk):
    desk.predictor = Disc()
    data = np.full((60, 90, 3), (200, 100, 50), np.uint8)
    desk.image(data=data, rgb=True, name="A", scale=(0.5, 0.25), translate=(10, -7))
    return desk.cut_out(card(task="matting", channels=3, sides=(32, 32)))


def test_a_cut_out_lies_on_its_image_and_hides_it(desk, panel):
    desk.run(panel)
    image, cut = desk.viewer.layers
    assert cut.name == "A · cut-out"
    assert cut.rgb
    assert cut.data.shape == (60, 90, 4)
    assert np.allclose(cut.extent.world, image.extent.world, atol=1e-6)
    assert cut.data[30, 45].tolist() == [200, 100, 50, 255]
    assert cut.data[0, 0, 3] == 0
    assert (image.visible, cut.visible) == (False, True)
    assert desk.viewer.layers.selection.active is image


def test_the_image_stays_visible_when_the_user_says_so(desk, panel):
    panel.choices.hide.setChecked(False)
    desk.run(panel)
    assert desk.viewer.layers["A"].visible


def test_a_picture_in_which_nothing_was_found_is_not_hidden(desk):
    desk.predictor = Threshold(level=1e9, classes=1)
    desk.image(data=np.full((60, 90, 3), 200, np.uint8), rgb=True, name="A")
    panel = desk.cut_out(card(task="matting", channels=3, sides=(32, 32)))
    desk.run(panel)
    assert desk.viewer.layers["A"].visible
    assert not desk.viewer.layers["A · cut-out"].data[..., 3].any()


def test_white_is_white_and_opaque(desk, panel):
    panel.choices.background.choose("white")
    desk.run(panel)
    assert desk.viewer.layers["A · cut-out"].data[0, 0].tolist() == [255, 255, 255, 255]
    assert "Opaque background" in panel.foot.status.text()


def test_the_colour_shown_on_the_button_is_used(desk, panel):
    assert not panel.choices.colour.isVisibleTo(panel)
    panel.choices.background.choose("colour")
    assert panel.choices.colour.isVisibleTo(panel)
    panel.choices.colour.set_colour("#102030")
    desk.run(panel)
    assert desk.viewer.layers["A · cut-out"].data[0, 0].tolist() == [16, 32, 48, 255]


def test_a_threshold_is_used_only_when_ticked(panel):
    form = panel.choices
    assert not form.threshold.isEnabled()
    assert form.job(model="toy") == MatteJob("toy")
    form.sharp.setChecked(True)
    form.threshold.setValue(0.7)
    assert form.threshold.isEnabled()
    assert form.job(model="toy").threshold == 0.7


@pytest.mark.parametrize("feather", [0.0, 3.0, 5.0])
def test_the_edge_reaches_the_job(panel, feather):
    panel.choices.feather.choose(feather)
    assert panel.choices.job(model="toy").feather_px == feather


def test_every_slice_of_a_stack_is_cut_out(desk, panel):
    stack = np.full((3, 40, 50, 3), 90, np.uint8)
    desk.viewer.layers.selection.active = desk.image(data=stack, rgb=True, name="S")
    desk.run(panel)
    assert desk.viewer.layers["S · cut-out"].data.shape == (3, 40, 50, 4)
    desk.viewer.dims.set_point(0, 1)
    desk.run(panel, "preview")
    assert desk.viewer.layers["S · cut-out (slice 1)"].data.shape == (1, 40, 50, 4)


def test_the_plan_names_picture_and_side(desk, panel):
    words = desk.plan(panel)
    assert "60 × 90" in words
    assert "32" in words


def test_the_status_tells_how_much_is_subject(desk, panel):
    desk.run(panel)
    assert "Subject fills" in panel.foot.status.text()
