import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import nets
from napari_onnxseg import segment_image
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError, ModelNotFoundError
from napari_onnxseg.prepare.convention import BYTES
from netbuild import Net, save

COLOUR = ["batch", 3, "y", "x"]


def classes(*names):
    return [{"id": i, "name": name, "colour": None} for i, name in enumerate(names)]


def test_a_bare_file_is_described_by_its_graph(tmp_path):
    card = load_card(nets.unet(tmp_path / "cells.onnx", depth=4, channels=3, classes=5))
    assert (card.name, card.task, card.scores) == ("cells", "semantic", "logits")
    assert (card.input.layout, card.input.channels, card.output.channels) == ("NCHW", 3, 5)
    assert card.geometry.multiple == (16, 16)
    assert card.facts["scores"] == card.facts["geometry"] == "graph"
    assert len(card.classes) == 5
    assert card.classes[0].colour is None
    assert len({entry.colour for entry in card.classes}) == 5


def test_the_normalization_of_a_bare_file_is_an_assumption_and_said_so(tmp_path):
    card = load_card(nets.unet(tmp_path / "a.onnx"))
    assert card.normalization.method == "unit"
    assert card.facts["normalization"] == "assumed"
    assert any("intensities" in note for note in card.notes)


def test_a_model_that_takes_bytes_is_fed_the_range_of_bytes(tmp_path):
    card = load_card(nets.echo(tmp_path / "a.onnx", dtype="uint8"))
    assert card.normalization == BYTES
    assert card.normalization.words() == "0..255 by the full range"
    assert card.facts["normalization"] == "graph"


def test_the_range_of_other_whole_numbers_is_a_guess_and_said(tmp_path):
    card = load_card(cast(tmp_path / "a.onnx", TensorProto.INT32, TensorProto.FLOAT, channels=3))
    assert card.normalization.method == "none"
    assert card.facts["normalization"] == "assumed"
    assert any("takes whole numbers (int32)" in note for note in card.notes)


@pytest.mark.parametrize(("dtype", "says"), [("bool", "takes yes or no"), ("str", "takes texts")])
def test_an_input_that_takes_no_numbers_is_refused(tmp_path, dtype, says):
    kind = {"bool": TensorProto.BOOL, "str": TensorProto.STRING}[dtype]
    path = cast(tmp_path / "a.onnx", kind, TensorProto.FLOAT)
    with pytest.raises(ModelError, match=f"The input 'x' {says}; only networks"):
        load_card(path)


def test_an_output_that_gives_texts_is_refused(tmp_path):
    path = cast(tmp_path / "a.onnx", TensorProto.FLOAT, TensorProto.STRING)
    with pytest.raises(ModelError, match="The output 'y' gives texts; only networks"):
        load_card(path)


@pytest.mark.parametrize("perm", [None, (1, 0, 2, 3)])
def test_an_output_without_the_batch_in_front_is_refused_and_never_cut(tmp_path, perm):
    net = Net([1, 1, None, None])
    last = net.random_conv("input", 1, 5, 3)
    if perm:
        last, dims = net.add("Transpose", last, perm=perm), [5, 1, None, None]
    else:
        last, dims = net.add("Squeeze", last, net.constant([0], "int64")), [5, None, None]
    path = save(net.model({last: ("float32", dims)}), tmp_path / "a.onnx")
    with pytest.raises(ModelError, match=r"\(5 × .* for 1 picture\) does not begin with the batch"):
        load_card(path)


def test_rows_and_columns_that_change_places_are_said(tmp_path):
    net = Net([1, 1, None, None])
    last = net.add("Transpose", net.random_conv("input", 1, 5, 3), perm=[0, 1, 3, 2])
    path = save(net.model({last: ("float32", [1, 5, None, None])}), tmp_path / "a.onnx")
    with pytest.raises(ModelError, match="are batch, classes, columns, rows; needed are"):
        load_card(path)


def test_channels_that_are_declared_wrongly_are_said_and_the_operators_count(tmp_path):
    net = Net([1, 3, 64, 64])
    path = save(
        net.model({net.random_conv("input", 3, 5, 3): ("float32", [1, 7, 64, 64])}),
        tmp_path / "a.onnx",
    )
    card = load_card(path)
    assert card.output.channels == len(card.classes) == 5
    assert any("declares 7 channels" in n and "operators give 5" in n for n in card.notes)
    assert segment_image(np.zeros((64, 64, 3), np.uint8), path, rgb=True).labels.max() < 5


