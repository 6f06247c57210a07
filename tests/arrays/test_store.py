import errno
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import zarr

from children import MEMORY as MEMORY_OF_CHILDREN
from children import run_child
from napari_onnxseg.arrays.chunks import is_aligned, slabs
from napari_onnxseg.arrays.store import Form, ZarrSink
from napari_onnxseg.arrays.store_folders import (
    is_store,
    make_room,
    read_attributes,
    remove_store,
    remove_unfinished,
    write_attributes,
)
from napari_onnxseg.errors import ChoiceError, FileFormatError, RunError
from napari_onnxseg.tiling.region import Region

zarr.zeros((1,))[:]  # starts zarr's own thread, which lives as long as the process


def made(path, shape=(2, 50, 70), dtype=np.uint8, chunks=(16, 16)):
    return ZarrSink.create(path / "a.zarr", Form(shape, dtype, chunks))


def test_blocks_land_where_they_belong(tmp_path):
    sink = made(tmp_path)
    block = np.arange(30 * 41, dtype=np.uint8).reshape(30, 41)
    sink.write((1,), Region((3, 5), (33, 46)), block)
    expected = np.zeros((2, 50, 70), np.uint8)
    expected[1, 3:33, 5:46] = block
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "a.zarr", mode="r")[:], expected)
    np.testing.assert_array_equal(sink.read((1,), Region((3, 5), (33, 46))), block)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.uint32, np.float32])
def test_every_kind_of_result_is_kept_as_it_is(tmp_path, dtype):
    sink = made(tmp_path, (50, 70), dtype)
    block = (np.arange(50 * 70) * 97).reshape(50, 70).astype(dtype)
    sink.write((), Region.of_shape((50, 70)), block)
    assert sink.array.dtype == dtype
    np.testing.assert_array_equal(sink.array[:], block)


def test_float_images_with_channels_and_colours_on_the_last_axis_fit(tmp_path):
    scores = ZarrSink.create(tmp_path / "s.zarr", Form((2, 3, 40, 40), np.float32, (3, 16, 16)))
    block = np.ones((3, 9, 10), np.float32)
    scores.write((1, slice(None)), Region((0, 20), (9, 30)), block)
    assert scores.array[:].sum() == 270
    rgba = ZarrSink.create(tmp_path / "c.zarr", Form((40, 40, 4), np.uint8, (16, 16, 4)))
    rgba.write((), Region((1, 1), (3, 3)), np.full((2, 2, 4), 9, np.uint8))
    assert rgba.array[:].sum() == 9 * 16


def test_background_takes_no_room(tmp_path):
    sink = made(tmp_path, (4000, 4000), chunks=(500, 500))
    sink.write((), Region((0, 0), (4000, 4000)), np.zeros((4000, 4000), np.uint8))
    assert sorted(entry.name for entry in (tmp_path / "a.zarr").iterdir()) == ["zarr.json"]


@pytest.mark.parametrize(
    "block", [np.zeros((2, 3), np.uint8), np.zeros((1, 4), np.uint8), np.zeros((2, 4), np.int64)]
)
def test_a_block_that_would_be_stretched_or_narrowed_is_refused(tmp_path, block):
    with pytest.raises(RunError, match="does not fit"):
        made(tmp_path, (5, 5)).write((), Region((0, 0), (2, 4)), block)


def test_threads_whose_tiles_share_chunks_lose_nothing(tmp_path):
    """Tiles of 110 px over chunks of 100 px, the case of gunpowder#159."""
    corners = [(y, x) for y in range(0, 1000, 110) for x in range(0, 1000, 110)]
    for attempt in range(5):
        path = tmp_path / f"{attempt}.zarr"
        sink = ZarrSink.create(path, Form((1000, 1000), np.uint8, (100, 100)))

        def write(corner, sink=sink):
            stop = tuple(min(c + 110, 1000) for c in corner)
            region = Region(corner, stop)
            sink.write((), region, np.ones(region.shape, np.uint8))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, corners))
        assert int(sink.array[:].sum(dtype=np.int64)) == 1_000_000


