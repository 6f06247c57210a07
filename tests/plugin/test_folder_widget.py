"""The folder widget: the same files as the other doors, a list that stays quick."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from napari.components import ViewerModel
from PIL import Image
from qtpy.QtCore import QMimeData, QPoint, Qt, QUrl
from qtpy.QtGui import QDropEvent

import nets
from folders import UNIT, results
from napari_onnxseg import segment_folder
from napari_onnxseg.arrays.image_file import ImageFile
from napari_onnxseg.plugin.folder_files import KEEP, REPLACE
from napari_onnxseg.plugin.folder_rows import FolderRows, Row, row_list
from napari_onnxseg.plugin.folder_widget import FolderWidget
from napari_onnxseg.plugin.thumbnails import KEPT, SIDE_PX, WANTED, Thumbnails, small_picture

WAIT_MS = 30_000


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Return a folder of six pictures, one of them torn, and a text."""
    random = np.random.default_rng(12)
    for name in ("a.png", "b.png", "deep/c.png", "deep/d.png", "deep/細胞.png"):
        path = tmp_path / "many" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (40, 50), dtype=np.uint8)).save(path)
    (tmp_path / "many" / "torn.png").write_bytes((tmp_path / "many" / "a.png").read_bytes()[:90])
    (tmp_path / "many" / "notes.txt").write_text("no picture")
    return tmp_path / "many"


@pytest.fixture
def widget(qtbot: Any, tmp_path: Path) -> FolderWidget:
    """Return the widget, with a tiny model."""
    widget = FolderWidget(ViewerModel())
    qtbot.addWidget(widget)
    widget.page.model.models.open(nets.two_class(tmp_path / "halves.onnx", card=UNIT))
    widget.page.load()
    qtbot.waitUntil(lambda: widget.page.card is not None, timeout=WAIT_MS)
    yield widget
    widget.pictures.stop()