def test_a_card_that_says_class_ids_of_several_channels_is_contradicted(tmp_path):
    path = nets.two_class(tmp_path / "a.onnx")
    path.with_suffix(".json").write_text('{"format": 1, "output": {"scores": "labels"}}')
    card = load_card(path)
    assert (card.scores, card.facts["scores"], len(card.classes)) == ("logits", "graph", 2)
    assert any("says that the model gives class ids, but it gives 2" in n for n in card.notes)


@pytest.mark.parametrize("text", ['{"format": 1', '{"format": 1, "name": "a",}', "{'format': 1}"])
def test_a_card_broken_by_hand_stops_the_run_when_it_can_be_told_for_one(tmp_path, text):
    path = nets.two_class(tmp_path / "a.onnx")
    path.with_suffix(".json").write_text(text)
    if '"format"' in text:
        with pytest.raises(ModelError, match=r"is not valid JSON .*; correct or remove it"):
            load_card(path)
    else:
        assert any("is not a card and was left aside" in note for note in load_card(path).notes)


def test_a_folder_with_a_description_is_found_by_its_bare_name(tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "rdf.yaml").write_text("type: nothing")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"package.rdf\.yaml"):
        load_card("package")
    with pytest.raises(ModelNotFoundError, match="There is no model 'other'"):
        load_card("other")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes with names")
def test_what_is_no_file_is_refused_before_it_is_read(tmp_path):
    os.mkfifo(tmp_path / "a.onnx")
    for path in (tmp_path / "a.onnx", "/dev/zero"):
        with pytest.raises(ModelError, match="is a device or a pipe, not a file"):
            load_card(path)


def cast(path, before, after, channels=1):
    """Write a network that only changes the type of its values."""
    dims = [1, channels, "h", "w"]
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=after)],
        "g",
        [helper.make_tensor_value_info("x", before, dims)],
        [helper.make_tensor_value_info("y", after, dims)],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_the_element_type_is_the_graphs(tmp_path, dtype):
    assert load_card(nets.echo(tmp_path / "a.onnx", dtype=dtype)).input.dtype == dtype


@pytest.mark.parametrize(
    ("layout", "out_layout"), [("NCHW", "NCHW"), ("NHWC", "NHWC"), ("NHWC", "NCHW")]
)
def test_layouts_are_read_from_the_graph(tmp_path, layout, out_layout):
    card = load_card(nets.two_class(tmp_path / "a.onnx", layout=layout, out_layout=out_layout))
    assert (card.input.layout, card.output.layout) == (layout, out_layout)
    assert (card.input.channels, card.output.channels) == (1, 2)


@pytest.mark.parametrize("sides", [(3, 3), (None, None)])
def test_a_layout_that_cannot_be_told_is_asked_for(tmp_path, sides):
    channels = 3 if sides[0] else None
    path = nets.echo(tmp_path / "a.onnx", channels=channels, sides=sides)
    with pytest.raises(ModelError, match=r'"layout": "\.\.\."\}\} with NCHW or NHWC'):
        load_card(path)


def test_a_card_settles_a_layout_that_the_graph_leaves_open(tmp_path):
    told = {"input": {"layout": "NHWC", "channels": 3}}
    card = load_card(nets.echo(tmp_path / "a.onnx", channels=None, layout="NHWC", card=told))
    assert (card.input.layout, card.output.layout) == ("NHWC", "NHWC")
    assert (card.input.channels, card.output.channels) == (3, 3)
    assert card.facts["input"] == "card"


def test_a_first_convolution_settles_a_symbolic_layout(tmp_path):
    net = Net(["batch", "a", "b", "c"])
    moved = net.add("Transpose", net.add("Mul", "input", net.constant(2.0)), perm=[0, 3, 1, 2])
    last = net.random_conv(moved, 3, 2, 3)
    card = load_card(save(net.model({last: ("float32", [None] * 4)}), tmp_path / "a.onnx"))
    assert (card.input.layout, card.input.channels) == ("NHWC", 3)
    assert (card.output.layout, card.output.channels) == ("NCHW", 2)