SLAB = """
import sys
from napari_onnxseg.arrays.store import Form, ZarrSink
from napari_onnxseg.tiling.region import Region
sink = ZarrSink.resume('a.zarr', Form((1000, 300), np.uint8))
for top in range(TOP, BOTTOM, 10):
    sink.write((), Region((top, 0), (top + 10, 300)), np.full((10, 300), 1 + top // 10, np.uint8))
"""


def test_processes_that_own_whole_chunks_lose_nothing(tmp_path):
    sink = made(tmp_path, (1000, 300), chunks=(100, 100))
    parts = slabs((1000, 300), (100, 100), 2)
    assert all(is_aligned(part, (1000, 300), (100, 100)) for part in parts)
    codes = [SLAB.replace("TOP", str(p.start[0])).replace("BOTTOM", str(p.stop[0])) for p in parts]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda code: run_child(code, tmp_path), codes))
    expected = np.repeat(np.arange(1, 101, dtype=np.uint8), 10)[:, None]
    np.testing.assert_array_equal(sink.array[:], np.broadcast_to(expected, (1000, 300)))


def test_a_result_is_taken_up_where_it_was_left(tmp_path):
    made(tmp_path).write((0,), Region((0, 0), (5, 5)), np.full((5, 5), 3, np.uint8))
    again = ZarrSink.resume(tmp_path / "a.zarr", Form((2, 50, 70), np.uint8, (16, 16)))
    again.write((0,), Region((5, 0), (9, 5)), np.full((4, 5), 4, np.uint8))
    assert again.array[:].sum() == 75 + 80


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (Form((2, 50, 71), np.uint8), "shape"),
        (Form((2, 50, 70), np.uint16), "dtype"),
        (Form((2, 50, 70), np.uint8, (16, 32)), "chunks"),
    ],
)
def test_the_result_of_another_run_is_not_gone_on_with(tmp_path, form, words):
    made(tmp_path)
    with pytest.raises(ChoiceError, match=words):
        ZarrSink.resume(tmp_path / "a.zarr", form)


def test_nothing_is_taken_up_where_nothing_is(tmp_path):
    with pytest.raises(ChoiceError, match="go on with"):
        ZarrSink.resume(tmp_path / "b.zarr", Form((5, 5), np.uint8))


def test_an_older_result_is_replaced_only_when_asked(tmp_path):
    made(tmp_path)
    with pytest.raises(ChoiceError, match="holds a result"):
        made(tmp_path)
    form = Form((5, 5), np.uint16, (5, 5))
    assert ZarrSink.create(tmp_path / "a.zarr", form, replace=True).array.dtype == np.uint16


def test_a_folder_of_something_else_is_never_removed(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "last copy.txt").write_text("words")
    for replace in (True, False):
        with pytest.raises(ChoiceError, match="no zarr store"):
            make_room(tmp_path / "thesis", replace=replace)
    remove_store(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "last copy.txt").read_text() == "words"
    assert not is_store(tmp_path / "thesis")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_image_that_somebody_else_stored_is_never_removed(tmp_path, zarr_format):
    image = zarr.create_array(
        tmp_path / "image.zarr", shape=(9, 8), dtype=np.uint8, chunks=(9, 8),
        zarr_format=zarr_format, fill_value=5,
    )  # fmt: skip
    with pytest.raises(ChoiceError, match="never replaced"):
        make_room(tmp_path / "image.zarr", replace=True)
    remove_store(tmp_path / "image.zarr")
    assert (image[:] == 5).all()


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    assert made(tmp_path).array.shape == (2, 50, 70)


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "no room left"), (errno.EACCES, "cannot be written")]
)
def test_a_disk_that_refuses_is_told_in_one_sentence(tmp_path, monkeypatch, number, words):
    sink = made(tmp_path, (50, 70))

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("zarr.storage._local._put", refuse)
    with pytest.raises(RunError, match=words) as caught:
        sink.write((), Region((0, 0), (5, 5)), np.ones((5, 5), np.uint8))
    assert str(caught.value).count(". ") == 0


