import json

import pytest

import nets
from napari_onnxseg.cards.card import ObjectRule, Suggested
from napari_onnxseg.cards.native import is_card, read_description
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.write import write_card
from napari_onnxseg.errors import ModelError
from napari_onnxseg.prepare.steps import Step

FULL = {
    "format": 1,
    "name": "nuclei",
    "title": "Nuclei",
    "description": "Finds nuclei.",
    "task": "semantic",
    "licence": "BSD-3-Clause",
    "origin": "us",
    "sha256": "ab" * 32,
    "input": {
        "name": "image",
        "layout": "NCHW",
        "channels": 3,
        "colour_order": "BGR",
        "normalization": {"method": "percentile", "low": 1.0, "high": 99.8, "clip": False},
    },
    "output": {"name": "logits", "layout": "NCHW", "scores": "logits"},
    "classes": [
        {"id": 1, "name": "inside", "colour": "#ff0000"},
        {"id": 0, "name": "background", "colour": None},
    ],
    "objects": {"method": "watershed", "inside": 1, "min_area_px": 20},
    "pixel_size": {"value": 0.65, "unit": "µm"},
    "suggested": {"tile": 256, "halo": [32, 48], "threshold": 0.4},
    "metrics": {"anything": {"goes": [1, 2]}},
}

HEADS = {
    "$schema": "card.schema.json",
    "format": 1,
    "task": "semantic",
    "outputs": [
        {"name": "logits", "title": "Cells", "scores": "logits", "classes": [{"id": 1}]},
        {
            "name": "flow",
            "title": "Flow",
            "task": "image",
            "scores": "values",
            "layout": "NCHW",
            "channels": ["down", "right"],
            "after": [{"op": "scale_linear", "gain": 5}, {"op": "clip", "low": -1, "high": 1}],
        },
    ],
}


def written(folder, content):
    path = folder / "card.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_every_entry_is_read(tmp_path):
    told = read_description(written(tmp_path, FULL))
    assert (told.name, told.task, told.licence, told.colour_order) == (
        "nuclei", "semantic", "BSD-3-Clause", "BGR",
    )  # fmt: skip
    assert (told.tensors.input_name, told.tensors.channels) == ("image", 3)
    assert told.normalization.high == 99.8
    assert [entry.name for entry in told.classes] == ["background", "inside"]
    assert told.objects == ObjectRule("watershed", min_area_px=20)
    assert told.metrics == {"anything": {"goes": [1, 2]}}
    assert told.pixel_size == (0.65, "µm")
    assert told.suggested == Suggested((256, 256), (32, 48), 0.4)


def test_several_outputs_are_read_the_main_one_first(tmp_path):
    told = read_description(written(tmp_path, HEADS))
    assert (told.task, told.tensors.output_name, told.head_name) == ("semantic", "logits", "Cells")
    assert [entry.name for entry in told.classes] == ["class 1"]
    (flow,) = told.others
    assert (flow.output_name, flow.name, flow.task, flow.scores) == (
        "flow", "Flow", "image", "values",
    )  # fmt: skip
    assert (flow.layout, flow.channels) == ("NCHW", ("down", "right"))
    assert flow.after == (Step("scale_linear", gain=(5.0,)), Step("clip", low=-1, high=1))