def test_the_graph_wins_over_the_card_and_the_contradiction_is_noted(tmp_path):
    told = {"input": {"layout": "NHWC"}, "output": {"scores": "logits"}}
    card = load_card(nets.two_class(tmp_path / "a.onnx", softmax=True, card=told))
    assert (card.input.layout, card.scores) == ("NCHW", "probabilities")
    assert any("input is NHWC, but the graph shows NCHW" in note for note in card.notes)
    assert any("gives logits, but its graph ends in probabilities" in note for note in card.notes)


@pytest.mark.parametrize(
    ("build", "scores", "count"),
    [
        (lambda path: nets.one_channel(path, sigmoid=True), "probabilities", 2),
        (lambda path: nets.one_channel(path, sigmoid=False), "logits", 2),
        (lambda path: nets.two_class(path, softmax=True), "probabilities", 2),
        (nets.arg_max, "labels", 3),
        (lambda path: nets.arg_max(path, keepdims=True), "labels", 3),
        (nets.many_classes, "logits", 26),
    ],
)
def test_scores_and_classes_follow_from_the_end_of_the_graph(tmp_path, build, scores, count):
    card = load_card(build(tmp_path / "a.onnx"))
    assert (card.scores, len(card.classes)) == (scores, count)
    assert card.facts["scores"] == "graph"


def test_a_card_may_call_an_open_end_probabilities(tmp_path):
    told = {"output": {"scores": "probabilities"}}
    card = load_card(nets.one_channel(tmp_path / "a.onnx", sigmoid=False, card=told))
    assert (card.scores, card.facts["scores"]) == ("probabilities", "card")


def test_names_of_the_card_are_used_and_missing_ones_filled(tmp_path):
    told = {"classes": classes("nothing", "cell")}
    card = load_card(nets.unet(tmp_path / "a.onnx", classes=3, card=told))
    assert [entry.name for entry in card.classes] == ["nothing", "cell", "class 2"]
    assert "The card names 2 classes, the model gives 3." in card.notes


def test_a_saliency_network_with_seven_outputs_gives_its_first(tmp_path):
    card = load_card(nets.saliency(tmp_path / "a.onnx"))
    declared = onnx.load(card.path).graph.output
    assert card.output.name == declared[0].name
    assert (card.task, card.classes) == ("matting", ())
    assert any("7 outputs" in note for note in card.notes)


def test_different_outputs_are_all_results_unless_a_card_names_one(tmp_path):
    net = Net(COLOUR)
    one, two = (net.random_conv("input", 3, classes, 1) for classes in (2, 5))
    outputs = {one: ("float32", ["n", 2, "y", "x"]), two: ("float32", ["n", 5, "y", "x"])}
    path = save(net.model(outputs), tmp_path / "a.onnx")
    card = load_card(path)
    assert [(head.name, head.task, len(head.classes)) for head in card.heads] == [
        (one, "semantic", 2),
        (two, "semantic", 5),
    ]
    assert f"The model gives 2 maps, each of which is a result: '{one}', '{two}'." in card.notes
    named = {"format": 1, "output": {"name": two}}
    path.with_suffix(".json").write_text(json.dumps(named), encoding="utf-8")
    card = load_card(path)
    assert (card.output.channels, card.others) == (5, ())


def test_a_network_with_two_inputs_is_refused(tmp_path):
    model = onnx.load(nets.echo(tmp_path / "a.onnx"))
    model.graph.input.append(onnx.helper.make_tensor_value_info("prompt", 1, [1, 2]))
    onnx.save(model, tmp_path / "a.onnx")
    with pytest.raises(ModelError, match=r"2 inputs \(input, prompt\)"):
        load_card(tmp_path / "a.onnx")


def test_an_input_of_three_axes_is_refused(tmp_path):
    net = Net([3, "y", "x"])
    path = save(net.model({net.add("Relu", "input"): ("float32", [3, "y", "x"])}), tmp_path / "a")
    with pytest.raises(ModelError, match="has 3 axes"):
        load_card(path)


def test_the_hash_on_the_card_must_be_the_files(tmp_path):
    path = nets.two_class(tmp_path / "a.onnx", card={})
    assert load_card(path).sha256
    nets.constant_one(path)
    with pytest.raises(ModelError, match="is not the file its card describes"):
        load_card(path)