def drop(widget: FolderWidget, path: Path) -> None:
    """Drop a folder on the widget."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    action, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    at = QPoint(5, 5).toPointF()
    widget.dropEvent(QDropEvent(at, action, data, button, Qt.KeyboardModifier.NoModifier))


def run(qtbot: Any, widget: FolderWidget) -> None:
    """Wait for the look into the folder, press Run, and wait for the end."""
    qtbot.waitUntil(lambda: not widget.is_looking, timeout=WAIT_MS)
    widget.foot.run.click()
    qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT_MS)


def test_a_dropped_folder_is_looked_into_and_an_example_is_shown(qtbot, widget, many):
    drop(widget, many)
    qtbot.waitUntil(lambda: len(widget.rows.rows) == 6, timeout=WAIT_MS)
    assert widget.files.out.text() == str(many.with_name("many-results"))
    assert "6 images, 1 other" in widget.foot.plan.text()
    assert "40 × 50 px" in widget.foot.plan.text()
    widget.files.name.setText("{index:03}-{model}")
    qtbot.waitUntil(lambda: "001-halves.png" in widget.files.example.text(), timeout=WAIT_MS)
    widget.files.name.setText("{nonsense}")
    qtbot.waitUntil(lambda: "{nonsense}" in widget.foot.plan.text(), timeout=WAIT_MS)


def test_the_widget_writes_the_files_of_the_other_doors(qtbot, widget, many, tmp_path):
    widget.files.take([many])
    widget.files.summary.setChecked(False)
    run(qtbot, widget)
    list(segment_folder(many, tmp_path / "python", widget.page.model.models.model))
    assert results(many.with_name("many-results")) == results(tmp_path / "python")
    status = {row.below: row.status for row in widget.rows.rows}
    assert status.pop("torn.png") == "failed"
    assert set(status.values()) == {"done"}
    torn = next(row for row in widget.rows.rows if row.below == "torn.png")
    assert torn.words.startswith("cannot be read as PNG")
    assert "5 done, 1 failed, 1 skipped" in widget.foot.status.text()


def test_a_second_run_is_refused_kept_or_replaced(qtbot, widget, many):
    widget.files.take([many])
    run(qtbot, widget)
    run(qtbot, widget)
    assert "resume (--resume)" in widget.foot.status.text()
    widget.files.earlier.choose(KEEP)
    run(qtbot, widget)
    words = [row.words for row in widget.rows.rows if row.status == "done"]
    assert words == ["done before"] * 5
    widget.files.earlier.choose(REPLACE)
    run(qtbot, widget)
    assert sum(row.words.startswith("done in") for row in widget.rows.rows) == 5


def test_python_goes_on_with_a_run_of_the_widget(qtbot, widget, many):
    widget.files.take([many])
    run(qtbot, widget)
    again = segment_folder(
        many, many.with_name("many-results"), widget.page.model.models.model, resume=True
    )
    assert [o.error for o in again if o.status == "skipped"].count("done before") == 5


def test_a_double_click_opens_the_image_with_its_result(qtbot, widget, many):
    widget.files.take([many])
    run(qtbot, widget)
    widget.list.doubleClicked.emit(widget.rows.index(0))
    qtbot.waitUntil(lambda: len(widget.viewer.layers) == 2, timeout=WAIT_MS)
    image, result = widget.viewer.layers
    assert image.name == "a"
    assert type(result).__name__ == "Labels"
    assert result.data.shape == image.data.shape
    widget.list.doubleClicked.emit(widget.rows.index(2))
    qtbot.waitUntil(lambda: "cannot be read" in widget.foot.status.text(), timeout=WAIT_MS)


def test_cancel_keeps_what_is_finished(qtbot, widget, tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(300):
        np.save(tmp_path / "in" / f"{number:03}.npy", np.zeros((60, 60), np.uint8))
    widget.files.take([tmp_path / "in"])
    qtbot.waitUntil(lambda: not widget.is_looking, timeout=WAIT_MS)
    widget.foot.run.click()
    qtbot.waitUntil(lambda: widget.rows.rows[0].status == "done", timeout=WAIT_MS)
    widget.foot.cancel.click()
    qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT_MS)
    assert widget.foot.status.text().count("Cancelled") == 1
    done = sum(row.status == "done" for row in widget.rows.rows)
    assert 0 < done < 300
    assert not any(row.status == "running" for row in widget.rows.rows)


def test_cut_outs_have_their_own_choices(qtbot, widget):
    widget.what.choose("matting")
    qtbot.waitUntil(lambda: widget.page.card is not None, timeout=WAIT_MS)
    assert widget.page.card.task == "matting"
    assert widget.page.isVisibleTo(widget)
    assert not widget.pages["semantic"].isVisibleTo(widget)


def test_twenty_thousand_images_are_listed_and_painted_at_once(qtbot):
    rows, pictures = FolderRows(), Thumbnails()
    view = row_list(rows, pictures)
    qtbot.addWidget(view)
    view.resize(320, 400)
    listed = [Row(Path(f"/nowhere/{n:05}.png"), f"{n:05}.png") for n in range(20_000)]
    begun = time.perf_counter()
    rows.offer(listed)
    view.show()
    for place in (0, 10_000, 19_999):
        view.scrollTo(rows.index(place))
        view.grab()
    assert time.perf_counter() - begun < 3
    assert len(pictures._wanted) <= WANTED
    pictures.stop()
    qtbot.waitUntil(lambda: pictures._watch is None, timeout=WAIT_MS)


def test_only_so_many_small_pictures_are_kept(qtbot, tmp_path):
    Image.new("L", (30, 20), 90).save(tmp_path / "a.png")
    pictures = Thumbnails()
    pictures._kept.update({Path(f"{n}.png"): None for n in range(KEPT)})
    assert pictures.get(tmp_path / "a.png") is None
    qtbot.waitUntil(lambda: pictures.get(tmp_path / "a.png") is not None, timeout=WAIT_MS)
    assert len(pictures._kept) == KEPT


@pytest.mark.parametrize(
    ("shape", "more"),
    [
        ((300, 200), {}),
        ((300, 200, 3), {"rgb": True}),
        ((9, 300, 200), {}),
        ((2, 300, 200), {"channel_axis": 0}),
        ((4, 5, 3, 300, 200), {"channel_axis": 2}),
        ((300, 200, 2), {"channel_axis": 2}),
        ((1, 1), {}),
    ],
)
@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32", "bool"])
def test_a_small_picture_has_four_channels_and_a_bounded_side(shape, more, kind):
    values = (np.random.default_rng(4).random(shape) * 200).astype(kind)
    shown = small_picture(ImageFile(values, "", **more))
    assert shown.dtype == np.uint8
    assert shown.shape[-1] == 4
    assert max(shown.shape[:2]) <= SIDE_PX


def test_classes_are_shown_in_the_colours_of_the_model():
    labels = np.array([[0, 1], [2, 300]], np.uint16)
    shown = small_picture(ImageFile(labels, "YX"), {1: "#ff0000", 2: None})
    assert shown[0, 0, 3] == 0
    assert shown[0, 1].tolist() == [255, 0, 0, 255]
    assert shown[1, 0, 3] == shown[1, 1, 3] == 255
