"""Runs and the window: clicks while busy, cancel, switched and removed layers, closed docks."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from fakes import Threshold, card
from napari.layers import Labels
from qtpy.QtWidgets import QWidget

from napari_onnxseg.plugin.worker import Run


def results(desk) -> list[Labels]:
    return [layer for layer in desk.viewer.layers if isinstance(layer, Labels)]


@pytest.fixture
def slow(desk):
    """Open a widget whose run takes 400 tiles of 50 ms."""
    desk.predictor = Threshold(delay_s=0.05)
    desk.image((320, 320), name="A", scale=(2, 2))
    panel = desk.segment(card())
    panel.choices.tiling.tile.setValue(32)
    panel.replan()
    yield panel
    desk.predictor.stopped.set()


def hurry(desk, panel) -> None:
    """Let the tiles that are left be fast, and wait for the end."""
    desk.predictor.stopped.set()
    desk.finish(panel)


def test_the_viewer_is_touched_from_the_main_thread_only(desk, slow, monkeypatch):
    wrong = []

    def guard(*_):
        if threading.current_thread() is not threading.main_thread():
            wrong.append(threading.current_thread())

    desk.viewer.layers.events.connect(guard)
    for name in ("show_progress", "show_status", "show_plan", "show_running", "show_idle"):
        real = getattr(slow.foot, name)
        monkeypatch.setattr(slow.foot, name, lambda *a, real=real, **k: (guard(), real(*a, **k)))
    slow.foot.run.click()
    desk.qtbot.wait(200)
    slow.cancel()
    desk.finish(slow)
    slow.foot.run.click()
    hurry(desk, slow)
    assert len(results(desk)) == 1
    assert wrong == []
    assert threading.get_ident() not in desk.predictor.threads


def test_clicks_while_busy_start_nothing(desk, slow):
    slow.foot.run.click()
    slow.foot.run.click()
    slow.run()
    desk.qtbot.wait(150)
    slow.foot.run.click()
    assert not slow.foot.run.isEnabled()
    hurry(desk, slow)
    assert len(results(desk)) == 1
    assert slow.foot.run.isEnabled()


def test_a_second_widget_waits_its_turn(desk, slow):
    other = desk.segment(card())
    slow.foot.run.click()
    other.run()
    assert "One run at a time" in other.foot.status.text()
    assert not other.is_running
    hurry(desk, slow)
    desk.run(other)
    assert len(results(desk)) == 2


def test_cancel_ends_the_run_within_a_second_and_adds_nothing(desk, slow):
    threads = threading.active_count()
    slow.foot.run.click()
    desk.qtbot.waitUntil(lambda: len(desk.predictor.shapes) > 10, timeout=10_000)
    asked = time.monotonic()
    slow.foot.cancel.click()
    assert slow.foot.cancel.text() == "Cancelling …"
    desk.finish(slow)
    assert time.monotonic() - asked < 1
    tiles = len(desk.predictor.shapes)
    desk.qtbot.wait(200)
    assert len(desk.predictor.shapes) == tiles
    assert threading.active_count() <= threads
    assert results(desk) == []
    assert "Cancelled" in slow.foot.status.text()
    assert not slow.foot.cancel.isEnabled()


def test_a_run_after_a_cancelled_one_is_whole(desk, slow):
    slow.foot.run.click()
    desk.qtbot.wait(150)
    slow.cancel()
    desk.finish(slow)
    slow.foot.run.click()
    hurry(desk, slow)
    (labels,) = results(desk)
    assert (labels.data == (desk.viewer.layers["A"].data > 0.5)).all()


def test_the_result_belongs_to_the_layer_the_run_was_started_on(desk, slow):
    other = desk.image((300, 200), name="B", scale=(1, 1))
    desk.viewer.layers.selection.active = desk.viewer.layers["A"]
    slow.foot.run.click()
    desk.viewer.layers.selection.active = other
    hurry(desk, slow)
    (labels,) = results(desk)
    assert labels.name == "A · classes"
    assert labels.data.shape == (320, 320)
    assert labels.scale.tolist() == [2, 2]
    assert [layer.name for layer in desk.viewer.layers] == ["A", "A · classes", "B"]


def test_the_result_of_a_removed_layer_is_added_alone_and_said(desk, slow, messages):
    slow.foot.run.click()
    desk.qtbot.wait(100)
    desk.viewer.layers.clear()
    hurry(desk, slow)
    (labels,) = results(desk)
    assert labels.name == "A · classes"
    assert labels.scale.tolist() == [2, 2]
    assert any("was removed" in message for message in messages)


def test_an_error_is_one_notification_and_the_widget_stays_usable(desk, slow, messages):
    def fail(batch):
        raise RuntimeError("the driver fell over")

    real, slow.task.steps.keywords["predictor"] = desk.predictor, fail
    desk.run(slow)
    assert messages == ["error: RuntimeError: the driver fell over"]
    assert "driver" in slow.foot.status.text()
    assert results(desk) == []
    slow.task.steps.keywords["predictor"] = real
    slow.foot.run.click()
    hurry(desk, slow)
    assert len(results(desk)) == 1


def test_a_result_that_cannot_be_shown_is_an_error_and_the_widget_stays_usable(
    desk, slow, messages
):
    def fail(*_):
        raise ValueError("no such layer")

    slow.task = replace(slow.task, layers=fail)
    slow.foot.run.click()
    hurry(desk, slow)
    assert messages == ["error: ValueError: no such layer"]
    assert slow.foot.run.isEnabled()


def test_an_error_of_ours_is_its_sentence_only(desk, slow, messages):
    from napari_onnxseg.errors import OutOfMemoryError

    def fail(batch):
        raise OutOfMemoryError("The device is out of memory; use a smaller tile.")

    slow.task.steps.keywords["predictor"] = fail
    desk.run(slow)
    assert messages == ["error: The device is out of memory; use a smaller tile."]


def test_closing_the_dock_ends_the_run(desk, slow):
    dock = QWidget()
    desk.qtbot.addWidget(dock)
    slow.setParent(dock)
    slow.foot.run.click()
    desk.qtbot.wait(100)
    slow.setParent(None)
    desk.qtbot.waitUntil(lambda: Run.current() is None, timeout=1000)
    assert results(desk) == []


def test_progress_is_told_in_words_with_the_time_left(desk, slow):
    said = []
    slow.foot.run.click()
    desk.qtbot.waitUntil(lambda: len(desk.predictor.shapes) > 12, timeout=10_000)
    desk.qtbot.waitUntil(
        lambda: said.append(slow.foot.status.text()) or "left" in said[-1], timeout=5000
    )
    assert " of " in said[-1]
    assert slow.foot.bar.maximum() > 1
    hurry(desk, slow)


def test_the_result_is_writable_and_not_the_image(desk, slow):
    slow.foot.run.click()
    hurry(desk, slow)
    (labels,) = results(desk)
    assert labels.data.flags.writeable
    assert not np.shares_memory(labels.data, desk.viewer.layers["A"].data)
