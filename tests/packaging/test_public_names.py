import subprocess
import sys

import pytest

import napari_onnxseg

HEAVY = ("onnxruntime", "onnx", "skimage", "scipy", "tifffile", "PIL")
WINDOWS = ("napari", "qtpy", "PyQt5", "PyQt6", "PySide6", "vispy", "magicgui", "superqt", "npe2")


def modules_after(code: str) -> set[str]:
    """Return the top-level modules that a new interpreter holds after running ``code``."""
    report = "; import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("name", napari_onnxseg.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(napari_onnxseg, name) is not None


def test_public_names_are_listed_by_dir() -> None:
    assert dir(napari_onnxseg) == sorted(napari_onnxseg.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = napari_onnxseg.no_such_name


def test_importing_the_package_costs_nothing() -> None:
    assert not modules_after("import napari_onnxseg") & {"numpy", *HEAVY, *WINDOWS}


def test_help_imports_neither_the_runtime_nor_a_window() -> None:
    code = (
        "from napari_onnxseg.cli import app\n"
        "try:\n    app(['segment', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "pass"
    )
    assert not modules_after(code) & {*HEAVY, *WINDOWS}


def test_the_jobs_import_no_runtime() -> None:
    code = "from napari_onnxseg import MatteJob, SegmentJob, Normalization"
    assert not modules_after(code) & {"onnxruntime", "onnx", *WINDOWS}
