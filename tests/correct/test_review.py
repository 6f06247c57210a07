from dataclasses import replace

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.measure import regionprops

from napari_onnxseg.correct import cells as cells_module
from napari_onnxseg.correct import pairs as pairs_module
from napari_onnxseg.correct import zones as zones_module
from napari_onnxseg.correct.decisions import (
    decisions_json,
    decisions_of,
    fingerprint,
    load_decisions,
    save_decisions,
)
from napari_onnxseg.correct.odd_objects import find_objects, measure_objects
from napari_onnxseg.correct.review import Review
from napari_onnxseg.correct.zones import ZoneRule, find_tiles, find_zones
from napari_onnxseg.errors import ChoiceError, FileFormatError, ImageError
from napari_onnxseg.tiling.region import Region

fixed = settings(derandomize=True, deadline=None, max_examples=20)
FINE = ZoneRule(grain_px=1, threshold=0.5, largest=1000)


def doubtful(*boxes, shape=(100, 120), value=200):
    found = np.zeros(shape, np.uint8)
    for box in boxes:
        found[tuple(slice(a, b) for a, b in box)] = value
    return found


def test_zones_come_worst_first_with_all_that_is_known_of_them():
    doubt = doubtful(((10, 14), (20, 30)), ((50, 70), (60, 80)))
    labels = np.zeros(doubt.shape, np.uint8)
    labels[55:58, 60:80] = 3
    big, small = find_zones(doubt, labels, rule=FINE, scale=(0.5, 0.5))
    assert big.region == Region((50, 60), (70, 80))
    assert (big.label, big.size, small.label) == (3, 100, 0)
    assert big.doubt == pytest.approx(200 / 255)
    assert (big.share, small.share) == (400 / 440, 40 / 440)
    assert big.identity == "zone 50:70,60:80"


def test_small_zones_are_left_out_and_near_ones_are_one():
    doubt = doubtful(((10, 12), (20, 22)), ((10, 12), (26, 28)), ((50, 60), (60, 70)))
    assert len(find_zones(doubt, rule=FINE)) == 3
    assert len(find_zones(doubt, rule=replace(FINE, min_size=5))) == 1
    merged = find_zones(doubt, rule=replace(FINE, merge=4))
    assert [item.region for item in merged][1] == Region((10, 20), (12, 28))
    assert merged[1].size == 8
    assert len(find_zones(doubt, rule=replace(FINE, merge=2), scale=(0.5, 0.5))) == 2
    assert len(find_zones(doubt, rule=replace(FINE, most=2))) == 2


def test_long_zones_are_divided():
    doubt = doubtful(((10, 12), (0, 120)))
    parts = find_zones(doubt, rule=replace(FINE, largest=50))
    assert sorted(item.region.start[1] for item in parts) == [0, 40, 80]
    assert sum(item.share for item in parts) == pytest.approx(1)


def test_coarse_cells_forgive_thin_edges():
    doubt = doubtful(((0, 100), (50, 51)), ((16, 40), (80, 104)))
    (zone,) = find_zones(doubt, rule=ZoneRule(grain_px=8, threshold=0.3))
    assert zone.region == Region((16, 80), (40, 104))
    assert len(find_zones(doubt, rule=FINE)) == 2


def test_frames_are_looked_at_one_by_one_and_volumes_as_a_whole():
    doubt = doubtful(((0, 3), (10, 20), (10, 20)), shape=(4, 40, 40))
    assert len(find_zones(doubt, rule=FINE)) == 3
    (zone,) = find_zones(doubt, rule=replace(FINE, spatial_ndim=3))
    assert zone.region == Region((0, 10, 10), (3, 20, 20))
    assert len(find_tiles(doubt, side_px=20)) == 16