def test_everything_but_the_format_may_be_left_out(tmp_path):
    told = read_description(written(tmp_path, {"format": 1}))
    assert told.classes == ()
    assert told.normalization is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "'format' is 2; this version reads 1"),
        ({"format": True}, "'format' is true; this version reads 1"),
        ({"colour": "red"}, "'colour' is not an entry of 'card'; allowed are .schema, format"),
        ({"license": "MIT"}, r"'license' is not an entry of 'card' \(did you mean 'licence'\?\)"),
        ({"input": {"size": 3}}, "'size' is not an entry of 'input'"),
        ({"input": {"colorOrder": "RGB"}}, "did you mean 'colour_order'"),
        ({"normalization": {}}, "'normalization' is an entry of 'input'; write 'input.normal"),
        ({"output": {"kind": "x"}}, "'kind' is not an entry of 'output'"),
        ({"classes": [{"id": 0, "label": "x"}]}, "'label' is not an entry of 'classes.0'"),
        ({"objects": {"method": "magic"}}, "'objects.method' is \"magic\"; allowed are compo"),
        ({"objects": {"method": "watershed", "inner": 1}}, "'inner' is not an entry of 'objects'"),
        ({"objects": {"inside": 1}}, "'objects.method' is missing"),
        (
            {"objects": {"method": "watershed", "seed_threshold": 2}},
            "'objects.seed_threshold' is 2; allowed is a number from 0 to 1",
        ),
        ({"objects": {"method": "watershed", "border": "x"}}, "'objects.border' is \"x\""),
        ({"task": "detection"}, "'task' is \"detection\"; allowed are semantic, matting, image"),
        ({"input": {"layout": "CHWN"}}, "'input.layout' is \"CHWN\"; allowed are NCHW"),
        ({"input": {"channels": 0}}, "'input.channels' is 0; allowed is a whole number from 1"),
        ({"input": {"channels": True}}, "'input.channels' is true"),
        ({"input": {"channels": 10**400}}, "'input.channels' is 1000"),
        ({"output": {"scores": "softmax"}}, "'output.scores' is \"softmax\"; allowed are logits"),
        (
            {"output": {"channels": "red"}},
            "'output.channels' is \"red\"; allowed is a list of texts",
        ),
        ({"output": {"after": [{"op": "blur"}]}}, "'output.after.0.op' is \"blur\"; allowed are"),
        ({"output": {"after": [{"op": "clip", "eps": 1}]}}, "'output.after.0': .*'eps'"),
        ({"output": {"after": [{"gain": 2}]}}, "'output.after.0.op' is missing"),
        ({"classes": [{"id": -1}]}, "'classes.0.id' is -1; allowed is a whole number from 0 to 65"),
        ({"classes": [{"name": "x"}]}, "'classes.0.id' is missing"),
        ({"classes": [{"id": 1}, {"id": 1}]}, "'classes' names the id 1 twice"),
        ({"classes": [{"id": 0}, {"id": 0}]}, "'classes' names the id 0 twice"),
        ({"classes": {"0": "x"}}, "'classes' is .*; allowed is a list"),
        ({"classes": [{"id": 0, "colour": "red"}]}, "'classes.0.colour' is \"red\"; allowed is"),
        ({"title": 3}, "'title' is 3; allowed is a text"),
        ({"sha256": "ab"}, "'sha256' is \"ab\"; allowed is a text of 64 hexadecimal digits"),
        ({"input": []}, "'input' is .*; allowed is an object"),
        ({"input": {"normalization": {"method": "magic"}}}, "'input.normalization'.*magic"),
        ({"input": {"normalization": {"low": 1}}}, "'input.normalization.method' is missing"),
        (
            {"input": {"normalization": {"method": "mean_std", "mean": "0.5", "std": 1}}},
            "'input.normalization.mean' is \"0.5\"; allowed is a number, or a list",
        ),
        ({"input": {"sizing": {}}}, "'input.sizing.side_px' is missing"),
        ({"pixel_size": {"value": 2}}, "'pixel_size.unit' is missing"),
        ({"pixel_size": {"value": 0, "unit": "cm"}}, "'pixel_size.value' is 0; allowed is a numb"),
        ({"pixel_size": {"value": 1, "unit": " "}}, "'pixel_size.unit' is \" \""),
        ({"suggested": {"tile": 0}}, "'suggested.tile' is 0; allowed is a whole number of pixels"),
        ({"suggested": {"halo": [1, 2, 3, 4]}}, "'suggested.halo' is"),
        ({"suggested": {"threshold": 1}}, "'suggested.threshold' is 1; allowed is a number above"),
        ({"metrics": 5}, "'metrics' is 5; allowed is an object"),
        ({"outputs": [{"name": "a"}]}, "'output' beside it one of them"),
    ],
)
def test_what_is_unknown_or_not_allowed_is_named(tmp_path, change, message):
    path = written(tmp_path, FULL | change)
    with pytest.raises(ModelError, match=message) as caught:
        read_description(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([], "'outputs' is .*; allowed is a list with an entry for each output"),
        ([{"title": "x"}], "'outputs.0.name' is missing"),
        ([{"name": "a"}, {"name": "a"}], "'outputs' names the tensor 'a' twice"),
        (
            [{"name": "a"}, {"name": "b", "task": "matting"}],
            "'outputs.1.task' is \"matting\"; allo",
        ),
        ([{"name": "a", "task": "image"}], "'task' is \"semantic\" and 'outputs.0.task' \"image\""),
        ([{"name": "a", "objects": {"method": "x"}}], "'outputs.0.objects.method' is \"x\""),
        ([{"name": "a", "sores": 1}], r"'sores' .* 'outputs.0' \(did you mean 'scores'\?\)"),
    ],
)
def test_what_is_wrong_with_several_outputs_is_named(tmp_path, outputs, message):
    with pytest.raises(ModelError, match=message):
        read_description(written(tmp_path, {"format": 1, "task": "semantic", "outputs": outputs}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1, "title": "a", "title": "b"}', "'title' stands twice in one object"),
        ('{"format": 1, "pixel_size": {"value": NaN, "unit": "m"}}', "holds NaN"),
        ('{"format": 1, "metrics": {"iou": 1e999}}', "a number that is not finite"),
        ('{"format": 1, "title": "\\ud800"}', "half a character"),
        ('{"format": 1, "task": "\\ud800"}', r"'task' is \"\\ud800\"; allowed are"),
        ("[" * 100_000, "nested too deeply"),
        ('{"format": 1, "name": "' + "x" * (17 << 20) + '"}', "more than 16 MB"),
        ("[1, 2]", "'card' is .1, 2.; allowed is an object"),
    ],
)
def test_json_that_no_card_can_be_is_said_in_a_sentence(tmp_path, text, message):
    with pytest.raises(ModelError, match=message):
        read_description(written(tmp_path, text))


def test_broken_json_is_said_with_its_place(tmp_path):
    with pytest.raises(ModelError, match=r"is not valid JSON .*line 1"):
        read_description(written(tmp_path, "{format: 1}"))


@pytest.mark.parametrize(
    ("content", "expected"), [('{"format": 1}', True), ('{"labels": []}', False), ("[", False)]
)
def test_only_an_object_with_a_format_is_a_card(tmp_path, content, expected):
    assert is_card(written(tmp_path, content)) is expected


def test_a_written_card_reads_back_the_same(tmp_path):
    card = load_card(
        nets.unet(
            tmp_path / "net.onnx",
            card={
                "title": "Net",
                "input": {"normalization": {"method": "percentile", "low": 2, "high": 98}},
                "classes": [{"id": i, "name": f"k{i}", "colour": "#00ff00"} for i in range(3)],
                "objects": {"method": "components", "inside": 2},
            },
        )
    )
    write_card(card, tmp_path / "net.json")
    again = load_card(tmp_path / "net.onnx")
    for name in ("title", "task", "sha256", "normalization", "classes", "objects", "scores"):
        assert getattr(again, name) == getattr(card, name), name
    assert (again.input, again.output, again.geometry) == (card.input, card.output, card.geometry)
