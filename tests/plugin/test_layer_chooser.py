"""The drop-down of layers is always in line with the layer list."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import card
from napari.layers import Image, Labels
from qtpy.QtWidgets import QVBoxLayout, QWidget

SHAPE = (64, 64)


def offered(panel) -> list[str]:
    combo = panel.image.layers
    return [combo.itemText(row) for row in range(combo.count())]


@pytest.fixture
def three(desk):
    return [desk.image(SHAPE, name=name) for name in "ABC"]


@pytest.fixture
def panel(desk, three):
    return desk.segment(card())


def test_the_active_layer_is_chosen_until_the_user_picks_one(desk, three, panel):
    a, b, c = three
    for layer in (a, c, b):
        desk.viewer.layers.selection.active = layer
        assert panel.image.layer is layer
    panel.image.layers.pick(c)
    desk.viewer.layers.selection.active = a
    assert panel.image.layer is c


def test_selecting_a_labels_layer_keeps_the_image(desk, three, panel):
    desk.viewer.layers.selection.active = three[0]
    desk.viewer.add_labels(np.zeros(SHAPE, np.uint8))
    assert panel.image.layer is three[0]
    assert offered(panel) == ["C", "B", "A"]


def test_a_new_name_is_shown_and_the_run_still_works(desk, three, panel):
    panel.image.layers.pick(three[1])
    three[1].name = "renamed"
    assert offered(panel) == ["C", "renamed", "A"]
    assert panel.image.layer is three[1]
    desk.run(panel)
    assert "renamed · classes" in desk.viewer.layers


def test_a_new_order_is_shown_and_the_choice_stays(desk, three, panel):
    panel.image.layers.pick(three[0])
    desk.viewer.layers.move(0, 3)
    assert offered(panel) == ["A", "C", "B"]
    assert panel.image.layer is three[0]


def test_removing_the_picked_layer_goes_back_to_the_active_one(desk, three, panel):
    panel.image.layers.pick(three[0])
    desk.viewer.layers.selection.active = three[1]
    desk.viewer.layers.remove(three[0])
    assert panel.image.layer is three[1]
    desk.viewer.layers.selection.active = three[2]
    assert panel.image.layer is three[2]


def test_removing_all_layers_leaves_nothing_to_run(desk, panel):
    desk.viewer.layers.clear()
    assert panel.image.layer is None
    desk.plan(panel)
    assert not panel.foot.run.isEnabled()


def test_a_duplicate_can_be_told_from_its_twin(desk, three, panel):
    twin = Image(three[2].data, name="C")
    desk.viewer.add_layer(twin)
    assert len(set(offered(panel))) == 4
    panel.image.layers.pick(twin)
    assert panel.image.layer is twin


def test_layers_of_the_same_name_are_numbered(desk, three, panel):
    three[0]._name = "C"
    panel.image.layers.refresh()
    assert offered(panel) == ["C", "B", "C (2)"]


def test_one_change_of_the_list_makes_one_plan(desk, panel, monkeypatch):
    desk.plan(panel)
    plans = []
    monkeypatch.setattr(panel, "_plan", plans.append)
    desk.image(SHAPE, name="D")
    desk.qtbot.wait(300)
    assert len(plans) == 1


def test_opening_and_closing_leaves_no_callback_behind(desk, three):
    def callbacks() -> list[int]:
        layers = desk.viewer.layers
        watched = (*layers.events.emitters.values(), layers.selection.events.active)
        return [len(emitter.callbacks) for emitter in watched if hasattr(emitter, "callbacks")]

    before, keys = callbacks(), len(desk.viewer.keymap)
    for _ in range(5):
        dock = QWidget()
        desk.qtbot.addWidget(dock)
        panel = desk.segment(card())
        QVBoxLayout(dock).addWidget(panel)
        assert len(desk.viewer.keymap) == keys + 3
        panel.setParent(None)
    assert callbacks() == before
    assert len(desk.viewer.keymap) == keys


def test_a_widget_that_is_docked_again_follows_the_layers_again(desk, three, panel):
    dock = QWidget()
    desk.qtbot.addWidget(dock)
    panel.setParent(dock)
    panel.setParent(None)
    desk.image(SHAPE, name="D")
    panel.setParent(dock)
    assert "D" in offered(panel)
    desk.image(SHAPE, name="E")
    assert "E" in offered(panel)
    panel.setParent(None)


def test_a_deleted_result_does_not_stop_the_next_one(desk, three, panel):
    for _ in range(2):
        desk.run(panel)
        results = [layer for layer in desk.viewer.layers if isinstance(layer, Labels)]
        assert len(results) == 1
        desk.viewer.layers.remove(results[0])


def test_a_renamed_result_does_not_stop_the_next_one(desk, three, panel):
    for name in ("mine", "mine too"):
        desk.run(panel)
        desk.viewer.layers[panel.image.layer.name + " · classes"].name = name
    assert {"mine", "mine too"} <= {layer.name for layer in desk.viewer.layers}


def test_results_of_runs_do_not_become_the_image_of_the_next_run(desk, three, panel):
    desk.viewer.layers.selection.active = three[1]
    panel.choices.confidence.setChecked(True)
    desk.run(panel)
    desk.viewer.layers.selection.active = desk.viewer.layers["B · classes"]
    for _ in range(2):
        desk.run(panel)
        assert panel.image.layer is three[1]
    desk.viewer.layers.selection.active = desk.viewer.layers["B · confidence"]
    assert panel.image.layer is three[1]
    panel.image.layers.pick(desk.viewer.layers["B · confidence"])
    assert panel.image.layer is desk.viewer.layers["B · confidence"]
