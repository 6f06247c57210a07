from contextlib import contextmanager

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.correct import pairs as pairs_module
from napari_onnxseg.correct.class_match import match_classes
from napari_onnxseg.correct.edits import Edits
from napari_onnxseg.correct.operations import Scope
from napari_onnxseg.correct.pixel_set import PixelSet
from napari_onnxseg.errors import ChoiceError, FileFormatError, ImageError
from napari_onnxseg.tiling.region import Region

fixed = settings(derandomize=True, deadline=None, max_examples=25)
SHAPE = (30, 40)


def predicted(seed, shape=SHAPE):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(np.uint8)


def boxes_in(shape):
    sides = [st.tuples(st.integers(0, n), st.integers(0, n)).map(sorted) for n in shape]
    return st.tuples(*sides).map(lambda b: Region(tuple(s[0] for s in b), tuple(s[1] for s in b)))


def run(edits, fresh, scope=None, **more):
    merge = edits.merge(fresh, scope, **more)
    merge.labels.apply(edits.labels)
    edits.keep(merge)
    return merge


@contextmanager
def blocks_of(block_px):
    whole, pairs_module.BLOCK_PX = pairs_module.BLOCK_PX, block_px
    try:
        yield
    finally:
        pairs_module.BLOCK_PX = whole


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("block_px", [100, 1 << 22])
@fixed
@given(data=st.data())
def test_edits_survive_any_sequence_of_runs(block_px, told, data):
    with blocks_of(block_px):
        kept = predicted(0)
        labels = kept.copy()
        edits = Edits(labels, kept)
        painted, values = np.zeros(SHAPE, bool), np.zeros(SHAPE, np.uint8)
        for number in range(data.draw(st.integers(1, 8))):
            what = data.draw(st.sampled_from(["paint", "run", "run a part", "run and undo"]))
            box = data.draw(boxes_in(SHAPE))
            if what == "paint":
                value = data.draw(st.integers(0, 3))
                changed = np.zeros(SHAPE, bool)
                changed[box.slices] = labels[box.slices] != value
                labels[box.slices] = value
                if told:
                    edits.confirm(box, changed[box.slices])
                painted = painted | changed if told else edits.mask(Region.of_shape(SHAPE))
                values[painted] = labels[painted]
                continue
            locked = data.draw(st.sampled_from([(), (2,)]))
            before, was_kept = labels.copy(), kept.copy()
            known = edits.mask(Region.of_shape(SHAPE))
            if what == "run a part":
                merge = run(edits, predicted(number, box.shape), Scope(locked=locked), at=box)
                outside = np.ones(SHAPE, bool)
                outside[box.slices] = False
                np.testing.assert_array_equal(labels[outside], before[outside])
            else:
                merge = run(edits, predicted(number), Scope(box, locked=locked))
            np.testing.assert_array_equal(labels[painted], values[painted])
            for label in locked:
                np.testing.assert_array_equal(labels == label, before == label)
            np.testing.assert_array_equal(edits.mask(Region.of_shape(SHAPE)), known)
            if what == "run and undo":
                merge.labels.undo(labels)
                edits.unkeep(merge)
                np.testing.assert_array_equal(labels, before)
                np.testing.assert_array_equal(kept, was_kept)
                np.testing.assert_array_equal(edits.mask(Region.of_shape(SHAPE)), known)
        np.testing.assert_array_equal(edits.mask(Region.of_shape(SHAPE)) & painted, painted)


def test_a_run_writes_everything_that_nobody_edited():
    kept = predicted(1)
    labels = kept.copy()
    labels[5:10, 5:10] = 3
    edits = Edits(labels, kept)
    edited = labels != kept
    run(edits, predicted(2))
    np.testing.assert_array_equal(labels, np.where(edited, 3, predicted(2)))
    np.testing.assert_array_equal(kept, predicted(2))


def test_an_edit_outlives_a_run_that_agrees_with_it_by_chance():
    kept = np.zeros((4, 4), np.uint8)
    labels = kept.copy()
    labels[1, 1] = 2
    edits = Edits(labels, kept)
    run(edits, np.full((4, 4), 2, np.uint8))
    run(edits, np.ones((4, 4), np.uint8))
    assert labels[1, 1] == 2
    assert (labels == 1).sum() == 15
    assert edits.summary().count_px == 1


