import json

import pytest

from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.convention import Normalization
from napari_onnxseg.prepare.step_words import chain_words
from napari_onnxseg.prepare.steps import Step, chain_of, needs_reference, needs_statistics

EXAMPLES = [
    Step("cast", dtype="uint8"),
    Step("binarize", threshold=(0.25, 0.5)),
    Step("clip", low=0, high=1),
    Step("clip", low_percentile=0.5, high_percentile=99.5, per_channel=True),
    Step("clip", low=-1, high_percentile=99),
    Step("scale_linear", gain=(1, 2, 3), offset=0.5),
    Step("sigmoid"),
    Step("softmax"),
    Step("standardize", mean=(1, 2), std=3),
    Step("zero_mean_unit_variance", per_channel=True, eps=1e-3),
    Step("scale_range", low_percentile=1, high_percentile=99.8),
    Step("scale_range", reference="input"),
    Step("scale_mean_variance", reference="input"),
]


@pytest.mark.parametrize("step", EXAMPLES, ids=lambda step: step.op)
def test_the_json_form_of_a_step_comes_back_the_same(step):
    assert Step.from_json(json.loads(json.dumps(step.to_json()))) == step


def test_only_what_differs_is_written():
    assert Step("scale_range", low_percentile=1).to_json() == {
        "op": "scale_range",
        "low_percentile": 1.0,
    }
    assert Step("scale_linear", gain=(2,), offset=(0, 1)).to_json() == {
        "op": "scale_linear",
        "gain": 2.0,
        "offset": [0.0, 1.0],
    }


def test_equal_chains_are_equal_and_can_be_keys():
    first, second = (Normalization("steps", steps=chain_of(EXAMPLES)) for _ in range(2))
    assert first == second
    assert len({first, second}) == 1
    again = Normalization.from_json(json.loads(json.dumps(first.to_json())))
    assert again == first


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "names no 'op'"),
        ("clip", "must be an object"),
        ({"op": "median"}, "'median' is unknown; use cast, binarize"),
        ({"op": ["clip"]}, "is unknown"),
        ({"op": "clip", "min": 0}, "no entry 'min'; allowed are low, high, low_percentile"),
        ({"op": "sigmoid", "axis": 1}, "no entry 'axis'; allowed are no entries"),
        ({"op": "sigmoid", "eps": 0.1}, "no entry 'eps'"),
        ({"op": "clip"}, "has no bound"),
        ({"op": "clip", "low": 2, "high": 1}, "bounds 2 and 1"),
        ({"op": "clip", "low": 2, "low_percentile": 1}, "'low' and 'low_percentile'"),
        ({"op": "clip", "low": float("nan")}, "'low' of the step 'clip' is nan"),
        ({"op": "clip", "low": "0"}, "is '0'; use a number"),
        ({"op": "clip", "low": True}, "is True; use a number"),
        ({"op": "scale_range", "low_percentile": 60, "high_percentile": 40}, "60 and 40"),
        ({"op": "scale_range", "high_percentile": 101}, "0 <= low < high <= 100"),
        ({"op": "scale_range", "eps": -1}, "eps -1"),
        ({"op": "scale_range", "eps": None}, "'eps' of the step 'scale_range' is None"),
        ({"op": "scale_range", "reference": "output"}, "refers to 'output'"),
        ({"op": "scale_range", "reference": 1}, "use a text"),
        ({"op": "scale_range", "per_channel": 1}, "use true or false"),
        ({"op": "scale_mean_variance"}, "names nothing to follow"),
        ({"op": "binarize"}, "has no 'threshold'"),
        ({"op": "binarize", "threshold": [[1]]}, "use numbers"),
        ({"op": "binarize", "threshold": "0.5"}, "use numbers"),
        ({"op": "cast"}, "casts to ''; 'dtype' can be float16"),
        ({"op": "cast", "dtype": "object"}, "casts to 'object'"),
        ({"op": "scale_linear", "gain": [1, 2], "offset": [1, 2, 3]}, "2 gain.* and 3 offset"),
        ({"op": "standardize", "mean": 1}, "1 mean.* and 0 std"),
        ({"op": "standardize", "mean": [1, 2], "std": [1, 0]}, "std that is not above 0"),
    ],
)
def test_what_a_step_cannot_mean_is_refused_by_name(given, says):
    with pytest.raises(ModelError, match=says):
        Step.from_json(given)


