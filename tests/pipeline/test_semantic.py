"""From an image and a job to labels, with networks whose answer is known in closed form."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import nets
from napari_onnxseg import segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import (
    CancelledError,
    ChoiceError,
    ImageError,
    OnnxSegError,
    OutOfMemoryError,
    TileError,
)
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.semantic import segment
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.runtime.session import open_session

RAW = Normalization("none")
RNG = np.random.default_rng(20240917)


class Spy:
    """Records what a session is fed."""

    def __init__(self, path, answer=None):
        self.session = open_session(load_card(path), "cpu")
        self.shapes: list[tuple[int, ...]] = []
        self.lowest, self.highest = np.inf, -np.inf
        self.dtypes = set()
        self.fail_at = None
        self.numbers = count(1)

    def __call__(self, batch):
        number = next(self.numbers)  # two workers never get the same one
        self.shapes.append(batch.shape)
        self.dtypes.add(batch.dtype)
        self.lowest = min(self.lowest, float(np.min(batch)))
        self.highest = max(self.highest, float(np.max(batch)))
        assert np.isfinite(batch).all()
        if self.fail_at == number:
            raise OutOfMemoryError("no memory; use a smaller tile")
        with self.session.start() as run:
            return run(batch)


@pytest.fixture
def two_class(tmp_path):
    """Class 1 where x > 0.5."""
    return nets.two_class(tmp_path / "two.onnx")


def grey(*shape):
    """Random values in [0, 1)."""
    return RNG.random(shape, np.float32)


# -- axes (C02)


def test_a_plane_becomes_labels_of_its_shape_and_smallest_dtype(two_class):
    image = grey(90, 70)
    result = segment_image(image, two_class, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)
    assert result.labels.dtype == np.uint8
    assert result.labels.flags.writeable


def test_a_volume_whose_last_axis_is_four_is_not_colour_when_told_so(two_class):
    volume = grey(20, 64, 4)
    result = segment_image(volume, two_class, rgb=False, normalization=RAW)
    np.testing.assert_array_equal(result.labels, volume > 0.5)


def test_an_axis_that_may_be_colour_is_asked_for(two_class):
    with pytest.raises(ChoiceError, match="rgb=True or rgb=False"):
        segment_image(grey(64, 64, 3), two_class)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_named_channel_axis_is_consumed(tmp_path, axis):
    path = nets.echo(tmp_path / "echo.onnx", channels=2)
    image = grey(60, 50, 2)
    result = segment_image(np.moveaxis(image, 2, axis), path, channel_axis=axis, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image.argmax(2))


def test_without_a_channel_axis_the_leading_axis_is_looped(two_class):
    image = grey(2, 60, 50)
    result = segment_image(image, two_class, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)


def test_a_wrong_channel_count_is_refused_with_both_numbers(tmp_path):
    path = nets.echo(tmp_path / "echo.onnx", channels=3)
    with pytest.raises(ImageError, match=r"3 channel.*2 channel"):
        segment_image(grey(2, 60, 50), path, channel_axis=0)


def test_every_leading_axis_is_looped(two_class):
    values = (5 * np.arange(3)[:, None] + np.arange(5))[:, :, None, None] / 15
    image = np.broadcast_to(values, (3, 5, 64, 80)).astype(np.float32)
    result = segment_image(image, two_class, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)


def test_one_plane_of_a_stack_keeps_its_axis_with_length_one(two_class):
    image = grey(6, 50, 60)
    result = segment_image(image, two_class, index=(4,), normalization=RAW)
    np.testing.assert_array_equal(result.labels, image[4:5] > 0.5)


def test_one_plane_is_what_the_whole_stack_gives_there(two_class):
    image = grey(4, 50, 60) * np.arange(1, 5, dtype=np.float32)[:, None, None]
    stretch = Normalization("percentile", low=1, high=99)
    every = segment_image(image, two_class, normalization=stretch)
    one = segment_image(image, two_class, normalization=stretch, index=(2,))
    np.testing.assert_array_equal(one.labels[0], every.labels[2])


def test_statistics_of_each_plane_differ_from_those_of_the_image(two_class):
    image = np.stack([grey(64, 64), 10 * grey(64, 64)])
    stretch = Normalization("min_max")
    each = segment_image(image, two_class, normalization=stretch, statistics="plane")
    assert abs(float(each.labels[0].mean()) - 0.5) < 0.05
    whole = segment_image(image, two_class, normalization=stretch)
    assert whole.labels[0].sum() == 0


def test_numpy_memmap_zarr_and_dask_give_the_same_bits(tmp_path):
    import dask.array as da
    import zarr

    path = nets.unet(tmp_path / "unet.onnx", channels=1)
    image = (grey(300, 260) * 255).astype(np.uint8)
    mapped = np.memmap(tmp_path / "image.raw", np.uint8, "w+", shape=image.shape)
    mapped[:] = image
    stored = zarr.array(image, chunks=(90, 90))
    results = [
        segment_image(kind, path, tile=128)
        for kind in (image, mapped, stored, da.from_array(image, chunks=90))
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(other.labels, results[0].labels)


# -- pixels (C03, C04)


def test_the_alpha_of_a_picture_is_set_aside_and_clear_pixels_are_background(tmp_path):
    path = nets.echo(tmp_path / "echo.onnx", channels=3)
    picture = (RNG.random((40, 50, 4)) * 255).astype(np.uint8)
    picture[..., 3] = 255
    opaque = segment_image(picture[..., :3], path, rgb=True)
    same = segment_image(picture, path, rgb=True)
    np.testing.assert_array_equal(same.labels, opaque.labels)
    picture[:20, :, 3] = 0
    half = segment_image(picture, path, rgb=True)
    assert not half.labels[:20].any()
    np.testing.assert_array_equal(half.labels[20:], opaque.labels[20:])


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint32", "float64", ">i2", ">f8"])
def test_signed_and_wide_values_are_windowed_without_wrapping(tmp_path, dtype):
    path = nets.echo(tmp_path / "echo.onnx", channels=1)
    low, high = (-100, 100) if dtype == "int8" else (-1000, 1000)
    if dtype == "uint32":
        low, high = 0, 4_000_000_000
    image = np.repeat(np.array([low, (low + high) // 2, high], dtype), 32)[None].repeat(32, 0)
    before = image.copy()
    spy = Spy(path)
    segment_image(
        image, path, predictor=spy, normalization=Normalization("window", low=low, high=high)
    )
    assert (spy.lowest, spy.highest) == pytest.approx((0, 1), abs=1e-6)
    np.testing.assert_array_equal(image, before)


def test_statistics_are_measured_once_and_not_per_tile(two_class):
    image = np.concatenate([grey(512, 256) * 100, grey(512, 256) * 1000], axis=1)
    stretch = Normalization("percentile", low=1, high=99)
    whole = segment_image(image, two_class, normalization=stretch)
    tiled = segment_image(image, two_class, normalization=stretch, tile=64)
    np.testing.assert_array_equal(tiled.labels, whole.labels)


@pytest.mark.parametrize("value", [0, 128, 255])
@pytest.mark.parametrize("method", ["mean_std", "min_max", "percentile", "zero_mean_unit_variance"])
def test_a_flat_image_stays_finite_and_of_one_class(two_class, value, method):
    extra = {"mean": (0.5,), "std": (0.25,)} if method == "mean_std" else {}
    spy = Spy(two_class)
    image = np.full((64, 64), value, np.uint8)
    result = segment_image(
        image, two_class, predictor=spy, normalization=Normalization(method, **extra)
    )
    assert len(np.unique(result.labels)) == 1
    assert any("Every pixel" in note for note in result.notes)


@pytest.mark.parametrize("hole", [np.nan, -9999.0])
def test_missing_data_is_background_and_changes_nothing_further_than_the_model_looks(
    tmp_path, hole
):
    path = nets.box(tmp_path / "box.onnx", radius=4, two_classes=True)
    clean = grey(200, 220)
    holed = clean.copy()
    holed[:60, :60] = hole
    raw = {"normalization": RAW, "nodata": -9999.0}
    want, got = (segment_image(i, path, **raw).labels for i in (clean, holed))
    assert not got[:60, :60].any()
    away = np.ones(clean.shape, bool)
    away[: 60 + 5, : 60 + 5] = False
    np.testing.assert_array_equal(got[away], want[away])


# -- tiles (C05, C06)


@pytest.mark.parametrize("shape", [(100, 70), (600, 70), (1, 1), (1, 900), (511, 513)])
def test_images_smaller_than_the_tile_keep_their_shape(tmp_path, shape):
    path = nets.unet(tmp_path / "unet.onnx", channels=1)
    image = (grey(*shape) * 255).astype(np.uint8)
    asked = segment_image(image, path, tile=512)
    whole = segment_image(image, path, tile=1024)
    np.testing.assert_array_equal(asked.labels, whole.labels)
    assert asked.labels.shape == shape


def test_fixed_sides_larger_than_the_image_are_filled_by_reflection(tmp_path):
    path = nets.two_class(tmp_path / "fixed.onnx", sides=(128, 128))
    image = grey(40, 300)
    result = segment_image(image, path, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)
    assert result.record["tile"] == [128, 128]


@pytest.mark.parametrize("height", range(17, 50, 4))
@pytest.mark.parametrize("width", [17, 32, 33, 48])
def test_sides_that_are_no_multiple_of_the_stride_keep_their_shape(tmp_path, height, width):
    path = nets.pad_sensitive(tmp_path / "pads.onnx", stride=16)
    result = segment_image(grey(height, width), path, normalization=RAW)
    assert result.labels.shape == (height, width)


@pytest.mark.parametrize("name", ["shrink", "half_resolution", "double_resolution"])
def test_outputs_of_another_size_cover_the_image_in_place(tmp_path, name):
    path = getattr(nets, name)(tmp_path / f"{name}.onnx")
    image = np.zeros((301, 205), np.float32)
    image[100:220, 40:160] = 1
    result = segment_image(image, path, normalization=RAW)
    assert result.labels.shape == image.shape
    off = np.argwhere(result.labels != image)
    if name == "shrink":
        assert not len(off)
    else:
        edges = [abs(off[:, 0] - 99.5), abs(off[:, 0] - 219.5)]
        near = np.minimum(*edges) <= 1.5
        sides = np.minimum(abs(off[:, 1] - 39.5), abs(off[:, 1] - 159.5)) <= 1.5
        assert (near | sides).all()


def test_tile_and_halo_that_were_asked_for_are_what_the_session_sees(tmp_path):
    path = nets.box(tmp_path / "box.onnx", radius=4, two_classes=True)
    spy = Spy(path)
    result = segment_image(
        grey(700, 900), path, predictor=spy, tile=(192, 320), halo=(24, 40), normalization=RAW
    )
    assert set(spy.shapes) == {(1, 1, 192, 320)}
    rows, columns = -(-(700 - 48) // (192 - 48)), -(-(900 - 80) // (320 - 80))
    assert len(spy.shapes) == result.record["tiles"] == rows * columns
    assert (result.record["tile"], result.record["halo"]) == ([192, 320], [24, 40])


@pytest.mark.parametrize("halo", [0, 8, 16])
@pytest.mark.parametrize("side", [1, 31, 63, 64, 65, 97, 128, 129, 200])
def test_every_pixel_is_covered(tmp_path, halo, side):
    path = nets.constant_one(tmp_path / "one.onnx", card={"output": {"scores": "probabilities"}})
    result = segment_image(grey(side, 201 - side), path, tile=64, halo=halo)
    assert result.labels.all()


def test_overlapping_class_ids_are_never_averaged(tmp_path):
    path = nets.arg_max(tmp_path / "ids.onnx")
    image = grey(300, 300)
    result = segment_image(image, path, tile=128, halo=32, normalization=RAW)
    assert set(np.unique(result.labels)) == {0, 1, 2}
    assert result.labels.dtype == np.uint8
    with pytest.raises(OnnxSegError, match="blend"):
        segment_image(image, path, tile=128, overlap=64)


def test_the_automatic_halo_leaves_no_seam_and_a_smaller_one_is_pointed_out(tmp_path):
    path = nets.box(tmp_path / "box.onnx", radius=4, two_classes=True)
    image = grey(500, 500)
    whole = segment_image(image, path, tile=512, normalization=RAW)
    tiled = segment_image(image, path, tile=128, normalization=RAW)
    np.testing.assert_array_equal(tiled.labels, whole.labels)
    assert tiled.record["tiles"] > 1
    thin = segment_image(image, path, tile=128, halo=0, normalization=RAW)
    assert any("seams are possible" in note for note in thin.notes)


@pytest.mark.parametrize("side", [1024, 1500])
@pytest.mark.parametrize("halo", [0, 128])
def test_blended_weights_sum_to_one_everywhere(tmp_path, side, halo):
    path = nets.constant_one(tmp_path / "one.onnx", card={"output": {"scores": "probabilities"}})
    result = segment_image(
        np.zeros((side, side), np.uint8), path, tile=512, halo=halo, overlap=64, confidence=True
    )
    assert (result.labels == 1).all()
    assert (result.confidence == 255).all()


def test_a_tile_off_the_grid_is_refused_with_the_nearest_ones(tmp_path):
    path = nets.unet(tmp_path / "unet.onnx", channels=1)
    with pytest.raises(TileError, match="use 248 or 252"):
        segment_image(grey(600, 600), path, tile=250)


# -- decoding (C07)


def test_a_threshold_that_would_not_act_is_refused(tmp_path):
    path = nets.arg_max(tmp_path / "net.onnx")
    with pytest.raises(ChoiceError, match="too little to apply a threshold"):
        segment_image(grey(64, 64), path, threshold=0.4, normalization=RAW)


@pytest.mark.parametrize(("threshold", "foreground"), [(0.5, [0, 1]), (0.1, [1, 1])])
def test_one_channel_is_a_score_of_the_foreground(tmp_path, threshold, foreground):
    path = nets.echo(tmp_path / "echo.onnx", card={"output": {"scores": "probabilities"}})
    image = np.repeat(np.array([0.2, 0.9], np.float32), 32)[None].repeat(32, 0)
    result = segment_image(image, path, threshold=threshold, normalization=RAW)
    np.testing.assert_array_equal(result.labels[0, [0, -1]], foreground)


@pytest.mark.parametrize("sigmoid", [False, True])
@pytest.mark.parametrize(("threshold", "count"), [(0.01, 4), (0.5, 2), (0.99, 0)])
def test_logits_are_activated_exactly_once(tmp_path, sigmoid, threshold, count):
    path = nets.one_channel(tmp_path / "one.onnx", sigmoid=sigmoid)
    image = np.repeat(np.array([-4, -1, 1, 4], np.float32), 32)[None].repeat(32, 0)
    result = segment_image(image, path, threshold=threshold, normalization=RAW)
    assert int(result.labels[0, ::32].sum()) == count


def test_scores_at_half_resolution_invent_no_class(tmp_path):
    path = nets.half_resolution(tmp_path / "half.onnx")
    result = segment_image(grey(333, 501), path, normalization=RAW)
    assert set(np.unique(result.labels)) <= {0, 1}
    assert result.labels.shape == (333, 501)


# -- contract with the file (C09)


@pytest.mark.parametrize("batch", [1, 4, None])
def test_fixed_and_free_batches_give_the_same_labels(tmp_path, batch):
    path = nets.two_class(tmp_path / "batch.onnx", batch=batch)
    image = grey(64, 13 * 64)
    result = segment_image(image, path, tile=64, halo=0, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)
    assert result.record["tiles"] == 13


def test_a_batch_beyond_a_fixed_one_is_noted(tmp_path):
    path = nets.two_class(tmp_path / "batch.onnx", batch=1)
    result = segment_image(grey(64, 640), path, tile=64, batch=8, normalization=RAW)
    assert any("fixed batch of 1" in note for note in result.notes)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_the_declared_element_type_is_fed(tmp_path, dtype):
    path = nets.echo(tmp_path / "echo.onnx", dtype=dtype)
    spy = Spy(path)
    segment_image((grey(64, 64) * 256).astype(np.uint8), path, predictor=spy)
    assert spy.dtypes == {np.dtype(dtype)}
    assert spy.highest > 200 if dtype == "uint8" else spy.highest <= 1


@pytest.mark.parametrize("layouts", [("NCHW", "NCHW"), ("NHWC", "NHWC"), ("NHWC", "NCHW")])
def test_layouts_give_the_same_labels(tmp_path, layouts):
    path = nets.two_class(tmp_path / "l.onnx", layout=layouts[0], out_layout=layouts[1])
    image = grey(96, 160)
    result = segment_image(image, path, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)


# -- memory, failure, cancel (C10 to C12)


def test_scores_that_are_not_finite_are_counted_and_reported(tmp_path):
    path = nets.nan_emitter(tmp_path / "nan.onnx")
    result = segment_image(grey(64, 64), path, normalization=RAW)
    assert any("not finite" in note for note in result.notes)


def test_one_input_shape_for_all_tiles(two_class):
    spy = Spy(two_class)
    segment_image(grey(300, 410), two_class, predictor=spy, tile=128, halo=16, normalization=RAW)
    assert set(spy.shapes) == {(1, 1, 128, 128)}


def test_the_run_after_one_without_memory_is_whole(two_class):
    image = grey(256, 256)
    spy = Spy(two_class)
    spy.fail_at = 3
    with pytest.raises(OutOfMemoryError, match="smaller tile"):
        segment_image(image, two_class, predictor=spy, tile=64, normalization=RAW)
    after = segment_image(image, two_class, tile=64, normalization=RAW)
    np.testing.assert_array_equal(after.labels, image > 0.5)


def test_a_cancelled_run_ends_and_the_next_one_is_whole(two_class):
    image = grey(512, 512)
    cancel = Cancel()
    story = segment(image, SegmentJob(two_class, tile=64, normalization=RAW), cancel=cancel)
    seen = []

    def cancel_at_five():
        for progress in story:
            seen.append(progress.done)
            if progress.done >= 5:
                cancel.set()

    with pytest.raises(CancelledError, match="cancelled"):
        cancel_at_five()
    assert seen[-1] < 64
    result = segment_image(image, two_class, tile=64, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)


def test_progress_counts_every_tile_and_covers_every_pixel_once(two_class):
    image = grey(3, 200, 150)
    covered = np.zeros(image.shape, int)
    story = segment(image, SegmentJob(two_class, tile=64, normalization=RAW))
    last = None
    for progress in story:
        for region in progress.regions:
            covered[(*progress.index, *region.slices)] += 1
        last = progress
    assert (covered == 1).all()
    assert last.done == last.total == 3 * 4 * 3


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"threshold": 1.5}, "between 0 and 1"),
        ({"batch": 0}, "at least 1"),
        ({"objects": True}, "no rule"),
        ({"index": (9,)}, "There is no plane 9|index"),
        ({"model": "no-such-model"}, "no-such-model"),
        ({"device": "abacus"}, "abacus"),
    ],
)
def test_wrong_choices_are_refused_in_one_sentence(two_class, choices, message):
    given = {"model": two_class, "normalization": RAW} | choices
    with pytest.raises(OnnxSegError, match=message):
        segment_image(grey(2, 64, 64), **given)


def test_the_record_is_plain_json_and_says_what_was_used(two_class):
    import json

    result = segment_image(grey(64, 64), two_class)
    record = json.loads(json.dumps(dict(result.record)))
    assert record["device"] == "CPU"
    assert record["tile"] == [64, 64]
    assert record["model"]["sha256"] == load_card(two_class).sha256


def test_an_image_stack_passes_through(two_class):
    image = grey(50, 60)
    result = segment_image(as_stack(image), two_class, normalization=RAW)
    np.testing.assert_array_equal(result.labels, image > 0.5)
