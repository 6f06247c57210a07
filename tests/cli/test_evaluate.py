import csv
import io
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from napari_onnxseg.arrays.read_files import read_labels
from napari_onnxseg.arrays.write_files import write_labels


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Return a prediction and a truth of 100 px nucleus each, 70 of them common."""
    truth, prediction = np.zeros((2, 40, 40), np.uint8)
    truth[10:20, 10:20] = 1
    prediction[13:23, 10:20] = 1
    paths = tmp_path / "prediction.png", tmp_path / "truth.png"
    for path, labels in zip(paths, (prediction, truth), strict=True):
        write_labels(path, labels)
    return paths


@pytest.fixture
def folders(tmp_path: Path, two: tuple[Path, Path]) -> tuple[Path, Path]:
    """Return two folders with the pair ``a``, a perfect ``b``, and one image too many each."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    prediction, truth = (read_labels(path).data for path in two)
    write_labels(theirs / "a.png", prediction)
    write_labels(ours / "a.tif", truth)
    for folder in (ours, theirs):
        write_labels(folder / "b.png", truth)
    write_labels(ours / "left.png", truth)
    write_labels(theirs / "right.png", truth)
    (ours / "notes.txt").write_text("no image")
    return theirs, ours


def test_two_files_are_compared_class_by_class(onnxseg, two) -> None:
    found = onnxseg("evaluate", *two, "--names", "ground,nucleus", "--scale", "0.5", "--json").json
    ground, nucleus = found["images"][0]["classes"]
    assert (ground["name"], nucleus["name"]) == ("ground", "nucleus")
    assert nucleus["iou"] == 70 / 130
    assert nucleus["precision"] == nucleus["recall"] == 0.7
    assert nucleus["hausdorff95"] == 1.5
    assert found["images"][0]["confusion"] == [[1470, 30], [30, 70]]
    assert found["pooled"]["classes"] == found["images"][0]["classes"]


def test_tables_are_for_people(onnxseg, two) -> None:
    shown = onnxseg("evaluate", *two, "--names", "1=nucleus").stdout
    assert "0.538" in shown
    assert "96.25 % of the pixels are right" in shown
    assert "nucleus" in shown.split("Most often wrong")[1]
    assert "70.0" in shown.split("Of each true class")[1].split("Most often wrong")[0]


def test_other_ids_of_the_truth_are_noticed_and_can_be_given(onnxseg, tmp_path) -> None:
    truth = np.repeat(np.arange(4, dtype=np.uint8), 25).reshape(10, 10)
    np.save("t.npy", np.where(truth == 3, 9, truth))
    np.save("p.npy", np.where(truth == 3, 0, truth + 1))
    told = onnxseg("evaluate", "p.npy", "t.npy").stderr
    assert "try --truth-ids 0=1,1=2,2=3,9=0" in told
    words = ("--truth-ids", "0=1,1=2,2=3,9=255", "--ignore", "255", "--difference", "d.npy")
    found = onnxseg("evaluate", "p.npy", "t.npy", *words, "--json")
    assert found.json["pooled"]["accuracy"] == 1
    assert np.load("d.npy").max() == 0
    assert "--truth-ids" not in onnxseg("evaluate", "p.npy", "t.npy", *words).stderr


def test_numbers_of_objects_are_not_mistaken_for_classes(onnxseg, tmp_path) -> None:
    np.save("objects.npy", np.arange(100, dtype=np.uint16).reshape(10, 10))
    done = onnxseg("evaluate", "objects.npy", "objects.npy", "--tolerance", "0")
    assert "--objects" in done.stderr


def test_folders_are_matched_by_name_and_pooled(onnxseg, folders) -> None:
    done = onnxseg("evaluate", *folders, "--json")
    assert done.exit_code == 0
    assert [one["name"] for one in done.json["images"]] == ["a", "b"]
    assert done.json["pooled"]["classes"][1]["iou"] == 170 / 230
    assert [Path(p).name for p in done.json["unmatched"]["truth"]] == ["left.png"]
    assert [Path(p).name for p in done.json["unmatched"]["prediction"]] == ["right.png"]
    assert "left.png' has no prediction" in done.stderr


def test_one_image_that_cannot_be_compared_does_not_stop_the_rest(onnxseg, folders) -> None:
    write_labels(folders[0] / "a.png", np.zeros((4, 5), np.uint8))
    done = onnxseg("evaluate", *folders, "--json")
    assert done.exit_code == 1
    assert [one["name"] for one in done.json["images"]] == ["b"]
    assert "shape (4, 5)" in done.json["failed"]["a"]


def test_all_figures_go_to_a_table_file(onnxseg, folders) -> None:
    onnxseg("evaluate", *folders, "--csv", "figures.csv")
    rows = list(csv.DictReader(io.StringIO(Path("figures.csv").read_text())))
    assert [(r["image"], r["class"]) for r in rows[:2]] == [("a", "0"), ("a", "1")]
    assert float(rows[1]["dice"]) == 0.7
    assert rows[-1]["image"] == "all images"


def test_the_difference_is_drawn(onnxseg, two, folders) -> None:
    onnxseg("evaluate", *two, "--difference", "difference.png")
    drawn = read_labels("difference.png").data
    assert [(drawn == n).sum() for n in range(4)] == [1540, 30, 30, 0]
    onnxseg("evaluate", *folders, "--difference", "differences")
    assert sorted(p.name for p in Path("differences").iterdir()) == ["a.png", "b.png"]


