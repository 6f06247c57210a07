"""Fields and drop-downs, one at a time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from qtpy.QtGui import QColor
from qtpy.QtWidgets import QColorDialog, QFileDialog

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.plugin import choosers
from napari_onnxseg.plugin.choosers import OPEN_FILE, Chooser, ModelChooser
from napari_onnxseg.plugin.fields import AutoSpin, ChannelsField, ColourButton, NumberField

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def models(qtbot, monkeypatch) -> ModelChooser:
    listed = [
        SimpleNamespace(name="a", title="Model A", task="semantic"),
        SimpleNamespace(name="m", title="Matting", task="matting"),
        SimpleNamespace(name="b", title="", task="semantic"),
    ]
    monkeypatch.setattr(choosers, "list_models", lambda: tuple(listed))
    chooser = ModelChooser("semantic")
    qtbot.addWidget(chooser)
    return chooser


def pick(chooser: Chooser, text: str) -> None:
    row = chooser.findText(text)
    chooser.setCurrentIndex(row)
    chooser.activated.emit(row)


def answer(monkeypatch, path: str) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (path, ""))


def test_an_automatic_number_steps_to_zero_and_on_by_the_multiple():
    spin = AutoSpin(16, "tip")
    assert spin.number is None
    for expected in (0, 16, 32):
        spin.stepUp()
        assert spin.number == expected
    for expected in (16, 0, None, None):
        spin.stepDown()
        assert spin.number == expected


def test_an_automatic_number_shows_the_one_of_the_plan():
    spin = AutoSpin(16, "tip")
    spin.show_automatic("512 × 640")
    assert spin.text() == "auto (512 × 640 px)"
    spin.setValue(256)
    assert spin.text() == "256 px"


@pytest.mark.parametrize(("text", "number"), [("", None), (" -1.5 ", -1.5), ("nan", "nan")])
def test_a_number_may_be_absent(text, number):
    field = NumberField("none", "tip")
    field.setText(text)
    assert str(field.number) == str(number)


@pytest.mark.parametrize(("text", "channels"), [("", None), ("2, 0", (2, 0)), ("1 2,3", (1, 2, 3))])
def test_channels_are_a_list(text, channels):
    field = ChannelsField()
    field.setText(text)
    assert field.channels == channels


def test_texts_that_are_no_numbers_are_quoted():
    number, channels = NumberField("none", "tip"), ChannelsField()
    number.setText("x")
    channels.setText("red")
    with pytest.raises(ChoiceError, match="'x'"):
        _ = number.number
    with pytest.raises(ChoiceError, match="'red'"):
        _ = channels.channels


def test_models_of_the_task_are_listed_by_title_and_a_file_can_be_opened(models):
    texts = [models.itemText(row) for row in range(models.count())]
    assert texts == ["Model A", "b", OPEN_FILE]
    assert models.model == "a"


def test_a_chosen_file_is_listed_and_used(models, monkeypatch, qtbot, tmp_path):
    answer(monkeypatch, str(tmp_path / "mine.onnx"))
    with qtbot.waitSignal(models.changed):
        pick(models, OPEN_FILE)
    assert models.model == tmp_path / "mine.onnx"
    assert models.currentText() == "mine.onnx"
    assert models.itemText(models.count() - 1) == OPEN_FILE


def test_a_cancelled_dialog_keeps_the_model(models, monkeypatch):
    pick(models, "b")
    answer(monkeypatch, "")
    pick(models, OPEN_FILE)
    assert models.model == "b"
    assert models.currentText() == "b"


def test_without_any_model_nothing_is_chosen(qtbot, monkeypatch):
    monkeypatch.setattr(choosers, "list_models", lambda: ())
    chooser = ModelChooser("semantic")
    qtbot.addWidget(chooser)
    assert chooser.model is None
    assert chooser.currentIndex() == -1
    chooser.open(Path("x.onnx"))
    assert chooser.currentText() == "x.onnx"


@pytest.mark.parametrize(("chosen", "expected"), [("#123456", "#123456"), ("", "#00a0e0")])
def test_a_colour_is_taken_from_the_dialog_unless_it_was_cancelled(monkeypatch, chosen, expected):
    monkeypatch.setattr(QColorDialog, "getColor", lambda *_: QColor(chosen))
    button = ColourButton("#00a0e0")
    button.click()
    assert button.colour == expected
