from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from napari_onnxseg import segment_image
from napari_onnxseg.arrays.files import read_image, read_labels
from napari_onnxseg.pipeline import engine


@pytest.mark.parametrize("name", ["out.png", "out.tif", "out.npy", "deeper/out.tiff"])
def test_labels_are_written_in_the_format_of_the_suffix(
    name, onnxseg, halves, picture, grey
) -> None:
    assert onnxseg("segment", picture, "-m", halves, "-o", name).exit_code == 0
    np.testing.assert_array_equal(read_labels(name).data, grey > 127)


def test_command_line_and_python_give_the_same_arrays(onnxseg, halves, picture, grey) -> None:
    onnxseg("segment", picture, "-m", halves, "-o", "out.npy", "--confidence")
    result = segment_image(grey, halves, confidence=True)
    np.testing.assert_array_equal(np.load("out.npy"), result.labels)
    np.testing.assert_array_equal(np.load("out-confidence.npy"), result.confidence)


def test_tile_and_halo_of_the_command_line_reach_the_session(
    onnxseg, halves, tmp_path, monkeypatch
) -> None:
    seen = []

    class Spied:
        """A session that notes what it is fed."""

        def __init__(self, session):
            self.session = session

        def __getattr__(self, name):
            return getattr(self.session, name)

        def start(self, outputs):
            run = self.session.start(outputs)
            feed = type(run).__call__
            monkeypatch.setattr(
                type(run), "__call__", lambda me, batch: seen.append(batch.shape) or feed(me, batch)
            )
            return run

    opened = engine.open_session
    monkeypatch.setattr(engine, "open_session", lambda *a, **k: Spied(opened(*a, **k)))
    np.save(tmp_path / "large.npy", np.zeros((500, 700), np.uint8))
    words = ("--tile", "192x320", "--halo", "24x40", "--device", "cpu", "--json")
    done = onnxseg("segment", "large.npy", "-m", halves, "-o", "out.npy", *words)
    record = done.json["results"][0]["record"]
    assert {shape[-2:] for shape in seen} == {(192, 320)}
    assert (record["tile"], record["halo"]) == ([192, 320], [24, 40])
    # Rows: border tiles keep 168, inner ones 144; columns: 280 and 240.
    assert record["tiles"] == len(seen) == 4 * 3


def test_confidence_and_objects_lie_beside_the_labels(onnxseg, picture, tmp_path) -> None:
    words = ("--confidence", "--objects", "--json", "--device", "cpu")
    done = onnxseg("segment", picture, "-m", "unet-nuclei", "-o", "out.png", *words)
    outputs = done.json["results"][0]["outputs"]
    assert outputs == {
        "labels": "out.png", "confidence": "out-confidence.png", "objects": "out-objects.png"
    }  # fmt: skip
    assert all(read_labels(path).data.shape == (40, 50) for path in outputs.values())


def test_labels_are_indexed_colour_in_the_colours_of_the_card(onnxseg, picture) -> None:
    onnxseg("segment", picture, "-m", "unet-nuclei", "-o", "out.png", "--device", "cpu")
    with Image.open("out.png") as image:
        assert image.mode == "P"
        assert bytes(image.getpalette()[3:6]).hex() == "2a9df4"