def test_what_was_confirmed_stays_though_it_is_as_predicted():
    kept = np.zeros((4, 4), np.uint8)
    labels = kept.copy()
    edits = Edits(labels, kept)
    edits.confirm(Region((0, 0), (2, 2)))
    run(edits, np.ones((4, 4), np.uint8))
    assert (labels == 0).sum() == 4


@fixed
@given(st.integers(0, 10**6), st.integers(1, 300))
def test_a_summary_is_what_a_comparison_says(seed, block_px):
    kept, labels = predicted(seed), predicted(seed + 1)
    with blocks_of(block_px):
        found = Edits(labels, kept).summary()
    edited = labels != kept
    assert found.count_px == edited.sum()
    assert found.gained == {i: (labels[edited] == i).sum() for i in range(4)}
    assert found.lost == {i: (kept[edited] == i).sum() for i in range(4)}
    covered = np.zeros(SHAPE, bool)
    for box in found.boxes:
        covered[box.slices] = True
    assert covered[edited].all()


def test_a_summary_is_a_sentence():
    kept = np.zeros((9, 9), np.uint8)
    labels = kept.copy()
    assert Edits(labels, kept).summary().words() == "Nothing was edited."
    labels[:2, 0] = 1
    words = Edits(labels, kept).summary().words({1: "cell", 0: "ground"})
    assert words == "2 px edited: ground +0 −2, cell +2 −0."


@fixed
@given(st.integers(0, 10**6), boxes_in(SHAPE))
def test_reverting_brings_the_prediction_back_in_its_region_only(seed, box):
    kept, labels = predicted(seed), predicted(seed + 1)
    before, edits = labels.copy(), Edits(labels, kept)
    step = edits.revert(Scope(box))
    step.apply(labels)
    edits.forget(Scope(box))
    np.testing.assert_array_equal(labels[box.slices], kept[box.slices])
    assert not edits.mask(box).any()
    step.undo(labels)
    np.testing.assert_array_equal(labels, before)


def test_a_carried_edit_can_be_reverted_and_forgotten():
    kept = np.zeros((4, 4), np.uint8)
    labels = kept.copy()
    labels[1, 1] = 2
    edits = Edits(labels, kept)
    run(edits, np.ones((4, 4), np.uint8))
    edits.revert().apply(labels)
    assert edits.summary().count_px == 1
    edits.forget()
    assert edits.summary().count_px == 0
    assert (labels == 1).all()


def test_edits_of_zarr_labels_are_known_and_kept():
    stores = [zarr.create_array({}, shape=SHAPE, chunks=(16, 16), dtype="uint8") for _ in "ab"]
    for store in stores:
        store[:] = predicted(3)
    stores[0][4:6, 7:9] = 3
    edits = Edits(*stores)
    edited = predicted(3) != np.asarray(stores[0][:])
    run(edits, predicted(4))
    np.testing.assert_array_equal(stores[0][:], np.where(edited, 3, predicted(4)))
    np.testing.assert_array_equal(stores[1][:], predicted(4))


def test_predictions_that_do_not_fit_are_refused():
    labels = predicted(0)
    edits = Edits(labels, labels.copy())
    with pytest.raises(ChoiceError, match=r"\(3, 3\) px, but \(30, 40\)"):
        edits.merge(np.zeros((3, 3), np.uint8))
    with pytest.raises(ImageError, match="256 is needed"):
        edits.merge(np.full(SHAPE, 256, np.uint16))
    with pytest.raises(ChoiceError, match="class 3, and nobody has said"):
        edits.merge(labels, ids={0: 0, 1: 2, 2: 1})
    with pytest.raises(ImageError, match="shape"):
        Edits(labels, labels[1:])


