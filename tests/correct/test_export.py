import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from napari_onnxseg.arrays.read_files import read_image, read_labels
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.correct.coco import read_coco
from napari_onnxseg.correct.evaluate import EvaluateJob, evaluate
from napari_onnxseg.correct.export import ExportRule, Sample, export_pairs
from napari_onnxseg.correct.pair_card import PairFacts, read_pairs
from napari_onnxseg.correct.polygons import (
    filled,
    from_run_lengths,
    rings_of,
    run_lengths,
    with_holes,
)
from napari_onnxseg.correct.portions import groups_of, portions_of, split_of
from napari_onnxseg.correct.yolo import labels_path, read_yolo
from napari_onnxseg.errors import ChoiceError, FileFormatError, ImageError
from napari_onnxseg.tiling.region import Region

fixed = settings(derandomize=True, deadline=None, max_examples=40)
CLASSES = (
    ClassInfo(0, "ground", None),
    ClassInfo(1, "cell", "#ff0000"),
    ClassInfo(3, "spot", None),
)
WHOLE = Region((0, 0), (128, 128))


def blobs(seed, shape=(128, 128)):
    noise = np.random.default_rng(seed).normal(size=(3, *shape))
    smooth = ndimage.gaussian_filter(noise, (0, *(3,) * len(shape)))
    return np.array([0, 1, 3], np.uint8)[smooth.argmax(0)]


def sample(name="a", seed=0, regions=(WHOLE,), shape=(128, 128), **more):
    image = np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)
    return Sample(name, as_stack(image).plane(()), blobs(seed, shape), tuple(regions), **more)


def pieces(seed, density):
    noise = np.random.default_rng(seed).random((17, 21))
    return ndimage.gaussian_filter(noise, density % 2) > (0.5 if density % 2 else 0.4)


@fixed
@given(st.integers(0, 10**6), st.integers(0, 1))
def test_masks_come_back_from_polygons_and_run_lengths(seed, density):
    mask = pieces(seed, density)
    outer, holes = rings_of(mask)
    np.testing.assert_array_equal(filled([*outer, *holes], mask.shape), mask)
    np.testing.assert_array_equal(from_run_lengths(run_lengths(mask), mask.shape), mask)
    assert len(outer) == ndimage.label(mask, np.ones((3, 3)))[1]
    open_ = ndimage.label(np.pad(~mask, 1, constant_values=True))[1]
    assert len(holes) == open_ - 1


@fixed
@given(st.integers(0, 10**6), st.integers(0, 1))
def test_one_ring_can_leave_holes_out(seed, density):
    numbers, count = ndimage.label(pieces(seed, density), np.ones((3, 3)))
    for number in range(1, count + 1):
        mask = numbers == number
        outer, holes = rings_of(mask)
        ring = np.round(with_holes(outer[0], holes), 3)
        np.testing.assert_array_equal(filled([ring], mask.shape), mask)


def test_a_ring_is_where_the_pixels_are():
    mask = np.zeros((5, 6), bool)
    mask[1:3, 2:5] = True
    (ring,), holes = rings_of(mask)
    assert holes == []
    assert (ring[:, 0].min(), ring[:, 0].max()) == (2, 5)
    assert (ring[:, 1].min(), ring[:, 1].max()) == (1, 3)
    assert run_lengths(mask)[:3] == [11, 2, 3]
    assert run_lengths(np.ones((2, 2), bool)) == [0, 4]


@fixed
@given(data=st.data())
def test_no_accepted_box_is_in_both_splits_and_no_tile_overlaps(data):
    shape, tile = (100, 90), (data.draw(st.integers(7, 40)),) * 2
    boxes = []
    for _ in range(data.draw(st.integers(1, 12))):
        start = [data.draw(st.integers(-5, n)) for n in shape]
        size = [data.draw(st.integers(1, 30)) for _ in shape]
        boxes.append(Region(tuple(start), tuple(a + n for a, n in zip(start, size, strict=True))))
    portions = portions_of(0, shape, boxes, tile)
    covered = np.zeros((200, 200), int)
    for portion in portions:
        covered[portion.box.slices] += 1
    assert covered.max(initial=0) <= 1
    accepted = np.zeros(shape, bool)
    for box in boxes:
        accepted[box.intersect(Region.of_shape(shape)).slices] = True
    assert (covered[:100, :90][accepted] == 1).all()
    splits = split_of(portions, 0.3, seed=1)
    assert splits == split_of(portions, 0.3, seed=1)
    for number in range(len(boxes)):
        assert len({s for s, p in zip(splits, portions, strict=True) if number in p.regions}) <= 1
    groups = len(set(groups_of(portions)))
    assert ("val" in splits) == (groups > 1)
    if groups:
        assert "train" in splits
    assert "val" not in split_of(portions, 0, seed=1)


