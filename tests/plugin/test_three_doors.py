"""One pipeline, three doors: widget, Python and command line give identical arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from napari.components import ViewerModel
from typer.testing import CliRunner

import nets
from napari_onnxseg import matte_image, segment_image
from napari_onnxseg.cli import app
from napari_onnxseg.plugin.matting_widget import MattingWidget
from napari_onnxseg.plugin.samples import nuclei, photograph, stained
from napari_onnxseg.plugin.semantic_widget import SegmentWidget

WAIT_MS = 60_000


def sample(made: Any, part: Any) -> np.ndarray:
    """Return a part of a bundled sample."""
    ((data, _, _),) = made()
    return np.ascontiguousarray(data[part])


def by_widget(qtbot: Any, kind: type, image: np.ndarray, model: Any, **layer: Any) -> np.ndarray:
    """Run in the dock widget and return the data of the new layer."""
    viewer = ViewerModel()
    source = viewer.add_image(image, **layer)
    panel = kind(viewer)
    qtbot.addWidget(panel)
    panel.model.models.open(model)
    names = lambda: panel.model.card and panel.model.card.name  # noqa: E731
    qtbot.waitUntil(lambda: names() == Path(model).stem, timeout=WAIT_MS)
    panel.replan()
    panel.foot.run.click()
    qtbot.waitUntil(lambda: not panel.is_running, timeout=WAIT_MS)
    (result,) = (new for new in viewer.layers if new is not source)
    return np.asarray(result.data)


def by_command(tmp_path: Any, verb: str, image: np.ndarray, *options: str) -> np.ndarray:
    """Run on the command line, through files, and return what it wrote."""
    np.save(tmp_path / "in.npy", image)
    words = [verb, str(tmp_path / "in.npy"), "-o", str(tmp_path / "out.npy"), *options]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return np.load(tmp_path / "out.npy")


def segmentations(tmp_path: Any) -> dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any]]]:
    """Return image, model, choices in Python and keywords of the layer, by kind of input."""
    random = np.random.default_rng(20261130)
    grey = sample(nuclei, np.s_[:200, :260])
    two = nets.echo(tmp_path / "two channels.onnx", channels=2)
    stack = np.stack([grey[:, :200], grey[:, 60:]]).astype(np.uint16) * 16
    return {
        "grey": (grey, "unet-nuclei", {}, {"rgb": False}),
        "colour": (sample(stained, ...), "unet-nuclei", {"rgb": True}, {"rgb": True}),
        "stack of 12-bit planes": (stack, "unet-nuclei", {}, {"rgb": False, "scale": (3, 0.5, 1)}),
        "two channels": (
            random.random((2, 90, 70)),
            two,
            {"channel_axis": 0},
            {"rgb": False, "axis_labels": ("channel", "y", "x")},
        ),
        "signed with missing data": (
            np.where(grey > 200, np.nan, grey - 50.0),
            "unet-nuclei",
            {},
            {"rgb": False},
        ),
    }


@pytest.mark.parametrize(
    "kind",
    ["grey", "colour", "stack of 12-bit planes", "two channels", "signed with missing data"],
)
def test_a_segmentation_is_the_same_through_every_door(qtbot, tmp_path, kind):
    image, model, choices, layer = segmentations(tmp_path)[kind]
    expected = segment_image(image, model, **choices).labels
    assert len(np.unique(expected)) > 1
    options = ["-m", str(model)]
    if "channel_axis" in choices:
        options += ["--channel-axis", str(choices["channel_axis"])]
    if choices.get("rgb"):
        options += ["--rgb"]
    written = by_command(tmp_path, "segment", image, *options)
    shown = by_widget(qtbot, SegmentWidget, image, model, **layer)
    np.testing.assert_array_equal(written, expected)
    np.testing.assert_array_equal(shown, expected)


def test_a_cut_out_is_the_same_through_every_door(qtbot, tmp_path):
    image = sample(photograph, ...)
    expected = matte_image(image, "u2netp", rgb=True).rgba
    written = by_command(tmp_path, "matte", image, "--rgb")
    shown = by_widget(qtbot, MattingWidget, image, "u2netp", rgb=True)
    np.testing.assert_array_equal(written, expected)
    np.testing.assert_array_equal(shown, expected)