def test_what_was_not_annotated_is_left_out(onnxseg, two) -> None:
    truth = np.array(read_labels(two[1]).data)
    truth[20:] = 255
    write_labels(two[1], truth)
    found = onnxseg("evaluate", *two, "--ignore", "255", "--difference", "d.npy", "--json").json
    assert [entry["id"] for entry in found["pooled"]["classes"]] == [0, 1]
    assert found["pooled"]["classes"][1]["prediction_px"] == 70
    assert (np.load("d.npy") == 2).sum() == 0


def test_objects_are_compared_one_by_one(onnxseg, tmp_path) -> None:
    truth, prediction = np.zeros((2, 40, 40), np.uint16)
    truth[0:10, 0:10], truth[20:30, 20:30], truth[0:5, 30:35] = 1, 2, 3
    prediction[0:10, 0:10], prediction[22:32, 20:30] = 700, 8
    np.save("p.npy", prediction)
    np.save("t.npy", truth)
    words = ("--objects", "--difference", "d.png", "--csv", "o.csv")
    found = onnxseg("evaluate", "p.npy", "t.npy", *words, "--json").json["pooled"]
    assert (found["objects"]["truth"], found["objects"]["count_error"]) == (3, -1)
    assert (found["objects"]["ap50"], found["objects"]["ap70"]) == (2 / 3, 1 / 4)
    assert [entry["name"] for entry in found["classes"]] == ["background", "foreground"]
    drawn = read_labels("d.png").data
    assert [(drawn == n).sum() for n in (1, 2, 3)] == [45, 20, 0]
    assert "AP 0.75" in onnxseg("evaluate", "p.npy", "t.npy", *words).stdout
    assert Path("o.csv").read_text().startswith("image,truth,prediction,count_error,split,merged")


def test_masks_of_0_and_255_can_be_compared(onnxseg, two) -> None:
    mask = np.array(read_labels(two[1]).data) * 255
    Image.fromarray(mask).save(two[1])
    found = onnxseg("evaluate", *two, "--foreground", "--json").json["pooled"]
    assert found["classes"][1]["iou"] == 70 / 130


def test_volumes_are_measured_in_space_and_frames_one_by_one(onnxseg, tmp_path) -> None:
    truth, prediction = np.zeros((2, 6, 20, 20), np.uint8)
    truth[2:4, 5:15, 5:15] = 1
    prediction[3:5, 5:15, 5:15] = 1
    for axes in ("ZYX", "TYX"):
        for name, labels in (("p", prediction), ("t", truth)):
            tifffile.imwrite(f"{name}.ome.tif", labels, metadata={"axes": axes}, ome=True)
        found = onnxseg("evaluate", "p.ome.tif", "t.ome.tif", "--scale", "1", "--json").json
        distance = found["pooled"]["classes"][1]["hausdorff95"]
        assert distance == (1 if axes == "ZYX" else "inf")
        assert found["pooled"]["classes"][1]["iou"] == 100 / 300


def test_the_size_of_a_pixel_is_that_of_the_truth(onnxseg, two, tmp_path) -> None:
    truth = read_labels(two[1]).data
    write_labels("sized.tif", truth, scale=(0.25, 0.25), units=("micrometer",) * 2)
    found = onnxseg("evaluate", two[0], "sized.tif", "--json").json["images"][0]
    assert found["unit"] == "micrometer"
    assert found["classes"][1]["hausdorff95"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere.png", "truth.png"), "no file or folder 'nowhere.png'"),
        ((".", "truth.png"), "is a folder"),
        (("prediction.png", "truth.png", "--scale", "a"), "one number such as 0.5"),
        (("prediction.png", "truth.png", "--scale", "1,2,3"), "does not fit 2 axes"),
        (("prediction.png", "truth.png", "--names", "x=y"), "1=nucleus"),
        (("prediction.png", "truth.png", "--truth-ids", "1:2"), "such as 0=1,5=255"),
        (("prediction.png", "truth.png", "--difference", "d.jpg"), "cannot hold the result"),
        (("prediction.png", "truth.png", "--difference", "truth.png"), "overwrite"),
    ],
)
def test_wrong_usage_is_told_in_one_line(onnxseg, two, words, told) -> None:
    done = onnxseg("evaluate", *words, "--json")
    error = done.json.get("error") or done.json["failed"]["truth"]
    assert told in error
    assert done.exit_code in (1, 2)


def test_folders_without_a_common_name_are_refused(onnxseg, tmp_path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        write_labels(tmp_path / folder / f"{folder}.png", np.zeros((4, 4), np.uint8))
    assert "No image of 'one'" in onnxseg("evaluate", "one", "other", "--json").json["error"]


def test_pictures_in_colour_are_no_labels(onnxseg, two, tmp_path) -> None:
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save("colour.png")
    assert (
        "has colours" in onnxseg("evaluate", "colour.png", two[1], "--json").json["failed"]["truth"]
    )


def test_names_of_a_model_are_used(onnxseg, two) -> None:
    found = onnxseg("evaluate", *two, "-m", "unet-nuclei", "--json").json["pooled"]
    assert found["classes"][1]["name"] != "class 1"