@pytest.mark.parametrize("entry", ["gain", "low", "threshold", "dtype"])
def test_entries_of_other_operations_are_refused(entry):
    value = "uint8" if entry == "dtype" else 0.5
    with pytest.raises(ModelError, match=f"'sigmoid' has no entry '{entry}'"):
        Step("sigmoid", **{entry: value})


@pytest.mark.parametrize("given", [None, 3, "clip", {"op": "clip"}])
def test_a_chain_is_a_list(given):
    with pytest.raises(ModelError, match="must be a list"):
        chain_of(given)


def test_a_normalization_has_steps_only_as_a_chain():
    with pytest.raises(ModelError, match="has no steps"):
        Normalization("steps")
    with pytest.raises(ModelError, match="takes no steps"):
        Normalization("unit", steps=(Step("sigmoid"),))


def test_a_fault_in_a_chain_names_the_step():
    with pytest.raises(ModelError, match="step 'clip' has no bound"):
        Normalization.from_json({"method": "steps", "steps": [{"op": "sigmoid"}, {"op": "clip"}]})


@pytest.mark.parametrize(
    ("step", "statistics", "reference"),
    [
        (Step("sigmoid"), False, False),
        (Step("clip", low=0), False, False),
        (Step("clip", low_percentile=1), True, False),
        (Step("standardize", mean=0, std=1), False, False),
        (Step("zero_mean_unit_variance"), True, False),
        (Step("scale_range"), True, False),
        (Step("scale_range", reference="input"), True, True),
        (Step("scale_mean_variance", reference="input"), True, True),
    ],
)
def test_a_chain_says_what_must_be_measured(step, statistics, reference):
    chain = (Step("cast", dtype="float32"), step)
    assert (needs_statistics(chain), needs_reference(chain)) == (statistics, reference)
    assert Normalization("steps", steps=chain).needs_statistics == statistics


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (
            [
                Step("scale_range", low_percentile=1, high_percentile=99.8, per_channel=True),
                Step("clip", low=0, high=1),
            ],
            "percentiles 1 to 99.8 of each channel to 0..1, then clipped to 0..1",
        ),
        ([Step("scale_range")], "minimum to maximum of the image to 0..1"),
        (
            [Step("scale_range", reference="input", high_percentile=99)],
            "percentiles 0 to 99 of the unprocessed input to 0..1",
        ),
        ([Step("clip", low=-5)], "clipped below at -5"),
        (
            [Step("clip", low=0, high_percentile=99)],
            "clipped below at 0 and above at percentile 99 of the image",
        ),
        (
            [Step("clip", low_percentile=1, high_percentile=99, per_channel=True)],
            "clipped to percentiles 1 to 99 of each channel",
        ),
        ([Step("scale_linear", gain=2, offset=(1, 2))], "times 2 plus 1/2"),
        ([Step("scale_linear")], "as they are"),
        ([Step("standardize", mean=5, std=2)], "minus mean 5, by standard deviation 2"),
        (
            [Step("zero_mean_unit_variance", per_channel=True)],
            "mean of each channel to 0, standard deviation to 1",
        ),
        ([Step("binarize", threshold=0.5)], "1 above 0.5, 0 elsewhere"),
        ([Step("cast", dtype="uint8")], "as uint8, fractions dropped and range kept"),
        ([Step("cast", dtype="bool")], "as bool (0 or 1)"),
        ([Step("cast", dtype="float32"), Step("softmax")], "as float32, then softmax"),
        (
            [Step("scale_mean_variance", reference="input")],
            "brought to mean and standard deviation of the unprocessed input",
        ),
        ([], "raw values"),
    ],
)
def test_chains_are_said_in_words(steps, words):
    assert chain_words(steps).startswith(words)
    if steps:
        assert Normalization("steps", steps=steps).words() == chain_words(steps)
