"""The command line and the API where napari and Qt cannot be imported."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from napari_onnxseg.cards.catalog import bundled_folder

BLOCKED = (
    "import sys\n"
    "WINDOWS = ('napari', 'qtpy', 'PyQt5', 'PyQt6', 'PySide6', 'vispy', 'magicgui', 'superqt',"
    " 'npe2', 'torch')\n"
    "class Blocked:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name.partition('.')[0] in WINDOWS:\n"
    "            raise ModuleNotFoundError(f'{name} is blocked', name=name)\n"
    "sys.meta_path.insert(0, Blocked())\n"
)


def run_blocked(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter without a screen that refuses every window library."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code],
        cwd=folder,
        env={"PATH": "", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_photograph_is_cut_out_without_napari_and_qt(tmp_path: Path) -> None:
    photograph = bundled_folder() / "samples" / "photograph.jpg"
    code = (
        "from napari_onnxseg.cli import app\n"
        f"app(['matte', {str(photograph)!r}, '-o', 'cut.npy', '--device', 'cpu', '--json'])\n"
    )
    done = run_blocked(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["done"] == 1
    assert np.load(tmp_path / "cut.npy").shape == (440, 680, 4)


@pytest.mark.parametrize("words", [["--help"], ["models", "list"], ["models", "show", "u2netp"]])
def test_the_other_verbs_need_no_napari_and_no_qt(words: list[str], tmp_path: Path) -> None:
    done = run_blocked(f"from napari_onnxseg.cli import app\napp({words!r})\n", tmp_path)
    assert done.returncode == 0, done.stderr


def test_diagnostics_need_no_napari_and_no_qt(tmp_path: Path) -> None:
    code = "from napari_onnxseg.cli import app\napp(['doctor', '--json'])\n"
    done = run_blocked(code, tmp_path)
    assert json.loads(done.stdout), done.stderr


def test_the_api_leaves_no_window_library_behind(tmp_path: Path) -> None:
    code = (
        "import numpy as np\n"
        "from napari_onnxseg import list_models, matte_image\n"
        "list_models()\n"
        "matte_image(np.zeros((64, 64, 3), np.uint8), rgb=True, device='cpu')\n"
        "assert not {name.partition('.')[0] for name in sys.modules} & set(WINDOWS)\n"
    )
    assert run_blocked(code, tmp_path).returncode == 0