def test_about_the_part_that_was_asked_for_is_kept_back():
    boxes = [
        Region((i * 32, j * 32), (i * 32 + 9, j * 32 + 9)) for i in range(10) for j in range(10)
    ]
    portions = portions_of(0, (320, 320), boxes, (32, 32))
    for seed in range(5):
        assert split_of(portions, 0.2, seed).count("val") == 20
    assert split_of(portions, 0.2, 0) != split_of(portions, 0.2, 1)


def test_pairs_hold_what_was_accepted_and_nothing_else(tmp_path):
    regions = (Region((10, 20), (60, 50)), Region((90, 100), (140, 140)))
    one = sample(regions=regions)
    card = export_pairs(tmp_path / "out", [one], PairFacts(CLASSES), ExportRule(64))
    assert card == read_pairs(tmp_path / "out")
    accepted = np.zeros((128, 128), bool)
    for region in regions:
        accepted[region.intersect(WHOLE).slices] = True
    pixels = one.image.read(WHOLE)[0]
    seen = np.zeros((128, 128), bool)
    for pair in card.pairs:
        labels = read_labels(tmp_path / "out" / pair.labels).data
        image = read_image(tmp_path / "out" / pair.image).data
        assert labels.dtype == np.uint8
        inside = accepted[pair.box.slices]
        np.testing.assert_array_equal(labels[inside], one.labels[pair.box.slices][inside])
        assert (labels[~inside] == 255).all()
        np.testing.assert_array_equal(image, pixels[pair.box.slices])
        assert pair.reviewed == pytest.approx(inside.mean(), abs=1e-6)
        seen[pair.box.slices] = True
    assert seen[accepted].all()
    assert {pair.split for pair in card.pairs} == {"train", "val"}


def test_a_tile_beyond_the_image_is_reflected_there_and_says_nothing(tmp_path):
    one = sample(shape=(40, 50), regions=(Region((0, 0), (40, 50)),))
    (pair,) = export_pairs(tmp_path / "out", [one], PairFacts(), ExportRule(64)).pairs
    image = read_image(tmp_path / "out" / pair.image).data
    labels = read_labels(tmp_path / "out" / pair.labels).data
    expected = np.pad(one.image.read(Region((0, 0), (40, 50)))[0], ((0, 24), (0, 14)), "reflect")
    np.testing.assert_array_equal(image, expected)
    np.testing.assert_array_equal(labels[:40, :50], one.labels)
    assert (labels[40:] == 255).all()
    assert pair.split == "train"


def test_the_card_states_the_facts_of_the_model(tmp_path):
    model = load_card("unet-nuclei")
    facts = PairFacts.of(model, (0.5, 0.5), "micrometer")
    export_pairs(tmp_path / "out", [sample()], facts, ExportRule(64))
    card = read_pairs(tmp_path / "out")
    assert card.normalization == model.normalization
    assert card.names == {c.id: c.name for c in model.classes}
    content = json.loads((tmp_path / "out" / "pairs.json").read_text())
    assert content["model"] == {"name": model.name, "sha256": model.sha256}
    assert (content["scale"], content["unit"], content["axes"]) == ([0.5, 0.5], "micrometer", "YX")
    assert read_labels(tmp_path / "out" / card.pairs[0].labels).scale == (0.5, 0.5)


