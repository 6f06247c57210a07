import json

import numpy as np
import pytest

from foreign import BIAS, WEIGHT, linear, picture, scored
from napari_onnxseg.cards.card import Suggested
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.semantic import segment_image

CONFIG = {
    "architectures": ["SegformerForSemanticSegmentation"],
    "model_type": "segformer",
    "id2label": {"0": "wall", "1": "floor", "2": "tree", "3": "sky"},
}
PROCESSOR = {
    "image_processor_type": "SegformerImageProcessor",
    "do_resize": True,
    "size": {"height": 512, "width": 512},
    "do_rescale": True,
    "rescale_factor": 0.00392156862745098,
    "do_normalize": True,
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
}
DATASET = {
    "name": "Leaves",
    "labels": {"background": 0, "leaf": 1, "stem": 2, "root": 3, "ignore": 4},
    "channel_names": {"0": "R", "1": "G", "2": "B"},
    "numTraining": 12,
    "file_ending": ".png",
}
PLANS = {
    "configurations": {
        "2d": {
            "patch_size": [512, 448],
            "spacing": [0.5, 0.5],
            "normalization_schemes": ["ZScoreNormalization"] * 3,
        },
        "3d_fullres": {"patch_size": [32, 64, 64], "spacing": [2.0, 0.5, 0.5]},
    }
}


def beside(folder, **files):
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


def labels_of(path, image):
    return segment_image(image, path, rgb=True, resample=False).labels


def test_a_model_of_hugging_face_is_described_by_its_two_files(tmp_path):
    beside(tmp_path, config=CONFIG, preprocessor_config=PROCESSOR)
    card = load_card(linear(tmp_path / "model.onnx"))
    assert [entry.name for entry in card.classes] == ["wall", "floor", "tree", "sky"]
    assert card.classes[0].colour is not None
    assert {card.facts[name] for name in ("task", "classes", "normalization")} == {"package"}
    assert card.sizing.side_px == 512


def test_the_files_may_lie_above_a_folder_called_onnx(tmp_path):
    beside(tmp_path, config=CONFIG, preprocessor_config=PROCESSOR)
    (tmp_path / "onnx").mkdir()
    card = load_card(linear(tmp_path / "onnx" / "model.onnx"))
    assert card.facts["classes"] == "package"
    (tmp_path / "other").mkdir()
    assert load_card(linear(tmp_path / "other" / "model.onnx")).facts["classes"] == "assumed"


@pytest.mark.parametrize(
    ("changes", "feed"),
    [
        ({}, lambda x: (x / 255 - PROCESSOR["image_mean"]) / PROCESSOR["image_std"]),
        ({"do_normalize": False}, lambda x: x / 255),
        (
            {"rescale_factor": 0.02},
            lambda x: (x * 0.02 - PROCESSOR["image_mean"]) / PROCESSOR["image_std"],
        ),
        (
            {"do_rescale": False, "image_mean": [120.5, 110.25, 100.1]},
            lambda x: (x - [120.5, 110.25, 100.1]) / PROCESSOR["image_std"],
        ),
        ({"do_rescale": False, "do_normalize": False}, lambda x: x * 1.0),
        ({"do_normalize": False, "rescale_factor": 0.1}, lambda x: x * 0.1),
    ],
)
def test_labels_are_those_of_the_network_behind_the_image_processor(tmp_path, changes, feed):
    beside(tmp_path, config=CONFIG, preprocessor_config=PROCESSOR | changes)
    image = picture()
    fed = np.moveaxis(np.asarray(feed(image.astype(float))), -1, 0)
    labels = labels_of(linear(tmp_path / "model.onnx"), image)
    np.testing.assert_array_equal(labels, scored(fed).argmax(0))


@pytest.mark.parametrize(
    "name",
    ["ViTForImageClassification", "DetrForSegmentation", "MaskFormerForInstanceSegmentation"],
)
def test_other_architectures_are_refused_by_name(tmp_path, name):
    beside(tmp_path, config=CONFIG | {"architectures": [name]})
    with pytest.raises(ModelError, match=name):
        load_card(linear(tmp_path / "model.onnx"))


def test_labels_that_are_only_numbered_name_nothing(tmp_path):
    labels = {str(i): f"LABEL_{i}" for i in range(4)}
    beside(tmp_path, config=CONFIG | {"id2label": labels})
    assert load_card(linear(tmp_path / "model.onnx")).facts["classes"] == "assumed"


def test_the_files_of_nnunet_name_classes_and_intensities(tmp_path):
    beside(tmp_path, dataset=DATASET, plans=PLANS)
    card = load_card(linear(tmp_path / "fold_0.onnx"))
    assert [entry.name for entry in card.classes] == ["background", "leaf", "stem", "root"]
    assert (card.title, card.pixel_size) == ("Leaves", (0.5, "mm"))
    assert card.suggested == Suggested(tile=(512, 448))


@pytest.mark.parametrize(("ending", "size"), [(".png", None), (".nii.gz", (1.0, "mm"))])
def test_a_spacing_of_one_is_no_size_of_pictures(tmp_path, ending, size):
    plans = {"configurations": {"2d": {"patch_size": [64, 64], "spacing": [1.0, 1.0]}}}
    beside(tmp_path, dataset=DATASET | {"file_ending": ending}, plans=plans)
    assert load_card(linear(tmp_path / "fold_0.onnx")).pixel_size == size