def test_the_pixel_size_is_carried_to_the_result(onnxseg, halves, grey, tmp_path) -> None:
    tifffile.imwrite(
        tmp_path / "sized.ome.tif",
        grey,
        metadata={"axes": "YX", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm",
                  "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "µm"},
    )  # fmt: skip
    onnxseg("segment", "sized.ome.tif", "-m", halves, "-o", "out")
    result = read_image("out/sized.ome.tif")
    assert result.scale == (0.5, 0.25)
    assert result.units == ("micrometer", "micrometer")


def test_a_stack_gives_a_stack_and_picked_planes_only_when_asked(onnxseg, halves, tmp_path) -> None:
    stack = np.random.default_rng(1).integers(0, 256, (3, 20, 30), dtype=np.uint8)
    np.save(tmp_path / "stack.npy", stack)
    onnxseg("segment", "stack.npy", "-m", halves, "-o", "all.npy")
    onnxseg("segment", "stack.npy", "-m", halves, "-o", "one.npy", "--index", "1")
    np.testing.assert_array_equal(np.load("all.npy"), stack > 127)
    np.testing.assert_array_equal(np.load("one.npy"), stack[1:2] > 127)


@pytest.mark.usefixtures("no_session")
def test_a_stack_for_png_is_refused_before_the_model_runs(onnxseg, halves, tmp_path) -> None:
    np.save(tmp_path / "stack.npy", np.zeros((3, 20, 30), np.uint8))
    done = onnxseg("segment", "stack.npy", "-m", halves, "-o", "out.png")
    assert done.exit_code == 2
    assert ".tif" in done.stderr


@pytest.mark.usefixtures("no_session")
def test_colour_is_asked_for_where_nobody_says(onnxseg, halves, tmp_path) -> None:
    np.save(tmp_path / "rgb.npy", np.zeros((20, 30, 3), np.uint8))
    done = onnxseg("segment", "rgb.npy", "-m", halves, "-o", "out.npy")
    assert done.exit_code == 2
    assert "--rgb or --no-rgb" in done.stderr


def test_colour_that_was_said_is_used(onnxseg, halves, tmp_path) -> None:
    image = np.random.default_rng(2).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    np.save(tmp_path / "rgb.npy", image)
    onnxseg("segment", "rgb.npy", "-m", halves, "-o", "rgb-out.npy", "--rgb")
    onnxseg("segment", "rgb.npy", "-m", halves, "-o", "planes.npy", "--no-rgb")
    onnxseg("segment", "rgb.npy", "-m", halves, "-o", "c.npy", "--channel-axis", "2",
            "--channels", "1")  # fmt: skip
    assert np.load("rgb-out.npy").shape == (20, 30)
    np.testing.assert_array_equal(np.load("planes.npy"), image > 127)
    np.testing.assert_array_equal(np.load("c.npy"), image[..., 1] > 127)


@pytest.mark.usefixtures("no_session")
def test_the_plan_is_told_and_nothing_is_done(onnxseg, halves, picture) -> None:
    done = onnxseg("segment", picture, "-m", halves, "-o", "out.png", "--plan")
    assert done.exit_code == 0
    assert "40 × 50" in done.stdout
    assert not Path("out.png").exists()


def test_the_plan_is_told_before_a_run(onnxseg, halves, picture) -> None:
    done = onnxseg("segment", picture, "-m", halves, "-o", "out.png")
    assert "full range" in done.stderr
    assert done.stdout.startswith(str(picture))


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-m", "no-such-model", "-o", "out.png"], "unet-nuclei"),
        (["-m", "halves.onnx", "-o", "out.png"], "halves.onnx"),
        (["-m", "u2netp", "-o", "out.png"], "u2netp"),
        (["-m", "models/halves.onnx", "-o", "out.jpg"], "png"),
        (["-m", "models/halves.onnx", "-o", "out.png", "--threshold", "2"], "between 0 and 1"),
        (["-m", "models/halves.onnx", "-o", "out.png", "--objects"], "objects"),
        (["-m", "models/halves.onnx", "-o", "grey.png"], "overwrite"),
    ],
)
def test_wrong_usage_is_told_in_one_line_before_the_model_runs(
    words, told, onnxseg, halves, picture
) -> None:
    done = onnxseg("segment", picture, *words)
    assert done.exit_code == 2
    assert told in done.stderr
    assert onnxseg("segment", picture, *words, "--json").json["exit_code"] == 2


def test_an_image_that_is_not_there_is_wrong_usage(onnxseg, halves) -> None:
    done = onnxseg("segment", "nothing.png", "-m", halves, "-o", "out.png")
    assert done.exit_code == 2
    assert "nothing.png" in done.stderr


def test_a_device_that_cannot_be_used_ends_the_run_with_its_own_code(
    onnxseg, halves, picture, tmp_path
) -> None:
    Image.open(picture).save(tmp_path / "second.png")
    words = ("-m", halves, "-o", "out", "--device", "cuda:63", "--json")
    done = onnxseg("segment", picture, "second.png", *words)
    assert done.exit_code == done.json["exit_code"] == 3
    assert [r["status"] for r in done.json["results"]] == ["failed", "skipped"]
    assert not Path("out").exists()
