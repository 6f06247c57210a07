"""Cards of bioimage.io packages, in the forms 0.3, 0.4 and 0.5."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
import yaml

import nets
import zoo
from foreign import WEIGHT, linear
from napari_onnxseg.cards.bioimageio import package_name, read_rdf
from napari_onnxseg.cards.card import Suggested
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError, ModelNotFoundError
from napari_onnxseg.prepare.steps import Step
from netbuild import Net, save
from zoo import op, step


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNXSEG_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def network(tmp_path):
    return nets.one_channel(tmp_path / "network.onnx", sigmoid=False)


@pytest.fixture
def four(tmp_path):
    return linear(tmp_path / "network.onnx")


ZMUV = Step("zero_mean_unit_variance")


def test_every_entry_of_a_description_04_is_on_the_card(tmp_path, network):
    path = zoo.v04(
        tmp_path / "nuclei",
        network,
        pre=[step("zero_mean_unit_variance", mode="per_sample", axes="yx")],
        post=[step("sigmoid")],
    )
    card = load_card(path)
    assert (card.name, card.title, card.task) == ("nuclei", "UNet 2D Nuclei", "semantic")
    assert card.description == "A 2d U-Net trained on nuclei."
    assert (card.licence, card.head_name) == ("MIT", "probability")
    assert card.origin.startswith("Ada Lovelace (Analytical Engines); cite: U-net 10.1007")
    assert card.normalization.steps == (ZMUV,)
    assert (card.scores, card.after) == ("probabilities", (Step("sigmoid"),))
    assert card.suggested == Suggested(tile=(64, 64), halo=(8, 8))
    assert card.extra["bioimage.io"] == "powerful-chipmunk (format 0.4.9)"
    assert card.facts["task"] == card.facts["normalization"] == "package"


def test_the_same_model_in_the_form_05_has_the_same_card(tmp_path, network):
    old = zoo.v04(
        tmp_path / "a" / "net",
        network,
        pre=[step("zero_mean_unit_variance", mode="per_sample", axes="yx")],
        post=[step("sigmoid")],
    )
    new = zoo.v05(
        tmp_path / "b" / "net",
        network,
        pre=[
            op("ensure_dtype", dtype="float32"),
            op("zero_mean_unit_variance", axes=["x", "y"]),
            op("ensure_dtype", dtype="float32"),
        ],
        post=[op("sigmoid"), op("ensure_dtype", dtype="float32")],
    )
    first, second = load_card(old), load_card(new)
    names = ("task", "normalization", "after", "scores", "classes", "suggested", "licence", "name")
    for name in names:
        assert getattr(first, name) == getattr(second, name)


def test_a_description_03_differs_in_two_names(tmp_path, network):
    path = zoo.v04(tmp_path / "old", network, post=[step("sigmoid")], format_version="0.3.2")
    content = yaml.safe_load(path.read_text())
    shape = content["outputs"][0]["shape"]
    shape["reference_input"] = shape.pop("reference_tensor")
    content["weights"]["pytorch_script"] = content["weights"].pop("pytorch_state_dict")
    zoo.write(path, content)
    assert load_card(path).suggested.halo == (8, 8)


@pytest.mark.parametrize(
    "name", ["rdf.yaml", "bioimageio.yaml", "model.yaml", "my.bioimageio.yaml"]
)
def test_a_model_opens_from_its_folder_its_description_and_a_zip_file(tmp_path, network, name):
    path = zoo.v04(tmp_path / "net", network, name=name)
    packed = zoo.zipped(path, tmp_path / "packed.zip")
    cards = [load_card(place) for place in (path, path.parent, packed)]
    assert [card.name for card in cards] == ["net", "net", "packed"]
    assert len({card.sha256 for card in cards}) == 1


def test_a_zip_file_may_hold_its_folder(tmp_path, network):
    path = zoo.v04(tmp_path / "net", network)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        for file in path.parent.iterdir():
            archive.write(file, f"net/{file.name}")
        archive.writestr("__MACOSX/net/._rdf.yaml", b"\x00")
    assert load_card(tmp_path / "packed.zip").title == "UNet 2D Nuclei"


def test_a_card_beside_a_package_wins(tmp_path, network):
    packed = zoo.zipped(zoo.v04(tmp_path / "net", network), tmp_path / "packed.zip")
    told = {"format": 1, "task": "image", "title": "Mine"}
    packed.with_suffix(".json").write_text(json.dumps(told))
    card = load_card(packed)
    assert (card.task, card.title, card.facts["task"]) == ("image", "Mine", "card")


def test_several_outputs_are_named_in_their_order(tmp_path):
    network = linear(tmp_path / "n.onnx")
    path = zoo.v05(tmp_path / "net", network, channels=("r", "g", "b"), out=("a", "b", "c", "d"))
    card = load_card(path)
    assert (card.task, card.channels) == ("image", ("a", "b", "c", "d"))
    assert card.extra["input channels"] == "r, g, b"
    assert card.facts["task"] == "assumed"
    assert any('put {"task": "semantic"} into a card' in note for note in card.notes)


def test_parametrised_sides_suggest_one_that_is_allowed(tmp_path, network):
    sides = {"y": {"min": 48, "step": 32}, "x": {"min": 600, "step": 8}}
    card = load_card(zoo.v05(tmp_path / "net", network, sides=sides, post=[op("sigmoid")]))
    assert card.suggested.tile == (272, 600)
    assert card.extra["sides"] == "48 + n × 32 px, 600 + n × 8 px"


def test_a_halo_is_counted_in_pixels_of_the_input(tmp_path):
    network = nets.half_resolution(tmp_path / "n.onnx")
    outputs = [
        {
            "id": "out",
            "axes": [
                {"type": "batch"},
                {"type": "channel", "channel_names": ["background", "cell"]},
                *(
                    {
                        "type": "space",
                        "id": axis,
                        "scale": 2.0,
                        "halo": 3,
                        "size": {"tensor_id": "raw", "axis_id": axis},
                    }
                    for axis in "yx"
                ),
            ],
        }
    ]
    card = load_card(zoo.v05(tmp_path / "net", network, outputs=outputs))
    assert card.suggested.halo == (6, 6)
    assert [entry.name for entry in card.classes] == ["background", "cell"]
    assert (card.task, card.facts["task"]) == ("semantic", "assumed")


def test_a_physical_pixel_is_kept_and_other_units_are_not(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network, post=[op("sigmoid")])
    content = yaml.safe_load(path.read_text())
    for axis in content["inputs"][0]["axes"][2:]:
        axis |= {"unit": "micrometer", "scale": 0.65}
    zoo.write(path, content)
    assert load_card(path).pixel_size == (0.65, "µm")
    content["inputs"][0]["axes"][3]["scale"] = 0.5
    zoo.write(path, content)
    assert load_card(path).pixel_size is None


def test_a_threshold_at_the_end_is_that_of_the_model(tmp_path, network):
    post = [op("sigmoid"), op("binarize", threshold=0.7)]
    card = load_card(zoo.v05(tmp_path / "net", network, post=post))
    assert (card.after, card.suggested.threshold) == ((Step("sigmoid"),), 0.7)
    raw = [op("binarize", threshold=3.5)]
    card = load_card(zoo.v05(tmp_path / "raw", network, post=raw))
    assert (card.after, card.suggested.threshold) == ((Step("binarize", threshold=3.5),), None)
    assert card.scores == "probabilities"


@pytest.mark.parametrize(
    ("post", "tags", "task", "fact"),
    [
        ([op("scale_linear", gain=255.0)], ["denoising"], "image", "assumed"),
        ([], ["segmentation"], "semantic", "assumed"),
        ([], ["anything"], "image", "assumed"),
        ([op("sigmoid")], ["denoising"], "semantic", "package"),
        ([op("scale_mean_variance", reference_tensor="raw")], ["segmentation"], "image", "package"),
    ],
)
def test_classes_are_told_from_images_by_operations_then_by_words(
    tmp_path, network, post, tags, task, fact
):
    card = load_card(zoo.v05(tmp_path / "net", network, post=post, tags=tags))
    assert (card.task, card.facts["task"]) == (task, fact)
    assert bool([note for note in card.notes if "is taken for" in note]) == (fact == "assumed")


def test_values_of_an_output_are_the_names_of_its_classes(tmp_path):
    network = nets.arg_max(tmp_path / "n.onnx", keepdims=True)
    data = {"type": "uint8", "values": ["background", "nucleus", "border"]}
    card = load_card(zoo.v05(tmp_path / "net", network, data=data))
    assert (card.task, card.scores) == ("semantic", "labels")
    assert [entry.name for entry in card.classes] == ["background", "nucleus", "border"]


def test_integer_images_are_asked_for_in_words(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network, post=[op("sigmoid")])
    content = yaml.safe_load(path.read_text())
    content["inputs"][0]["data"] = {"type": "uint16"}
    zoo.write(path, content)
    assert any("uint16 images as the camera gives them" in n for n in load_card(path).notes)


def test_volumes_have_a_card(tmp_path):
    dims = [None, 1, None, None, None]
    net = Net(dims)
    last = net.conv("input", np.ones((1, 1, 3, 3, 3)) / 27)
    network = save(net.model({last: ("float32", dims)}), tmp_path / "n.onnx")
    sides = {"z": {"min": 8, "step": 8}, "y": 64, "x": 64}
    card = load_card(zoo.v05(tmp_path / "net", network, sides=sides, post=[op("sigmoid")]))
    assert (card.input.layout, card.suggested.halo) == ("NCDHW", (8, 8, 8))


def test_unknown_entries_are_kept_and_noted(tmp_path, network):
    card = load_card(zoo.v04(tmp_path / "net", network, my_key={"a": 1}))
    assert card.extra["my_key"] == "{'a': 1}"
    assert any("'my_key'" in note for note in card.notes)


def test_other_outputs_that_are_no_maps_are_left_aside(tmp_path):
    network = linear(tmp_path / "n.onnx")
    path = zoo.v04(
        tmp_path / "net",
        network,
        axes="bcyx",
        shape=(1, 3, 64, 64),
        outputs=[{"name": "features", "axes": "bc", "data_type": "float32", "shape": [1, 4]}],
    )
    with pytest.raises(ModelError, match="no map of the picture"):
        load_card(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format_version": "0.2.0"}, "format 0.2.0"),
        ({"format_version": None}, "format unknown"),
        ({"type": "dataset"}, "describes a dataset"),
        ({"weights": {"torchscript": {"source": "w.pt"}}}, "only: torchscript; export it to ONNX"),
        ({"weights": {}}, "only: none"),
        ({"weights": {"onnx": {}}}, "'weights.onnx.source'"),
        ({"weights": {"onnx": {"source": "../w.onnx"}}}, "outside its own folder"),
        ({"weights": {"onnx": {"source": "/etc/passwd"}}}, "outside its own folder"),
        ({"weights": {"onnx": {"source": "C:\\w.onnx"}}}, "outside its own folder"),
        ({"weights": {"onnx": {"source": "other.onnx"}}}, "not in"),
        ({"weights": {"onnx": {"source": "weights.onnx", "sha256": "0" * 64}}}, "are not those"),
        (
            {"weights": {"onnx": {"source": "https://example.org/w.onnx", "sha256": "0" * 64}}},
            r"at https://example.org/w.onnx; download them and put them into .* as 'w.onnx'",
        ),
        ({"inputs": []}, "no inputs"),
        ({"inputs": "raw"}, "a list is needed"),
    ],
)
def test_what_cannot_be_run_gets_one_sentence(tmp_path, network, changes, words):
    with pytest.raises(ModelError, match=words):
        load_card(zoo.v04(tmp_path / "net", network, **changes))


def test_weights_at_an_address_are_taken_from_the_folder_when_they_are_the_right_ones(
    tmp_path, network
):
    path = zoo.v04(tmp_path / "net", network)
    weights = path.parent / "weights.onnx"
    place = {"source": "https://example.org/files/weights.onnx", "sha256": zoo.sha256(weights)}
    content = yaml.safe_load(path.read_text()) | {"weights": {"onnx": place}}
    assert load_card(zoo.write(path, content)).path == weights
    hashed = place.pop("sha256")
    with pytest.raises(ModelError, match=f"by an address without a hash.*add 'sha256: {hashed}'"):
        load_card(zoo.write(path, content))
    place["sha256"] = "0" * 64
    with pytest.raises(ModelError, match="are not those"):
        load_card(zoo.write(path, content))


def test_two_inputs_are_refused_unless_one_is_optional(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network, post=[op("sigmoid")])
    content = yaml.safe_load(path.read_text())
    content["inputs"].append(content["inputs"][0] | {"id": "prompt"})
    with pytest.raises(ModelError, match=r"takes 2 inputs \(raw, prompt\)"):
        load_card(zoo.write(path, content))
    content["inputs"][1]["optional"] = True
    assert any("optional" in note for note in load_card(zoo.write(path, content)).notes)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (op("mystery"), "known operations are binarize"),
        (op("cellpose_flow_dynamics", flow_threshold=1.0), "Cellpose"),
        (op("stardist_postprocessing", n_rays=32), "StarDist"),
        (
            {"id": "custom", "callable": "f", "source": "evil.py", "sha256": "0" * 64},
            "'evil.py' of its author",
        ),
        (op("sigmoid", sharp=True), r"kwargs\.sharp' .* is not known"),
        (op("softmax", axis="x"), "only the axis of the channels"),
        (op("zero_mean_unit_variance", axes=["channel"]), "other statistics at each place along y"),
        (op("zero_mean_unit_variance", axes=["x"]), "along y"),
        (op("zero_mean_unit_variance", axes=["q"]), "known axes"),
        (op("scale_linear", axis="x", gain=[1.0, 2.0]), "each place along 'x'"),
        (op("scale_linear", axis="channel", gain=[1.0, 2.0, 3.0]), "one number or 1"),
        (op("binarize"), "threshold' .* is missing"),
        (op("scale_range", reference_tensor="other"), "use raw"),
        (op("ensure_dtype", dtype="complex64"), "complex64"),
        (op("clip"), "clip"),
    ],
)
def test_operations_that_cannot_be_done_are_refused_by_name(tmp_path, network, bad, words):
    with pytest.raises(ModelError, match=words):
        load_card(zoo.v05(tmp_path / "net", network, post=[bad]))


def test_unknown_axes_and_entries_of_tensors_are_refused(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network)
    content = yaml.safe_load(path.read_text())
    content["inputs"][0]["axes"][2]["type"] = "colour"
    with pytest.raises(ModelError, match="'colour'; known are batch"):
        load_card(zoo.write(path, content))
    content["inputs"][0]["axes"][2]["type"] = "time"
    with pytest.raises(ModelError, match="only batch, channel and space"):
        load_card(zoo.write(path, content))
    content["inputs"][0]["axes"][2]["type"] = "space"
    content["inputs"][0]["quantised"] = True
    with pytest.raises(ModelError, match=r"'inputs\.0\.quantised'"):
        load_card(zoo.write(path, content))


def test_columns_before_rows_are_refused(tmp_path, network):
    with pytest.raises(ModelError, match="rows must come before columns"):
        load_card(zoo.v04(tmp_path / "net", network, axes="bcxy"))


def test_statistics_of_a_data_set_are_those_of_the_image_and_noted(tmp_path, network):
    pre = [op("zero_mean_unit_variance", axes=["batch", "x", "y"])]
    assert any("data set" in n for n in load_card(zoo.v05(tmp_path / "a", network, pre=pre)).notes)
    old = [step("zero_mean_unit_variance", mode="per_dataset", axes="cyx")]
    assert any("data set" in n for n in load_card(zoo.v04(tmp_path / "b", network, pre=old)).notes)


def test_lists_of_numbers_are_one_a_channel(tmp_path, four):
    gain = [0.1, 0.2, 0.3]
    pre = [step("scale_linear", axes="xy", gain=gain, offset=[0.0, 0.0, 1.0])]
    card = load_card(zoo.v04(tmp_path / "a", four, shape=(1, 3, 64, 64), pre=pre))
    assert card.normalization.steps == (
        Step("scale_linear", gain=tuple(gain), offset=(0.0, 0.0, 1.0)),
    )
    fixed = [step("zero_mean_unit_variance", mode="fixed", axes="xy", mean=gain, std=gain)]
    card = load_card(zoo.v04(tmp_path / "b", four, shape=(1, 3, 64, 64), pre=fixed))
    assert card.normalization.steps == (Step("standardize", mean=tuple(gain), std=tuple(gain)),)
    joint = [
        step("scale_range", mode="per_sample", axes="cyx", min_percentile=1, max_percentile=99)
    ]
    (found,) = load_card(
        zoo.v04(tmp_path / "c", four, shape=(1, 3, 64, 64), pre=joint)
    ).normalization.steps
    assert (found.per_channel, found.low_percentile, found.high_percentile) == (False, 1, 99)
    assert WEIGHT.shape[1] == len(gain)


def test_a_folder_without_a_description_is_told_apart(tmp_path):
    with pytest.raises(ModelError, match="is a folder without a description"):
        load_card(tmp_path)
    with pytest.raises(ModelNotFoundError):
        load_card(tmp_path / "none.zip")


def test_a_package_has_a_short_name(tmp_path, network):
    assert package_name(read_rdf(zoo.v04(tmp_path / "net", network))) == "powerful-chipmunk"
    path = zoo.v04(tmp_path / "b", network, config={}, id="10.5281/zenodo.5764892")
    assert package_name(read_rdf(path)) == "unet-2d-nuclei"


def test_external_weights_lie_beside_the_network(tmp_path, network):
    path = zoo.v05(tmp_path / "net", network)
    content = yaml.safe_load(path.read_text())
    content["weights"]["onnx"]["external_data"] = {
        "source": "weights.onnx.data",
        "sha256": "1" * 64,
    }
    with pytest.raises(ModelError, match=r"external weights 'weights\.onnx\.data'"):
        load_card(zoo.write(path, content))
    (path.parent / "weights.onnx.data").write_bytes(b"x")
    with pytest.raises(ModelError, match="are not those"):
        load_card(path)
