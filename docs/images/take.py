"""Take the pictures of the widgets: run a model on a sample in a real viewer and look.

Needs a screen with OpenGL: ``xvfb-run -a -s "-screen 0 1600x1100x24" python docs/images/take.py``.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import napari
import numpy as np
from PIL import Image
from qtpy.QtWidgets import QApplication

from napari_onnxseg.cards.catalog import bundled_folder
from napari_onnxseg.plugin.folder_widget import FolderWidget
from napari_onnxseg.plugin.matting_widget import MattingWidget
from napari_onnxseg.plugin.models_widget import ModelsWidget
from napari_onnxseg.plugin.panel import Panel
from napari_onnxseg.plugin.samples import nuclei, photograph
from napari_onnxseg.plugin.semantic_widget import SegmentWidget

SIZE = (1280, 740)
TALL = (1280, 970)


def settle(until: Callable[[], bool] = lambda: True, seconds: float = 0.5) -> None:
    """Let Qt work until something holds, and a little longer."""
    while not until():
        QApplication.processEvents()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        QApplication.processEvents()


def picture(viewer: napari.Viewer, panel: Panel, name: str, file: Path) -> None:
    """Dock a widget, run it, and save the window."""
    viewer.window.add_dock_widget(panel, name=name)
    settle(lambda: panel.model.card is not None)
    viewer.reset_view()
    panel.run()
    settle(lambda: not panel.is_running)
    save(viewer, file)


def models_picture(viewer: napari.Viewer, file: Path) -> None:
    """Dock the list of models, try one on the view, and save the window."""
    widget = ModelsWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Models")
    widget.models.choose("unet-nuclei")
    settle(lambda: widget.card is not None)
    viewer.reset_view()
    viewer.scene.camera.zoom *= 1.6
    widget.actions.test()
    settle(lambda: not widget.jobs.is_busy)
    viewer.scene.camera.zoom /= 1.5
    settle()
    save(viewer, file)


def questions_picture(viewer: napari.Viewer, model: Path, file: Path) -> None:
    """Choose a model that nobody has described, and save the window with the questions."""
    panel = SegmentWidget(viewer)
    viewer.window.add_dock_widget(panel, name="Segment (U-Net)")
    settle()
    viewer.reset_view()
    panel.model.models.open(model)
    tiles = panel.questions.sheet.looks
    settle(lambda: panel.questions.is_open and all(tile.has_picture for tile in tiles.tiles))
    tiles.choose(3)
    for name, line in zip(
        ("nucleus", "border"), panel.questions.sheet.names.names[1:], strict=True
    ):
        line.setText(name)
    settle()
    save(viewer, file)


def folder_picture(folder: Path, file: Path) -> None:
    """Run a folder of parts of a sample, one of them torn, open one, and save the window."""
    ((data, _, _),) = nuclei()
    random = np.random.default_rng(1)
    for number in range(12):
        place = folder / f"plate-{number // 6 + 1}" / f"well-{number % 6 + 1:02}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        top, left = random.integers(0, np.subtract(data.shape, (200, 240)))
        Image.fromarray(np.ascontiguousarray(data[top : top + 200, left : left + 240])).save(place)
    (folder / "plate-1" / "well-04.png").write_bytes(place.read_bytes()[:500])
    viewer = napari.Viewer(show=True)
    viewer.window.resize(*TALL)
    widget = FolderWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Folder")
    settle(lambda: widget.page.card is not None)
    widget.files.take([folder])
    widget.files.name.setText("{stem}-{model}")
    settle(lambda: not widget.is_looking)
    widget.run()
    settle(lambda: not widget.is_running, seconds=2)
    widget.list.doubleClicked.emit(widget.rows.index(1))
    settle(lambda: len(viewer.layers) == 2)
    viewer.reset_view()
    settle()
    save(viewer, file)


def save(viewer: napari.Viewer, file: Path) -> None:
    """Save the window and close it."""
    shot = Image.fromarray(np.asarray(viewer.screenshot(canvas_only=False, flash=False))[..., :3])
    shot.save(file, optimize=True)
    viewer.close()


def opened(
    sample: Callable[[], list[tuple[np.ndarray, dict, str]]], size: tuple[int, int] = SIZE
) -> napari.Viewer:
    """Open a sample in a window of the right size."""
    viewer = napari.Viewer(show=True)
    viewer.window.resize(*size)
    settle()
    ((data, kwargs, _kind),) = sample()
    viewer.add_image(data, **kwargs)
    return viewer


def main(folder: Path) -> None:
    """Take all pictures."""
    viewer = opened(nuclei)
    panel = SegmentWidget(viewer)
    panel.choices.objects.setChecked(True)
    picture(viewer, panel, "Segment (U-Net)", folder / "segment.png")
    viewer = opened(photograph)
    picture(viewer, MattingWidget(viewer), "Cut out (U²-Net)", folder / "cut-out.png")
    models_picture(opened(nuclei), folder / "models.png")
    with TemporaryDirectory() as place:
        model = Path(place, "unknown.onnx")
        shutil.copyfile(bundled_folder() / "unet-nuclei.onnx", model)
        questions_picture(opened(nuclei, TALL), model, folder / "questions.png")
        folder_picture(Path(place, "plates"), folder / "folder.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
