from pathlib import Path

import pytest

from napari_onnxseg.cli.places import (
    Place,
    find_files,
    is_one_file,
    place_results,
    refuse_collisions,
)
from napari_onnxseg.errors import ChoiceError


def touch(folder: Path, *names: str) -> list[Path]:
    """Make empty files."""
    paths = [folder / name for name in names]
    for path in paths:
        path.touch()
    return paths


def test_a_folder_gives_its_own_files_sorted_and_not_those_below(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    touch(tmp_path / "deeper", "hidden.png")
    first, second = touch(tmp_path, "a.png", "b.png")
    assert list(find_files([tmp_path])) == [first, second]


def test_a_file_named_twice_is_taken_once_and_counts_as_named(tmp_path: Path) -> None:
    (path,) = touch(tmp_path, "a.png")
    assert find_files([tmp_path, path]) == {path: True}


def test_an_input_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ChoiceError, match=r"nothing\.png"):
        find_files([tmp_path / "nothing.png"])


@pytest.mark.parametrize("name", ["out.png", "out.TIF", "out.tiff", "out.npy", "out.jpg"])
def test_one_image_and_a_known_suffix_mean_one_file(name: str, tmp_path: Path) -> None:
    (path,) = touch(tmp_path, "a.png")
    assert is_one_file([path], tmp_path / name, None)


@pytest.mark.parametrize("name", ["out", "results.v2"])
def test_anything_else_means_a_folder(name: str, tmp_path: Path) -> None:
    (path,) = touch(tmp_path, "a.png")
    assert not is_one_file([path], tmp_path / name, None)


def test_a_folder_that_is_called_like_a_file_is_a_folder(tmp_path: Path) -> None:
    (path,) = touch(tmp_path, "a.png")
    (tmp_path / "out.png").mkdir()
    assert not is_one_file([path], tmp_path / "out.png", None)


def test_several_images_into_one_file_are_refused(tmp_path: Path) -> None:
    paths = touch(tmp_path, "a.png", "b.png")
    with pytest.raises(ChoiceError, match="name a folder"):
        is_one_file(paths, tmp_path / "out.png", None)
    with pytest.raises(ChoiceError, match="name a folder"):
        is_one_file([tmp_path], tmp_path / "out.png", None)


def test_a_format_beside_a_file_name_is_refused(tmp_path: Path) -> None:
    (path,) = touch(tmp_path, "a.png")
    with pytest.raises(ChoiceError, match="--format"):
        is_one_file([path], tmp_path / "out.png", "tif")


@pytest.mark.parametrize(
    ("image", "result"),
    [("a.png", "a.png"), ("a.jpg", "a.png"), ("a.TIF", "a.tif"), ("a.tiff", "a.tif"),
     ("a.npy", "a.npy"), ("a.ome.tif", "a.ome.tif"), ("a", "a.png")],
)  # fmt: skip
def test_the_format_follows_the_image(image: str, result: str) -> None:
    assert place_results([Path("in", image)], Path("out"), None)[0].target == Path("out", result)


def test_a_chosen_format_holds_for_all() -> None:
    places = place_results([Path("a.png"), Path("b.jpg")], Path("out"), "npy")
    assert [place.target.name for place in places] == ["a.npy", "b.npy"]


def test_images_of_the_same_stem_keep_apart() -> None:
    places = place_results([Path("in/a.png"), Path("in/a.jpg")], Path("out"), None)
    assert [place.target.name for place in places] == ["a.png.png", "a.jpg.png"]


def test_images_of_the_same_name_from_two_folders_are_refused() -> None:
    places = place_results([Path("one/a.png"), Path("two/a.png")], Path("out"), None)
    with pytest.raises(ChoiceError, match=r"one/a\.png.*two/a\.png"):
        refuse_collisions(places)


def test_an_image_is_never_overwritten(tmp_path: Path) -> None:
    paths = touch(tmp_path, "a.png")
    with pytest.raises(ChoiceError, match="overwrite"):
        refuse_collisions(place_results(paths, tmp_path, None))


def test_an_image_is_not_overwritten_by_the_objects_of_another(tmp_path: Path) -> None:
    first, second = touch(tmp_path, "a.tif", "b-objects.tif")
    places = [Place(first, tmp_path / "b.tif"), Place(second, tmp_path / "c.tif")]
    refuse_collisions(places)
    with pytest.raises(ChoiceError, match=r"overwrite.*b-objects\.tif"):
        refuse_collisions(places, ["objects"])


def test_other_results_lie_beside_the_first() -> None:
    assert Place(Path("a.png"), Path("out/a.png")).beside("objects") == Path("out/a-objects.png")
