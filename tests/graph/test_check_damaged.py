import random
from dataclasses import replace

import pytest

import nets
from bad_exports import FIXED, WELL, export
from bad_layers import shuffled_by_numbers, softmax_twice
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.graph.check import check
from napari_onnxseg.graph.findings import Report
from napari_onnxseg.graph.mend import Mended, mend

GRAPH_BYTES = 2500
"""Operators come first in these files, weights after."""


def damaged(content, seed):
    """Change, flip or lose bytes at up to four places, mostly in the operators."""
    rng = random.Random(seed)
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4])):
        end = min(len(data), GRAPH_BYTES) if rng.random() < 0.8 else len(data)
        place = rng.randrange(end)
        kind = rng.random()
        if kind < 0.6:
            data[place] = rng.randrange(256)
        elif kind < 0.8:
            data[place] ^= 1 << rng.randrange(8)
        else:
            del data[place : place + rng.randrange(1, 6)]
    return bytes(data)


@pytest.mark.parametrize("block", range(10))
def test_a_damaged_file_gets_a_verdict_or_one_sentence(tmp_path, block):
    traced = replace(WELL, dims=FIXED, up=shuffled_by_numbers, tail=softmax_twice)
    sound = (
        export(tmp_path / "a.onnx", traced),
        nets.unet(tmp_path / "b.onnx"),
        nets.arg_max(tmp_path / "c.onnx"),
    )
    path, out = tmp_path / "damaged.onnx", tmp_path / "out.onnx"
    for number in range(20):
        seed = 20 * block + number
        path.write_bytes(damaged(sound[number % 3].read_bytes(), seed))
        assert "\n" not in verdict(lambda: check(path), Report)
        assert "\n" not in verdict(lambda: mend(path, out), Mended)
        out.unlink(missing_ok=True)


def verdict(act, kind):
    """Return the sentence of a refusal, or nothing when the file could be examined."""
    try:
        assert isinstance(act(), kind)
    except OnnxSegError as error:
        return str(error)
    return ""