@pytest.mark.parametrize(
    ("shape", "channel_axis", "rgb", "dtype", "axes", "suffix"),
    [
        ((128, 128), None, False, np.uint16, "YX", ".png"),
        ((128, 128), None, False, np.float32, "YX", ".tif"),
        ((128, 128, 3), None, True, np.uint8, "YXS", ".png"),
        ((5, 128, 128), 0, False, np.uint16, "CYX", ".tif"),
    ],
)
def test_images_of_every_kind_come_back_bit_for_bit(
    tmp_path, shape, channel_axis, rgb, dtype, axes, suffix
):
    values = (np.random.default_rng(5).random(shape) * 200).astype(dtype)
    source = as_stack(values, channel_axis=channel_axis, rgb=rgb).plane(())
    card = export_pairs(
        tmp_path / "o",
        [Sample("a", source, blobs(1), (WHOLE,))],
        PairFacts(CLASSES),
        ExportRule(64),
    )
    assert card.axes == axes
    for pair in card.pairs:
        assert Path(pair.image).suffix == Path(pair.labels).suffix == suffix
        found = read_image(tmp_path / "o" / pair.image).data
        expected = source.read(pair.box)
        expected = np.moveaxis(expected, 0, -1) if rgb else expected.reshape(found.shape)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype


def test_volumes_are_cut_in_space(tmp_path):
    values = np.random.default_rng(1).integers(0, 255, (40, 64, 64)).astype(np.uint8)
    labels = blobs(2, values.shape)
    source = as_stack(values, spatial_ndim=3).plane(())
    one = Sample("v", source, labels, (Region((0, 0, 0), (32, 32, 64)),))
    card = export_pairs(tmp_path / "o", [one], PairFacts(CLASSES), ExportRule(32))
    assert [pair.box.shape for pair in card.pairs] == [(32, 32, 32)] * 2
    for pair in card.pairs:
        np.testing.assert_array_equal(
            read_labels(tmp_path / "o" / pair.labels).data, labels[pair.box.slices]
        )
    with pytest.raises(ChoiceError, match="flat images"):
        export_pairs(tmp_path / "p", [one], PairFacts(), ExportRule(32, extras=("coco",)))


def test_many_classes_need_16_bits(tmp_path):
    one = sample()
    labels = one.labels.astype(np.uint16)
    labels[0, 0] = 300
    wide = Sample("a", one.image, labels, (WHOLE,))
    card = export_pairs(tmp_path / "o", [wide], PairFacts(), ExportRule(100))
    assert card.ignore == 65_535
    found = read_labels(tmp_path / "o" / card.pairs[0].labels).data
    assert (found.dtype, found[0, 0]) == (np.uint16, 300)


def test_objects_come_back_from_coco(tmp_path):
    objects = ndimage.label(blobs(0) > 0)[0]
    regions = (Region((0, 0), (64, 128)), Region((70, 64), (128, 128)))
    one = sample(regions=regions, objects=objects)
    card = export_pairs(tmp_path / "o", [one], PairFacts(CLASSES), ExportRule(64, extras=("coco",)))
    found = {}
    for split in {pair.split for pair in card.pairs}:
        found.update(read_coco(tmp_path / "o" / "annotations" / f"{split}.json"))
    assert len(found) == len(card.pairs) == 3
    for pair in card.pairs:
        labels, numbers = found[pair.image]
        expected = read_labels(tmp_path / "o" / pair.labels).data
        known = expected != 255
        own = np.where(known & (expected > 0), objects[pair.box.slices], 0)
        np.testing.assert_array_equal(labels == 255, ~known)
        np.testing.assert_array_equal(numbers > 0, own > 0)
        pairs = np.unique(np.stack([numbers[own > 0], own[own > 0]]), axis=1).T
        assert len(pairs) == len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1]))


def test_classes_come_back_from_coco_and_yolo(tmp_path):
    one = sample(regions=(WHOLE,))
    card = export_pairs(
        tmp_path / "o", [one], PairFacts(CLASSES), ExportRule(64, extras=("coco", "yolo"))
    )
    found = read_coco(tmp_path / "o" / "annotations" / "train.json")
    for pair in card.pairs:
        expected = read_labels(tmp_path / "o" / pair.labels).data
        np.testing.assert_array_equal(found[pair.image][0], expected)
        text = tmp_path / "o" / labels_path(pair.image)
        np.testing.assert_array_equal(read_yolo(text, expected.shape), expected)
    data = (tmp_path / "o" / "data.yaml").read_text()
    assert '  0: "cell"\n  1: "spot"\n' in data
    listed = (tmp_path / "o" / "train.txt").read_text().split()
    assert sorted(listed) == sorted(f"./{pair.image}" for pair in card.pairs)


