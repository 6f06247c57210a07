import numpy as np
import pytest

from napari_onnxseg.arrays import pictures, tiffs
from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.arrays.files import write_labels, write_rgba
from napari_onnxseg.errors import FileFormatError


def test_a_file_appears_only_once_it_is_complete(tmp_path):
    path = tmp_path / "result.bin"
    with atomic(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b"whole")
    assert path.read_bytes() == b"halfwhole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("fault", [RuntimeError("no"), KeyboardInterrupt(), OSError("disk full")])
def test_a_failing_write_leaves_nothing_and_keeps_the_old_file(tmp_path, fault):
    path = tmp_path / "result.bin"
    path.write_bytes(b"old")

    def fail():
        with atomic(path) as file:
            file.write(b"half of the new")
            raise fault

    with pytest.raises((type(fault), FileFormatError)):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".png", ".tif", ".npy"])
def test_a_disk_that_fills_up_is_one_sentence_and_no_half_written_result(
    tmp_path, monkeypatch, suffix
):
    path = tmp_path / f"labels{suffix}"
    write_labels(path, np.zeros((4, 4), np.uint8))
    before = path.read_bytes()

    def full(file, *_args, **_choices):
        file.write(b"something")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pictures, "write_indexed", full)
    monkeypatch.setattr(tiffs, "write_tiff", full)
    monkeypatch.setattr(np, "save", full)
    with pytest.raises(FileFormatError, match="No space left on device; choose another place"):
        write_labels(path, np.ones((4, 4), np.uint8))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_one_sentence(tmp_path):
    with pytest.raises(FileFormatError, match="No such file or directory"):
        write_rgba(tmp_path / "missing" / "cut.png", np.zeros((4, 4, 4), np.uint8))