def test_classes_of_another_model_come_in_under_their_names():
    ours = {0: "background", 1: "cell", 2: "debris"}
    theirs = {0: "Background", 1: "Debris", 2: "CELL", 5: "mitosis"}
    match = match_classes(ours, theirs)
    assert match.ids == {0: 0, 1: 2, 2: 1, 5: 5}
    assert (match.names[5], match.conflicts) == ("mitosis", ())
    kept = np.zeros((2, 2), np.uint8)
    labels = kept.copy()
    run(Edits(labels, kept), np.array([[0, 1], [2, 5]], np.uint8), ids=match.ids)
    assert labels.tolist() == [[0, 2], [1, 5]]


def test_a_conflict_is_returned_and_not_decided():
    match = match_classes({0: "ground", 1: "road", 2: "house"}, {0: "none", 1: "river", 2: "house"})
    assert match.ids == {0: 0, 2: 2}
    (conflict,) = match.conflicts
    assert (conflict.id, conflict.name, conflict.ours, conflict.free) == (1, "river", "road", 3)
    assert "'river' in the new model and 'road' in the labels" in conflict.words()
    assert match.decided({1: 3}).names == {0: "ground", 1: "road", 2: "house", 3: "river"}
    same = match.decided({1: 1})
    assert (same.ids[1], same.names[1], same.conflicts) == (1, "road", ())
    assert match.decided({}).conflicts == match.conflicts


def test_two_classes_of_one_name_are_a_conflict_each():
    match = match_classes({0: "", 1: "cell", 2: "other"}, {0: "", 1: "cell", 2: "Cell"})
    assert [conflict.id for conflict in match.conflicts] == [1, 2]
    assert len({conflict.free for conflict in match.conflicts}) == 2


def test_classes_without_names_are_known_by_their_ids():
    match = match_classes({0: "", 1: "", 2: "class 2"}, {0: "", 1: "class 1", 2: "", 3: ""})
    assert match.ids == {0: 0, 1: 1, 2: 2, 3: 3}
    assert match.conflicts == ()


@fixed
@given(data=st.data())
def test_a_set_of_pixels_is_what_was_marked(data):
    shape = data.draw(st.sampled_from([(40,), (300, 270), (3, 40, 300)]))
    found, expected = PixelSet(shape), np.zeros(shape, bool)
    for number in range(data.draw(st.integers(1, 6))):
        box = data.draw(boxes_in(shape))
        mask = np.random.default_rng(number).random(box.shape) < data.draw(st.floats(0, 1))
        earlier = found.copy()
        frozen = earlier.within(Region.of_shape(shape))
        if data.draw(st.booleans()):
            found.add(box, mask)
            expected[box.slices] |= mask
        else:
            found.remove(box, mask)
            expected[box.slices] &= ~mask
        np.testing.assert_array_equal(earlier.within(Region.of_shape(shape)), frozen)
    np.testing.assert_array_equal(found.within(Region.of_shape(shape)), expected)
    box = data.draw(boxes_in(shape))
    np.testing.assert_array_equal(found.within(box), expected[box.slices])
    assert len(found) == expected.sum()
    assert all(expected[box.slices].any() for box in found.boxes())


def test_strokes_mark_their_pixels():
    found = PixelSet((5, 300, 300))
    found.add_pixels((np.array([2, 2]), np.array([10, 280]), np.array([255, 256])))
    found.add_pixels(([], [], []))
    marked = found.within(Region.of_shape((5, 300, 300)))
    assert np.argwhere(marked).tolist() == [[2, 10, 255], [2, 280, 256]]


def test_a_set_of_pixels_is_saved_and_read(tmp_path):
    found = PixelSet((200_000, 200_000))
    found.add(Region((199_000, 5), (199_900, 600)))
    found.save(tmp_path / "edited.npz")
    again = PixelSet.load(tmp_path / "edited.npz")
    assert (again.shape, len(again)) == (found.shape, 900 * 595)
    assert again.boxes() == found.boxes()
    PixelSet((4, 4)).save(tmp_path / "none.npz")
    assert len(PixelSet.load(tmp_path / "none.npz")) == 0
    (tmp_path / "torn.npz").write_bytes(b"PK")
    with pytest.raises(FileFormatError, match="does not hold the edited pixels"):
        PixelSet.load(tmp_path / "torn.npz")
