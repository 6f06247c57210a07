"""Memory: models that come and go, scores larger than memory, a run after one without any."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import nets
from children import run_child
from napari_onnxseg import Normalization, segment_image
from netbuild import Net, save
from spying import Spy

RAW = Normalization("none")
UNIT = {"input": {"normalization": {"method": "unit"}}}

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and limits memory")


def heavy(path, *, wide=5000):
    """Two classes behind one weight of ``4 * wide ** 2`` bytes: 95 MiB."""
    net = Net(["batch", 1, "y", "x"])
    x = net.conv("input", np.zeros((wide, 1, 1, 1)))
    x = net.conv(x, np.zeros((wide, wide, 1, 1), np.float32))
    nothing = net.conv(x, np.zeros((2, wide, 1, 1)))
    scores = net.conv("input", [[[[-1.0]]], [[[1.0]]]], [0.5, -0.5])
    last = net.add("Add", scores, nothing)
    return save(net.model({last: ("float32", ["batch", 2, "y", "x"])}), path)


CYCLES = """
import json, weakref
from napari_onnxseg import load_card, segment_image
from napari_onnxseg.runtime.session import open_session, release

image = np.random.default_rng(1).random((8, 8), np.float32)
held, sizes = [], []
for cycle in range(10):
    card = load_card('heavy.onnx')
    labels = segment_image(image, 'heavy.onnx', device='cpu').labels
    assert ((labels == 1) == (image > 0.5)).all()
    session = open_session(card, 'cpu')
    held += [weakref.ref(session), weakref.ref(session._session)]
    loaded = now_mib('VmRSS')
    del session
    release(card.sha256)
    sizes.append((loaded, now_mib('VmRSS')))
print(json.dumps({'alive': sum(ref() is not None for ref in held), 'sizes': sizes}))
"""


@pytest.mark.slow
@linux
def test_models_that_come_and_go_leave_no_memory_behind(tmp_path):  # B044
    path = heavy(tmp_path / "heavy.onnx")
    assert path.stat().st_size > 95 * 2**20
    told = json.loads(run_child(CYCLES, tmp_path))
    assert told["alive"] == 0
    loaded, left = zip(*told["sizes"], strict=True)
    assert left[9] - left[1] < 24, told  # a quarter of one model; the heap settles by some MiB
    assert loaded[9] <= 1.1 * loaded[1], told
    assert loaded[1] - left[1] > 90, told


def test_all_tiles_of_a_large_image_have_one_shape(tmp_path):  # B045
    spy = Spy(nets.two_class(tmp_path / "two.onnx"), copies=False)
    image = np.random.default_rng(2).random((3000, 4100), np.float32)
    result = segment_image(
        image, spy.session.card.path, predictor=spy, tile=512, halo=64, normalization=RAW
    )
    assert set(spy.shapes) == {(1, 1, 512, 512)}
    assert len(spy.shapes) == result.record["tiles"]
    np.testing.assert_array_equal(result.labels, image > 0.5)


CLASSES = """
import json
from napari_onnxseg import segment_image
image = np.random.default_rng(3).integers(0, 256, (8192, 8192), dtype=np.uint8)
limit_mib(3072)
result = segment_image(image, 'many.onnx', device='cpu', workers=2)
crop = np.s_[4000:4700, 3900:4500]
np.save('crop.npy', image[crop])
np.save('labels.npy', result.labels[crop])
assert result.labels.dtype == np.uint8 and result.labels.shape == image.shape
print(json.dumps({'peak': now_mib('VmHWM'), 'counts': np.bincount(result.labels.ravel()).tolist()}))
"""


@pytest.mark.slow
@linux
def test_twenty_six_classes_of_a_large_image_fit_into_3_gib(tmp_path):  # B046
    path = nets.many_classes(tmp_path / "many.onnx", classes=26, card=UNIT)
    told = json.loads(run_child(CLASSES, tmp_path))
    assert told["peak"] < 1500, told  # all scores would take 6656 MiB
    assert len(told["counts"]) == 26
    assert min(told["counts"]) > 0
    alone = segment_image(np.load(tmp_path / "crop.npy"), path)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), alone.labels)


EXHAUSTED = """
from napari_onnxseg import segment_image
from napari_onnxseg.errors import OutOfMemoryError

image = np.random.default_rng(4).random((1536, 1536), np.float32)
given = {'device': 'cpu', 'workers': 2}
segment_image(image[:64, :64], 'hungry.onnx', **given)
limit_mib(now_mib('VmSize') + 400)
try:
    segment_image(image, 'hungry.onnx', tile=1536, **given)
except OutOfMemoryError as error:
    assert 'smaller tile' in str(error) and '\\n' not in str(error), error
else:
    raise AssertionError('the limit was not felt')
small = segment_image(image, 'hungry.onnx', tile=128, **given)
assert (small.labels == (image > 0.5)).all()
limit_mib(None)
large = segment_image(image, 'hungry.onnx', tile=768, **given)
assert (large.labels == (image > 0.5)).all()
"""


@linux
def test_a_run_with_smaller_tiles_succeeds_after_memory_ran_out(tmp_path):  # B047
    nets.slow(tmp_path / "hungry.onnx", layers=2, sides=(None, None))
    run_child(EXHAUSTED, tmp_path)
