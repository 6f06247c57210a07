import numpy as np
import pytest

from napari_onnxseg.arrays.keeping import where_to_put
from napari_onnxseg.arrays.ngff_meaning import Meaning
from napari_onnxseg.arrays.sink import MemorySink
from napari_onnxseg.arrays.store import ZarrSink
from napari_onnxseg.errors import ChoiceError, RunError
from napari_onnxseg.tiling.region import Region


def test_what_is_small_is_kept_in_memory():
    keeping = where_to_put((1000, 1000), np.uint8, 1_000_000)
    assert keeping.path is None
    assert "in memory" in keeping.words
    assert isinstance(keeping.open((256, 256)), MemorySink)
    keeping.remove()


def test_what_is_large_goes_to_a_temporary_store_that_is_announced_and_removed(tmp_path):
    keeping = where_to_put((1000, 1001), np.uint8, 1_000_000, folder=tmp_path)
    assert keeping.temporary
    assert str(keeping.path) in keeping.words
    sink = keeping.open((256, 256))
    assert isinstance(sink, ZarrSink)
    sink.write((), Region((0, 0), (5, 5)), np.ones((5, 5), np.uint8))
    assert list(tmp_path.iterdir())
    keeping.remove()
    assert not list(tmp_path.iterdir())


def test_a_store_whose_axes_are_known_is_a_pyramid(tmp_path):
    keeping = where_to_put((1000, 1001, 4), np.uint8, 10, folder=tmp_path)
    sink = keeping.open((256, 256), Meaning("YXS", "rgba"))
    assert [level.shape for level in sink.arrays] == [(1000, 1001, 4), (500, 501, 4)]
    keeping.remove()
    assert isinstance(where_to_put((9, 9), np.uint8, 99).open((9, 9), Meaning("YX")), MemorySink)


def test_a_place_that_the_user_names_is_taken_and_never_removed(tmp_path):
    keeping = where_to_put((10, 10), np.uint8, 1_000_000, tmp_path / "out.zarr")
    assert (keeping.path, keeping.temporary) == (tmp_path / "out.zarr", False)
    assert str(keeping.path) in keeping.words
    keeping.open((10, 10))
    keeping.remove()
    assert (tmp_path / "out.zarr").is_dir()
    with pytest.raises(ChoiceError):
        keeping.open((10, 10))
    keeping.open((10, 10), replace=True)


def test_a_full_disk_is_told_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(RunError, match="10 bytes left"):
        where_to_put((10, 10), np.uint8, 1, tmp_path / "new" / "out.zarr")


def test_a_missing_folder_for_temporary_results_is_told(tmp_path):
    with pytest.raises(RunError, match="name a place"):
        where_to_put((10, 10), np.uint8, 1, folder=tmp_path / "no" / "such")