def test_labels_are_those_of_the_network_fed_as_nnunet_feeds_it(tmp_path):
    beside(tmp_path, dataset=DATASET, plans=PLANS)
    image = picture(np.uint16, 3000)
    fed = (image - image.mean((0, 1))) / image.std((0, 1))
    labels = labels_of(linear(tmp_path / "fold_0.onnx"), image)
    np.testing.assert_array_equal(labels, scored(np.moveaxis(fed, -1, 0)).argmax(0))


def ct_plans(*channels):
    plans = json.loads(json.dumps(PLANS))
    plans["configurations"]["2d"]["normalization_schemes"] = ["CTNormalization"] * 3
    keys = ("percentile_00_5", "percentile_99_5", "mean", "std")
    rows = {str(n): dict(zip(keys, row, strict=True)) for n, row in enumerate(channels)}
    return plans | {"foreground_intensity_properties_per_channel": rows}


@pytest.mark.parametrize(
    "channels",
    [
        [(200, 2500, 900, 300.5), (200, 2500, 1000, 400), (200, 2500, 1100, 500)],
        [(200, 2500, 900, 300.5), (-100, 1500, 1000, 400), (300, 2100.5, 1100, 500)],
    ],
)
def test_ct_intensities_are_cut_and_brought_to_the_foreground_of_the_training_images(
    tmp_path, channels
):
    beside(tmp_path, dataset=DATASET, plans=ct_plans(*channels))
    image = picture(np.uint16, 3000)
    low, high, mean, std = np.transpose(channels)
    fed = (np.clip(image, low, high) - mean) / std
    path = linear(tmp_path / "fold_0.onnx")
    card = load_card(path)
    assert (card.normalization.method, card.facts["normalization"]) == ("steps", "package")
    assert not card.normalization.needs_statistics
    np.testing.assert_array_equal(labels_of(path, image), scored(np.moveaxis(fed, -1, 0)).argmax(0))


@pytest.mark.parametrize("channels", [[], [(5, 2, 900, 3)] * 3, [(1, 2, "x", 3)] * 3])
def test_ct_intensities_without_numbers_are_said_and_left_open(tmp_path, channels):
    beside(tmp_path, dataset=DATASET, plans=ct_plans(*channels))
    card = load_card(linear(tmp_path / "fold_0.onnx"))
    assert card.facts["normalization"] == "assumed"
    assert any("needs percentile_00_5" in note for note in card.notes)


@pytest.mark.parametrize("scheme", ["CT2Normalization", "Homemade"])
def test_a_scheme_that_cannot_be_done_is_said_and_left_open(tmp_path, scheme):
    plans = json.loads(json.dumps(PLANS))
    plans["configurations"]["2d"]["normalization_schemes"] = [scheme]
    beside(tmp_path, dataset=DATASET, plans=plans)
    card = load_card(linear(tmp_path / "fold_0.onnx"))
    assert card.facts["normalization"] == "assumed"
    assert any(scheme in note for note in card.notes)


def test_regions_that_overlap_are_refused(tmp_path):
    beside(tmp_path, dataset=DATASET | {"labels": {"background": 0, "whole": [1, 2]}}, plans=PLANS)
    with pytest.raises(ModelError, match="regions that overlap"):
        load_card(linear(tmp_path / "fold_0.onnx"))


def test_a_bundle_of_monai_names_its_classes(tmp_path):
    metadata = {
        "monai_version": "1.3.0",
        "name": "Spleen",
        "description": "Finds it",
        "authors": "MONAI team",
        "network_data_format": {
            "inputs": {"image": {"type": "image", "num_channels": 3}},
            "outputs": {
                "pred": {
                    "type": "image",
                    "format": "segmentation",
                    "channel_def": {"0": "background", "1": "spleen"},
                }
            },
        },
    }
    for name in ("configs", "models"):
        (tmp_path / name).mkdir()
    beside(tmp_path / "configs", metadata=metadata)
    path = linear(tmp_path / "models" / "model.onnx", weight=WEIGHT[:2], bias=BIAS[:2])
    card = load_card(path)
    assert (card.title, card.description, card.origin) == ("Spleen", "Finds it", "MONAI team")
    assert [entry.name for entry in card.classes] == ["background", "spleen"]


def test_files_of_other_programs_are_left_alone(tmp_path):
    beside(
        tmp_path,
        config={"theme": "dark"},
        metadata={"author": "me"},
        dataset={"labels": ["a", "b"]},
        plans={"holidays": 2},
    )
    card, alone = (load_card(linear(place / "a.onnx")) for place in (tmp_path, _empty(tmp_path)))
    assert (card.classes, card.normalization, card.notes) == (
        alone.classes,
        alone.normalization,
        alone.notes,
    )


def test_a_file_that_cannot_be_read_is_named_in_a_note(tmp_path):
    (tmp_path / "preprocessor_config.json").write_text("{")
    card = load_card(linear(tmp_path / "a.onnx"))
    assert any(
        "'preprocessor_config.json' beside the model cannot be read" in n for n in card.notes
    )


def test_a_card_wins_over_the_files_and_these_over_the_metadata(tmp_path):
    beside(tmp_path, config=CONFIG, a={"format": 1, "input": {"colour_order": "BGR"}})
    names = '{"0": "p", "1": "q", "2": "r", "3": "s"}'
    entries = {"model_type": "Segmentor", "class_names": names}
    card = load_card(linear(tmp_path / "a.onnx", metadata=entries))
    assert (card.facts["colour_order"], card.facts["classes"]) == ("card", "package")
    assert (card.classes[1].name, card.facts["normalization"]) == ("floor", "metadata")


def _empty(folder):
    place = folder / "alone"
    place.mkdir()
    return place
