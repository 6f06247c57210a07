import json
from typing import get_args

import numpy as np
import pytest

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.convention import Method, Normalization
from napari_onnxseg.prepare.steps import Step

EXAMPLES = [
    Normalization(method, mean=(0.5,), std=(0.2,))
    if method in ("mean_std", "standardize")
    else Normalization(method)
    for method in get_args(Method)
    if method not in ("window", "steps")
] + [
    Normalization("window", low=-1000, high=1000),
    Normalization("percentile", low=1, high=99.8, clip=True, per_channel=True, eps=1e-6),
    Normalization("divide", scale=127.5),
    Normalization("mean_std", mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
    Normalization("steps", steps=(Step("scale_range", low_percentile=1), Step("sigmoid"))),
]


@pytest.mark.parametrize("given", EXAMPLES, ids=lambda n: n.method)
def test_the_json_form_comes_back_the_same(given):
    assert Normalization.from_json(json.loads(json.dumps(given.to_json()))) == given


@pytest.mark.parametrize("given", EXAMPLES, ids=lambda n: n.method)
def test_every_method_can_be_said_in_words(given):
    assert given.words()


def test_words_name_what_was_measured():
    words = Normalization("percentile", low=1, high=99.8, clip=True).words()
    assert words == "percentiles 1 to 99.8 of the image to 0..1, channels together, clipped"
    assert "each channel" in Normalization("min_max", per_channel=True).words()
    assert Normalization("window", low=-1000, high=1000).words() == "-1000 to 1000 to 0..1, clipped"


def test_only_what_differs_is_written():
    assert Normalization("unit").to_json() == {"method": "unit"}
    assert Normalization("percentile", low=1, high=99).to_json() == {
        "method": "percentile",
        "low": 1,
        "high": 99,
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "z-score"}, "'z-score' is unknown"),
        ({"low": 1}, "names no method"),
        ({"method": "unit", "gamma": 2}, "unknown field 'gamma'"),
        ({"method": "mean_std"}, "0 mean"),
        ({"method": "mean_std", "mean": [1, 2], "std": [1]}, "2 mean.* 1 std"),
        ({"method": "mean_std", "mean": 0.5, "std": 0}, "not above 0"),
        ({"method": "divide", "scale": 0}, "divides by 0"),
        ({"method": "standardize", "scale": 0, "mean": 0, "std": 1}, "divides by 0"),
        ({"method": "standardize", "mean": 0}, "1 mean.* 0 std"),
        ({"method": "divide", "scale": float("nan")}, "not finite"),
        ({"method": "divide", "scale": "many"}, "'many'"),
        ({"method": "percentile", "low": 60, "high": 40}, "60 and 40"),
        ({"method": "percentile", "low": 0, "high": 101}, "0 and 101"),
        ({"method": "window", "low": 5, "high": 5}, "5 and 5"),
        ({"method": "symmetric", "clip": True}, "cannot be clipped"),
        ({"method": "unit", "clip": 1}, "true or false"),
        ({"method": "min_max", "eps": -1}, "0 or more"),
    ],
)
def test_a_fault_is_named(given, words):
    with pytest.raises(ModelError, match=words):
        Normalization.from_json(given)


def test_measuring_is_needed_for_image_statistics_and_for_the_range_of_wide_data():
    narrow, wide = np.dtype(np.uint8), np.dtype(np.uint16)
    assert Normalization("percentile").needs_statistics
    assert Normalization("percentile").needs_measuring(narrow)
    assert not Normalization("unit").needs_statistics
    assert not Normalization("unit").needs_measuring(narrow)
    assert Normalization("unit").needs_measuring(wide)
    assert not Normalization("dtype_max").needs_measuring(wide)
    assert not Normalization("window", low=0, high=1).needs_measuring(wide)