def test_coco_says_what_its_readers_need(tmp_path):
    labels = np.zeros((128, 128), np.uint8)
    labels[10:20, 30:50] = 1
    labels[60:70, 60:70] = 3
    labels[64, 64] = 0
    one = Sample("a", sample().image, labels, (WHOLE,))
    export_pairs(tmp_path / "o", [one], PairFacts(CLASSES), ExportRule(128, extras=("coco",)))
    content = json.loads((tmp_path / "o" / "annotations" / "train.json").read_text())
    bar, ring = content["annotations"]
    assert (bar["bbox"], bar["area"], bar["category_id"]) == ([30, 10, 20, 10], 200, 1)
    assert isinstance(bar["segmentation"], list)
    assert (ring["area"], ring["segmentation"]["size"]) == (99, [128, 128])
    assert sum(ring["segmentation"]["counts"]) == 128**2
    assert content["categories"] == [{"id": 1, "name": "cell"}, {"id": 3, "name": "spot"}]


def test_yolo_takes_only_what_was_accepted_as_a_whole(tmp_path):
    one = sample(regions=(Region((0, 0), (64, 64)), Region((64, 64), (100, 100))))
    rule = ExportRule(64, validation=0, extras=("yolo",))
    export_pairs(tmp_path / "o", [one], PairFacts(CLASSES), rule)
    assert (tmp_path / "o" / "train.txt").read_text() == "./images/train/a-00000-00000.png\n"
    half = sample(regions=(Region((0, 0), (64, 60)),))
    with pytest.raises(ChoiceError, match="accepted as a whole, but none of 64 px"):
        export_pairs(tmp_path / "p", [half], PairFacts(CLASSES), rule)
    assert not (tmp_path / "p").exists()


def test_exported_labels_can_be_evaluated(tmp_path):
    one = sample(regions=(Region((0, 0), (50, 64)),))
    (pair,) = export_pairs(tmp_path / "o", [one], PairFacts(CLASSES), ExportRule(64)).pairs
    truth = read_labels(tmp_path / "o" / pair.labels).data
    prediction = one.labels[:64, :64]
    found = evaluate(prediction, truth, EvaluateJob(ignore=(255,)))
    assert found.classes.accuracy == 1
    assert found.classes.confusion.sum() == 50 * 64


def test_wrong_exports_are_refused_before_anything_is_written(tmp_path):
    one, facts = sample(), PairFacts()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    cases = [
        ((tmp_path / "full", [one], facts), ChoiceError, "is not empty"),
        ((tmp_path / "o", [], facts), ChoiceError, "one image at least"),
        ((tmp_path / "o", [one, one], facts), ChoiceError, "name of its own"),
        ((tmp_path / "o", [sample(regions=())], facts), ChoiceError, "Nothing was accepted"),
        ((tmp_path / "o", [one], facts, ExportRule(0)), ChoiceError, "side of 1 px"),
        ((tmp_path / "o", [one], facts, ExportRule(validation=1)), ChoiceError, "below 1"),
        (
            (tmp_path / "o", [Sample("b", one.image, one.labels[1:], (WHOLE,))], facts),
            ImageError,
            "of the same",
        ),
    ]
    for given_, error, told in cases:
        with pytest.raises(error, match=told):
            export_pairs(*given_)
    floats = Sample("f", as_stack(np.zeros((8, 8))).plane(()), np.zeros((8, 8), int), (WHOLE,))
    with pytest.raises(ImageError, match="choose tif"):
        export_pairs(tmp_path / "o", [floats], facts, ExportRule(format="png"))
    with pytest.raises(ImageError, match="differ in axes"):
        export_pairs(tmp_path / "o", [one, floats], facts)
    assert not (tmp_path / "o").exists()


def test_what_is_no_export_cannot_be_read(tmp_path):
    with pytest.raises(FileFormatError, match="no card of training pairs"):
        read_pairs(tmp_path)
    (tmp_path / "pairs.json").write_text('{"kind": "other", "format": 1}')
    with pytest.raises(FileFormatError, match="it is 'other'"):
        read_pairs(tmp_path)
    (tmp_path / "a.txt").write_text("0 1 2 x")
    with pytest.raises(FileFormatError, match="as YOLO"):
        read_yolo(tmp_path / "a.txt", (4, 4))
    with pytest.raises(FileFormatError, match="as COCO"):
        read_coco(tmp_path / "a.txt")
