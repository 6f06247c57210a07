import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.arrays.reduce import halve
from napari_onnxseg.correct import operations as ops
from napari_onnxseg.correct import pairs as pairs_module
from napari_onnxseg.correct.edit import Edit
from napari_onnxseg.correct.levels import update_levels
from napari_onnxseg.correct.operations import Scope
from napari_onnxseg.correct.recovery import Recovery, left_behind
from napari_onnxseg.errors import FileFormatError, ImageError
from napari_onnxseg.tiling.region import Region

fixed = settings(derandomize=True, deadline=None, max_examples=25)


def pyramid(full, count=4):
    levels = [full]
    for _ in range(count - 1):
        levels.append(halve(levels[-1], (full.ndim - 2, full.ndim - 1), "majority"))
    return levels


@pytest.mark.parametrize("shape", [(37, 52), (3, 21, 40)])
@fixed
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_all_levels_are_those_of_the_changed_image(shape, data, seed):
    rng = np.random.default_rng(seed)
    full = rng.integers(0, 4, shape).astype(np.uint8)
    levels = pyramid(full.copy())
    start = [data.draw(st.integers(0, n - 1)) for n in shape]
    stop = [data.draw(st.integers(a + 1, n)) for a, n in zip(start, shape, strict=True)]
    region = Region(tuple(start), tuple(stop))
    levels[0][region.slices] = rng.integers(0, 4, region.shape)
    whole, pairs_module.BLOCK_PX = pairs_module.BLOCK_PX, data.draw(st.sampled_from([7, 1 << 22]))
    try:
        update_levels(levels, region)
    finally:
        pairs_module.BLOCK_PX = whole
    for found, expected in zip(levels, pyramid(levels[0]), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_an_edit_goes_through_a_pyramid_in_a_store_and_back():
    full = np.zeros((64, 64), np.uint8)
    full[10:30, 10:30] = 1
    stores = []
    for level in pyramid(full):
        store = zarr.create_array({}, shape=level.shape, chunks=(16, 16), dtype="uint8")
        store[:] = level
        stores.append(store)
    edit = ops.delete(stores[0], Scope(Region((5, 5), (20, 64))))
    edit.apply(stores[0])
    update_levels(stores, edit.region)
    for found, expected in zip(stores, pyramid(stores[0][:]), strict=True):
        np.testing.assert_array_equal(found[:], expected)
    edit.undo(stores[0])
    update_levels(stores, edit.region)
    for found, expected in zip(stores, pyramid(full), strict=True):
        np.testing.assert_array_equal(found[:], expected)


def test_pyramids_that_do_not_halve_are_refused():
    with pytest.raises(ImageError, match="not half"):
        update_levels([np.zeros((9, 9), int), np.zeros((3, 3), int)], Region((0, 0), (1, 1)))


@fixed
@given(st.integers(0, 10**6), st.integers(0, 60))
def test_a_stroke_is_an_edit(seed, count):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, (3, 20, 30)).astype(np.uint8)
    before = labels.copy()
    indices = tuple(rng.integers(0, n, count) for n in labels.shape)
    edit = Edit.of_pixels(indices, labels[indices], 7)
    edit.apply(labels)
    expected = before.copy()
    expected[indices] = 7
    np.testing.assert_array_equal(labels, expected)
    assert len(edit) == (expected != before).sum()
    edit.undo(labels)
    np.testing.assert_array_equal(labels, before)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_stroke_is_an_edit_as_a_mask_too(share):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 5, (20, 30)).astype(np.uint8)
    before, region = labels.copy(), Region((3, 4), (9, 15))
    mask = rng.random(region.shape) < share
    whole = share == 1
    old = before[region.slices].copy() if whole else before[region.slices][mask]
    edit = Edit.of_mask(region, None if whole else mask, old, 7)
    edit.apply(labels)
    expected = before.copy()
    expected[region.slices][mask] = 7
    np.testing.assert_array_equal(labels, expected)
    edit.undo(labels)
    np.testing.assert_array_equal(labels, before)


def test_edits_are_kept_until_the_image_is_saved(tmp_path):
    saved = np.zeros((50, 60), np.uint8)
    labels = saved.copy()
    recovery = Recovery.start(tmp_path, {"layer": "cells"})
    assert left_behind(tmp_path) == []
    for number in range(12):
        new = labels.copy()
        new[number : number + 3, 5:20] = number + 1
        edit = Edit.of(Region.of_shape(labels.shape), labels, new)
        edit.apply(labels)
        recovery.record(edit)
    edit.undo(labels)
    recovery.forget_last()
    (found,) = left_behind(tmp_path)
    assert (found.about, len(found)) == ({"layer": "cells"}, 11)
    assert found.restore(saved) == 11
    np.testing.assert_array_equal(saved, labels)
    found.clear()
    assert left_behind(tmp_path) == []


def test_damaged_files_are_told_and_strange_folders_passed_over(tmp_path):
    recovery = Recovery.start(tmp_path, {})
    (recovery.folder / "00000000.npz").write_bytes(b"PK")
    with pytest.raises(FileFormatError, match="does not hold an edit"):
        recovery.restore(np.zeros((3, 3), np.uint8))
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "about.json").write_text("{")
    assert [found.folder for found in left_behind(tmp_path)] == [recovery.folder]


PAINTER = """
import sys
from pathlib import Path
import numpy as np
from napari_onnxseg.correct.edit import Edit
from napari_onnxseg.correct.recovery import Recovery
recovery = Recovery.start(Path(sys.argv[1]), {"layer": "cells"})
print("ready", flush=True)
for number in range(10_000):
    index = (np.array([number // 100]), np.array([number % 100]))
    recovery.record(Edit.of_pixels(index, np.zeros(1, np.uint8), 1))
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_strokes_survive_a_process_that_is_killed(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", PAINTER, str(tmp_path)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout.readline().strip() == b"ready"
        deadline = time.monotonic() + 30
        while not left_behind(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    labels = np.zeros((100, 100), np.uint8)
    (found,) = left_behind(tmp_path)
    count = found.restore(labels)
    assert count > 1
    assert (labels.ravel()[:count] == 1).all()
    assert labels.sum() == count
