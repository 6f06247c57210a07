from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.folder_find import Found
from napari_onnxseg.pipeline.folder_job import FolderJob
from napari_onnxseg.pipeline.folder_names import NamePattern, stem_of
from napari_onnxseg.pipeline.folder_places import (
    Place,
    is_one_file,
    place_results,
    refuse_collisions,
    refuse_existing,
)


def touch(folder: Path, *names: str) -> list[Path]:
    """Make empty files."""
    paths = [folder / name for name in names]
    for path in paths:
        path.touch()
    return paths


def placed(paths: list[Path], out: Path, form: str | None = None, **more: str) -> list[Place]:
    """Place images that were named themselves."""
    return place_results(
        [Found(path) for path in paths], FolderJob(paths, out, format=form, **more)
    )


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
    assert placed([Path("in", image)], Path("out"))[0].target == Path("out", result)


def test_a_chosen_format_holds_for_all() -> None:
    places = placed([Path("a.png"), Path("b.jpg")], Path("out"), "npy")
    assert [place.target.name for place in places] == ["a.npy", "b.npy"]


def test_images_of_the_same_stem_keep_apart() -> None:
    places = placed([Path("in/a.png"), Path("in/a.jpg")], Path("out"))
    assert [place.target.name for place in places] == ["a.png.png", "a.jpg.png"]


def test_images_of_the_same_name_from_two_folders_are_refused() -> None:
    places = placed([Path("one/a.png"), Path("two/a.png")], Path("out"))
    with pytest.raises(ChoiceError, match=r"one/a\.png.*two/a\.png"):
        refuse_collisions(places)


def test_an_image_is_never_overwritten(tmp_path: Path) -> None:
    paths = touch(tmp_path, "a.png")
    with pytest.raises(ChoiceError, match="overwrite"):
        refuse_collisions(placed(paths, tmp_path))


def test_an_image_is_not_overwritten_by_the_objects_of_another(tmp_path: Path) -> None:
    first, second = touch(tmp_path, "a.tif", "b-objects.tif")
    places = [Place(first, tmp_path / "b.tif"), Place(second, tmp_path / "c.tif")]
    refuse_collisions(places)
    with pytest.raises(ChoiceError, match=r"overwrite.*b-objects\.tif"):
        refuse_collisions(places, ["objects"])


def test_other_results_lie_beside_the_first() -> None:
    assert Place(Path("a.png"), Path("out/a.png")).beside("objects") == Path("out/a-objects.png")


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1).filter(
    lambda name: name.strip(". ")
)


@settings(derandomize=True)
@given(stem=NAMES, index=st.integers(1, 10**6))
def test_results_always_lie_inside_the_folder(stem: str, index: int) -> None:
    found = Found(Path("in", f"{stem}.png"), Path("deep/er"))
    for text in ("{stem}{suffix}", "{index:05}-{name}", "{model}/{parent}-{stem}.tif"):
        path = NamePattern(text).path(found, model="unet", index=index, suffix=".png")
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert path.suffix in (".png", ".tif")


@settings(derandomize=True)
@given(names=st.lists(NAMES, min_size=2, max_size=8, unique=True))
def test_images_of_one_folder_never_meet_under_their_own_names(names: list[str]) -> None:
    paths = [Path("in", f"{name}.png") for name in names]
    places = placed(paths, Path("out"))
    refuse_collisions(places)
    assert len({place.target for place in places}) == len(names)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{stem}-{model}{suffix}", "deep/a-unet.png"),
        ("{stem}-{model}", "deep/a-unet.png"),
        ("{parent}_{stem}.tif", "deep_a.tif"),
        ("{model}/{name}", "deep/unet/a.jpg.png"),
        ("{index:04}", "deep/0007.png"),
    ],
)
def test_a_pattern_names_results(text: str, result: str) -> None:
    found = Found(Path("in/deep/a.jpg"), Path("deep"))
    path = NamePattern(text).path(found, model="unet", index=7, suffix=".png")
    assert path == Path(result)


@pytest.mark.parametrize(
    "text",
    ["", "../{stem}", "/tmp/{stem}", "a//{stem}", "{steam}", "{}", "{stem", "{stem.x}",
     "{stem}.jpg",
     "{stem}?", "a:{stem}", "a\n{stem}", "{0}", "./{stem}", "{stem[9]}"],
)  # fmt: skip
def test_what_is_no_pattern_of_names_is_refused(text: str) -> None:
    with pytest.raises(ChoiceError):
        NamePattern(text)


def test_a_name_that_all_images_share_is_refused_before_the_run() -> None:
    places = placed([Path("in/a.png"), Path("in/b.png")], Path("out"), name="{model}")
    with pytest.raises(ChoiceError, match=r"\{index\}"):
        refuse_collisions(places)


@pytest.mark.parametrize(
    ("name", "stem"),
    [("a.png", "a"), ("brain.nii.gz", "brain"), ("a.OME.zarr", "a"), ("a.ome.tif", "a.ome"),
     ("noend", "noend")],
)  # fmt: skip
def test_a_stem_is_a_name_without_its_format(name: str, stem: str) -> None:
    assert stem_of(Path("in", name)) == stem


def test_results_that_are_there_are_refused_with_both_ways_out(tmp_path: Path) -> None:
    touch(tmp_path, "a.png", "a-objects.png")
    places = [Place(Path("in/a.jpg"), tmp_path / "a.png")]
    with pytest.raises(ChoiceError, match=r"a\.png' exists.*--resume.*--overwrite"):
        refuse_existing(places)
    with pytest.raises(ChoiceError, match="and 1 more exists"):
        refuse_existing(places, ["objects"])
    with pytest.raises(ChoiceError, match="no run is remembered"):
        refuse_existing(places, resume=True)


def test_a_store_is_refused_rather_than_taken_for_a_folder(tmp_path):
    with pytest.raises(ChoiceError, match=r"only Python writes so far .*; name a \.tif file"):
        is_one_file([tmp_path / "a.png"], tmp_path / "out.zarr", None)