FULL = """
import signal
from napari_onnxseg.arrays.store import Form, ZarrSink
from napari_onnxseg.errors import RunError
from napari_onnxseg.tiling.region import Region
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sink = ZarrSink.create('a.zarr', Form((200, 400), np.uint8, (200, 200)))
noise = np.random.default_rng(1).integers(0, 255, (200, 200)).astype(np.uint8)
sink.write((), Region((0, 0), (200, 200)), noise % 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    sink.write((), Region((0, 0), (200, 400)), np.hstack([noise, noise]))
except RunError as fault:
    print(fault)
assert (sink.array[:, :200] == noise % 2).all()
assert not sink.array[:, 200:].any()
print([p.name for p in Path('a.zarr').rglob('*.partial')])
"""


def test_a_disk_that_fills_up_leaves_whole_blocks(tmp_path):
    said = run_child(FULL, tmp_path)
    assert "no room left" in said
    assert said.splitlines()[-1] == "[]"


ENDLESS = """
from napari_onnxseg.arrays.store import Form, ZarrSink
from napari_onnxseg.tiling.region import Region
sink = ZarrSink.resume('a.zarr', Form((1000, 1000), np.uint16))
rng = np.random.default_rng(1)
print('ready', flush=True)
while True:
    top, left = rng.integers(0, 890, 2)
    block = np.full((110, 110), rng.integers(1, 5), np.uint16) * 1111
    sink.write((), Region((int(top), int(left)), (int(top) + 110, int(left) + 110)), block)
"""


@pytest.mark.parametrize("seconds", [0.05, 0.21, 0.37])
def test_a_process_that_is_killed_leaves_whole_chunks(tmp_path, seconds):
    made(tmp_path, (1000, 1000), np.uint16, (100, 100))
    code = MEMORY_OF_CHILDREN + ENDLESS
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        time.sleep(seconds)
        child.kill()
    remove_unfinished(tmp_path / "a.zarr")
    assert not list(tmp_path.rglob("*.partial"))
    data = ZarrSink.resume(tmp_path / "a.zarr", Form((1000, 1000), np.uint16)).array[:]
    assert set(np.unique(data)) <= {0, 1111, 2222, 3333, 4444}
    assert data.any()


def test_only_unfinished_files_of_stores_are_removed(tmp_path):
    made(tmp_path)
    for folder in (tmp_path, tmp_path / "a.zarr"):
        (folder / "x.partial").write_text("half")
    assert remove_unfinished(tmp_path / "a.zarr") == 1
    assert remove_unfinished(tmp_path) == 0
    assert (tmp_path / "x.partial").exists()


def test_records_are_kept_with_the_store(tmp_path):
    sink = made(tmp_path)
    write_attributes(sink.path, "run", {"model": "unet", "tiles": [1, 2]})
    write_attributes(sink.path, "run", {"model": "unet"})
    assert read_attributes(sink.path)["run"] == {"model": "unet"}
    with pytest.raises(FileFormatError, match="no zarr store"):
        read_attributes(tmp_path / "b.zarr")


MEMORY = """
from napari_onnxseg.arrays.store import Form, ZarrSink
from napari_onnxseg.arrays.chunks import blocks_of
from napari_onnxseg.tiling.region import Region
side = SIDE
sink = ZarrSink.create('a.zarr', Form((side, side), np.uint8, (512, 512)))
block = (np.arange(512 * 512) // 300 % 5).reshape(512, 512).astype(np.uint8)
sink.write((), Region((0, 0), (512, 512)), block)
before = now_mib('VmRSS')
for region in blocks_of(Region.of_shape((side, side)), (512, 512)):
    h, w = region.shape
    sink.write((), region, block[:h, :w])
print(now_mib('VmHWM') - before)
"""


def test_memory_does_not_grow_with_the_result(tmp_path):
    grown = float(run_child(MEMORY.replace("SIDE", "8000"), tmp_path))  # the result has 61 MiB
    assert grown < 40