@fixed
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(50, 3000))
def test_blocks_and_stores_give_the_same_queue(seed, grain, block_px):
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).random((70, 90)), 2)
    doubt = (255 * (noise - noise.min()) / np.ptp(noise)).astype(np.uint8)
    rule = ZoneRule(grain_px=grain, threshold=0.6)
    expected = find_zones(doubt, doubt // 64, rule=rule)
    store = zarr.create_array({}, shape=doubt.shape, chunks=(32, 32), dtype="uint8")
    store[:] = doubt
    cells_module.BLOCK_PX, whole = block_px, cells_module.BLOCK_PX
    try:
        assert find_zones(store, doubt // 64, rule=rule) == expected
    finally:
        cells_module.BLOCK_PX = whole
    covered = np.zeros(doubt.shape, bool)
    for item in expected:
        covered[item.region.slices] = True
    if grain == 1:
        assert covered[doubt >= 0.6 * 255].all()
        assert sum(item.size for item in expected) == (doubt >= 0.6 * 255).sum()


def test_cells_of_huge_images_are_larger(monkeypatch):
    monkeypatch.setattr(zones_module, "MOST_CELLS", 60)
    (zone,) = find_zones(doubtful(((0, 64), (0, 64))), rule=FINE)
    assert zone.region == Region((0, 0), (64, 64))


def test_tiles_are_all_of_the_image_worst_first():
    doubt = doubtful(((60, 70), (10, 20)))
    tiles = find_tiles(doubt, side_px=50)
    assert len(tiles) == 6
    assert sum(item.region.size for item in tiles) == doubt.size
    assert (tiles[0].region, tiles[0].share) == (Region((50, 0), (100, 50)), 1)
    with pytest.raises(ChoiceError, match="1 px or more"):
        find_tiles(doubt, side_px=0)


@fixed
@given(st.integers(0, 10**6), st.integers(40, 4000))
def test_objects_are_measured_in_blocks_as_scikit_image_does(seed, block_px):
    rng = np.random.default_rng(seed)
    objects = ndimage.label(ndimage.gaussian_filter(rng.normal(size=(50, 60)), 2) > 0.05)[0] * 3
    doubt = rng.integers(0, 256, objects.shape).astype(np.uint8)
    pairs_module.BLOCK_PX, whole = block_px, pairs_module.BLOCK_PX
    try:
        found = measure_objects(objects, doubt)
    finally:
        pairs_module.BLOCK_PX = whole
    props = regionprops(objects, doubt)
    assert found.ids.tolist() == [p.label for p in props]
    assert found.area_px.tolist() == [p.area for p in props]
    np.testing.assert_allclose(found.doubt, [p.intensity_mean * p.area for p in props])
    boxes = [(*found.region(row).start, *found.region(row).stop) for row in range(len(props))]
    assert boxes == [p.bbox for p in props]
    for row, p in enumerate(props):
        mask = np.pad(objects == p.label, 1, mode="edge")
        faces = sum(np.count_nonzero(np.diff(mask, axis=axis)) for axis in (0, 1))
        corners = sum(np.count_nonzero(np.diff(mask[1:-1, 1:-1], axis=axis)) for axis in (0, 1))
        assert corners == found.faces_px[row] <= faces


def disc_field():
    objects = np.zeros((200, 200), np.uint16)
    rows, columns = np.indices(objects.shape)
    for number in range(16):
        row, column = 25 + 50 * (number // 4), 25 + 50 * (number % 4)
        objects[(rows - row) ** 2 + (columns - column) ** 2 <= 12**2] = number + 1
    objects[objects == 6] = 0
    objects[75:78, 75:77] = 6
    objects[(objects == 11) & (rows % 4 < 2)] = 0
    return objects


def test_odd_objects_come_first_and_are_told_why():
    tiny, ragged, *rest = find_objects(disc_field(), order="shape")
    assert (tiny.label, tiny.reason) == (6, "unusually small")
    assert (ragged.label, ragged.reason) == (11, "unusually small, unusually ragged")
    assert all(item.reason == "" for item in rest)


def test_objects_the_model_is_in_doubt_about_come_first():
    objects = disc_field()
    doubt = np.where(objects == 9, 100, np.where(objects == 3, 250, 10)).astype(np.uint8)
    first, second, *_ = find_objects(objects, doubt, scale=(0.5, 0.5), most=4)
    assert [first.label, second.label] == [3, 9]
    assert first.size == (objects == 3).sum() / 4
    assert len(find_objects(objects, doubt, most=4)) == 4
    assert find_objects(np.zeros((5, 5), int)) == ()
    with pytest.raises(ImageError, match="one image"):
        find_objects(objects, doubt[1:])


@pytest.fixture
def queue():
    boxes = [((i, i + 10), (0, 10 + i)) for i in range(0, 80, 20)]
    doubt = doubtful(*boxes)
    labels = np.zeros(doubt.shape, np.uint8)
    labels[:30] = 1
    return Review(find_zones(doubt, labels, rule=FINE)), labels


def test_a_review_goes_from_place_to_place_and_says_how_far_it_is(queue):
    review, labels = queue
    assert review.progress().words() == "0 of 4, 0 % of the doubt"
    names = [item.identity for item in review.items]
    first = review.after(None)
    assert first.identity == names[0]
    review = review.decide(names[0], "accepted", labels).decide(names[2], "skipped", labels)
    assert review.after(names[0]).identity == names[1]
    assert review.after(names[1]).identity == names[3]
    assert review.after(names[3]).identity == names[1]
    assert review.after(names[1], back=True).identity == names[0]
    share = review.items[0].share + review.items[2].share
    assert review.progress().share == pytest.approx(share)
    assert (review.progress().done, review.progress().accepted) == (2, 1)
    assert [item.identity for item in review.waiting()] == [names[1], names[3]]
    assert review.accepted() == (review.items[0].region,)
    done = review.decide(names[1], "accepted", labels).decide(names[3], "accepted", labels)
    assert done.after(names[3]) is None
    assert done.progress().share == 1
    assert review.reopen(names[0]).progress().done == 1
    with pytest.raises(ChoiceError, match="no place 'x'"):
        review.decide("x", "accepted", labels)


def test_a_review_of_one_class_leaves_the_others(queue):
    review, labels = queue
    ones = review.waiting(1)
    assert {item.label for item in ones} == {1}
    assert 0 < len(ones) < len(review.items)
    review = review.decide(ones[0].identity, "accepted", labels)
    assert review.progress(1).done == 1
    assert review.after(ones[0].identity, label=1) == ones[1]


def test_decisions_are_found_again_tomorrow(queue, tmp_path):
    review, labels = queue
    for item in review.items[:2]:
        review = review.decide(item.identity, "accepted", labels)
    save_decisions(tmp_path / "a.json", review.decisions)
    known = load_decisions(tmp_path / "a.json")
    assert known == review.decisions
    assert Review(review.items, known).progress() == review.progress()
    assert decisions_of(decisions_json(known)) == known


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"format": 9, "decisions": []}', '{"format": 1}']
)
def test_what_is_no_review_is_refused(text, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FileFormatError, match="cannot be read as a review"):
        load_decisions(tmp_path / "a.json")


def test_decisions_hold_after_a_new_prediction_where_labels_are_as_they_were(queue):
    review, labels = queue
    for item in review.items:
        review = review.decide(item.identity, "accepted", labels)
    same, changed = review.items[0], review.items[3]
    labels[changed.region.start] += 1
    inside = Region(same.region.start, tuple(n - 1 for n in same.region.stop))
    moved = replace(same, identity="zone moved", region=inside)
    beyond = replace(same, identity="zone beyond", region=same.region.grow((9, 9)))
    found, gone = review.rematched([moved, beyond, changed], labels)
    assert [item.identity for item in found.waiting()] == ["zone beyond", changed.identity]
    assert [decision.region for decision in gone] == [changed.region]
    assert same.identity in found.decisions


def test_an_object_of_the_same_number_elsewhere_is_another_object():
    objects = np.zeros((60, 60), np.uint16)
    objects[5:15, 5:15] = 1
    review = Review(find_objects(objects))
    review = review.decide(review.items[0].identity, "accepted", objects)
    moved = np.roll(objects, 30, axis=1)
    moved[5:15, 5:15] = 2
    found, _ = review.rematched(find_objects(moved), moved)
    assert [item.label for item in found.waiting()] == [1, 2]


def test_a_fingerprint_is_of_ids_not_of_their_dtype():
    labels = np.arange(100, dtype=np.uint8).reshape(10, 10)
    box = Region((2, 2), (20, 5))
    assert fingerprint(labels, box) == fingerprint(labels.astype(np.uint16), box)
    labels[3, 3] += 1
    assert fingerprint(labels, box) != fingerprint(labels - 1, box)