def test_a_changed_file_is_read_again(tmp_path):
    path = nets.box(tmp_path / "a.onnx", radius=2)
    assert load_card(path).geometry.radius == (2, 2)
    nets.box(path, radius=5)
    assert load_card(path).geometry.radius == (5, 5)


def test_other_json_beside_the_model_is_left_aside_with_a_note(tmp_path):
    path = nets.two_class(tmp_path / "a.onnx")
    path.with_suffix(".json").write_text('{"labels": ["x"]}', encoding="utf-8")
    assert any("'a.json' beside the model is not a card" in note for note in load_card(path).notes)


def test_a_model_is_found_by_its_card(tmp_path):
    nets.two_class(tmp_path / "a.onnx", card={"title": "Two"})
    assert load_card(tmp_path / "a.json").title == "Two"


def test_a_relative_path_becomes_absolute(tmp_path, monkeypatch):
    nets.two_class(tmp_path / "a.onnx")
    monkeypatch.chdir(tmp_path)
    assert load_card("a.onnx").path == tmp_path / "a.onnx"
    assert load_card(Path("a.onnx")).path == tmp_path / "a.onnx"


@pytest.mark.parametrize("name", ["gone.onnx", "folder/gone.onnx", "gone.json"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(ModelNotFoundError, match="no model file"):
        load_card(tmp_path / name)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ModelError, match="is a folder"):
        load_card(tmp_path)


@pytest.mark.parametrize("batch", [None, 1, 4])
def test_a_fixed_batch_is_told(tmp_path, batch):
    assert load_card(nets.echo(tmp_path / "a.onnx", batch=batch)).input.batch == batch


def test_fixed_sides_are_told_and_analysed_at_that_size(tmp_path):
    card = load_card(nets.shrink(tmp_path / "a.onnx", sides=(64, 64)))
    assert (card.input.sides, card.output.sides) == ((64, 64), (48, 48))
    assert card.geometry.shrink == (8, 8)


def test_three_dimensional_models_are_described(tmp_path):
    card = load_card(nets.echo(tmp_path / "a.onnx", layout="NDHWC", sides=(None,) * 3))
    assert (card.input.layout, card.input.spatial_ndim) == ("NDHWC", 3)
    assert card.geometry.multiple == (1, 1, 1)


def test_the_bundled_saliency_model_sees_everything():
    card = load_card("u2netp")
    assert (card.task, card.input.sides) == ("matting", (320, 320))
    assert card.geometry.multiple == (32, 32)
    assert card.geometry.radius == (3326, 3326)
    assert card.geometry.halo == (3296, 3296)
    assert card.geometry.exact
    assert card.notes == ()


def test_batch_does_not_change_the_memory_of_one_picture(tmp_path):
    free = load_card(nets.unet(tmp_path / "a.onnx")).geometry.bytes_per_px
    fixed = load_card(nets.unet(tmp_path / "b.onnx", batch=4)).geometry.bytes_per_px
    assert np.isclose(free, fixed)


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_card_asked_for_by_its_own_name_must_be_one(tmp_path, content):
    path = nets.two_class(tmp_path / "a.onnx").with_suffix(".json")
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=r"a\.json"):
        load_card(path)


def test_a_card_saved_with_a_byte_order_mark_is_read(tmp_path):
    path = nets.two_class(tmp_path / "a.onnx")
    path.with_suffix(".json").write_text('{"format": 1, "title": "Marked"}', encoding="utf-8-sig")
    assert load_card(path).title == "Marked"


def test_the_root_of_the_disk_is_a_folder_and_no_model():
    with pytest.raises(ModelError, match="is a folder"):
        load_card(Path.home().anchor)


def test_a_file_that_no_onnx_file_can_be_is_refused_without_reading_it(tmp_path, monkeypatch):
    def read(*_):
        raise AssertionError("the file was read")

    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.truncate(2_200_000_000)  # sparse
    monkeypatch.setattr("napari_onnxseg.cards.read._hash", read)
    with pytest.raises(ModelError, match=r"has 2\.2 GB, and an ONNX file holds at most 2 GB"):
        load_card(path)
