import json

import numpy as np
import pytest

from foreign import linear, picture, scored
from napari_onnxseg.pipeline.semantic import segment_image
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.steps import Step

CHAIN = Normalization(
    "steps",
    steps=(
        Step("clip", low_percentile=2, high_percentile=90, per_channel=True),
        Step("zero_mean_unit_variance"),
    ),
)


def fed(image):
    """Return what the chain gives for (..., Y, X, 3) pixels, in float64."""
    axes = tuple(range(image.ndim - 1))
    x = np.clip(image, *np.percentile(image.astype(float), [2, 90], axes))
    return np.moveaxis((x - x.mean()) / x.std(), -1, 0)


@pytest.mark.parametrize("tile", [None, 16])
def test_a_chain_is_measured_over_all_tiles(tmp_path, tile):
    image = picture(np.uint16, 3000)
    path = linear(tmp_path / "a.onnx")
    result = segment_image(image, path, rgb=True, normalization=CHAIN, tile=tile)
    np.testing.assert_array_equal(result.labels, scored(fed(image)).argmax(0))
    told = json.loads(json.dumps(result.record))["statistics"]["steps"]
    assert [step["op"] for step in told] == ["clip", "zero_mean_unit_variance"]
    np.testing.assert_allclose(told[0]["low"], np.percentile(image, 2, (0, 1)))
    assert "clipped to percentiles 2 to 90 of each channel" in result.record["plan"]


@pytest.mark.parametrize("statistics", ["image", "plane"])
def test_a_chain_is_measured_over_the_whole_stack_or_each_plane(tmp_path, statistics):
    image = picture(np.uint16, 3000)
    stack = np.stack([image, image // 2 + 100])
    path = linear(tmp_path / "a.onnx")
    result = segment_image(stack, path, rgb=True, normalization=CHAIN, statistics=statistics)
    whole = np.moveaxis(fed(stack), 1, 0)
    for plane, labels, part in zip(stack, result.labels, whole, strict=True):
        x = part if statistics == "image" else fed(plane)
        np.testing.assert_array_equal(labels, scored(x).argmax(0))
